"""What the files under ``config/`` may hold: one small described model a section.

The JSON schemas in ``config/schemas/`` are made from these models by ``rbmbench config schema``.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from rbmbench.settings import AnnealingBudget, Choice, Count, Initial, Proxy, Rate, Seed, Settings

__all__ = [
    "Algorithm",
    "BiasVariance",
    "DataAccess",
    "DataEntry",
    "Defaults",
    "LearningCurves",
    "MainConfig",
    "Panel",
    "Paper",
    "TruthBudget",
    "schemas",
]

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
FigureName = Annotated[str, Field(pattern=r"^fig[a-z0-9_]*$")]
TableName = Annotated[str, Field(pattern=r"^table[a-z0-9_]*$")]
Names = Annotated[tuple[Name, ...], Field(min_length=1)]


class DataAccess(Settings):
    """Where data sets that are not made on the spot come from."""

    mirror: str | None = Field(
        default=None, description="folder or base address tried before the public addresses; null: none"
    )
    cache: str | None = Field(default=None, description="folder downloads are kept in; null: the user's cache folder")


class MainConfig(Settings):
    """config.yaml and its overlays, after they are merged."""

    scale: Name = Field(description="name of the scale; everything made goes to results/SCALE/")
    papers: Names = Field(description="keys of the papers to run: config/papers/KEY.yaml")
    data: DataAccess = DataAccess()
    backend: Literal["auto", "numpy", "cupy"] = Field(
        default="auto", description="arrays to train on: NumPy's, CuPy's on a GPU, or what suits each run"
    )
    overrides: dict[Name, dict[str, Any]] = Field(
        default={}, description="by paper: what is merged, deeply, onto config/papers/KEY.yaml at this scale"
    )


class Defaults(Settings):
    """Settings of every run of a paper, unless a panel says otherwise."""

    trials: Count = Field(description="independent repetitions of every run")
    seed: Seed = Field(description="the seed every run's own seed is derived from")
    initial: Initial = Field(default=Initial(), description="distribution of the initial parameters")
    evaluate_every: Count = Field(default=100, description="iterations between evaluations of the log-likelihood")
    precision: Literal["float32", "float64"] = Field(
        default="float32", description="what is sampled and trained in; likelihoods are always float64"
    )
    annealing: AnnealingBudget = Field(
        default=AnnealingBudget(), description="budget of log Z where neither layer can be enumerated"
    )
    proxy: Proxy | None = Field(
        default=None, description="reconstruction log-likelihood, evaluated beside the log-likelihood; null: none"
    )


class DataEntry(Settings):
    """A data set as one paper uses it."""

    name: str = Field(description="name of the data set: a module of rbmbench.datasets")
    options: dict[str, Any] = Field(default={}, description="options of the data set")
    rows: Count = Field(description="training rows; the data set is refused when it has another number")
    visible: Count = Field(description="visible units; the data set is refused when it has another number")
    batch: Count = Field(
        description="rows of a mini-batch; a divisor of rows, or the remainder of an epoch is left out"
    )


class Algorithm(Settings):
    """A training algorithm: a gradient estimator with its options, and an update rule."""

    label: str = Field(description="how figures and tables name it")
    estimator: str = Field(description="name of the estimator: a module of rbmbench.estimators")
    options: dict[str, Any] = Field(default={}, description="options of the estimator")
    update: Choice = Field(default=Choice(name="sgd"), description="update rule: a module of rbmbench.updates")


class Panel(Settings):
    """What one panel of a figure, or one row of a table, trains."""

    data: Name = Field(description="key of the data set in this file's data")
    hidden: Count = Field(description="hidden units")
    rate: Rate = Field(description="learning rate")
    iterations: Count = Field(description="iterations of training")
    trials: Count | None = Field(default=None, description="repetitions; null: those of defaults")
    evaluate_every: Count | None = Field(default=None, description="iterations between evaluations; null: of defaults")
    annealing: AnnealingBudget | None = Field(default=None, description="budget of log Z; null: that of defaults")
    proxy: Proxy | None = Field(default=None, description="reconstruction log-likelihood; null: that of defaults")


class LearningCurves(Settings):
    """A figure of log-likelihoods during training: one panel a data set and rate, one curve an algorithm."""

    kind: Literal["learning_curves"] = Field(description="kind of the figure, and of its notebook template")
    title: str = Field(description="title of the figure")
    algorithms: Names | None = Field(
        default=None, description="keys of the algorithms, in the order of the legend; null: all of the paper's"
    )
    panels: Annotated[dict[Name, Panel], Field(min_length=1)] = Field(description="the panels, by their letter")


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


class Paper(Settings):
    """papers/KEY.yaml: the published settings of one paper."""

    key: Name = Field(description="key of the paper; equal to the file's name")
    title: str = Field(description="title of the paper")
    citation: str = Field(description="authors, journal, year")
    defaults: Defaults
    data: Annotated[dict[Name, DataEntry], Field(min_length=1)]
    algorithms: Annotated[dict[Name, Algorithm], Field(min_length=1)]
    figures: dict[FigureName, LearningCurves] = Field(default={}, description="the figures, by name")
    tables: dict[TableName, BiasVariance] = Field(default={}, description="the tables, by name")

    def algorithms_of(self, figure: LearningCurves) -> tuple[str, ...]:
        """Return the keys of a figure's algorithms, in the order of the legend."""
        return tuple(self.algorithms) if figure.algorithms is None else figure.algorithms


def schemas() -> dict[str, dict[str, Any]]:
    """Return the JSON schemas of the configuration files, by the name of the schema's file."""
    return {
        "config.schema.json": MainConfig.model_json_schema(),
        "paper.schema.json": Paper.model_json_schema(),
    }
