"""The training loop: schedules, mini-batches, scheduled evaluation, checkpoints.

Trials never touch each other, so they are trained in shards, each from one evaluation to the next, on as many threads
as are given; neither sharding nor threads nor resuming changes a result.
"""

import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from rbmbench import backends, resident
from rbmbench.checkpoint import Checkpoint, Keeper
from rbmbench.errors import DataError, StoppedError, TrainingError
from rbmbench.evaluation import Curve, WithBiasBound, WithProxy, check_snapshots_fit, evaluator, rows_to_test
from rbmbench.kernels import name_of_home, on_host
from rbmbench.model import RBM, clipped_base_rate, initial_rbm
from rbmbench.parsing import parse
from rbmbench.settings import RunSettings
from rbmbench.shards import Shard, make_shards
from rbmbench.streams import Purpose, Stream

__all__ = ["TrainingResult", "run", "train"]

CHECKPOINT_SECONDS = 20.0
Progress = Callable[..., None]
Stopping = Callable[[], int | None]


@dataclass(frozen=True)
class TrainingResult:
    """What a run leaves.

    ``rbm`` holds the parameters (trials, m, n), ...; ``curve`` the tidy frame trial, iteration, metric, value with the
    metrics log_likelihood (mean over training rows, nats), log_partition (nats), where the settings ask for it
    test_log_likelihood (mean over test rows, nats), where they have a proxy reconstruction_log_likelihood (mean over
    its rows, nats), where they ask for the bias of CD what `rbmbench.bias_bound.bias_and_bounds` returns, and the
    estimator's diagnostics (means since the evaluation before); ``timings`` the seconds by kind: startup, training and
    evaluation by the clock, and the processor time of training, which other programs on the machine disturb less. Where
    log Z cannot be enumerated the curve lacks the first three, and ``snapshots`` holds the parameters at every
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


def _boundaries(settings: RunSettings) -> list[int]:
    """Return the iterations at which the loop halts: evaluations, ends of stages, the end."""
    ends = {stage.until for stage in settings.schedule}
    further = {iteration for iteration in settings.evaluate_at if iteration < settings.iterations}
    return sorted(ends | further | set(range(settings.evaluate_every, settings.iterations, settings.evaluate_every)))


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
        aside, see `rbmbench.checkpoint.resumed`. It stays at the end, until the result is kept somewhere: see
        `rbmbench.checkpoint.owned`, which also keeps other processes off.
    progress : callable, optional
        Called as progress(iteration, iterations, mean log-likelihood in nats per row) after every evaluation; without
        the last where it is not known yet.
    threads : int
        Threads to train on, of which a trial uses one; results do not depend on it.
    backend : {"auto", "numpy", "cupy"}
        What arrays to train on, see `rbmbench.backends.choose`. A run that was stopped may go on with another.
    test : ndarray, shape (rows, m), entries 0 or 1, optional
        Test rows, evaluated where the settings ask for it.
    checkpoint_seconds : float, optional
        Least time between two checkpoints; by default 20.
    stopping : callable, optional
        Asked before every stretch between two evaluations: the number of a signal that asks the run to stop, or None.
        The run then saves its checkpoint, if it has one, and ends in a `StoppedError`.

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
    resident.check_switch()
    data_there = chosen.arrays.asarray(data)
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
    ).like(data_there)
    evaluate = evaluator(data, settings.hidden, rows_to_test(test, settings))
    if settings.proxy:
        evaluate = WithProxy(evaluate, data, settings)
    if settings.bias_bound:
        evaluate = WithBiasBound(evaluate, data, settings)
    shards = make_shards(rbm, data_there, settings, threads)
    seconds = CHECKPOINT_SECONDS if checkpoint_seconds is None else checkpoint_seconds
    keeper = Keeper(checkpoint, _identity(data, settings), seconds)
    # Matrix products stay on one thread: cut among several they would round otherwise, and a trial alone would differ.
    with threadpool_limits(1), ThreadPoolExecutor(threads) as pool:
        loop = _Loop(rbm, shards, settings, evaluate, pool, progress)
        _warm_up(Shard(rbm[:1].copy(), data_there, settings, trials[:1]), settings.schedule)
        evaluate.warm_up(rbm)
        startup = perf_counter() - started
        loop.restore(keeper.saved)
        loop.seconds["startup_seconds"] += startup
        loop.go(keeper, stopping)
    ways = "; ".join(f"{name} {way}" for name, way in shards[0].ways.items())
    where = {"backend": name_of_home(rbm.W), "backend_reason": chosen.reason, "backend_iterations": ways}
    return TrainingResult(rbm.on_host(), loop.curve.frame(), dict(loop.seconds), evaluate.snapshots(), where)


class _Loop:
    """A run in progress."""

    def __init__(self, rbm, shards, settings, evaluate, pool, progress):
        self.rbm, self.shards, self.settings, self.evaluate, self.pool = rbm, shards, settings, evaluate, pool
        self.progress = progress
        self.iteration = 0
        self.trials = np.concatenate([shard.trials for shard in shards])
        kinds = ("startup_seconds", "training_seconds", "training_cpu_seconds", "evaluation_seconds")
        self.seconds = dict.fromkeys(kinds, 0.0)

    def restore(self, saved: Checkpoint | None) -> None:
        """Go on from a checkpoint, or begin with the evaluation of the initial parameters."""
        if saved is None:
            self.curve = Curve()
            self._evaluate({})
            return
        for name, array in saved.parameters.items():
            getattr(self.rbm, name)[...] = np.asarray(array, like=self.rbm.W)
        self.curve, self.seconds, self.iteration = Curve(saved.curve), saved.seconds, saved.iteration
        self.evaluate.restore(saved.snapshots)
        stage = self._stage()
        first = 0
        for shard in self.shards:
            last = first + len(shard.trials)
            shard.stream.number = saved.draw
            # A stage that begins here starts its estimator and rule anew, as it would have without the interruption.
            begins = any(self.iteration == ended.until for ended in self.settings.schedule)
            shard.enter(stage, start=begins)
            if not begins:
                shard.state, shard.memory = (
                    {name: np.array(array[first:last], like=self.rbm.W) for name, array in group.items()}
                    for group in (saved.state, saved.memory)
                )
            first = last

    def _stage(self):
        """Return the stage that the next iteration belongs to."""
        return next((s for s in self.settings.schedule if s.until > self.iteration), self.settings.schedule[-1])

    def go(self, keeper: Keeper, stopping: Stopping | None) -> None:
        """Advance from boundary to boundary until the end."""
        for boundary in _boundaries(self.settings):
            if boundary <= self.iteration:
                continue
            if stopping and (signal := stopping()):
                self._stop(keeper, signal)
            self._train_until(boundary)
            if keeper.is_due() and boundary < self.settings.iterations:
                keeper.keep(self._checkpoint())

    def _stop(self, keeper: Keeper, signal: int) -> None:
        """Save what is not saved yet, and end."""
        if keeper.path and self.iteration > keeper.iteration:
            keeper.keep(self._checkpoint())
        saved = f"the same command goes on from {keeper.path}" if keeper.iteration else "nothing is saved"
        raise StoppedError(f"stopped at iteration {self.iteration} of {self.settings.iterations}; {saved}", signal)

    def _train_until(self, boundary: int) -> None:
        started, cpu_started, stage = perf_counter(), process_time(), self._stage()

        def advance(shard: Shard):
            shard.enter(stage, start=True)
            return shard.advance(self.iteration, boundary)

        parts = list(self.pool.map(advance, self.shards))
        self.iteration = boundary
        self.seconds["training_seconds"] += perf_counter() - started
        self.seconds["training_cpu_seconds"] += process_time() - cpu_started
        self._evaluate({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})

    def _evaluate(self, diagnostics) -> None:
        started = perf_counter()
        metrics = self.evaluate(self.rbm, self.iteration)
        self.curve.add(self.trials, self.iteration, metrics | diagnostics)
        self.seconds["evaluation_seconds"] += perf_counter() - started
        if self.progress:
            values = [float(metrics["log_likelihood"].mean())] if "log_likelihood" in metrics else []
            self.progress(self.iteration, self.settings.iterations, *values)

    def _checkpoint(self) -> Checkpoint:
        rbm = self.rbm.on_host()
        parameters = {"W": rbm.W, "b": rbm.b, "c": rbm.c}
        state, memory = (_joined([getattr(shard, kind) for shard in self.shards]) for kind in ("state", "memory"))
        draw = self.shards[0].stream.number
        snapshots = self.evaluate.snapshots()
        columns = self.curve.columns()
        return Checkpoint(parameters, state, memory, self.iteration, draw, columns, self.seconds, snapshots)


def _joined(parts: list[dict]) -> dict[str, np.ndarray]:
    """Return the named arrays of all shards, one below the other."""
    return {name: np.concatenate([on_host(part[name]) for part in parts]) for name in parts[0]}


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
    kept, and `rbmbench.evaluation.annealed_curve` makes a curve of them.

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
        Further fields of `rbmbench.settings.RunSettings`: trials, seed, initial, precision, evaluate_every,
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
