"""A short timing of this machine, for where little was recorded on it: 2 seconds once the kernels are compiled."""

from time import perf_counter

import numpy as np
from threadpoolctl import threadpool_limits

from rbmbench import provenance
from rbmbench.forecast import work
from rbmbench.forecast.records import Record, machine
from rbmbench.kernels import name_of_home
from rbmbench.likelihood import exact_log_partition, log_likelihood
from rbmbench.model import RBM, initial_rbm
from rbmbench.parsing import parse
from rbmbench.settings import RunSettings
from rbmbench.shards import make_shards
from rbmbench.streams import Purpose, Stream

__all__ = ["calibration_records", "this_machine"]

DENSITY = 0.13
ENOUGH_SECONDS = 0.1
ROWS = 1000
# Visible and hidden units, batch, trials, estimator and its options: large and small, few calls and many.
STEPS = (
    (16, 16, 32, 25, "cd", {"k": 1}),
    (16, 16, 32, 25, "cd", {"k": 10}),
    (16, 16, 500, 5, "pop_cd", {"k": 1}),
    (16, 16, 32, 5, "parallel_tempering", {"temperatures": 10}),
    (784, 16, 500, 1, "cd", {"k": 1}),
    (784, 16, 100, 1, "parallel_tempering", {"temperatures": 10}),
    (784, 16, 500, 1, "pop_cd", {"k": 1}),
    (784, 500, 100, 1, "cd", {"k": 1}),
    (784, 500, 500, 1, "cd", {"k": 1}),
)
EVALUATIONS = ((16, 16), (784, 16))


def this_machine() -> str:
    """Return the name of the kind of machine this is, as records have it."""
    return machine(provenance.hardware()["cpu"], name_of_home(np.empty(0)))


def calibration_records() -> list[Record]:
    """Return records of a few training steps and evaluations, made now on one thread."""
    with threadpool_limits(1):
        steps = [_steps(*sizes) for sizes in STEPS]
        return steps + [_evaluation(*sizes) for sizes in EVALUATIONS]


def _steps(visible: int, hidden: int, batch: int, trials: int, estimator: str, options: dict) -> Record:
    """Return the record of training steps, evaluation apart."""
    stage = {"until": 1, "estimator": {"name": estimator, "options": options}, "rate": 0.01}
    values = {"data": {"name": "made"}, "hidden": hidden, "batch": batch, "schedule": [stage], "trials": trials}
    settings = parse(RunSettings, values, "calibration")
    shards = make_shards(_model(visible, hidden, trials), _data(visible), settings, threads=1)
    for shard in shards:
        shard.enter(settings.schedule[0], start=True)
    iterations = iter(range(10**9))

    def step():
        at = next(iterations)
        for shard in shards:
            shard.advance(at, at + 1)

    name = f"{estimator} {options}, {visible}x{hidden}, batch {batch}, {trials} trials"
    return _record(name, work.training(settings, ROWS, visible)["training"], _seconds(step))


def _evaluation(visible: int, hidden: int) -> Record:
    """Return the record of one log-likelihood of all rows."""
    rows, rbm = _data(visible), _model(visible, hidden, 1)
    return _record(
        f"evaluation, {visible}x{hidden}",
        work.evaluation(ROWS, visible, hidden),
        _seconds(lambda: log_likelihood(rbm, rows, exact_log_partition(rbm))),
    )


def _record(name: str, counts: work.Counts, seconds: float) -> Record:
    return Record(name, name, this_machine(), {"timed": counts}, {"timed": seconds}, {}, 0.0, jitter=0.0)


def _seconds(function) -> float:
    """Return the least seconds of a call, of as many as fit into a short time, after one to warm up."""
    function()
    best, started = float("inf"), perf_counter()
    while perf_counter() - started < ENOUGH_SECONDS:
        before = perf_counter()
        function()
        best = min(best, perf_counter() - before)
    return best


def _data(visible: int) -> np.ndarray:
    """Return 0/1 rows as dense as handwritten digits."""
    return (np.random.default_rng(0).random((ROWS, visible)) < DENSITY).astype(np.uint8)


def _model(visible: int, hidden: int, trials: int) -> RBM:
    return initial_rbm(visible, hidden, Stream(0, np.arange(trials), Purpose.INITIAL_PARAMETERS))
