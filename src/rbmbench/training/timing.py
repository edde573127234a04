# SPDX-License-Identifier: BSD-3-Clause
"""Training steps as functions to be timed.

Used by the benchmarks, which compare them, and by the forecast.
"""

from collections.abc import Callable
from time import process_time

import numpy as np

from rbmbench.base.parsing import parse
from rbmbench.base.settings import RunSettings
from rbmbench.base.streams import Purpose, Stream
from rbmbench.model.rbm import initial_rbm
from rbmbench.training.shards import make_shards

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
            before = process_time()
            function()
            best[number] = min(best[number], process_time() - before)
        if process_time() - started >= seconds:
            return best


def step_settings(hidden, batch, estimator="cd", options=None, trials=1, update=None, iterations=1) -> RunSettings:
    """Return the settings of a run on generated data with one stage; ``update`` is the update rule with its options."""
    stage = {"until": iterations, "estimator": {"name": estimator, "options": options or {}}, "rate": 0.01}
    stage["update"] = update or {"name": "sgd"}
    values = {"data": {"name": "made"}, "hidden": hidden, "batch": batch, "schedule": [stage], "trials": trials}
    return parse(RunSettings, values, "step to be timed")


def training_step(
    visible,
    hidden,
    batch,
    estimator,
    options,
    trials=1,
    rows=10_000,
    place=lambda array: array,
    steps=STEPS,
    update=None,
) -> Callable[[], object]:
    """Return a function that makes ``steps`` training iterations of ``trials`` RBMs, without evaluation.

    ``place`` moves an array to the device; ``update`` is the update rule with its options.
    """
    settings = step_settings(hidden, batch, estimator, options, trials, update, iterations=10**9)
    rbm = initial_rbm(visible, hidden, Stream(0, range(trials), Purpose.INITIAL_PARAMETERS))
    rbm = type(rbm)(*(place(parameter) for parameter in rbm.parameters))
    shards = make_shards(rbm, place(made_data(rows, visible)), settings, threads=1)
    for shard in shards:
        shard.enter(settings.schedule[0], start=True)
    iteration = iter(range(10**9))

    def step():
        at = next(iteration)
        for shard in shards:
            shard.advance(at * steps, (at + 1) * steps)

    step.steps = steps
    return step
