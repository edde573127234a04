"""What a figure or a table is made of, as checked plain data; `rbmbench.reporting.spec_files` reads it from files."""

import re
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from rbmbench.base.settings import Settings

__all__ = [
    "AnyFigure",
    "AnyTable",
    "Band",
    "Coupling",
    "CouplingTimesSpec",
    "Estimate",
    "Evaluation",
    "FigureSpec",
    "IslCurvesSpec",
    "Panel",
    "Published",
    "PublishedTimes",
    "Row",
    "Run",
    "RunTimesSpec",
    "SampleSheetsSpec",
    "SampledPanel",
    "SamplerName",
    "TableSpec",
]


class Spec(Settings):
    """Base of all specs: frozen; keys that are of no use here are passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Run(Spec):
    """One curve of a panel: an algorithm and the folder of its run."""

    algorithm: str
    label: str
    folder: str


class Trained(Spec):
    """What runs were trained with. What is cut below the paper's budget is told by the pairs of numbers."""

    data: str
    hidden: int
    paper_hidden: int | None = None
    option_cuts: tuple[tuple[str, float, float], ...] = Field(
        default=(), description="options of estimators below the paper's: name, found, published"
    )
    rate: float
    iterations: int
    paper_iterations: int | None = None
    trials: int
    paper_trials: int | None = None


class Panel(Trained):
    """One panel of a figure of learning curves."""

    name: str
    annealing: dict[str, int] | None = Field(
        default=None, description="particles and temperatures; null: log Z is exact"
    )
    paper_annealing: dict[str, int] | None = None
    metrics: tuple[str, ...] = ("log_likelihood",)
    axis: Literal["linear", "log"] = "linear"
    iteration_axis: Literal["linear", "log"] = "linear"
    epoch: int | None = Field(default=None, description="iterations of an epoch, where the axis counts epochs")
    without: tuple[str, ...] = Field(default=(), description="labels of the paper's curves that are left out")
    references: tuple[str, ...] = ()
    data_file: str | None = Field(default=None, description="file of the data set; null: there are no references")
    mark: float | None = Field(default=None, description="share of the best rise whose first reaching is marked")
    batch: int | None = Field(default=None, description="rows of a mini-batch, where the panel has its own")
    initial: dict[str, Any] | None = Field(default=None, description="initial parameters, where the panel has its own")
    runs: tuple[Run, ...]


class Band(Spec):
    """What is shown of the spread over the trials."""

    quantiles: tuple[float, float] = (0.1, 0.9)
    sample_paths: int = 0
    median: bool = False

    @property
    def percent(self) -> tuple[str, str]:
        """The quantiles in words: "2.5" and "97.5"."""
        return tuple(f"{round(100 * quantile, 6):g}" for quantile in self.quantiles)


class Coupling(Spec):
    """The stopping times of one coupling."""

    coupling: str
    folder: str


class SamplerName(Spec):
    """A sampler of a panel."""

    sampler: str
    label: str


class SampleFolder(Spec):
    """The folder of streams of samples."""

    folder: str


class SampledPanel(Trained):
    """Trained models, and the samplers that streams of samples were drawn from them with."""

    name: str
    runs: tuple[Run, ...]
    samples: SampleFolder
    samples_count: int
    paper_samples: int | None = None
    samplers: tuple[SamplerName, ...]


class Evaluation(Spec):
    """The folder of the annealing of a run."""

    folder: str


class Estimate(Spec):
    """One estimator of a row of the table of bias and variance."""

    algorithm: str
    label: str
    k: int | None = None
    folder: str


class Row(Spec):
    """One trained model, or several of the same settings, and what was measured on it."""

    name: str
    data: str
    hidden: int
    rate: float
    model: str = Field(description="folder of the run that trained the models")
    paper_iterations: int | None = None
    paper_estimates: int | None = None
    ground_truth: dict[str, int] = Field(default={}, description="chains, burn_in and samples of parallel tempering")
    paper_ground_truth: dict[str, int] | None = None
    estimates: tuple[Estimate, ...]


class Published(Spec):
    """The paper's numbers of one table, and the budgets behind them."""

    estimates: int | None = None
    iterations: dict[str, int] = Field(default={}, description="of the training of each row's model")
    entries: tuple[dict[str, Any], ...] = ()

    def value(self, row: str, algorithm: str, quantity: str) -> float | None:
        """Return the published number, or None where the paper gives none."""
        for entry in self.entries:
            if (entry.get("row"), entry.get("algorithm")) == (row, algorithm):
                return entry.get(quantity)
        return None


class PublishedTimes(Spec):
    """The paper's run times; ``entries`` hold algorithm, time, and time_with_log_likelihood where it is printed."""

    unit: Literal["seconds", "minutes"] = "seconds"
    machine: str = ""
    entries: tuple[dict[str, Any], ...] = ()

    def seconds(self, algorithm: str, with_log_likelihood: bool = False) -> float | None:
        """Return a published time in seconds, or None where the paper gives none."""
        key = "time_with_log_likelihood" if with_log_likelihood else "time"
        times = [entry.get(key) for entry in self.entries if entry.get("algorithm") == algorithm]
        return times[0] * {"seconds": 1, "minutes": 60}[self.unit] if times and times[0] is not None else None


class _Rendered(Spec):
    """What figures and tables have in common."""

    key: str
    paper: str
    title: str
    kind: str
    scale: str
    absent: tuple[str, ...] = Field(default=(), description="what is left out of the paper's, in words")

    @property
    def which(self) -> str:
        """What it is, in words: "Figure 1 of popcd, paper scale, without panel a"."""
        return f"{self.number} of {self.paper}, {self.scale} scale{self.lacks}"

    @property
    def lacks(self) -> str:
        """What the paper's has and this has not: ", without panel a"; "" if that is nothing."""
        return f", without {', '.join(self.absent)}" if self.absent else ""

    @property
    def number(self) -> str:
        """The paper's own name of it, "Figure 1" for the key ``popcd_fig1``; with an addition for ``_fig1_more``."""
        kind, number, addition = re.search(r"_(fig|table)([^_]+)_?(\w*)$", self.key).groups()
        name = f"{'Figure' if kind == 'fig' else 'Table'} {number}"
        return f"{name} ({addition.replace('_', ' ')})" if addition else name


class FigureSpec(_Rendered):
    """A figure of learning curves."""

    key: str = Field(pattern=r"_fig\w+$")
    kind: Literal["learning_curves"]
    band: Band = Band()
    panels: tuple[Panel, ...]


class CouplingTimesSpec(_Rendered):
    """A figure of the stopping times of coupled chains."""

    key: str = Field(pattern=r"_fig\w+$")
    kind: Literal["coupling_times"]
    visible: int
    hidden: int
    width: float
    replications: int
    paper_replications: int | None = None
    longest: int
    paper_longest: int | None = None
    couplings: tuple[Coupling, ...]


class IslCurvesSpec(_Rendered):
    """A figure of indirect sampling likelihoods against the number of samples."""

    key: str = Field(pattern=r"_fig\w+$")
    kind: Literal["isl_curves"]
    panels: tuple[SampledPanel, ...]


class SampleSheetsSpec(_Rendered):
    """A figure of consecutive samples as images."""

    key: str = Field(pattern=r"_fig\w+$")
    kind: Literal["sample_sheets"]
    columns: int
    lines: int
    panels: tuple[SampledPanel, ...]


class TableSpec(_Rendered):
    """A table of bias and variance."""

    key: str = Field(pattern=r"_table\w+$")
    kind: Literal["bias_variance"]
    rows: tuple[Row, ...]
    published: Published = Published()


class RunTimesSpec(_Rendered, Trained):
    """A table of run times."""

    key: str = Field(pattern=r"_table\w+$")
    kind: Literal["run_times"]
    panel: str
    reference: str = Field(description="algorithm that times are divided by")
    evaluate_every: int
    runs: tuple[Run, ...]
    evaluation: Evaluation | None = Field(default=None, description="annealing of the reference; null: log Z is exact")
    published: PublishedTimes = PublishedTimes()


AnyFigure = Annotated[FigureSpec | CouplingTimesSpec | IslCurvesSpec | SampleSheetsSpec, Field(discriminator="kind")]
AnyTable = Annotated[TableSpec | RunTimesSpec, Field(discriminator="kind")]
