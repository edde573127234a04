# SPDX-License-Identifier: BSD-3-Clause
"""Models of the configuration below figures and tables: data sets, algorithms, samplers and training in a panel."""

from itertools import pairwise
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from rbmbench.base.settings import (
    AnnealingBudget,
    BiasBound,
    Choice,
    Costs,
    Count,
    Initial,
    Iterations,
    Number,
    Positive,
    Proxy,
    Rate,
    SamplerGrid,
    Seed,
    Settings,
    check_budget,
)

MOST_LETTERS = 64  # of a name: several make the name of a file, which has at most 255
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=MOST_LETTERS)]
FigureName = Annotated[str, Field(pattern=r"^fig[a-z0-9][a-z0-9_]*$", max_length=MOST_LETTERS)]
TableName = Annotated[str, Field(pattern=r"^table[a-z0-9][a-z0-9_]*$", max_length=MOST_LETTERS)]
Names = Annotated[tuple[Name, ...], Field(min_length=1)]
PanelAddress = Annotated[str, Field(pattern=r"^fig[a-z0-9_]*\.[a-z][a-z0-9_]*$")]
"""A panel of a figure of the same paper, as FIGURE.PANEL."""


class DataAccess(Settings):
    """Sources of data sets that are not generated."""

    mirror: str | None = Field(
        default=None,
        description="folder or base address that is searched before the public addresses; null: the variable "
        "RBMBENCH_DATA_MIRROR, or none",
    )
    cache: str | None = Field(
        default=None,
        description="folder of downloads; null: the variable RBMBENCH_DATA_CACHE, or the user's cache folder",
    )


class MainConfig(Settings):
    """Merged settings of config.yaml and its overlays."""

    scale: Name = Field(description="name of the scale; all results are written to results/SCALE/")
    papers: Names = Field(
        description="keys of the papers to run, config/papers/KEY.yaml, and of studies of our own, config/KEY.yaml"
    )
    targets: Annotated[tuple[str, ...], Field(min_length=1)] | None = Field(
        default=None,
        description="targets to plan, such as popcd_fig1 or paper_ucd; null: all figures and tables of the papers",
    )
    data: DataAccess = Field(default=DataAccess(), description="source of data sets that are not generated")
    backend: Literal["auto", "numpy", "cupy"] = Field(
        default="auto",
        description="arrays of training: NumPy's, CuPy's, or CuPy's if there is a GPU and a run is large "
        "enough; RBMBENCH_BACKEND takes the place of auto",
    )
    plugins: tuple[str, ...] = Field(
        default=(),
        description="files or folders of estimators, update rules, samplers, data sets and kinds of your own; "
        "those of all configuration files are loaded",
    )
    overrides: dict[Name, dict[str, object]] = Field(
        default={}, description="by paper or study: settings that are merged onto its file at this scale"
    )


class Defaults(Settings):
    """Settings of every run of a paper, unless a panel says otherwise."""

    trials: Count = Field(description="independent repetitions of every run")
    seed: Seed = Field(
        description="the seed of a run is derived from it, its data set and its hidden units, so that all "
        "algorithms and rates start alike"
    )
    initial: Initial = Field(default=Initial(), description="distribution of the initial parameters")
    evaluate_every: Count = Field(default=100, description="iterations between evaluations of the log-likelihood")
    evaluate_at: Iterations = Field(
        default=(),
        description="further iterations at which runs are evaluated, ascending; those beyond a run are ignored",
    )
    precision: Literal["float32", "float64"] = Field(
        default="float32", description="type of sampling and training; likelihoods are always float64"
    )
    annealing: AnnealingBudget = Field(
        default=AnnealingBudget(), description="budget of log Z where neither layer has at most 25 units"
    )
    proxy: Proxy | None = Field(
        default=None,
        description="metric reconstruction_log_likelihood, which is no bound of the log-likelihood; null: none",
    )
    bias_bound: BiasBound | None = Field(
        default=None,
        description="for at most 24 units in both layers: metrics cd_bias (largest over the parameters), "
        "bias_bound, bias_bound_gap, older_bias_bound, total_variation of data and model, and energy_change "
        "(largest, by one unit); null: none",
    )
    validation_likelihood: bool = Field(
        default=False, description="whether to evaluate the metric validation_log_likelihood"
    )
    test_likelihood: bool = Field(default=False, description="whether to evaluate the metric test_log_likelihood")


class DataEntry(Settings):
    """A data set as one paper uses it."""

    name: str = Field(description="name of the data set: a module of rbmbench.datasets, or a plug-in")
    options: dict[str, object] = Field(default={}, description="options of the data set")
    rows: Count = Field(description="training rows; a data set of another number is refused")
    visible: Count = Field(description="visible units; a data set of another number is refused")
    batch: Count = Field(
        description="rows of a mini-batch: consecutive rows of a permutation that is drawn for each epoch, less "
        "the remainder"
    )


class AlgorithmStage(Settings):
    """One stage of an algorithm: estimator, update rule and rate of the iterations up to ``until``."""

    estimator: str = Field(description="estimator: a module of rbmbench.estimators, or a plug-in")
    options: dict[str, object] = Field(default={}, description="options of the estimator")
    update: Choice = Field(default=Choice(name="sgd"), description="update rule of rbmbench.updates or a plug-in")
    until: Count | None = Field(
        default=None, description="iteration the stage ends with, from the start of the run; null: the panel's last"
    )
    rate: Rate | None = Field(default=None, description="learning rate; null: the panel's")


class Look(Settings):
    """Colour and dash pattern of a curve, unless they follow from its key; no run depends on them."""

    color: Annotated[str, Field(pattern=r"^#[0-9A-Fa-f]{6}$")] | None = Field(
        default=None, description="colour of its curves, #RRGGBB; null: by its key"
    )
    dash: Literal["solid", "dashed", "dotted", "dash_dotted", "long"] | None = Field(
        default=None, description="dash pattern of its curves; null: by its key"
    )


class Algorithm(Look):
    """A training algorithm: a gradient estimator with its options and an update rule, or a schedule of several."""

    label: str = Field(description="name in legends and tables")
    estimator: str | None = Field(default=None, description="estimator: a module of rbmbench.estimators, or a plug-in")
    options: dict[str, object] = Field(default={}, description="options of the estimator")
    update: Choice = Field(default=Choice(name="sgd"), description="update rule of rbmbench.updates or a plug-in")
    rate: Rate | None = Field(default=None, description="learning rate; null: the panel's")
    initial: Initial | None = Field(default=None, description="distribution of the parameters; null: the panel's")
    trials: Count | None = Field(
        default=None, description="most trials of its curves, if it takes long; null: all trials of the panel"
    )
    schedule: Annotated[tuple[AlgorithmStage, ...], Field(min_length=1)] | None = Field(
        default=None, description="stages instead of a single estimator; each continues from the one before"
    )

    @property
    def stages(self) -> tuple[AlgorithmStage, ...]:
        """All stages; one for an algorithm without a schedule."""
        stage = {"estimator": self.estimator, "options": self.options, "update": self.update, "rate": self.rate}
        return self.schedule or (AlgorithmStage.model_validate(stage),)

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if (self.estimator is None) == (self.schedule is None):
            keys = "neither" if self.estimator is None else "both"
            raise ValueError(f"should have 'estimator' or 'schedule', has {keys}")
        if self.schedule and (self.options or self.rate or self.update != Choice(name="sgd")):
            raise ValueError("has a 'schedule'; 'options', 'update' and 'rate' belong into its stages")
        ends = [stage.until for stage in self.schedule or ()]
        if None in ends[:-1] or any(b is not None and b <= a for a, b in pairwise(ends)):
            raise ValueError(f"schedule: 'until' must ascend and may be left out in the last stage, got {ends}")
        return self


class Printed(Settings):
    """A number that the paper prints about a panel, drawn beside the measured ones."""

    value: Number = Field(
        description="the number, in the unit of the panel; of a log-likelihood the mean per sample, nats"
    )
    label: str = Field(description="name in the legend")
    at: Positive | None = Field(
        default=None, description="iteration, samples or steps at which the paper says so; null: a line"
    )


class Panel(Settings):
    """Settings of training of one panel of a figure, or one row of a table."""

    data: Name = Field(description="key of the data set in this file's data")
    hidden: Count = Field(description="hidden units")
    rate: Rate = Field(description="learning rate")
    iterations: Count = Field(description="iterations of training")
    trials: Count | None = Field(default=None, description="repetitions; null: those of defaults")
    batch: Count | None = Field(default=None, description="rows of a mini-batch; null: those of the data set's entry")
    initial: Initial | None = Field(default=None, description="distribution of the parameters; null: that of defaults")
    evaluate_every: Count | None = Field(default=None, description="iterations between evaluations; null: of defaults")
    evaluate_at: Iterations | None = Field(default=None, description="further evaluations; null: those of defaults")
    annealing: AnnealingBudget | None = Field(default=None, description="budget of log Z; null: that of defaults")
    proxy: Proxy | None = Field(default=None, description="reconstruction log-likelihood; null: that of defaults")
    bias_bound: BiasBound | None = Field(default=None, description="CD's bias and bounds; null: those of defaults")
    validation_likelihood: bool | None = Field(default=None, description="as in defaults; null: that of defaults")
    test_likelihood: bool | None = Field(default=None, description="as in defaults; null: that of defaults")
    products: Positive | None = Field(
        default=None,
        description="most matrix products of a trial, for estimators of random cost: a trial keeps its last "
        "model inside them; null: no limit",
    )
    evaluate_at_products: Costs | None = Field(
        default=None,
        description="with products: means over the trials at which a run is evaluated, too; it ends with an evaluation",
    )
    printed: tuple[Printed, ...] = Field(default=(), description="numbers that the paper prints, drawn as hollow marks")

    @model_validator(mode="after")
    def _costs_have_a_budget(self) -> Self:
        check_budget(self.products, self.evaluate_at_products)
        return self

    def evaluations(self, defaults: Defaults) -> tuple[int, tuple[int, ...]]:
        """Return ``evaluate_every`` and ``evaluate_at``, those of ``defaults`` where they are null."""
        evaluate_at = defaults.evaluate_at if self.evaluate_at is None else self.evaluate_at
        return self.evaluate_every or defaults.evaluate_every, evaluate_at


class SamplerEntry(Look):
    """A sampler as a paper uses it: with its options, and a grid of values to try."""

    label: str = Field(description="name in legends")
    sampler: str = Field(description="name of the sampler: a module of rbmbench.samplers, or a plug-in")
    options: dict[str, object] = Field(default={}, description="options of the sampler")
    grid: dict[str, Annotated[tuple[object, ...], Field(min_length=1)]] = Field(
        default={}, description="by option: values that are tried in all combinations, the best by the validation rows"
    )

    @model_validator(mode="after")
    def _grid_can_be_tried(self) -> Self:
        self.grid_of_settings  # noqa: B018
        return self

    @property
    def grid_of_settings(self) -> SamplerGrid:
        """The sampler and its settings, without the label."""
        return SamplerGrid(name=self.sampler, options=self.options, grid=self.grid)
