"""A short timing of this machine, for where little was recorded on it: 2 seconds once the kernels are compiled."""

import numpy as np
from threadpoolctl import threadpool_limits

from rbmbench.base.streams import Purpose, Stream
from rbmbench.io import provenance
from rbmbench.kernels import backend_name
from rbmbench.likelihood import exact_log_partition, log_likelihood
from rbmbench.model.rbm import RBM, initial_rbm
from rbmbench.planning.forecast import work
from rbmbench.planning.forecast.records import Record, machine
from rbmbench.training.timing import best_seconds, made_data, step_settings, training_step

__all__ = ["calibration_records", "this_machine"]

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
    return machine(provenance.hardware()["cpu"], backend_name(np.empty(0)))


def calibration_records() -> list[Record]:
    """Return records of a few training steps and evaluations, made now on one thread."""
    with threadpool_limits(1):
        steps = [_steps(*sizes) for sizes in STEPS]
        return steps + [_evaluation(*sizes) for sizes in EVALUATIONS]


def _steps(visible: int, hidden: int, batch: int, trials: int, estimator: str, options: dict) -> Record:
    """Return the record of training steps, evaluation apart."""
    settings = step_settings(hidden, batch, estimator, options, trials)
    step = training_step(visible, hidden, batch, estimator, options, trials, ROWS, steps=1)
    name = f"{estimator} {options}, {visible}x{hidden}, batch {batch}, {trials} trials"
    return _record(name, work.training(settings, ROWS, visible)["training"], _seconds(step))


def _evaluation(visible: int, hidden: int) -> Record:
    """Return the record of one log-likelihood of all rows."""
    rows, rbm = made_data(ROWS, visible), _model(visible, hidden)
    return _record(
        f"evaluation, {visible}x{hidden}",
        work.evaluation(ROWS, visible, hidden),
        _seconds(lambda: log_likelihood(rbm, rows, exact_log_partition(rbm))),
    )


def _record(name: str, counts: work.Counts, seconds: float) -> Record:
    return Record(name, name, this_machine(), {"timed": counts}, {"timed": seconds}, {}, 0.0, jitter=0.0)


def _seconds(function) -> float:
    """Return the least seconds of a call, of as many as fit into a short time."""
    (best,) = best_seconds(function, seconds=ENOUGH_SECONDS)
    return best


def _model(visible: int, hidden: int) -> RBM:
    return initial_rbm(visible, hidden, Stream(0, range(1), Purpose.INITIAL_PARAMETERS))
