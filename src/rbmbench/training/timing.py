# SPDX-License-Identifier: BSD-3-Clause
"""Training steps as functions to be timed.

Used by the benchmarks, which compare them, by the forecast, and by jobs that time algorithms side by side.
"""

from collections.abc import Callable, Mapping
from functools import partial
from time import process_time

import numpy as np

from rbmbench.base.parsing import parse
from rbmbench.base.settings import RunSettings
from rbmbench.training.shards import make_shards
from rbmbench.training.trainer import initial_parameters

STEPS = 3  # iterations per call, as shards make several between pauses


def made_data(rows: int, visible: int) -> np.ndarray:
    """Return rows of 0 and 1 with the density of binarised handwritten digits (0.13)."""
    return (np.random.default_rng(0).random((rows, visible)) < 0.13).astype(np.uint8)


def best_seconds(*functions: Callable[[], object], seconds: float) -> list[float]:
    """Return the shortest processor time of each function in seconds, from alternating calls after one to warm up.

    ``seconds`` is the processor time of all calls. Other load changes processor times less than elapsed ones.
    """
    for function in functions:
        function()
    best, started = [float("inf")] * len(functions), process_time()
    while True:
        for number, function in enumerate(functions):
            best[number] = min(best[number], spent(function))
        if process_time() - started >= seconds:
            return best


def spent(function: Callable[[], object]) -> float:
    """Return the processor time of a call in seconds."""
    before = process_time()
    function()
    return process_time() - before


class Steps:
    """Training iterations of a run without evaluation, in its first stage, from the initial parameters on.

    ``place`` moves an array to the device. ``rbm`` has the parameters.
    """

    def __init__(self, settings: RunSettings, data, place=lambda array: array):
        rbm, self._at = initial_parameters(data, settings), 0
        self.rbm = type(rbm)(*(place(parameter) for parameter in rbm.parameters))
        self._shards = make_shards(self.rbm, place(data), settings, threads=1)
        for shard in self._shards:
            shard.enter(settings.schedule[0], start=True)
        batches = self._shards[0].batches
        self._epoch = batches.per_epoch if settings.batch < len(data) else 10**9

    def advance(self, iterations: int) -> None:
        """Make the next iterations."""
        for shard in self._shards:
            shard.advance(self._at, self._at + iterations)
        self._at += iterations

    def seconds(self, iterations: int) -> float:
        """Make the next iterations; return the processor seconds of one, with its share of the order of an epoch.

        To draw the order of the rows takes as long as many iterations of a small model. It is timed
        separately, since a few iterations may or may not contain the start of an epoch.
        """
        total, remaining = 0.0, iterations
        while remaining:
            self._draw(self._at // self._epoch)
            count = min(remaining, self._epoch - self._at % self._epoch)
            total += spent(partial(self.advance, count))
            remaining -= count
        drawn = spent(partial(self._draw, self._at // self._epoch + 1))
        return total / iterations + drawn / self._epoch

    def _draw(self, epoch: int) -> None:
        for shard in self._shards:
            shard.batches.draw(epoch)


def iterations_within(steps: Steps, seconds: float) -> int:
    """Return the number of iterations that take about ``seconds``, at least 1, after one to warm up."""
    steps.advance(1)
    count = 1
    while (took := spent(partial(steps.advance, count))) < seconds / 4:
        count *= 2
    return max(1, round(count * seconds / took))


def one_round(steps: Mapping[str, Callable[[], Steps]], counts: Mapping[str, int], number: int) -> dict[str, float]:
    """Return the processor seconds per iteration of each algorithm, from one turn of ``counts`` iterations.

    Each algorithm begins anew, in its own arrays, and makes an iteration to warm up: its speed depends on the addresses
    of its arrays, by about one percent. The order is rotated from round to round, and every other round reversed, so
    that in an even number of rounds each algorithm is as often before each other one as after it.
    """
    names = list(steps)
    first = number // 2 % len(names)
    order = (names[first:] + names[:first])[:: -1 if number % 2 else 1]
    begun = {name: steps[name]() for name in order}
    for algorithm in begun.values():
        algorithm.advance(1)
    return {name: begun[name].seconds(counts[name]) for name in order}


def step_settings(hidden, batch, estimator="cd", options=None, trials=1, update=None, iterations=1) -> RunSettings:
    """Return the settings of a run on generated data with one stage; ``update`` is the update rule with its options."""
    stage = {"until": iterations, "estimator": {"name": estimator, "options": options or {}}, "rate": 0.01}
    stage["update"] = update or {"name": "sgd"}
    values = {"data": {"name": "made"}, "hidden": hidden, "batch": batch, "schedule": [stage], "trials": trials}
    return parse(RunSettings, values, "step to be timed")


def training_step(
    visible, hidden, batch, estimator, options, trials=1, rows=10_000, place=lambda x: x, steps=STEPS, update=None
) -> Callable[[], object]:
    """Return a function that makes ``steps`` training iterations of ``trials`` RBMs, without evaluation.

    ``place`` moves an array to the device; ``update`` is the update rule with its options.
    """
    settings = step_settings(hidden, batch, estimator, options, trials, update, iterations=10**9)
    step = partial(Steps(settings, made_data(rows, visible), place).advance, steps)
    step.steps = steps
    return step
