"""Training: all trials of a run, with its schedule, evaluations and checkpoints.

Trials never touch each other, so they are trained in shards, each from one pause to the next, on as many threads as are
given; neither sharding nor threads nor pauses nor resuming changes a result.
"""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from rbmbench.base.errors import DataError, TrainingError
from rbmbench.base.pace import Progress, Stopping
from rbmbench.base.parsing import parse
from rbmbench.base.settings import RunSettings
from rbmbench.base.streams import Purpose, Stream
from rbmbench.kernels import backend_name, backends
from rbmbench.model.rbm import RBM, clipped_base_rate, initial_rbm
from rbmbench.training import fused
from rbmbench.training.checkpoint import Checkpointer
from rbmbench.training.evaluation import WithBiasBound, WithProxy, check_snapshots_fit, evaluator, rows_to_test
from rbmbench.training.loop import Loop
from rbmbench.training.shards import Shard, make_shards

__all__ = ["TrainingResult", "run", "train"]


@dataclass(frozen=True)
class TrainingResult:
    """What a run leaves.

    ``rbm`` holds the parameters (trials, m, n), ...; ``curve`` the tidy frame trial, iteration, metric, value with the
    metrics log_likelihood (mean over training rows, nats), log_partition (nats), where the settings ask for it
    test_log_likelihood (mean over test rows, nats), where they have a proxy reconstruction_log_likelihood (mean over
    its rows, nats), where they ask for the bias of CD what `rbmbench.likelihood.cd_bias.bias_and_bounds` returns, and
    the estimator's diagnostics (means since the evaluation before); ``timings`` the seconds by kind: startup, training
    and evaluation by the clock, and the processor time of training, which other programs on the machine disturb less.
    Where log Z cannot be enumerated the curve lacks the first three, and ``snapshots`` holds the parameters at every
    evaluation, to be evaluated later: snapshot_iterations and snapshot_W, _b, _c, (snapshots, trials, ...). All arrays
    are NumPy's, wherever the run was;
    ``backend`` tells where, why there, and whether every estimator's iterations were made many a launch or one by one.
    """

    rbm: RBM
    curve: pd.DataFrame
    timings: dict[str, float]
    snapshots: dict[str, np.ndarray]
    backend: dict[str, str]


def _warm_up(shard: Shard, schedule) -> None:
    """Make an iteration of every stage: kernels are compiled or loaded at their first call, before the clock runs."""
    for stage in schedule:
        # What fails here fails again in the run, which names trial and iteration.
        with suppress(TrainingError):
            shard.enter(stage, start=True)
            shard.advance(0, 1)


def _identity(data, settings: RunSettings) -> str:
    """Return what a checkpoint must agree on: the settings and the training rows."""
    rows = hashlib.sha256(repr(data.shape).encode() + np.packbits(data).tobytes())
    return f"{settings.digest()}-{rows.hexdigest()[:10]}"


def _checked(data) -> np.ndarray:
    """Return the data as contiguous uint8, or raise a `DataError` if they are not rows of 0 and 1."""
    data = np.asarray(data)
    if data.ndim != 2 or not len(data):
        raise DataError(f"training data: found shape {data.shape}; allowed: (rows, visible units)")
    allowed = (data == 0) | (data == 1)
    if not allowed.all():
        raise DataError(f"training data: found an entry {data[~allowed].flat[0]}; allowed: 0 and 1")
    return np.ascontiguousarray(data, np.uint8)


def run(
    data: np.ndarray,
    settings: RunSettings,
    *,
    checkpoint: Path | None = None,
    progress: Progress | None = None,
    threads: int = 1,
    backend: str = "auto",
    test: np.ndarray | None = None,
    checkpoint_seconds: float | None = None,
    stopping: Stopping | None = None,
) -> TrainingResult:
    """Train all trials of a run.

    Parameters
    ----------
    data : ndarray, shape (rows, m), entries 0 or 1
        The training set.
    settings : RunSettings
    checkpoint : Path, optional
        Where to keep a checkpoint; if it is there already the run goes on from it, bit for bit. A damaged one is moved
        aside, see `rbmbench.training.checkpoint.resumed`. It stays at the end, until the result is kept somewhere: see
        `rbmbench.training.checkpoint.owned`, which also keeps other processes off.
    progress : callable, optional
        Called as progress(iteration, iterations, mean log-likelihood in nats per row) after every evaluation, and every
        few seconds between, with the last known likelihood; without it where it is not known yet.
    threads : int
        Threads to train on, of which a trial uses one; results do not depend on it.
    backend : {"auto", "numpy", "cupy"}
        What arrays to train on, see `rbmbench.kernels.backends.choose`. A run that was stopped may go on with another.
    test : ndarray, shape (rows, m), entries 0 or 1, optional
        Test rows, evaluated where the settings ask for it.
    checkpoint_seconds : float, optional
        Least time between two checkpoints; by default 20.
    stopping : callable, optional
        Asked every few seconds, or after every iteration if that takes longer: the number of a signal that asks the run
        to stop, or None. The run then saves its checkpoint, if it has one, and ends in a `StoppedError`.

    Raises
    ------
    DataError
        If the data are not rows of 0 and 1.
    SettingsError
        If a part or option is unknown, the batch is larger than the data, snapshots would fill the memory, or the
        backend is not there; or test rows are asked for and there are none.
    CheckpointError
        If the checkpoint cannot be opened, or is of another run.
    ResultsError
        If the checkpoint cannot be written; the one before stays.
    TrainingError
        If parameters are no longer finite; names trial and iteration.
    StoppedError
        If it was asked to stop.
    """
    started = perf_counter()
    data = _checked(data)
    chosen = backends.choose(backend, backends.work(settings, data.shape[1]))
    fused.check_switch()
    device_data = chosen.arrays.asarray(data)
    trials = np.arange(settings.first_trial, settings.first_trial + settings.trials)
    initial = settings.initial
    check_snapshots_fit(data.shape[1], settings.hidden, settings.trials, settings.iterations, settings.evaluate_every)
    rbm = initial_rbm(
        data.shape[1],
        settings.hidden,
        Stream(settings.seed, trials, Purpose.INITIAL_PARAMETERS),
        initial.kind,
        initial.width,
        np.dtype(settings.precision),
        initial.biases,
        clipped_base_rate(data) if initial.biases == "base_rate" else None,
    ).like(device_data)
    evaluate = evaluator(data, settings.hidden, rows_to_test(test, settings))
    if settings.proxy:
        evaluate = WithProxy(evaluate, data, settings)
    if settings.bias_bound:
        evaluate = WithBiasBound(evaluate, data, settings)
    shards = make_shards(rbm, device_data, settings, threads)
    checkpointer = Checkpointer(checkpoint, _identity(data, settings), checkpoint_seconds)
    # Matrix products stay on one thread: cut among several they would round otherwise, and a trial alone would differ.
    with threadpool_limits(1), ThreadPoolExecutor(threads) as pool:
        loop = Loop(rbm, shards, settings, evaluate, pool, progress)
        _warm_up(Shard(rbm[:1].copy(), device_data, settings, trials[:1]), settings.schedule)
        evaluate.warm_up(rbm)
        startup = perf_counter() - started
        loop.restore(checkpointer.saved)
        loop.seconds["startup_seconds"] += startup
        loop.run(checkpointer, stopping)
    ways = "; ".join(f"{name} {way}" for name, way in shards[0].ways.items())
    where = {"backend": backend_name(rbm.W), "backend_reason": chosen.reason, "backend_iterations": ways}
    return TrainingResult(rbm.on_host(), loop.curve.frame(), dict(loop.seconds), evaluate.snapshots(), where)


def train(
    data: np.ndarray,
    *,
    hidden: int,
    estimator: str = "cd",
    options: dict | None = None,
    rate: float = 0.1,
    batch: int,
    iterations: int,
    threads: int = 1,
    backend: str = "auto",
    progress: Progress | None = None,
    test: np.ndarray | None = None,
    **settings,
) -> TrainingResult:
    """Train RBMs on ``data`` with one estimator and plain gradient ascent.

    Models of more than 25 units in both layers are not evaluated on the way: their parameters at every evaluation are
    kept, and `rbmbench.training.snapshots.annealed_curve` makes a curve of them.

    Parameters
    ----------
    data : ndarray, shape (rows, m), entries 0 or 1
    hidden : int
        Number of hidden units.
    estimator : str
        Name in `rbmbench.estimators`.
    options : dict, optional
        The estimator's options.
    rate : float
        Learning rate.
    batch : int
        Rows of a mini-batch.
    iterations : int
        Number of updates.
    threads, backend, progress, test
        See `run`.
    **settings
        Further fields of `rbmbench.base.settings.RunSettings`: trials, seed, initial, precision, evaluate_every,
        evaluate_at, proxy, bias_bound, test_likelihood.

    Raises
    ------
    SettingsError, TrainingError
        See `run`.
    """
    stage = {"until": iterations, "estimator": {"name": estimator, "options": options or {}}, "rate": rate}
    values = {"data": {"name": "user"}, "hidden": hidden, "batch": batch, "schedule": [stage], **settings}
    parsed = parse(RunSettings, values, "train")
    return run(data, parsed, threads=threads, backend=backend, progress=progress, test=test)
