# SPDX-License-Identifier: BSD-3-Clause
"""Figures of metrics during training: one panel per data set, rate or metric, one curve per algorithm."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from rbmbench.base.metrics import ANNEALED, COMPARED, LIKELIHOODS, metric_of
from rbmbench.config.checks import Checks
from rbmbench.config.paper import KINDS, Paper
from rbmbench.config.parts import Name, Names, Panel
from rbmbench.kinds._curves import LearningCurvesSpec
from rbmbench.planning.jobs import Job, Output
from rbmbench.planning.kinds import Kind
from rbmbench.planning.runs import Planner
from rbmbench.reporting.curves import QUANTILES
from rbmbench.reporting.frames import Band, PanelSpec

SHOWN_OF_PANEL = {"axis", "iteration_axis", "references", "mark", "note", "printed", "batch", "initial"}
MOST_PANELS = 150
"""With one panel per row, a picture then has at most 2**16 pixels of height, the limit of its file format."""
Metric = Annotated[str, Field(pattern=r"^[a-zA-Z][a-zA-Z0-9_]*$")]
Metrics = Annotated[
    tuple[Metric, ...],
    BeforeValidator(lambda value: (value,) if isinstance(value, str) else value),
    Field(min_length=1, max_length=3),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "maxItems": 3}]}),
]


# --- Configuration ----------------------------------------------------------------------------------------------------


class FigurePanel(Panel):
    """One panel of a figure: its training, and the metrics and lines to show."""

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
    def _metrics_share_an_axis_that_references_are_on(self) -> Self:
        first, *further = map(metric_of, self.metric)
        if any((other.unit, other.summed) != (first.unit, first.summed) for other in further):
            raise ValueError(f"metric: {' and '.join(self.metric)} have different units, and need a panel each")
        if self.references and not {"log_likelihood", "test_log_likelihood"} & set(self.metric):
            raise ValueError(f"references are log-likelihoods; the panel shows {', '.join(self.metric)}")
        return self


@KINDS.register
class LearningCurves(Kind):
    """A figure of metrics during training: one panel per data set, rate or metric, one curve per algorithm."""

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

    SPEC = LearningCurvesSpec

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
            algorithms = self.algorithms_of(checks.paper, panel)
            checks.check_panel(panel, algorithms, place)
            checks.check_metrics(panel.metric, algorithms, (*place, "metric"))

    def plan(self, planner: Planner, key: str) -> Output:
        panels, parts = [], {}
        for name, panel in self.panels.items():
            runs = planner.runs(panel, self.algorithms_of(planner.paper, panel))
            evaluated = runs if set(panel.metric) & set(ANNEALED) else {}
            annealed = {a: job for a, run in evaluated.items() if (job := planner.evaluation(panel, run))}
            folders = {a: planner.plan.folder(job) for a, job in (runs | annealed).items()}
            parts |= {(name, a): (run, *filter(None, [annealed.get(a)])) for a, run in runs.items()}
            compared = any(job.settings.compared for job in annealed.values())
            circles = tuple(COMPARED + name for name in panel.metric if compared and name in LIKELIHOODS)
            epoch = planner.paper.data[panel.data].rows // next(iter(runs.values())).settings.batch
            panels.append(
                PanelSpec(
                    **planner.trained(panel),
                    annealing=_annealing(annealed),
                    name=name,
                    **panel.model_dump(include=SHOWN_OF_PANEL),
                    metrics=panel.metric + circles,
                    rates=planner.rates(runs),
                    epoch=epoch if self.counted_in == "epochs" else None,
                    data_file=planner.plan.layout.data_set(panel.data) if panel.references else None,
                    runs=planner.labelled(folders),
                )
            )
        spec = LearningCurvesSpec(**planner.heading(key, self), band=self.band, panels=panels)
        quantiles = {"": {QUANTILES: list(self.band.quantiles)}}
        return planner.output(spec, parts, quantiles)


def _annealing(evaluations: Mapping[str, Job]) -> dict[str, int] | None:
    settings = next((job.settings for job in evaluations.values()), None)
    tempered = {"products": settings.tempering.products} if settings and settings.tempering else {}
    if tempered and not settings.compared:
        return tempered
    return settings and tempered | settings.model_dump(include={"particles", "temperatures"})
