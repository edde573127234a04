# SPDX-License-Identifier: BSD-3-Clause
"""Evaluation of the snapshots of a run by annealing or tempered chains, with checkpoints."""

from collections.abc import Callable, Mapping
from functools import partial
from types import ModuleType

import numpy as np
import pandas as pd

from rbmbench.base.metrics import COMPARED, TEMPERED
from rbmbench.base.pace import Progress
from rbmbench.base.registry import positive_integer
from rbmbench.base.settings import Annealed, AnnealingSettings
from rbmbench.kernels import Array
from rbmbench.likelihood import (
    ais_log_partition,
    base_rate_bias,
    bracketed_log_partition,
    inverse_temperatures,
    tempered_log_partition,
)
from rbmbench.likelihood.particles import Particles
from rbmbench.model.rows import binary_rows
from rbmbench.model.sparse_rows import SparseRows, content, training_rows
from rbmbench.training.checkpoint import Checkpointer, State, identity
from rbmbench.training.evaluation import Curve, EvaluatedRows, snapshots_of

METRIC_OF = {
    "log_partition": "log_partition",
    "standard_error": "log_partition_error",
    "effective_sample_size": "annealing_effective_sample_size",
    **{name: f"log_partition_{name}" for name in ("low", "high", *TEMPERED)},
}
"""Metrics by the fields of estimates of log Z."""


def annealed_curve(
    snapshots: dict[str, np.ndarray],
    data: Array | SparseRows,
    settings: AnnealingSettings,
    held_out: Mapping[str, np.ndarray] | None = None,
    *,
    first_trial: int = 0,
    first_snapshot: int = 0,
    all_snapshots: int | None = None,
    threads: int = 1,
    arrays: ModuleType = np,
    progress: Progress | None = None,
    checkpointer: Checkpointer | None = None,
) -> pd.DataFrame:
    """Evaluate the snapshots of a run, as many at a time as there are threads.

    log Z is that of annealed importance sampling, or of tempered chains if the settings have ``tempering``.

    Parameters
    ----------
    snapshots : dict
        See `SnapshotKeeper.snapshots`.
    data : ndarray, shape (rows, m), entries 0 or 1
        The training set.
    settings : AnnealingSettings
    held_out : mapping of ndarray, shape (rows, m), entries 0 or 1, optional
        Rows that are not trained on, by their part: "validation", "test".
    first_trial, first_snapshot : int
        Numbers of the first trial and of the first snapshot in the run.
    all_snapshots : int, optional
        Number of snapshots of the run; by default those here.
    threads : int
        Number of threads; results do not depend on it.
    arrays : module
        numpy or cupy.
    progress : callable, optional
        Called as progress(snapshots done, all snapshots, mean log-likelihood in nats per row) every few seconds. The
        latest likelihood is passed, or none before the first.
    checkpointer : Checkpointer, optional
        Saves the particles or chains when a checkpoint is due, and the curve after each snapshot.

    Returns
    -------
    DataFrame
        Tidy: trial, iteration, metric, value with the metrics log_likelihood (mean over training rows, nats),
        PART_log_likelihood of each held-out part, log_partition (nats), log_partition_error (standard error, nats) and
        annealing_effective_sample_size, or log_partition_NAME for each name of `rbmbench.base.metrics.TEMPERED`; if the
        settings have ``bracket``, log_partition_low and log_partition_high, the ends of its interval. Metrics of
        the evaluations that are annealed as well begin with `rbmbench.base.metrics.COMPARED`.

    Raises
    ------
    DataError
        If the data or the held-out rows are not rows of 0 and 1, as wide as the models.
    CheckpointError, ResultsError, StoppedError
        See `rbmbench.training.trainer.run`.
    """
    threads = positive_integer("threads", threads)
    visible = snapshots["snapshot_W"].shape[-2]
    data = training_rows(data, "training data", visible)
    held_out = {name: binary_rows(rows, f"{name} data", visible) for name, rows in (held_out or {}).items()}
    checkpointer = checkpointer or Checkpointer()
    contents = snapshots | content(data) | {"first_trial": first_trial} | held_out
    saved = checkpointer.resume(identity(settings, contents))
    snapshot_count = len(snapshots["snapshot_iterations"])
    compared = min(settings.compared, all_snapshots := all_snapshots or snapshot_count)
    repeated = (all_snapshots * number // compared - 1 - first_snapshot for number in range(1, compared + 1))
    order = [*range(snapshot_count), *(place for place in repeated if 0 <= place < snapshot_count)]
    evaluation = _AnnealedEvaluation(snapshots, order, checkpointer, saved, progress)
    rows, trials = EvaluatedRows(data, held_out), evaluation.models.W.shape[1]
    estimate, annealing = log_partition_of(settings, data)
    if settings.bracket and not settings.tempering:
        budget = {"data": data} | settings.bracket.model_dump()
        estimate = partial(bracketed_log_partition, **annealing.keywords, **budget)
    while evaluation.done < len(order):
        if is_compared := evaluation.done >= snapshot_count:
            estimate = annealing
        end = len(order) if is_compared else snapshot_count
        models, begun = evaluation.next(min(-(-threads // trials), end - evaluation.done))
        count, models = models.W.shape[0], models.like(arrays.empty(0))
        # A model's random numbers depend on its snapshot and trial, not on other trials.
        snapshot_numbers = first_snapshot + np.array(order[evaluation.done : evaluation.done + count])[:, None]
        trial_numbers = np.arange(first_trial, first_trial + trials)
        log_z = estimate(
            models,
            seed=settings.seed,
            keys=((snapshot_numbers + (trial_numbers << 16)) % 2**32).ravel(),
            threads=threads,
            begun=begun,
            progress=partial(evaluation.report, count),
            pause=partial(evaluation.pause, count),
        )
        metrics = rows.log_likelihoods(models, log_z.log_partition)
        metrics |= {METRIC_OF[name]: values for name, values in vars(log_z).items()}
        evaluation.add({COMPARED * is_compared + name: values for name, values in metrics.items()}, trial_numbers)
    return evaluation.curve.frame()


def log_partition_of(settings: Annealed, data) -> tuple[partial, partial]:
    """Return the estimate of log Z by some settings, and annealing by them, as functions of the models.

    The data (rows, m) are the states of the start model, and of chains that start in modes of the data.
    """
    base = base_rate_bias(data) if settings.base == "base_rate" else np.zeros(data.shape[1])
    schedule = inverse_temperatures(settings.temperatures, settings.spacing)
    annealing = partial(ais_log_partition, particles=settings.particles, temperatures=schedule, base=base)
    if not (budget := settings.tempering):
        return annealing, annealing
    limits = {"target_error": budget.target_error, "budget": budget.products}
    return partial(tempered_log_partition, data=data, base=base, **limits), annealing


class _AnnealedEvaluation:
    """An evaluation in progress: the finished snapshots, and the particles or chains of those in progress.

    ``order`` has the places of the snapshots; repeated ones are for another estimate.
    """

    def __init__(self, snapshots, order: list[int], checkpointer: Checkpointer, saved: State | None, progress):
        iterations, self.models = snapshots_of(snapshots)
        self._order, self.iterations = order, [iterations[place] for place in order]
        self._checkpointer, self._progress = checkpointer, progress
        self.curve, self.done = (Curve(saved["curve"]), saved["snapshots"]) if saved else (Curve(), 0)
        self._begun = saved if saved and saved["particles"] else None
        self._value: list[float] = []

    def next(self, at_once: int):
        """Return the models of the next snapshots, and their particles if resumed."""
        saved, self._begun = self._begun, None
        if saved is None:
            return self.models[self._order[self.done : self.done + at_once]], None
        models = self.models[self._order[self.done : self.done + saved["at_once"]]]
        if "steps" in saved:
            return models, Particles(**saved["particles"], steps=saved["steps"], draw=saved["draw"])
        chains: dict[int, dict[str, np.ndarray]] = {}
        for key, array in saved["particles"].items():
            number, _, name = key.partition(".")
            chains.setdefault(int(number), {})[name] = array
        return models, [chains[number] for number in range(len(chains))]

    def report(self, count: int, steps: int, all_steps: int) -> None:
        """Report the number of finished snapshots, including fractions of those in progress."""
        if self._progress and steps < all_steps:
            self._progress(round(self.done + count * steps / all_steps, 2), len(self.iterations), *self._value)

    def pause(self, count: int, particles: Callable[[], Particles | list[dict[str, np.ndarray]]]) -> None:
        """Save the particles or chains if a checkpoint is due or there is a signal, which ends the evaluation."""

        def state() -> State:
            chains, plain = particles(), {"at_once": count}
            if isinstance(chains, Particles):
                arrays = chains._asdict()
                plain |= {name: int(arrays.pop(name)) for name in ("steps", "draw")}
            else:
                arrays = {f"{i}.{name}": array for i, chain in enumerate(chains) for name, array in chain.items()}
            return self._state(arrays) | plain

        self._checkpointer.pause(f"snapshot {self.done + 1} of {len(self.iterations)}", state)

    def add(self, metrics: dict[str, np.ndarray], trials: np.ndarray) -> None:
        """Add the metrics of the next snapshots to the curve, and save it."""
        likelihoods = next(iter(metrics.values()))
        count = len(likelihoods)
        for s, iteration in enumerate(self.iterations[self.done : self.done + count]):
            self.curve.add(trials, iteration, {name: values[s] for name, values in metrics.items()})
        self.done += count
        self._value = [float(likelihoods[-1].mean())]
        if self._checkpointer.path and self.done < len(self.iterations):
            self._checkpointer.save(self._state({}))
        if self._progress:
            self._progress(self.done, len(self.iterations), *self._value)

    def _state(self, particles: dict[str, np.ndarray]) -> State:
        return {"curve": self.curve.columns(), "snapshots": self.done, "particles": particles}
