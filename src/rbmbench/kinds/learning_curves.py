# SPDX-License-Identifier: BSD-3-Clause
"""Figures of metrics during training: one panel per data set, rate or metric, one curve per algorithm."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal, Self

import numpy as np
import pandas as pd
from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from rbmbench.base.errors import SettingsError
from rbmbench.base.metrics import ANNEALED, COMPARED, ERRORS, LIKELIHOODS, NORMAL, metric_of
from rbmbench.base.settings import CountOrZero, Settings
from rbmbench.config.checks import Checks
from rbmbench.config.paper import KINDS, Paper
from rbmbench.config.parts import Name, Names, Panel, Printed
from rbmbench.io.layout import CURVE, META
from rbmbench.io.meta import Meta
from rbmbench.planning.chart import Chart, Line
from rbmbench.planning.differences import Difference
from rbmbench.planning.jobs import Job, Output, unique
from rbmbench.planning.kinds import Kind
from rbmbench.planning.runs import Planner
from rbmbench.planning.specs import FigureSpec, Place, RunFolder, Trained
from rbmbench.reporting.frames import (
    FINAL_SHARE,
    RunData,
    annealing_certainty,
    estimate_ends,
    summarise,
    tidy_curves,
    training_seconds,
    with_estimates,
)
from rbmbench.reporting.words import count

QUANTILES = "quantiles"
ROUNDING = 1e-9
"""Nats."""
SHOWN_OF_PANEL = {"axis", "iteration_axis", "references", "mark", "note", "printed", "batch", "initial"}
MOST_PANELS = 150
"""Panels below each other make a picture of at most 2**16 pixels, more than which cannot be written."""
Metric = Annotated[str, Field(pattern=r"^[a-zA-Z][a-zA-Z0-9_]*$")]
Metrics = Annotated[
    tuple[Metric, ...],
    BeforeValidator(lambda value: (value,) if isinstance(value, str) else value),
    Field(min_length=1, max_length=3),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "maxItems": 3}]}),
]


# --- What the configuration says --------------------------------------------------------------------------------------


class FigurePanel(Panel):
    """One panel of a figure: what is trained, and what is shown of it."""

    algorithms: Names | None = Field(default=None, description="keys of the panel's algorithms; null: the figure's")
    metric: Metrics = Field(
        default=("log_likelihood",),
        description="metrics of the runs, up to three of one unit, the second dashed, the third dotted: "
        "log-likelihoods, and diagnostics of an estimator such as effective_sample_size or "
        "stopping_time",
    )
    axis: Literal["linear", "log"] = Field(default="linear", description="scale of the vertical axis")
    iteration_axis: Literal["linear", "log"] = Field(
        default="linear", description="scale of the horizontal axis; log leaves out the initial model"
    )
    references: tuple[Literal["maximum", "true_model"], ...] = Field(
        default=(),
        description="horizontal lines: the log-likelihood of the data's own frequencies, and that of the model "
        "of which the data are samples",
    )
    mark: Annotated[float, Field(gt=0, lt=1)] | None = Field(
        default=None,
        description="vertical lines where each mean curve first reaches this share of the largest rise of the "
        "panel; null: none",
    )
    note: str | None = Field(default=None, description="words that the title adds to data, rate and hidden units")

    @model_validator(mode="after")
    def _metrics_share_an_axis(self) -> Self:
        first, *others = map(metric_of, self.metric)
        if any((other.unit, other.summed) != (first.unit, first.summed) for other in others):
            raise ValueError(f"metric: {' and '.join(self.metric)} have different units, and need a panel each")
        return self

    @model_validator(mode="after")
    def _references_are_likelihoods(self) -> Self:
        if self.references and not {"log_likelihood", "test_log_likelihood"} & set(self.metric):
            raise ValueError(f"references are log-likelihoods; the panel shows {', '.join(self.metric)}")
        return self


class Band(Settings):
    """What a figure of learning curves shows of the spread over the trials."""

    quantiles: tuple[float, float] = Field(default=(0.1, 0.9), description="quantiles that the bands lie between")
    sample_paths: CountOrZero = Field(default=0, description="trials whose own curves are drawn, thin and dark")
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


@KINDS.register
class LearningCurves(Kind):
    """A figure of metrics during training: one panel per data set, rate or metric, one curve per algorithm."""

    kind: Literal["learning_curves"] = Field(description="kind of the figure, and of its notebook template")
    algorithms: Names | None = Field(
        default=None, description="keys of the algorithms, in the order of the legend; null: all of the paper's"
    )
    band: Band = Field(default=Band(), description="spread over the trials")
    counted_in: Literal["iterations", "epochs"] = Field(
        default="iterations", description="unit of the horizontal axes; an epoch shows each training row once"
    )
    panels: Annotated[dict[Name, FigurePanel], Field(min_length=1, max_length=MOST_PANELS)] = Field(
        description="the panels, by their letter"
    )

    def algorithms_of(self, paper: Paper, panel: FigurePanel) -> tuple[str, ...]:
        """Return the keys of a panel's algorithms, in the order of the legend."""
        return panel.algorithms or self.algorithms or tuple(paper.algorithms)

    def names(self, paper: Paper) -> Iterator[str]:
        for letter, panel in self.panels.items():
            yield from (f"{letter}.{name}" for name in self.algorithms_of(paper, panel))

    def check(self, checks: Checks, location: tuple) -> None:
        checks.check_algorithms(self.algorithms or (), (*location, "algorithms"))
        for letter, panel in self.panels.items():
            place = (*location, "panels", letter)
            checks.check_algorithms(panel.algorithms or (), (*place, "algorithms"))
            checks.check_panel(panel, self.algorithms_of(checks.paper, panel), place)

    def plan(self, planner: Planner, key: str) -> Output:
        panels, runs, evaluations, parts = [], [], [], {}
        for name, panel in self.panels.items():
            of_panel = planner.runs(panel, self.algorithms_of(planner.paper, panel))
            asked = of_panel if set(panel.metric) & set(ANNEALED) else {}
            annealed = {a: job for a, run in asked.items() if (job := planner.evaluation(panel, run))}
            runs += [run.id for run in of_panel.values()]
            evaluations += [evaluation.id for evaluation in annealed.values()]
            folders = {a: planner.plan.folder(run) for a, run in of_panel.items()}
            folders |= {a: planner.plan.folder(job) for a, job in annealed.items()}
            parts |= {(name, a): (run, *filter(None, [annealed.get(a)])) for a, run in of_panel.items()}
            compared = any(job.settings.compared for job in annealed.values())
            circles = tuple(COMPARED + name for name in panel.metric if compared and name in LIKELIHOODS)
            epoch = planner.paper.data[panel.data].rows // next(iter(of_panel.values())).settings.batch
            panels.append(
                PanelSpec(
                    **planner.trained(panel),
                    annealing=_annealing(annealed),
                    name=name,
                    **panel.model_dump(include=SHOWN_OF_PANEL),
                    metrics=panel.metric + circles,
                    rates=unique(run.settings.schedule[0].rate for run in of_panel.values()),
                    epoch=epoch if self.counted_in == "epochs" else None,
                    data_file=planner.plan.layout.data_set(panel.data) if panel.references else None,
                    runs=planner.labelled(folders),
                )
            )
        spec = LearningCurvesSpec(**planner.heading(key, self), band=self.band, panels=panels)
        drawn = {"": {QUANTILES: list(self.band.quantiles)}}
        return Output(spec, unique([*runs, *evaluations]), parts, drawn)


def _annealing(evaluations: Mapping[str, Job]) -> dict[str, int] | None:
    """Return the budget of log Z of a panel; None where it is exact."""
    settings = next((job.settings for job in evaluations.values()), None)
    tempered = {"products": settings.tempering.products} if settings and settings.tempering else {}
    if tempered and not settings.compared:
        return tempered
    return settings and tempered | settings.model_dump(include={"particles", "temperatures"})


# --- What is shown ----------------------------------------------------------------------------------------------------


class PanelSpec(Trained):
    """One panel of a figure of learning curves."""

    name: str
    annealing: dict[str, int] | None = Field(
        default=None,
        description="particles and temperatures, or products of tempered chains, or both; null: log Z is exact",
    )
    metrics: tuple[str, ...] = ("log_likelihood",)
    rates: tuple[float, ...] = Field(default=(), description="learning rates of the curves, at first if they change")
    axis: Literal["linear", "log"] = "linear"
    iteration_axis: Literal["linear", "log"] = "linear"
    epoch: int | None = Field(default=None, description="iterations of an epoch, where the axis counts epochs")
    references: tuple[str, ...] = ()
    data_file: str | None = Field(default=None, description="file of the data set; null: there are no references")
    mark: float | None = Field(default=None, description="share of the best rise whose first reaching is marked")
    note: str | None = None
    printed: tuple[Printed, ...] = ()
    batch: int | None = Field(default=None, description="rows of a mini-batch, where the panel has its own")
    initial: dict[str, Any] | None = Field(default=None, description="initial parameters, where the panel has its own")
    runs: tuple[RunFolder, ...]

    @property
    def lined(self) -> tuple[str, ...]:
        """The metrics that lines show; open circles show the others."""
        return tuple(name for name in self.metrics if not name.startswith(COMPARED))


@dataclass(frozen=True)
class CurveResults:
    """What a figure of learning curves is drawn from."""

    panels: tuple[PanelSpec, ...]
    band: Band
    runs: dict[str, RunData]
    """The runs' files, by folder."""
    references: dict[str, list[Line]]
    """Horizontal lines, by panel."""
    frame: pd.DataFrame
    """See `rbmbench.reporting.frames.tidy_curves`."""

    @cached_property
    def summary(self) -> pd.DataFrame:
        """Means, bands and intervals of estimates: see `rbmbench.reporting.frames`."""
        return with_estimates(summarise(self.frame, self.band), self.panels, self.runs)

    @cached_property
    def certainty(self) -> pd.DataFrame:
        """How sure log Z is: see `rbmbench.reporting.frames.annealing_certainty`."""
        return annealing_certainty(self.panels, self.runs)

    @cached_property
    def left_out(self) -> dict[str, list[str]]:
        """Trials that are in no mean, in words, by panel."""
        phrases: dict[str, list[str]] = {}
        lost = self.frame[~np.isfinite(self.frame["value"])]
        groups = lost.groupby(["panel", "algorithm", "label", "trial"], sort=False)["iteration"]
        for (panel, _, label, trial), iteration in groups.min().items():
            phrases.setdefault(panel, []).append(f"{label} trial {trial} (not finite at iteration {count(iteration)})")
        return phrases

    @cached_property
    def doubts(self) -> dict[str, str]:
        """Where log Z rests on few particles, by panel."""
        from rbmbench.kinds._curve_captions import annealing_doubts

        return annealing_doubts(self.certainty)


class LearningCurvesSpec(FigureSpec):
    """A figure of learning curves."""

    kind: Literal["learning_curves"]
    band: Band = Band()
    panels: tuple[PanelSpec, ...]

    NAMES = "FIGURE.PANEL.ALGORITHM"

    @property
    def changed(self) -> tuple[Difference, ...]:
        """The settings that are not the published ones, of those that the metrics of their panels depend on."""
        shown = {panel.name: panel.metrics for panel in self.panels}
        changed = super().changed
        return tuple(change for change in changed if any(map(change.changes, shown.get(change.panel, ("",)))))

    def sources(self) -> dict[str, tuple[str, ...]]:
        sources = {run.folder: (CURVE, META) for panel in self.panels for run in panel.runs}
        for panel in self.panels:
            if panel.references:
                folder, _, name = panel.data_file.rpartition("/")
                sources[folder] = tuple(dict.fromkeys((*sources.get(folder, ()), name)))
        return sources

    def read(self) -> CurveResults:
        """Return the runs' curves and the reference lines; `DataError` where a data set cannot be read."""
        from rbmbench.reporting.references import references

        runs = {folder: RunData.read(folder) for folder in self.folders()}
        lines = {panel.name: references(panel) for panel in self.panels}
        return CurveResults(self.panels, self.band, runs, lines, tidy_curves(self.panels, runs))

    def numbers(self, results: CurveResults) -> pd.DataFrame:
        """Return means and bands; see `rbmbench.reporting.frames.summarise`."""
        return results.summary

    def chart(self, results: CurveResults) -> Chart:
        from rbmbench.kinds._curve_chart import curves_chart

        return curves_chart(self, results)

    def caption(self, results: CurveResults) -> str:
        from rbmbench.kinds._curve_captions import curves_caption

        return curves_caption(self, results)

    def evidence(
        self, results: CurveResults, name: str, metric: str | None = "log_likelihood", **_: object
    ) -> Curves | None:
        """Return a metric of the curve PANEL.ALGORITHM; ``metric`` None is the first that its panel shows."""
        letter, _, algorithm = name.partition(".")
        panel = next((panel for panel in self.panels if panel.name == letter), None)
        run = next((run for run in (panel.runs if panel else ()) if run.algorithm == algorithm), None)
        return Curves(self, panel, run, results, metric or panel.metrics[0]) if run else None


# --- What claims measure ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Curves:
    """All trials of one metric of a curve of a figure; a log-likelihood is the mean per sample, nats."""

    spec: LearningCurvesSpec
    panel: PanelSpec
    run: RunFolder
    results: CurveResults
    metric: str = "log_likelihood"

    @property
    def name(self) -> str:
        """The name that claims give it: ``fig1.a.cd_1``."""
        return f"{self.spec.name}.{self.panel.name}.{self.run.algorithm}"

    @property
    def label(self) -> str:
        return self.run.label

    @property
    def meta(self) -> Meta:
        return self.results.runs[self.run.folder].meta

    @property
    def stand_in(self) -> str:
        return self.results.runs[self.run.folder].data["stand_in"]

    @cached_property
    def all_trials(self) -> pd.DataFrame:
        """All trials (index) by iterations (columns), NaN for what is missing."""
        return self.results.runs[self.run.folder].trials(self.metric)

    @cached_property
    def trials(self) -> pd.DataFrame:
        """The trials without a missing or non-finite value, as trials by iterations."""
        return self.all_trials[np.isfinite(self.all_trials).all(axis=1)]

    @cached_property
    def effective_particles(self) -> float:
        """The least effective sample size of annealing over trials and evaluations; infinite where there is none."""
        run, name = self.results.runs[self.run.folder], "annealing_effective_sample_size"
        kept = set(run.curve["metric"])
        if ERRORS.get(self.metric) != "log_partition_error" or name not in kept or "log_partition_low" in kept:
            return math.inf
        return float(run.trials(name).min(axis=None))

    def doubt(self, particles: float) -> np.ndarray:
        """Return how far below and above its values the mean curve may be, (2, evaluations), beyond standard errors.

        See `rbmbench.reporting.frames.estimate_ends`, the intervals of which hold 1.96 standard errors in any case.
        """
        run = self.results.runs[self.run.folder]
        ends = estimate_ends(run, self.metric, particles)
        if ends is None:
            return np.zeros((2, self.trials.shape[1]))
        half = NORMAL * run.trials(ERRORS[self.metric])
        beyond = self.trials - ends[0] - half, ends[1] - self.trials - half
        # Differences of standard errors that are rounding are none.
        return np.stack([part.loc[self.trials.index].where(part > ROUNDING, 0.0).mean() for part in beyond])

    @property
    def place(self) -> Place:
        """The panel that draws the metric of the run: its own, else another one; its own where none does."""
        own_first = sorted(self.spec.panels, key=lambda panel: panel.name != self.panel.name)
        for panel in own_first:
            if self.metric in panel.metrics and self.run.folder in [run.folder for run in panel.runs]:
                return Place(self.spec.key, panel.name, self.run.algorithm, self.metric, panel.epoch or 1)
        return Place(self.spec.key, self.panel.name, self.run.algorithm, is_exact=False)

    @cached_property
    def mean(self) -> pd.Series:
        return self.trials.mean()

    @property
    def late(self) -> np.ndarray:
        """Which evaluations belong to the final value: see `FINAL_SHARE`."""
        iterations = self.trials.columns.to_numpy(dtype=float)
        return iterations > (1 - FINAL_SHARE) * iterations[-1]

    @property
    def final(self) -> pd.Series:
        """The final value of every trial, by trial."""
        return self.trials.loc[:, self.late].mean(axis=1)

    @property
    def errors(self) -> np.ndarray | None:
        """Standard errors (evaluations,) of the estimates of a single trial; None for several or exact values."""
        run, name = self.results.runs[self.run.folder], ERRORS.get(self.metric)
        if len(self.trials) != 1 or name not in set(run.curve["metric"]):
            return None
        return run.trials(name).loc[self.trials.index, self.trials.columns].to_numpy()[0]

    def near(self, iteration: float) -> np.ndarray:
        """Return which evaluations are near an iteration, within half of `FINAL_SHARE`; at least the nearest one is."""
        iterations = self.trials.columns.to_numpy(dtype=float)
        near = np.abs(iterations - iteration) <= FINAL_SHARE / 2 * iterations[-1]
        near[np.argmin(np.abs(iterations - iteration))] = True
        return near

    def reference(self, name: str) -> Line:
        """Return a reference line of its panel; `SettingsError` if the panel shows no such line."""
        lines = {line.look: line for line in self.results.references[self.panel.name]}
        if name not in lines:
            shown = ", ".join(lines) or "none"
            raise SettingsError(f"claims: {self.name}: its panel has no reference {name!r}; got {shown}")
        return lines[name]

    def of_panel(self) -> list[Curves]:
        """Return the same metric of all curves of the panel."""
        return [Curves(self.spec, self.panel, run, self.results, self.metric) for run in self.panel.runs]

    @property
    def seconds_per_iteration(self) -> float:
        """Training time of one iteration of one trial: see `rbmbench.reporting.frames.training_seconds`."""
        return training_seconds(self.meta) / (self.meta["iterations"] * self.meta["trials"])

    @property
    def dropped(self) -> list[str]:
        lost = self.all_trials.index.difference(self.trials.index)
        return [f"left out: {self.label} trial {trial} (not finite)" for trial in lost]

    @property
    def budget(self) -> dict[str, int]:
        return {"iterations": self.panel.iterations, "trials": len(self.trials)}

    @property
    def differences(self) -> tuple[Difference, ...]:
        """How the run, and the evaluation of the metric, differ from the published ones."""
        of_run = self.spec.of_part(self.panel.name, self.run.algorithm)
        return tuple(change for change in of_run if change.changes(self.metric) and change.setting != QUANTILES)

    @property
    def differences_of_band(self) -> tuple[Difference, ...]:
        """How the quantiles of the figure's bands differ from the published ones."""
        return tuple(change for change in self.spec.differences if change.setting == QUANTILES)


LearningCurves.SPEC = LearningCurvesSpec
