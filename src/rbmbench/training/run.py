# SPDX-License-Identifier: BSD-3-Clause
"""Results of a run, after training or read from its folder: models, curve, settings, provenance."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from html import escape
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from rbmbench import datasets
from rbmbench.base.errors import ResultsError, SettingsError
from rbmbench.base.metrics import ANNEALED
from rbmbench.base.parsing import parse
from rbmbench.base.settings import AnnealingSettings, RunSettings, Stage
from rbmbench.io import results
from rbmbench.io.layout import CURVE, EVALUATION, META, MODEL
from rbmbench.model.rbm import RBM

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN_SAMPLES = 100


@dataclass(frozen=True, repr=False, eq=False)
class TrainingResult:
    """The result of a run, as NumPy arrays, which `rbmbench.train` and `rbmbench.load_run` return.

    Attributes
    ----------
    rbm : RBM
        Final parameters, (trials, m, n), ...
    curve : DataFrame
        Tidy: trial, iteration, metric, value. Metrics are log_likelihood (mean over training rows, nats) and
        log_partition (nats); by the settings, validation_log_likelihood and test_log_likelihood (means over those rows,
        nats), reconstruction_log_likelihood (mean over its rows, nats) and those of
        `rbmbench.likelihood.cd_bias.bias_and_bounds`; and the diagnostics of the estimator (means since the previous
        evaluation). If log Z cannot be enumerated, log-likelihoods are missing until `annealed` adds them.
    settings : RunSettings
        All settings of the run.
    meta : mapping
        Provenance: of the data set, if there is one (data), the backend and the times; of a run that is read from its
        folder, all of ``meta.json``.
    timings : dict
        Seconds by kind: startup, training and evaluation (wall clock), and training (processor time).
    snapshots : dict
        See `rbmbench.training.evaluation.SnapshotKeeper.snapshots`; empty if log Z can be enumerated.
    backend : dict
        The backend, the reason for it, whether the iterations of each estimator were fused, and the ways of products,
        see `rbmbench.kernels.ways`.
    """

    rbm: RBM
    curve: pd.DataFrame
    settings: RunSettings
    meta: Mapping[str, Any]
    timings: dict[str, float]
    snapshots: dict[str, np.ndarray]
    backend: dict[str, str]

    @property
    def image_shape(self) -> tuple[int, int] | None:
        """Rows and columns of images of the visible units; None unless the data set is one of images."""
        shape = datasets.image_shape(self.meta.get("data") or {})
        return shape if shape and np.prod(shape) == self.rbm.visible_units else None

    @property
    def columns(self) -> list[str]:
        """Names of the visible units, the columns of a file of the user; empty if there are none."""
        return list((self.meta.get("data") or {}).get("columns", ()))

    def summary(self) -> dict[str, str]:
        """Return models, data, training and final log-likelihood, each a line of text by its title."""
        trials, (m, n) = len(self.rbm.W), self.rbm.W.shape[-2:]
        data = self.meta.get("data") or {}
        last = self.meta["iterations"]
        ended = sum(stage.until < last for stage in self.settings.schedule)  # a run may end before its last stage
        stages = [_stage_words(stage, last) for stage in self.settings.schedule[: ended + 1]]
        words = {
            "models": f"{trials} RBM{'s' * (trials > 1)} of {m} visible and {n} hidden units",
            "data": str(data.get("title") or "an array"),
            "training": f"{'; then '.join(stages)}; batches of {self.settings.batch} rows, seed {self.settings.seed}",
            "log-likelihood": self._likelihood_words(),
        }
        if not self._final("validation_log_likelihood").empty:
            words["held-out log-likelihood"] = self._likelihood_words("validation_log_likelihood")
        return {title: "".join(c if c.isprintable() else " " for c in text) for title, text in words.items()}

    def _likelihood_words(self, metric: str = "log_likelihood") -> str:
        last, error = self._final(metric), self._final("log_partition_error")
        if last.empty:
            return "not evaluated (log Z cannot be enumerated, and has not been annealed)"
        spread = f", mean over {len(last)} trials ({last.min():.4g} to {last.max():.4g})" if len(last) > 1 else ""
        annealed = "" if error.empty else f"; log Z is annealed, standard error {error.max():.2g}"
        return f"{last.mean():.4g} nats per row{spread}{annealed}"

    def _final(self, metric: str) -> pd.Series:
        """Return the last values of a metric, one per trial; none if the curve has no such metric."""
        chosen = self.curve[self.curve["metric"] == metric]
        return chosen.loc[chosen["iteration"] == chosen["iteration"].max(), "value"]

    def __repr__(self):
        return f"TrainingResult({'; '.join(self.summary().values())})"

    def _repr_html_(self) -> str:
        lines = [f"<tr><th>{escape(title)}</th><td>{escape(text)}</td></tr>" for title, text in self.summary().items()]
        return f"<table>{''.join(lines)}</table>"

    def annealed(
        self, data: np.ndarray, *, particles: int = 100, temperatures: int = 1000, seed: int = 0, threads: int = 1
    ) -> "TrainingResult":
        """Return the result with the log-likelihood of ``data`` (rows, m), which annealing estimates, in its curve.

        For runs whose log Z cannot be enumerated; for the arguments and errors see
        `rbmbench.training.snapshots.annealed_curve`. A `SettingsError` is raised if there are no snapshots.
        """
        from rbmbench.training.snapshots import annealed_curve

        if not self.snapshots:
            raise SettingsError("annealed: must have snapshots, got none; its log-likelihood is exact, in `curve`")
        budget = {"particles": particles, "temperatures": temperatures, "seed": seed}
        settings = parse(AnnealingSettings, budget, "annealed")
        first = self.settings.first_trial
        curve = annealed_curve(self.snapshots, data, settings, first_trial=first, threads=threads)
        kept = self.curve[~self.curve["metric"].isin(set(curve["metric"]))]
        return replace(self, curve=pd.concat([curve, kept], ignore_index=True) if len(kept) else curve)

    def plot(self, metric: str = "log_likelihood", ax: "Axes | None" = None, **options) -> "Axes":
        """Draw a metric of the curve, see `rbmbench.plot_curve`."""
        try:
            return _plots().plot_curve(self.curve, metric, ax, **options)
        except SettingsError as error:
            if not self.snapshots or metric not in ANNEALED:
                raise
            raise SettingsError(f"{error}; the method `annealed` evaluates the snapshots of a run") from None

    def plot_filters(
        self, trial: int = 0, shape: tuple[int, int] | None = None, ax: "Axes | None" = None, **options
    ) -> "Axes":
        """Draw the weights of a model, see `rbmbench.plot_filters`; ``shape`` is by default `image_shape`."""
        options = {"names": self.columns} | options
        return _plots().plot_filters(self._model(trial), shape or self.image_shape, ax, **options)

    def plot_samples(
        self,
        count: int = SHOWN_SAMPLES,
        seed: int = 0,
        trial: int = 0,
        shape: tuple[int, int] | None = None,
        ax: "Axes | None" = None,
    ) -> "Axes":
        """Draw samples of a model, see `RBM.sample` and `rbmbench.plot_samples`; ``shape`` as for filters."""
        samples = self._model(trial).sample(count, seed)
        return _plots().plot_samples(samples, shape or self.image_shape, ax, names=self.columns)

    def _model(self, trial: int) -> RBM:
        if trial not in range(len(self.rbm.W)):
            raise SettingsError(f"trial: must be an integer from 0 to {len(self.rbm.W) - 1}, got {trial!r}")
        return self.rbm[trial]


def _plots() -> ModuleType:
    """Return the module of the plots, which takes a second to import."""
    from rbmbench.training import plots

    return plots


def _stage_words(stage: Stage, last: int) -> str:
    components = []
    for component in (stage.estimator, stage.update):
        options = ", ".join(f"{name}={value}" for name, value in component.options.items())
        components.append(f"{component.name} ({options})" if options else component.name)
    return f"{', '.join(components)}, rate {stage.rate:g}, to iteration {min(stage.until, last)}"


def load_run(folder: str | PathLike, evaluation: str | PathLike | None = None) -> TrainingResult:
    """Return a run from its folder, as the workflow, `rbmbench train` or `rbmbench fit` writes it.

    Parameters
    ----------
    folder : path
        Folder with model.npz, curve.parquet and meta.json.
    evaluation : path, optional
        Folder of ``rbmbench evaluate``, whose curve replaces that of the run. The default is ``evaluation`` in the
        run's folder, if the run has kept snapshots to evaluate and the folder exists.

    Raises
    ------
    ResultsError
        If a file is missing or damaged, was changed after it was written, or does not belong to the others.
    """
    folder = Path(folder)
    meta, arrays = results.read_meta(folder), results.read_model(folder, results.SNAPSHOT_ARRAYS[:1])
    try:
        settings = parse(RunSettings, dict(meta["settings"]), f"{folder / META}: settings")
    except SettingsError as error:
        raise ResultsError(str(error)) from None
    sizes, expected = (len(arrays["W"]), arrays["W"].shape[-1]), (settings.trials, settings.hidden)
    if sizes != expected:
        text = "must have {} models of {} hidden units, as in {}, got {} of {}".format(*expected, META, *sizes)
        raise ResultsError(f"{folder / MODEL}: {text}")
    snapshots = results.read_snapshots(folder) if results.SNAPSHOT_ARRAYS[0] in arrays else {}
    if evaluation is None and snapshots and (folder / EVALUATION).is_dir():
        evaluation = folder / EVALUATION
    if evaluation is not None:
        other = results.read_meta(evaluation)
        for key in ("settings", "data"):
            if other.get(key) != meta.get(key):
                raise ResultsError(f"{Path(evaluation) / META}: {key}: must be those of the run")
    return TrainingResult(
        rbm=RBM(arrays["W"], arrays["b"], arrays["c"]),
        curve=results.read_table(evaluation or folder, CURVE),
        settings=settings,
        meta=meta,
        timings={name: seconds for name, seconds in meta.get("wall", {}).items() if name != "total_seconds"},
        snapshots=snapshots,
        backend={name: text for name, text in meta.items() if name.startswith("backend")},
    )
