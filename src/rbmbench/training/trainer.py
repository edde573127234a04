# SPDX-License-Identifier: BSD-3-Clause
"""Training of all trials of a run, with its schedule, evaluations and checkpoints.

Trials are independent, and are trained in shards on several threads. Results do not depend on shards, threads, pauses
or resuming.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from os import PathLike
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from rbmbench import datasets
from rbmbench.base.errors import SettingsError, TrainingError
from rbmbench.base.pace import Progress, Stopping
from rbmbench.base.registry import positive_integer
from rbmbench.base.settings import RunSettings
from rbmbench.base.streams import Purpose, Stream
from rbmbench.datasets import Dataset
from rbmbench.kernels import Array, backend_name, backends, ways
from rbmbench.model.rbm import RBM, clipped_base_rate, initial_rbm
from rbmbench.model.rows import binary_rows
from rbmbench.model.sparse_rows import SparseRows, array_like, content, on_backend, training_rows
from rbmbench.training import fused
from rbmbench.training.arguments import settings_from
from rbmbench.training.checkpoint import Checkpointer, identity
from rbmbench.training.evaluation import Evaluator, check_snapshots_fit, held_out_rows
from rbmbench.training.loop import Loop
from rbmbench.training.run import TrainingResult
from rbmbench.training.shards import Shard, make_shards


def _warm_up(shard: Shard, schedule) -> None:
    """Make an iteration of each stage, so that all kernels are compiled or loaded."""
    for stage in schedule:
        # An error occurs again in the run, which reports trial and iteration.
        with suppress(TrainingError):
            shard.enter(stage, start=True)
            shard.advance(0, 1)


def initial_parameters(data: Array | SparseRows, settings: RunSettings, initial: RBM | None = None) -> RBM:
    """Return the initial models of the trials of a run, (trials, m, n), on the host.

    They are drawn by the settings, or are copies of ``initial``, see `run`; a `SettingsError` if that does not fit.
    """
    trials = np.arange(settings.first_trial, settings.first_trial + settings.trials)
    shape = len(trials), data.shape[1], settings.hidden
    if initial is not None:
        if initial.W.shape not in (shape, shape[1:]):
            raise SettingsError(f"initial: must be an RBM of shape {shape} or {shape[1:]}, got {initial.W.shape}")
        parts = initial.on_host().astype(np.dtype(settings.precision)).parameters
        last_axes = shape[1:], shape[1:2], shape[2:]
        return RBM(*(np.broadcast_to(p, (shape[0], *axes)).copy() for p, axes in zip(parts, last_axes, strict=True)))
    entries = settings.initial
    return initial_rbm(
        *shape[1:],
        Stream(settings.seed, trials, Purpose.INITIAL_PARAMETERS),
        entries.kind,
        entries.width,
        np.dtype(settings.precision),
        entries.biases,
        clipped_base_rate(data) if entries.biases == "base_rate" else None,
    )


def run(
    data: Array | SparseRows,
    settings: RunSettings,
    *,
    checkpoint: Path | None = None,
    progress: Progress | None = None,
    threads: int = 1,
    backend: str = "auto",
    validation: np.ndarray | None = None,
    test: np.ndarray | None = None,
    checkpoint_seconds: float | None = None,
    stopping: Stopping | None = None,
    initial: RBM | None = None,
) -> TrainingResult:
    """Train all trials of a run.

    Parameters
    ----------
    data : ndarray or sparse matrix, shape (rows, m), entries 0 or 1
        The training set. Of a sparse matrix of SciPy, dense mini-batches are made, never the whole set.
    settings : RunSettings
    checkpoint : Path, optional
        File of the checkpoint. If it exists, the run resumes from it bit for bit; a damaged one is moved aside, see
        `rbmbench.training.checkpoint.resumed`. It is not removed at the end, see `rbmbench.training.checkpoint.owned`.
    progress : callable, optional
        Called as progress(iteration, iterations, mean log-likelihood in nats per row) after each evaluation and every
        few seconds. The latest likelihood is passed, or none before the first.
    threads : int
        Number of threads; results do not depend on it.
    backend : {"auto", "numpy", "cupy"}
        See `rbmbench.kernels.backends.choose`. A run may be resumed on another backend.
    validation, test : ndarray, shape (rows, m), entries 0 or 1, optional
        Held-out rows, evaluated if the settings require it.
    checkpoint_seconds : float, optional
        Minimal time between two checkpoints; by default 20.
    stopping : callable, optional
        Called every few seconds, or after each iteration if that takes longer. If it returns the number of a signal,
        the run saves its checkpoint, if any, and raises a `StoppedError`.
    initial : RBM, optional
        The models at the start, in place of those drawn by the settings: one (m, n) for all trials, or one for each
        trial (trials, m, n).

    Raises
    ------
    DataError
        If the data or the held-out rows are not rows of 0 and 1, or differ in width.
    SettingsError
        If a part or option is unknown, the batch is larger than the data, snapshots do not fit in memory, the backend
        is not available, or held-out rows are missing.
    CheckpointError
        If the checkpoint cannot be opened, or belongs to another run.
    ResultsError
        If the checkpoint cannot be written; the previous one is kept.
    TrainingError
        If parameters are not finite; names trial and iteration.
    StoppedError
        If the run was stopped by a signal.
    """
    started, threads = perf_counter(), positive_integer("threads", threads)
    data = training_rows(data, "training data")
    parts = {name: rows for name, rows in (("validation", validation), ("test", test)) if rows is not None}
    parts = {name: binary_rows(rows, f"{name} data", data.shape[1], may_be_empty=True) for name, rows in parts.items()}
    chosen = backends.choose(backend, backends.work(settings, data.shape[1]))
    fused.check_switch()
    ways.check_switch()
    device_data = on_backend(data, chosen.arrays)
    trials = np.arange(settings.first_trial, settings.first_trial + settings.trials)
    evaluations = settings.iterations, settings.evaluate_every, settings.evaluate_at
    check_snapshots_fit(data.shape[1], settings.hidden, settings.trials, *evaluations, settings.precision)
    rbm = initial_parameters(data, settings, initial).like(array_like(device_data))
    held_out = held_out_rows(settings, parts)
    evaluate = Evaluator(data, settings, held_out)
    shards = make_shards(rbm, device_data, settings, threads)
    checkpointer = Checkpointer(checkpoint, checkpoint_seconds, stopping)
    parameters = initial.on_host().parameters._asdict() if initial else {}
    initial_arrays = {f"initial_{name}": parameter for name, parameter in parameters.items()}
    saved = checkpointer.resume(identity(settings, content(data) | held_out | initial_arrays))
    # Matrix products use one thread: with several, rounding would depend on the number of threads and trials.
    with threadpool_limits(1), ThreadPoolExecutor(threads) as pool:
        loop = Loop(rbm, shards, settings, evaluate, pool, threads, progress)
        warm = Shard(rbm[:1].copy(), device_data, settings, trials[:1])
        _warm_up(warm, settings.schedule)
        evaluate.warm_up(rbm)
        startup = perf_counter() - started
        loop.restore(saved)
        loop.seconds["startup_seconds"] += startup
        loop.run(checkpointer)
    iterations = "; ".join(f"{name} {way}" for name, way in warm.ways.items())
    details = {"backend": backend_name(rbm.W), "backend_reason": chosen.reason, "backend_iterations": iterations}
    if details["backend"] == "numba":
        details["backend_products"] = ways.ways_of_step(settings.most_rows, *rbm.W.shape[1:])
    seconds = dict(loop.seconds)
    meta = {"settings": settings.model_dump(mode="json"), "wall": seconds, "iterations": loop.iteration} | details
    return TrainingResult(rbm.on_host(), loop.curve.frame(), settings, meta, seconds, evaluate.snapshots(), details)


def train(
    data: np.ndarray | Dataset | str | PathLike,
    *,
    hidden: int | None = None,
    batch: int,
    iterations: int | None = None,
    estimator: str | dict | None = None,
    options: dict | None = None,
    update: str | dict | None = None,
    rate: float | None = None,
    schedule: list[dict] | None = None,
    threads: int = 1,
    backend: str = "auto",
    progress: Progress | None = None,
    validation: np.ndarray | None = None,
    test: np.ndarray | None = None,
    initial: RBM | dict | None = None,
    **settings,
) -> TrainingResult:
    """Train RBMs on ``data``, with one estimator, update rule and learning rate, or by a schedule of several.

    Models with more than 25 units in both layers are not evaluated during training; snapshots of their parameters are
    kept for `rbmbench.training.snapshots.annealed_curve`.

    Parameters
    ----------
    data : ndarray or sparse matrix, shape (rows, m), entries 0 or 1; or Dataset, or str or path
        The training set: a matrix, or the part train of a data set, which may be given by its name in
        `rbmbench.datasets` or by its file, see `rbmbench.datasets.read_file`. Its own parts are then the defaults of
        ``validation`` and ``test``.
    hidden, batch, iterations : int
        Hidden units, rows of a mini-batch, updates. ``hidden`` is by default that of ``initial``.
    estimator : str or dict, optional
        Name in `rbmbench.estimators`, by default "cd"; or name and options, ``{"name": "cd", "options": {"k": 10}}``.
    options : dict, optional
        Options of an estimator that is given by its name.
    update : str or dict, optional
        Name in `rbmbench.updates`, by default "sgd"; or name and options.
    rate : float, optional
        Learning rate, by default 0.1.
    schedule : list of dict, optional
        Stages, each with ``until`` (its last iteration), ``estimator`` and ``update`` (name and options) and ``rate``,
        in place of the five arguments before.
    threads, backend, progress, validation, test
        See `run`, also for the errors.
    initial : RBM or dict, optional
        An RBM to continue, such as the result of another run: one model for all trials, or one for each. Chains and
        velocities start anew, and iterations are counted from 0. A dict has the distribution of the initial
        parameters, see `rbmbench.base.settings.Initial`.
    **settings
        Further fields of `rbmbench.base.settings.RunSettings`: trials, first_trial, seed, precision, evaluate_every,
        evaluate_at, proxy, bias_bound, validation_likelihood, test_likelihood, patience, products,
        evaluate_at_products.
    """
    stage = {"iterations": iterations, "estimator": estimator, "options": options, "update": update, "rate": rate}
    values = {"hidden": hidden, "batch": batch, "schedule": schedule, **stage, **settings}
    run_options: dict[str, Any] = {"threads": threads, "backend": backend, "progress": progress}
    if isinstance(initial, RBM):
        of_initial = {"hidden": initial.hidden_units, "trials": len(initial.replicas.W)}
        values = of_initial | {name: value for name, value in values.items() if value is not None}
        run_options["initial"] = initial
    else:
        values["initial"] = initial
    if isinstance(data, str | PathLike):
        is_file = not isinstance(data, str) or os.path.splitext(data)[1]
        data = datasets.read_file(data, sparse=True) if is_file else datasets.load(data)
    if not isinstance(data, Dataset):
        parsed = settings_from(values, {"name": "user"}, "train")
        return run(data, parsed, **run_options, validation=validation, test=test)
    data_settings = {"name": data.name, "options": data.provenance["options"]}
    parsed = settings_from(values, data_settings, "train")
    run_options["validation"] = data.validation if validation is None else validation
    run_options["test"] = data.test if test is None else test
    result = run(data.train, parsed, **run_options)
    return replace(result, meta=result.meta | {"data": data.provenance})
