"""The curve of a run whose snapshots are evaluated by annealing: from pause to pause, and resumable."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd

from rbmbench.base.pace import Progress, Stopping
from rbmbench.base.settings import AnnealingSettings
from rbmbench.likelihood import ais_log_partition, base_rate_bias
from rbmbench.likelihood.particles import Particles
from rbmbench.training.checkpoint import Checkpoint, Checkpointer
from rbmbench.training.evaluation import Curve, EvaluatedRows, snapshots_of

__all__ = ["annealed_curve"]


def annealed_curve(
    snapshots: dict[str, np.ndarray],
    data: np.ndarray,
    settings: AnnealingSettings,
    *,
    test: np.ndarray | None = None,
    first_trial: int = 0,
    checkpoint: Path | None = None,
    identity: str = "",
    threads: int = 1,
    arrays: ModuleType = np,
    progress: Progress | None = None,
    checkpoint_seconds: float | None = None,
    stopping: Stopping | None = None,
) -> pd.DataFrame:
    """Evaluate a run's snapshots by annealed importance sampling, as many at a time as there are threads.

    Parameters
    ----------
    snapshots : dict
        As `SnapshotKeeper.snapshots` returns them.
    data : ndarray, shape (rows, m), entries 0 or 1
        The training set.
    settings : AnnealingSettings
    test : ndarray, shape (rows, m), entries 0 or 1, optional
        Test rows, to be evaluated as well.
    first_trial : int
        Number of the first trial.
    checkpoint : Path, optional
        Where to keep what is done, after every snapshot and on the way; if it is there already the evaluation goes on
        from it, bit for bit. A damaged one is moved aside, and it stays at the end: see `rbmbench.training.checkpoint`,
        `resumed` and `owned`.
    identity : str
        What a checkpoint must agree on.
    threads : int
        Results do not depend on it.
    arrays : module
        numpy, or cupy to anneal on a GPU.
    progress : callable, optional
        Called as progress(snapshots done, all snapshots, mean log-likelihood in nats per row) every few seconds, with
        the last known likelihood; without it where none is known yet.
    checkpoint_seconds : float, optional
        Least time between two checkpoints on the way; by default 20.
    stopping : callable, optional
        Asked every few seconds: the number of a signal that asks to stop, or None.

    Returns
    -------
    DataFrame
        Tidy: trial, iteration, metric, value with the metrics log_likelihood (mean over training rows, nats),
        test_log_likelihood (over test rows, if there are any), log_partition (nats), log_partition_error (its standard
        error, nats) and annealing_effective_sample_size (of the particles).

    Raises
    ------
    CheckpointError
        If the checkpoint cannot be opened, or is of another evaluation.
    ResultsError
        If the checkpoint cannot be written; the one before stays.
    StoppedError
        If it was asked to stop; what it has made is saved then, if it has a checkpoint.
    """
    evaluation = _AnnealedEvaluation(
        snapshots, Checkpointer(checkpoint, identity, checkpoint_seconds), stopping, progress
    )
    rows, trials = EvaluatedRows(data, test), evaluation.models.W.shape[1]
    base = base_rate_bias(data) if settings.base == "base_rate" else None
    while evaluation.done < len(evaluation.iterations):
        part, begun = evaluation.next(at_once=-(-threads // trials))
        count = part.W.shape[0]
        found = ais_log_partition(
            part.like(arrays.empty(0)),
            settings.particles,
            settings.temperatures,
            settings.seed,
            base=base,
            keys=np.arange(count * trials) + evaluation.done * trials,
            threads=threads,
            begun=begun,
            progress=partial(evaluation.report, count),
            pause=partial(evaluation.pause, count),
        )
        metrics = rows.log_likelihoods(part, found.log_partition) | {
            "log_partition": found.log_partition,
            "log_partition_error": found.standard_error,
            "annealing_effective_sample_size": found.effective_sample_size,
        }
        evaluation.add(metrics, np.arange(first_trial, first_trial + trials))
    return evaluation.curve.frame()


class _AnnealedEvaluation:
    """An evaluation in progress: which snapshots are done, and the particles of those under way."""

    def __init__(self, snapshots, checkpointer: Checkpointer, stopping: Stopping | None, progress: Progress | None):
        self.iterations, self.models = snapshots_of(snapshots)
        self._checkpointer, self._stopping, self._progress = checkpointer, stopping, progress
        saved = checkpointer.saved
        self.curve, self.done = (Curve(saved.curve), saved.iteration) if saved else (Curve(), 0)
        self._begun = saved if saved and saved.state else None
        self._value: list[float] = []

    def next(self, at_once: int):
        """Return the models of the snapshots that go next, and where their particles are, if they have begun."""
        saved, self._begun = self._begun, None
        if saved is None:
            return self.models[self.done : self.done + at_once], None
        state = dict(saved.state)
        count, steps = (int(state.pop(name)) for name in ("snapshots", "steps"))
        return self.models[self.done : self.done + count], Particles(**state, steps=steps, draw=saved.draw)

    def report(self, count: int, steps: int, all_steps: int) -> None:
        """Show how many snapshots are done, with the parts of those under way."""
        if self._progress and steps < all_steps:
            self._progress(round(self.done + count * steps / all_steps, 2), len(self.iterations), *self._value)

    def pause(self, count: int, particles: Callable[[], Particles]) -> None:
        """Keep where the particles are if it is time, or if a signal came, which ends the evaluation."""
        signal = self._stopping() if self._stopping else None
        if self._checkpointer.path and (signal or self._checkpointer.is_due()):
            found = particles()._asdict()
            draw, state = found.pop("draw"), {name: np.asarray(value) for name, value in found.items()}
            self._save(state | {"snapshots": np.array(count)}, draw)
        if signal:
            raise self._checkpointer.stopped(f"snapshot {self.done + 1} of {len(self.iterations)}", signal)

    def add(self, metrics: dict[str, np.ndarray], trials: np.ndarray) -> None:
        """Add what is known of the snapshots that went, and keep it."""
        count = len(metrics["log_likelihood"])
        for s, iteration in enumerate(self.iterations[self.done : self.done + count]):
            self.curve.add(trials, iteration, {name: values[s] for name, values in metrics.items()})
        self.done += count
        self._value = [float(metrics["log_likelihood"][-1].mean())]
        if self._checkpointer.path and self.done < len(self.iterations):
            self._save({}, 0)
        if self._progress:
            self._progress(self.done, len(self.iterations), *self._value)

    def _save(self, state: dict[str, np.ndarray], draw: int) -> None:
        columns = self.curve.columns()
        self._checkpointer.save(Checkpoint({}, state, {}, {}, self.done, draw, columns, {}, {}))
