# SPDX-License-Identifier: BSD-3-Clause
"""Read the files of runs, and summarise curves over trials in tidy frames."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
import pandas as pd
from pydantic import Field, model_validator

from rbmbench.base.errors import ResultsError
from rbmbench.base.metrics import COMPARED, ERRORS, NORMAL, SURELY, metric_of
from rbmbench.base.settings import CountOrZero, Settings
from rbmbench.config.parts import Printed
from rbmbench.io.layout import CURVE, META
from rbmbench.io.meta import Meta
from rbmbench.io.results import read_meta, read_table
from rbmbench.planning.specs import FigureSpec, TrainedPanel
from rbmbench.reporting.words import FEW_PARTICLES

FINAL_SHARE = 0.05
"""The final value of a curve is the mean over the evaluations in this last share of its iterations."""
TITLES = {"maximum": "maximum log-likelihood", "true_model": "true model"}
"""Horizontal lines of panels, see `rbmbench.reporting.curves.references`."""
PANEL_COLUMNS = ["panel", "data", "data_title", "hidden", "rate", "algorithm", "label", "stand_in", "rows"]


class Band(Settings):
    """Spread over the trials in a figure of learning curves."""

    quantiles: tuple[float, float] = Field(default=(0.1, 0.9), description="quantiles at the ends of the bands")
    sample_paths: CountOrZero = Field(default=0, description="number of single trials that are drawn, thin and dark")
    median: bool = Field(default=False, description="whether the median over the trials is drawn too, thin and dark")

    @model_validator(mode="after")
    def _ascend(self) -> Self:
        low, high = self.quantiles
        if not 0 <= low < high <= 1:
            raise ValueError(f"quantiles: must ascend within 0 and 1, got {[low, high]}")
        if self.median and self.sample_paths:
            raise ValueError("has a 'median' and 'sample_paths', which are both thin and dark; should have one of them")
        return self

    @property
    def percent(self) -> tuple[str, str]:
        """The quantiles in words: "2.5" and "97.5"."""
        return tuple(f"{round(100 * quantile, 6):g}" for quantile in self.quantiles)


class PanelSpec(TrainedPanel):
    """One panel of a figure of learning curves."""

    annealing: dict[str, int] | None = Field(
        default=None,
        description="particles and temperatures, or products of tempered chains, or both; null: log Z is exact",
    )
    metrics: tuple[str, ...] = ("log_likelihood",)
    axis: Literal["linear", "log"] = "linear"
    iteration_axis: Literal["linear", "log"] = "linear"
    epoch: int | None = Field(default=None, description="iterations of an epoch, where the axis counts epochs")
    references: tuple[str, ...] = ()
    data_file: str | None = Field(default=None, description="file of the data set; null: there are no references")
    mark: float | None = Field(default=None, description="share of the best rise, marked where curves first reach it")
    note: str | None = None
    printed: tuple[Printed, ...] = ()
    batch: int | None = Field(default=None, description="rows of a mini-batch, where the panel has its own")
    initial: dict[str, object] | None = Field(
        default=None, description="initial parameters, where the panel has its own"
    )

    @property
    def lined(self) -> tuple[str, ...]:
        """The metrics drawn as lines; the others are open circles."""
        return tuple(name for name in self.metrics if not name.startswith(COMPARED))


class CurvesFigure(FigureSpec):
    """Base of figures of learning curves."""

    band: Band = Band()
    panels: tuple[PanelSpec, ...]


@dataclass(frozen=True)
class RunData:
    """The files of a run, or of a run's evaluation."""

    folder: str
    meta: Meta
    """Settings and provenance."""
    curve: pd.DataFrame
    """Tidy curves: trial, iteration, metric, value."""

    @classmethod
    def read(cls, folder: str) -> "RunData":
        """Return the files of a folder; `ResultsError` if one is missing or damaged."""
        return cls(folder, read_meta(folder), read_table(folder, CURVE))

    @property
    def data(self) -> dict[str, object]:
        """Title and rows of the data set, and name of the data it stands in for; see `data_of`."""
        return data_of(self.meta, self.folder)

    def trials(self, metric: str = "log_likelihood") -> pd.DataFrame:
        """Return one metric as a frame of trials (index) by iterations (columns), float64.

        A missing trial or evaluation is NaN, so that it can be named. `ResultsError` if the run has no such metric.
        """
        chosen = self.curve[self.curve["metric"] == metric]
        if chosen.empty:
            metrics = ", ".join(sorted(self.curve["metric"].unique())) or "none"
            raise ResultsError(f"{self.folder}/{CURVE}: metric {metric!r} is missing; got {metrics}")
        trials = chosen.pivot(index="trial", columns="iteration", values="value").sort_index(axis=1).astype(float)
        first = self.meta.get("settings", {}).get("first_trial", 0)
        expected = range(first, first + self.meta.get("trials", 0))
        return trials.reindex(sorted(set(expected) | set(trials.index))).rename_axis(index="trial")


def estimate_ends(run: RunData, metric: str, particles: float) -> tuple[pd.DataFrame, pd.DataFrame] | None:
    """Return both ends of the intervals of a metric whose values are estimates, as frames like `trials`.

    They are `NORMAL` standard errors from the values, or from annealing in both directions if the run has that. With an
    effective number below ``particles``, and one direction, log Z may be larger by any number, and the lower end is
    minus infinity; by Markov's inequality it is hardly smaller by more than `SURELY`. None for exact metrics.
    """
    kept = set(run.curve["metric"])
    if (name := ERRORS.get(metric)) not in kept:
        return None
    values, half = run.trials(metric), NORMAL * run.trials(name)
    low, high = values - half, values + half
    if name == "log_partition_error" and "log_partition_low" in kept:
        log_z = run.trials("log_partition")
        return tuple(values + log_z - run.trials(f"log_partition_{end}") for end in ("high", "low"))
    if (size := name.removesuffix("log_partition_error") + "annealing_effective_sample_size") in kept:
        few = run.trials(size) < particles
        low, high = low.mask(few, -np.inf), high.mask(few, high.clip(lower=values + SURELY))
    return low, high


def data_of(meta: Meta, folder: str) -> dict[str, object]:
    """Return title, rows and stand_in (name of the data that they stand in for, "" for real data) from a run's meta.

    `ResultsError` if the meta has no provenance of the data.
    """
    provenance = meta.get("data") or {}
    for key in ("title", "rows"):
        if key not in provenance:
            raise ResultsError(f"{folder}/{META}: key 'data.{key}' is missing; got {sorted(provenance) or 'none'}")
    rows, stand_in = provenance["rows"], provenance.get("stand_in_for") or ""
    return {
        # The title of a stand-in mentions it; figures and tables mention it separately.
        "title": provenance["title"].removesuffix(f" (stand-in for {stand_in})"),
        "rows": int(rows["train"] if isinstance(rows, dict) else rows),
        "stand_in": stand_in,
    }


def training_seconds(meta: Meta) -> float:
    """Return the seconds of training of all trials of a run, without evaluation.

    Processor time if the run has recorded it, since other jobs on the machine lengthen the clock's; the clock's on a
    GPU, for which the processor waits.
    """
    wall = meta["wall"]
    clock = wall["training_seconds"]
    return clock if meta["backend"] == "cupy" else wall.get("training_cpu_seconds", clock)


def seconds_per_iteration(meta: Meta) -> float:
    """Return the `training_seconds` of one iteration of one trial."""
    return training_seconds(meta) / (meta["iterations"] * meta["trials"])


def machine_of(meta: Meta) -> tuple:
    """Return processor, GPU, threads and backend, which runs with comparable times share."""
    hardware = meta.get("hardware", {})
    return hardware.get("cpu"), hardware.get("gpu"), meta["threads"], meta["backend"]


def timed_alike(meta: Meta) -> tuple:
    """Return `machine_of` and the trials, which advance together: runs that share both have comparable iterations."""
    return *machine_of(meta), meta["trials"]


def tidy_curves(panels: Iterable[PanelSpec], runs: Mapping[str, RunData]) -> pd.DataFrame:
    """Return the curves of all panels of a figure, of the metrics of each panel, in one tidy frame.

    ``runs`` are the runs' files, by folder. `ResultsError` if a run lacks a metric of its panel.

    Columns are panel, data, data_title, hidden, rate, algorithm, label, stand_in, rows, trial, iteration, metric,
    value. Log-likelihoods are means over the rows of the training set, in nats. Missing values of a run are NaN.
    """
    frames = []
    for panel, metric, run in ((p, metric, run) for p in panels for metric in p.metrics for run in p.runs):
        files = runs[run.folder]
        try:
            trials, data = files.trials(metric), files.data
        except ResultsError as error:
            raise ResultsError(f"panel {panel.name}, {run.label}: {error}") from None
        labels = {"panel": panel.name, "data": panel.data, "data_title": data["title"], "hidden": panel.hidden}
        labels |= {"rate": first_rate(files, panel), "algorithm": run.algorithm, "label": run.label}
        labels |= {"stand_in": data["stand_in"], "rows": data["rows"], "metric": metric}
        frames.append(trials.stack(future_stack=True).rename("value").reset_index().assign(**labels))
    return pd.concat(frames, ignore_index=True)[[*PANEL_COLUMNS, "trial", "iteration", "metric", "value"]]


def first_rate(run: RunData, panel: PanelSpec) -> float:
    """Return the learning rate of a run, the first one of a schedule: algorithms may have their own."""
    first, *_ = [*run.meta.get("settings", {}).get("schedule", ()), {}]
    return first.get("rate", panel.rate)


def summarise(frame: pd.DataFrame, band: Band) -> pd.DataFrame:
    """Return mean and band over the whole trials of `tidy_curves` at each iteration: the numbers of a figure.

    Columns are the labels of the panel and the curve, iteration, metric, trials (the number in the mean), mean, low,
    high (quantiles over the trials), all three per sample, and sum_mean, sum_low, sum_high, the same times the number
    of rows of the training set, in nats, for log-likelihoods (NaN for other metrics). Then path_1, ...: the values of
    the first whole trials, per sample, as many as the band has sample paths; and median, per sample, if the band has
    one.
    """
    keys = [*PANEL_COLUMNS, "iteration", "metric"]
    # A mean over a changing set of trials would jump: trials with a missing or non-finite value are omitted.
    trials = [frame[key] for key in ("panel", "algorithm", "trial", "metric")]
    whole = frame[np.isfinite(frame["value"]).groupby(trials).transform("all")]
    groups = whole.groupby(keys, sort=False)["value"]
    low, high = (groups.quantile(quantile) for quantile in band.quantiles)
    summary = groups.agg(trials="size", mean="mean").assign(low=low, high=high)
    for path in range(band.sample_paths):
        summary[f"path_{path + 1}"] = whole.groupby(keys, sort=False).nth(path).set_index(keys)["value"]
    if band.median:
        summary["median"] = groups.median()
    summary = summary.reset_index()
    rows = summary["rows"].where(summary["metric"].map(lambda name: metric_of(name).summed))
    return summary.assign(**{f"sum_{column}": summary[column] * rows for column in ("mean", "low", "high")})


def with_estimates(summary: pd.DataFrame, panels: Iterable[PanelSpec], runs: Mapping[str, RunData]) -> pd.DataFrame:
    """Return a summary with columns estimate_low and estimate_high if any metrics are estimates.

    They are the means over the trials of both ends of the intervals of `estimate_ends`, NaN for exact metrics.
    """
    frames = []
    for panel, run, metric in ((p, run, metric) for p in panels for metric in p.metrics for run in p.runs):
        if (ends := estimate_ends(runs[run.folder], metric, FEW_PARTICLES)) is not None:
            means = pd.concat([end.mean() for end in ends], axis=1, keys=["estimate_low", "estimate_high"])
            frames.append(means.reset_index().assign(panel=panel.name, algorithm=run.algorithm, metric=metric))
    if not frames:
        return summary
    return summary.merge(pd.concat(frames), "left", ["panel", "algorithm", "metric", "iteration"])


def final_means(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the last means of `summarise`, per sample: a row per panel and metric, a column per algorithm."""
    curves = summary.groupby(["panel", "algorithm", "metric"])
    last = summary[summary["iteration"] == curves["iteration"].transform("max")]
    table = last.pivot(index=["panel", "data_title", "metric"], columns="label", values="mean")
    return table[list(last["label"].unique())]


def annealing_certainty(panels: Iterable[PanelSpec], runs: Mapping[str, RunData]) -> pd.DataFrame:
    """Return the errors of estimates of log Z: a row per curve, over trials and evaluations.

    Columns are panel, algorithm (its label), and largest standard error (nats); of annealing particles, temperatures
    and least share of particles (the effective sample size over the number of particles); of annealing in both
    directions widest interval (nats) in place of the share; of tempered chains share converged (of the estimates), and
    those of annealing if it is compared with them. Others are NaN. No rows if log Z is exact.
    """
    columns = ["panel", "algorithm", "largest standard error", "particles", "temperatures"]
    columns += ["least share of particles", "widest interval", "share converged"]
    rows: list[dict[str, object]] = []
    curves = [(panel, run) for panel in panels if panel.annealing for run in panel.runs]
    for panel, run in curves:
        files, budget = runs[run.folder], dict(panel.annealing)
        error, is_tempered = files.trials("log_partition_error").max(axis=None), "products" in budget
        if "log_partition_low" in set(files.curve["metric"]):
            widths = files.trials("log_partition_high") - files.trials("log_partition_low")
            budget["widest interval"] = widths.max(axis=None)
        elif "particles" in budget:
            size = files.trials(COMPARED * is_tempered + "annealing_effective_sample_size").min(axis=None)
            budget["least share of particles"] = size / budget["particles"]
        if is_tempered:
            budget["share converged"] = files.trials("log_partition_converged").mean(axis=None)
        rows.append({"panel": panel.name, "algorithm": run.label, "largest standard error": error} | budget)
    return pd.DataFrame(rows, columns=columns)


def run_settings(panels: Iterable[PanelSpec], runs: Mapping[str, RunData]) -> pd.DataFrame:
    """Return the settings of the runs of each panel, all values where they differ: a row per panel, in its order."""
    rows = []
    curves = [(panel, runs[curve.folder]) for panel in panels for curve in panel.runs]
    for panel, run in curves:
        settings = run.meta.get("settings", {})
        row = {"panel": panel.name, "data": run.data["title"], "hidden": panel.hidden, "rate": first_rate(run, panel)}
        row |= {"iterations": panel.iterations, "trials": run.meta.get("trials", panel.trials)}
        row |= {key: settings.get(key) for key in ("batch", "evaluate_every", "precision", "seed")}
        rows.append(row | {"initial parameters": ", ".join(initial_words(settings.get("initial") or {}))})
    values = pd.DataFrame(rows, dtype=object).groupby("panel", sort=False).agg(lambda column: list(column.unique()))
    return values.map(lambda several: several[0] if len(several) == 1 else ", ".join(map(str, several)))


def initial_words(initial: Mapping[str, object]) -> list[str]:
    """Return the initial parameters in words: "normal 0.01" and, if they are not drawn, "biases zero"."""
    words = f"{initial.get('kind', '')} {initial.get('width', '')}".strip()
    biases = {"zero": ["biases zero"], "base_rate": ["base-rate biases"]}
    return [words, *biases.get(initial.get("biases"), [])]


def levels(means: np.ndarray, share: float) -> np.ndarray:
    """Return start + share (best - start) of curves (..., curves, evaluations): (...,).

    The start is the mean of the curves' first values, the best the largest value of all. A share of the best value
    alone would be meaningless for log-likelihoods, which are negative.
    """
    start = means[..., 0].mean(axis=-1)
    return start + share * (means.max(axis=(-2, -1)) - start)


def first_reached(means: np.ndarray, iterations: np.ndarray, level: np.ndarray) -> np.ndarray:
    """Return the first iteration (evaluations,) at which curves (..., evaluations) are at a level or above, else inf.

    ``level`` has the leading shape of the curves, or one that broadcasts with it.
    """
    reached = means >= np.asarray(level)[..., None]
    return np.where(reached.any(axis=-1), iterations[reached.argmax(axis=-1)], np.inf)
