"""What the files under ``config/`` may hold: one small described model a section.

The JSON schemas in ``config/schemas/`` are made from these models by ``rbmbench config schema``.
"""

from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from rbmbench.base.metrics import metric_of
from rbmbench.base.settings import Count, Coupling, Settings
from rbmbench.config.parts import (
    Algorithm,
    AlgorithmStage,
    DataAccess,
    DataEntry,
    Defaults,
    FigureName,
    MainConfig,
    Name,
    Names,
    Panel,
    TableName,
)
from rbmbench.config.samples import IslCurves, SamplerEntry, SampleSheets, SamplesPanel

__all__ = [
    "Algorithm",
    "AlgorithmStage",
    "Band",
    "BiasVariance",
    "CouplingTimes",
    "DataAccess",
    "DataEntry",
    "Defaults",
    "FigurePanel",
    "IslCurves",
    "LearningCurves",
    "MainConfig",
    "Panel",
    "Paper",
    "RunTimes",
    "SampleSheets",
    "SamplerEntry",
    "SamplesPanel",
    "TruthBudget",
    "schemas",
]

Metric = Annotated[str, Field(pattern=r"^[a-zA-Z][a-zA-Z0-9_]*$")]
Metrics = Annotated[
    tuple[Metric, ...],
    BeforeValidator(lambda value: (value,) if isinstance(value, str) else value),
    Field(min_length=1, max_length=3),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "maxItems": 3}]}),
]


class FigurePanel(Panel):
    """One panel of a figure: what is trained, and what is shown of it."""

    algorithms: Names | None = Field(default=None, description="keys of the panel's algorithms; null: the figure's")
    metric: Metrics = Field(
        default=("log_likelihood",), description="metric of the runs that is shown, or up to three: dashed, dotted"
    )
    axis: Literal["linear", "log"] = Field(default="linear", description="the vertical axis")
    iteration_axis: Literal["linear", "log"] = Field(default="linear", description="the horizontal axis")
    references: tuple[Literal["maximum", "true_model"], ...] = Field(
        default=(),
        description="horizontal lines: the maximum log-likelihood, that of the model the data are drawn from",
    )
    mark: Annotated[float, Field(gt=0, lt=1)] | None = Field(
        default=None,
        description="vertical lines where curves first reach this share of what the best of them rises; null: none",
    )

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
    sample_paths: Annotated[int, Field(ge=0, strict=True)] = Field(
        default=0, description="trials whose own curves are drawn, thin and dark"
    )
    median: bool = Field(default=False, description="whether the median over the trials is drawn too, thin and dark")

    @model_validator(mode="after")
    def _ascend(self) -> Self:
        low, high = self.quantiles
        if not 0 <= low < high <= 1:
            raise ValueError(f"quantiles: should ascend within 0 and 1, found {[low, high]}")
        if self.median and self.sample_paths:
            raise ValueError("has a 'median' and 'sample_paths', which are both thin and dark; should have one of them")
        return self


class LearningCurves(Settings):
    """A figure of metrics during training: one panel a data set, rate or metric, one curve an algorithm."""

    kind: Literal["learning_curves"] = Field(description="kind of the figure, and of its notebook template")
    title: str = Field(description="title of the figure")
    algorithms: Names | None = Field(
        default=None, description="keys of the algorithms, in the order of the legend; null: all of the paper's"
    )
    band: Band = Field(default=Band(), description="what is shown of the spread over the trials")
    counted_in: Literal["iterations", "epochs"] = Field(
        default="iterations", description="what the horizontal axes count; an epoch shows each training row once"
    )
    panels: Annotated[dict[Name, FigurePanel], Field(min_length=1)] = Field(description="the panels, by their letter")

    def names(self, paper: "Paper") -> Iterator[str]:
        """Yield the names of the curves: PANEL.ALGORITHM."""
        for letter, panel in self.panels.items():
            yield from (f"{letter}.{algorithm}" for algorithm in paper.algorithms_of(self, panel))


class CouplingTimes(Settings):
    """A figure of how long coupled chains of one random model take to meet, for several couplings."""

    kind: Literal["coupling_times"] = Field(description="kind of the figure, and of its notebook template")
    title: str = Field(description="title of the figure")
    visible: Count = Field(description="visible units of the model")
    hidden: Count = Field(description="hidden units of the model")
    width: Annotated[float, Field(ge=0, allow_inf_nan=False)] = Field(
        description="standard deviation of the normal entries of W, b and c"
    )
    replications: Count = Field(description="pairs of chains a coupling")
    longest: Annotated[int, Field(ge=2, strict=True)] = Field(description="steps after which a pair is cut")
    couplings: Annotated[tuple[Coupling, ...], Field(min_length=1)] = Field(
        default=("general", "rbm"), description="how the pairs are coupled"
    )

    def names(self, paper: "Paper") -> Iterator[str]:
        """Yield the names of the couplings."""
        yield from self.couplings


class TruthBudget(Settings):
    """How the ground truth by parallel tempering is sampled."""

    chains: Annotated[int, Field(ge=2, strict=True)] = Field(description="inverse temperatures")
    burn_in: Annotated[int, Field(ge=0, strict=True)] = Field(description="steps before the first sample")
    samples: Count = Field(description="samples the model expectation is averaged over")


class BiasVariance(Settings):
    """A table of the bias and variance of gradient estimates of trained models."""

    kind: Literal["bias_variance"] = Field(description="kind of the table, and of its notebook template")
    title: str = Field(description="title of the table")
    trained_with: Name = Field(description="key of the algorithm that trains the models")
    estimators: Names = Field(description="keys of the algorithms whose estimates are measured")
    models: Count = Field(description="trained models a row")
    estimates: Count = Field(description="gradient estimates an estimator and model")
    ground_truth: TruthBudget = Field(description="budget of the ground truth by parallel tempering")
    rows: Annotated[dict[Name, Panel], Field(min_length=1)] = Field(description="the rows, by name")

    def names(self, paper: "Paper") -> Iterator[str]:
        """Yield the names of the entries: ROW.ESTIMATOR."""
        yield from (f"{row}.{estimator}" for row in self.rows for estimator in self.estimators)


class RunTimes(Settings):
    """A table of how long the runs of one panel took, beside the published times."""

    kind: Literal["run_times"] = Field(description="kind of the table, and of its notebook template")
    title: str = Field(description="title of the table")
    panel: Annotated[str, Field(pattern=r"^fig[a-z0-9_]*\.[a-z][a-z0-9_]*$")] = Field(
        description="whose runs are timed, as FIGURE.PANEL"
    )
    algorithms: Names | None = Field(default=None, description="keys of the algorithms, by row; null: the panel's")
    reference: Name = Field(description="key of the algorithm that times are divided by")

    def names(self, paper: "Paper") -> Iterator[str]:
        """Yield the keys of the algorithms, one per row."""
        timed = paper.timed_panel(self)
        yield from self.algorithms or (paper.algorithms_of(*timed) if timed else ())


class Paper(Settings):
    """papers/KEY.yaml: the published settings of one paper."""

    key: Name = Field(description="key of the paper; equal to the file's name")
    title: str = Field(description="title of the paper")
    citation: str = Field(description="authors, journal, year")
    defaults: Defaults
    data: Annotated[dict[Name, DataEntry], Field(min_length=1)]
    algorithms: Annotated[dict[Name, Algorithm], Field(min_length=1)]
    samplers: dict[Name, SamplerEntry] = Field(default={}, description="the samplers, by name")
    figures: dict[
        FigureName,
        Annotated[LearningCurves | CouplingTimes | IslCurves | SampleSheets, Field(discriminator="kind")],
    ] = Field(default={}, description="the figures, by name")
    tables: dict[TableName, Annotated[BiasVariance | RunTimes, Field(discriminator="kind")]] = Field(
        default={}, description="the tables, by name"
    )

    def algorithms_of(self, figure: LearningCurves, panel: FigurePanel) -> tuple[str, ...]:
        """Return the keys of a panel's algorithms, in the order of the legend."""
        return panel.algorithms or figure.algorithms or tuple(self.algorithms)

    def sampled_panel(self, sheets: SampleSheets) -> SamplesPanel | None:
        """Return the panel whose samples a figure of sheets shows; None where there is no such panel."""
        name, _, letter = sheets.panel.partition(".")
        figure = self.figures.get(name)
        return figure.panels.get(letter) if isinstance(figure, IslCurves) else None

    def timed_panel(self, table: RunTimes) -> tuple[LearningCurves, FigurePanel] | None:
        """Return the figure and the panel whose runs a table of run times shows; None where there is no such panel."""
        name, _, letter = table.panel.partition(".")
        figure = self.figures.get(name)
        if not isinstance(figure, LearningCurves) or letter not in figure.panels:
            return None
        return figure, figure.panels[letter]


def schemas() -> dict[str, dict[str, Any]]:
    """Return the JSON schemas of the configuration files, by the name of the schema's file."""
    return {
        # An overlay leaves the papers to config.yaml.
        "config.schema.json": MainConfig.model_json_schema() | {"required": ["scale"]},
        "paper.schema.json": Paper.model_json_schema(),
    }
