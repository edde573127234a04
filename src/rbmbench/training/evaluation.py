# SPDX-License-Identifier: BSD-3-Clause
"""Scheduled evaluation of runs, and their curves.

If a layer can be enumerated, the exact log-likelihood is computed during the run. Otherwise the run keeps snapshots of
its parameters, which are evaluated by annealed importance sampling after training.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from rbmbench.base.errors import SettingsError
from rbmbench.base.settings import HELD_OUT, RunSettings
from rbmbench.base.streams import Purpose, Stream
from rbmbench.kernels import Array
from rbmbench.likelihood import (
    PackedData,
    exact_log_partition,
    is_enumerable,
    log_likelihood,
    reconstruction_log_likelihood,
)
from rbmbench.likelihood.cd_bias import bias_and_bounds
from rbmbench.likelihood.exact import mean_log_weights, normalised
from rbmbench.likelihood.pseudo import pseudo_log_likelihood
from rbmbench.likelihood.reconstruction import Reconstruction
from rbmbench.model.enumeration import check_sizes, empirical_distribution
from rbmbench.model.rbm import RBM, check_parameters_fit
from rbmbench.model.rows import binary_rows
from rbmbench.model.sparse_rows import SparseRows

MOST_SNAPSHOT_BYTES = 2**30
SCORED_UNITS = 64
PSEUDO_SCORE = "validation_pseudo_log_likelihood"


class DistinctRows:
    """The distinct rows of a data set, with their counts; sparse rows are kept unchanged."""

    def __init__(self, data):
        self._packed: dict[type, PackedData] = {}
        self.rows = data = binary_rows(data)
        if isinstance(data, SparseRows):
            return
        packed = np.ascontiguousarray(np.packbits(data, axis=1))
        keys = packed.view([("", f"V{packed.shape[1]}")]).ravel()
        _, first, self.counts = np.unique(keys, return_index=True, return_counts=True)
        self.rows = data[first]

    def log_likelihood(self, rbm: RBM, log_partition) -> np.ndarray:
        """Return the mean over all rows of log p(v), nats, (replicas,)."""
        if isinstance(self.rows, SparseRows):
            total = sum(len(block) * mean_log_weights(rbm, block) for block in self.rows.blocks())
            return normalised(total / len(self.rows), log_partition)
        if type(rbm.W) not in self._packed:
            self._packed[type(rbm.W)] = PackedData(self.rows, rbm.W, self.counts)
        return log_likelihood(rbm, self._packed[type(rbm.W)], log_partition)


class EvaluatedRows:
    """The rows for evaluation: the training set, and those that are held out, by their part ("test")."""

    def __init__(self, data, held_out):
        sets = {"log_likelihood": data} | {f"{part}_log_likelihood": rows for part, rows in held_out.items()}
        self.sets = {name: DistinctRows(rows) for name, rows in sets.items()}

    def log_likelihoods(self, rbm: RBM, log_partition) -> dict[str, np.ndarray]:
        """Return the mean of log p(v) over the rows of each set, nats, (replicas,), by the name of the metric."""
        return {name: rows.log_likelihood(rbm, log_partition) for name, rows in self.sets.items()}


class ExactLikelihood(EvaluatedRows):
    """Exact log-likelihood of the training set and of rows (rows, m) that are held out, by their part."""

    def __call__(self, rbm: RBM, iteration: int) -> dict[str, np.ndarray]:
        """Return the metrics, one value per trial."""
        log_partition = exact_log_partition(rbm)
        return self.log_likelihoods(rbm, log_partition) | {"log_partition": log_partition}

    def warm_up(self, rbm: RBM) -> None:
        """Compile or load all kernels, by an evaluation of two units of each layer."""
        small = RBM(rbm.W[:1, :2, :2], rbm.b[:1, :2], rbm.c[:1, :2])
        log_likelihood(small, np.zeros((1, small.visible_units), np.uint8), exact_log_partition(small))


class SnapshotKeeper:
    """Snapshots of the parameters at each evaluation, for runs whose log Z cannot be enumerated."""

    def __init__(self):
        self._iterations: list[int] = []
        self._models: list[RBM] = []

    def __call__(self, rbm: RBM, iteration: int) -> dict[str, np.ndarray]:
        """Keep a snapshot; return no metrics."""
        self._iterations.append(iteration)
        self._models.append(rbm.on_host().copy())
        return {}

    def warm_up(self, rbm: RBM) -> None:
        """Do nothing."""

    def snapshots(self) -> dict[str, np.ndarray]:
        """Return snapshot_iterations (snapshots,), and snapshot_W, _b, _c with leading axes (snapshots, trials)."""
        parts = {name: np.stack([getattr(rbm, name) for rbm in self._models]) for name in ("W", "b", "c")}
        return {"snapshot_iterations": np.array(self._iterations)} | {f"snapshot_{n}": p for n, p in parts.items()}

    def restore(self, snapshots: dict[str, np.ndarray]) -> None:
        """Resume from the snapshots of a checkpoint."""
        self._iterations, models = snapshots_of(snapshots)
        self._models = [models[s] for s in range(len(self._iterations))]


class PseudoScore:
    """Pseudo-likelihood of held-out rows, estimated from ``SCORED_UNITS`` units."""

    def __init__(self, rows):
        self._rows = binary_rows(rows)

    def __call__(self, rbm: RBM, iteration: int) -> dict[str, np.ndarray]:
        """Return the score, one value per trial."""
        return {PSEUDO_SCORE: pseudo_score(rbm, self._rows)}

    def warm_up(self, rbm: RBM) -> None:
        """Compile or load all kernels."""
        pseudo_score(rbm[:1], self._rows[:1])


def pseudo_score(rbm: RBM, rows) -> np.ndarray:
    """Return the mean log pseudo-likelihood of rows (rows, m), nats per row, estimated from some units: (...,)."""
    units = np.unique(np.linspace(0, rbm.visible_units - 1, SCORED_UNITS).astype(int))
    return pseudo_log_likelihood(rbm, rows, units).mean(axis=-1)


class ReconstructionProxy:
    """Reconstruction log-likelihood of the training set, or of some of its rows.

    Its random numbers depend only on the seed of the run, the trial and the iteration. Raises a `SettingsError` if the
    settings require more rows than the training set has.
    """

    def __init__(self, data, settings: RunSettings):
        self._proxy, self._seed = settings.proxy, settings.seed
        self._trials = np.arange(settings.first_trial, settings.first_trial + settings.trials)
        rows = self._proxy.rows or len(data)
        if rows > len(data):
            raise SettingsError(f"proxy: rows: must be at most the {len(data)} rows of the data set, got {rows}")
        self._rows = data[np.arange(rows) * len(data) // rows]

    def __call__(self, rbm: RBM, iteration: int) -> dict[str, np.ndarray]:
        """Return the proxy and its standard error, one value per trial."""
        proxy = self._reconstruction(rbm, self._rows, self._trials, iteration)
        names = "reconstruction_log_likelihood", "reconstruction_log_likelihood_error"
        return dict(zip(names, proxy, strict=True))

    def warm_up(self, rbm: RBM) -> None:
        """Compile or load all kernels."""
        self._reconstruction(rbm[:1], self._rows[:1], self._trials[:1], 0)

    def _reconstruction(self, rbm: RBM, rows, trials, iteration: int) -> Reconstruction:
        stream = Stream(self._seed, trials, Purpose.RECONSTRUCTION, iteration << 32)
        return reconstruction_log_likelihood(rbm, rows, stream, chains=self._proxy.chains, steps=self._proxy.steps)


class BiasOfCD:
    """Bias of CD-k with chains from the training set, and its bounds, see `rbmbench.likelihood.cd_bias`.

    Raises a `SettingsError` if the model has too many units for enumeration of its chains.
    """

    def __init__(self, data, settings: RunSettings):
        check_sizes(data.shape[1], settings.hidden)
        self._start, self._settings = empirical_distribution(data), settings

    def __call__(self, rbm: RBM, iteration: int) -> dict[str, np.ndarray]:
        """Return the metrics of `rbmbench.likelihood.cd_bias.bias_and_bounds`, one value per trial."""
        return bias_and_bounds(rbm.on_host(), self._start, self._steps(iteration))

    def warm_up(self, rbm: RBM) -> None:
        """Compile or load all kernels."""
        bias_and_bounds(rbm[:1].on_host(), self._start, 1)

    def _steps(self, iteration: int) -> int:
        """Return k: that of the settings, or else of the estimator in the stage of this iteration."""
        stage = next(stage for stage in self._settings.schedule if stage.until >= iteration)
        return self._settings.bias_bound.k or stage.estimator.options.get("k", 1)


def check_snapshots_fit(
    visible: int,
    hidden: int,
    trials: int,
    iterations: int,
    evaluate_every: int,
    evaluate_at: Sequence[int],
    precision: str,
) -> None:
    """Raise a `SettingsError` if the parameters or the snapshots of a run do not fit in memory."""
    check_parameters_fit(visible, hidden, trials)
    if is_enumerable(visible, hidden):
        return
    snapshot_bytes = np.dtype(precision).itemsize * trials * (visible * hidden + visible + hidden)
    further = sum(iteration < iterations for iteration in evaluate_at)
    reason = (
        f"the likelihood of {visible} visible and {hidden} hidden units is estimated after the run, from snapshots, "
        "which would fill the memory"
    )
    if (left := MOST_SNAPSHOT_BYTES - further * snapshot_bytes) <= 0:
        most = math.ceil(MOST_SNAPSHOT_BYTES / snapshot_bytes) - 1
        raise SettingsError(f"evaluate_at: must be at most {most} iterations, got {further}: {reason}")
    if evaluate_every < (least := math.ceil(snapshot_bytes * iterations / left)):
        raise SettingsError(f"evaluate_every: must be at least {least}, got {evaluate_every}: {reason}")


class Evaluator:
    """The metrics of a run at its evaluations, by its settings; with ``keeper`` if log Z cannot be enumerated.

    Each metric is an object with the methods ``__call__(rbm, iteration)`` and ``warm_up(rbm)``. ``data`` (rows, m) is
    the training set, ``held_out`` has further rows by their part.
    """

    def __init__(self, data, settings: RunSettings, held_out):
        self.keeper = None if is_enumerable(data.shape[1], settings.hidden) else SnapshotKeeper()
        self._metrics = [self.keeper or ExactLikelihood(data, held_out)]
        if settings.patience and self.keeper:
            self._metrics.append(PseudoScore(held_out["validation"]))
        if settings.proxy:
            self._metrics.append(ReconstructionProxy(data, settings))
        if settings.bias_bound:
            self._metrics.append(BiasOfCD(data, settings))

    def __call__(self, rbm: RBM, iteration: int) -> dict[str, np.ndarray]:
        """Return all metrics, one value per trial."""
        return {name: values for metric in self._metrics for name, values in metric(rbm, iteration).items()}

    def warm_up(self, rbm: RBM) -> None:
        """Compile or load all kernels."""
        for metric in self._metrics:
            metric.warm_up(rbm)

    def snapshots(self) -> dict[str, np.ndarray]:
        """Return the snapshots, see `SnapshotKeeper.snapshots`; none if log Z can be enumerated."""
        return self.keeper.snapshots() if self.keeper else {}

    def restore(self, snapshots: dict[str, np.ndarray]) -> None:
        """Resume from the snapshots of a checkpoint."""
        if self.keeper:
            self.keeper.restore(snapshots)


def held_out_rows(
    settings: RunSettings, held_out: Mapping[str, Array | SparseRows | None]
) -> dict[str, Array | SparseRows]:
    """Return the rows (rows, m) whose log-likelihood the settings of a run require besides that of the training rows.

    ``held_out`` has the held-out rows by their part; None for none. Raises a `SettingsError` if a part of the settings
    has no rows.
    """
    chosen = {}
    for part in (part for part in HELD_OUT if getattr(settings, f"{part}_likelihood")):
        rows = held_out.get(part)
        if rows is None or not len(rows):
            raise SettingsError(
                f"{part}_likelihood: must be false, or the data set must have {part} rows, got {settings.data.name!r} "
                "without"
            )
        chosen[part] = rows
    return chosen


def snapshots_of(arrays: dict[str, np.ndarray]) -> tuple[list[int], RBM]:
    """Return the iterations of the snapshots of a run, and the models, (snapshots, trials, ...)."""
    models = RBM(*(arrays[f"snapshot_{name}"] for name in ("W", "b", "c")))
    return arrays["snapshot_iterations"].tolist(), models


class Curve:
    """The growing curve of a run, as tidy columns."""

    def __init__(self, columns: dict[str, np.ndarray] | None = None):
        self._parts = [columns] if columns else [_columns(np.empty(0), 0, "", np.empty(0))]

    def add(self, trials, iteration: int, metrics: dict[str, np.ndarray]) -> None:
        """Add one value per trial for each metric."""
        self._parts += [_columns(trials, iteration, name, values) for name, values in metrics.items()]

    def score(self) -> np.ndarray:
        """Return the score of the validation rows at each evaluation so far, mean over the trials."""
        columns = self.columns()
        for metric in ("validation_log_likelihood", PSEUDO_SCORE):
            if len(values := columns["value"][columns["metric"] == metric]):
                return values.reshape(-1, len(np.unique(columns["trial"]))).mean(axis=1)
        return np.empty(0)

    def columns(self) -> dict[str, np.ndarray]:
        """Return the columns so far."""
        return {name: np.concatenate([part[name] for part in self._parts]) for name in self._parts[0]}

    def frame(self) -> pd.DataFrame:
        """Return the curve as a DataFrame, ordered by metric, iteration and trial."""
        return in_order(pd.DataFrame(self.columns()))


def in_order(curve: pd.DataFrame) -> pd.DataFrame:
    """Return a curve ordered by metric, iteration and trial."""
    return curve.sort_values(["metric", "iteration", "trial"], ignore_index=True)


def _columns(trials, iteration: int, metric: str, values) -> dict[str, np.ndarray]:
    return {
        "trial": np.asarray(trials, np.int64),
        "iteration": np.full(len(trials), iteration),
        "metric": np.full(len(trials), metric),
        "value": np.asarray(values, np.float64),
    }
