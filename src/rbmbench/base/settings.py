"""What a run and a measurement of gradients are made of: plain, checked, frozen data.

Everything a result depends on is in these models and in the data; their canonical JSON is what run ids are made from.
"""

import hashlib
import json
import math
from itertools import pairwise, product
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

__all__ = [
    "AnnealingBudget",
    "AnnealingSettings",
    "BiasBound",
    "Choice",
    "Coupling",
    "CouplingSettings",
    "EstimateSettings",
    "GroundTruthSettings",
    "Initial",
    "Iterations",
    "Proxy",
    "RunSettings",
    "SamplerGrid",
    "SamplingSettings",
    "Settings",
    "Stage",
]

Coupling = Literal["general", "rbm", "both_layers"]
# Whole numbers that arrays and kernels can count with.
Count = Annotated[int, Field(ge=1, lt=2**31, strict=True)]


def _no_truth_value(value: Any) -> Any:
    """Refuse True and False where a number is meant; pydantic would take them for 1 and 0."""
    if isinstance(value, bool):
        raise ValueError("input should be a number")
    return value


Rate = Annotated[float, Field(gt=0, allow_inf_nan=False), BeforeValidator(_no_truth_value)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False, strict=True), BeforeValidator(_no_truth_value)]
Seed = Annotated[int, Field(ge=0, lt=2**32, strict=True)]


def _ascending(values: tuple[int, ...]) -> tuple[int, ...]:
    """Refuse numbers that do not ascend."""
    if any(later <= earlier for earlier, later in pairwise(values)):
        raise ValueError("should ascend")
    return values


Iterations = Annotated[tuple[Count, ...], AfterValidator(_ascending)]
MOST_COMBINATIONS = 10_000
OPTIONAL = ("evaluate_at", "proxy", "bias_bound", "test_likelihood")
"""Settings of a run that its canonical JSON holds only where they are set."""


class Settings(BaseModel):
    """Base of all settings: frozen, and every key must be known."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def canonical(self) -> str:
        """Return the settings as JSON with sorted keys: the same text for the same settings."""
        return json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))

    def digest(self) -> str:
        """Return the first 10 hexadecimal digits of the sha256 of the canonical JSON."""
        return hashlib.sha256(self.canonical().encode()).hexdigest()[:10]


class Choice(Settings):
    """A part chosen by its name in a registry, with its options."""

    name: str
    options: dict[str, Any] = {}


class Initial(Settings):
    """The distribution the initial W, b and c are drawn from, each entry on its own; b and c may be otherwise."""

    kind: Literal["uniform", "normal"] = Field(
        default="uniform", description="uniform on [-width, width], or normal with standard deviation width"
    )
    width: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.1
    biases: Literal["drawn", "zero", "base_rate"] = Field(
        default="drawn", description="b and c: drawn as W is; zero; or c zero and b of the training rows' own rates"
    )

    @model_serializer(mode="wrap")
    def _only_biases_that_are_not_drawn(self, plain: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what is drawn anyway: the ids of runs from before there was a choice stay as they were."""
        return {key: value for key, value in plain(self).items() if key != "biases" or value != "drawn"}


class Stage(Settings):
    """One stage of a training schedule."""

    until: Count = Field(description="iteration after which the stage ends, counted from the start of the run")
    estimator: Choice
    update: Choice = Choice(name="sgd")
    rate: Rate = Field(description="learning rate")


class Proxy(Settings):
    """How the reconstruction log-likelihood is estimated, beside the log-likelihood, while a run trains."""

    chains: Count = Field(default=30, description="Gibbs chains from each row")
    steps: Count = Field(default=10, description="Gibbs steps of a chain")
    rows: Count | None = Field(default=None, description="training rows, evenly spaced; null: all")


class BiasBound(Settings):
    """Whose bias is evaluated, exactly and with its bounds, beside the log-likelihood, while a run trains: CD-k's."""

    k: Count | None = Field(default=None, description="Gibbs steps; null: the option k of the estimator, or else 1")


class RunSettings(Settings):
    """One training run: all its trials advance together."""

    data: Choice
    hidden: Count = Field(description="number of hidden units")
    batch: Count = Field(description="rows of a mini-batch")
    schedule: Annotated[tuple[Stage, ...], Field(min_length=1)]
    trials: Count = 1
    first_trial: Annotated[int, Field(ge=0, lt=2**32, strict=True)] = 0
    seed: Seed = 0
    initial: Initial = Initial()
    precision: Literal["float32", "float64"] = "float32"
    evaluate_every: Count = Field(default=100, description="iterations between evaluations")
    evaluate_at: Iterations = Field(default=(), description="further iterations at which the run is evaluated")
    proxy: Proxy | None = Field(default=None, description="of the log-likelihood, also evaluated; null: none")
    bias_bound: BiasBound | None = Field(default=None, description="CD's bias and bounds, also evaluated; null: none")
    test_likelihood: bool = Field(default=False, description="whether the test rows' log-likelihood is evaluated too")

    @property
    def iterations(self) -> int:
        """Number of iterations of the whole schedule."""
        return self.schedule[-1].until

    @property
    def most_rows(self) -> int:
        """Most rows that a step works on: those of a mini-batch, or chains where an estimator has more of them."""
        chains = (stage.estimator.options.get("chains") for stage in self.schedule)
        return max([self.batch, *(count for count in chains if isinstance(count, int))])

    @model_serializer(mode="wrap")
    def _only_what_is_there(self, plain: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what a run does not have: the ids of runs that never had it stay as they were."""
        return {key: value for key, value in plain(self).items() if key not in OPTIONAL or value}

    @model_validator(mode="after")
    def _stages_ascend(self) -> Self:
        ends = [stage.until for stage in self.schedule]
        if any(later <= earlier for earlier, later in pairwise(ends)):
            raise ValueError(f"schedule: 'until' must ascend, found {ends}")
        return self

    @model_validator(mode="after")
    def _trials_have_keys(self) -> Self:
        if self.first_trial + self.trials > 2**32:
            raise ValueError(f"first_trial + trials: found {self.first_trial + self.trials}, allowed: at most 2**32")
        return self


class GroundTruthSettings(Settings):
    """How the model expectation that estimates are held against is computed."""

    method: Literal["exact", "parallel_tempering"]
    chains: Count = 100
    burn_in: Annotated[int, Field(ge=0, strict=True)] = 50_000
    samples: Count = 200_000
    seed: Seed = 0


class EstimateSettings(Settings):
    """A series of independent gradient estimates of one model, each from its own mini-batch."""

    estimator: Choice
    batch: Count
    estimates: Count = 50_000
    seed: Seed = 0


class AnnealingBudget(Settings):
    """How log Z is estimated where neither layer can be enumerated: annealed importance sampling."""

    particles: Annotated[int, Field(ge=2, strict=True)] = Field(default=512, description="particles a model")
    temperatures: Count = Field(default=50_000, description="even steps of the inverse temperature from 0 to 1")
    base: Literal["base_rate", "uniform"] = Field(
        default="base_rate", description="start model: independent units with the data's own rates, or fair coins"
    )


class AnnealingSettings(AnnealingBudget):
    """A budget with the seed of the particles."""

    seed: Seed = 0


class CouplingSettings(Settings):
    """Independent pairs of coupled Gibbs chains of one random model, each run until the two have met."""

    visible: Count
    hidden: Count
    width: Annotated[float, Field(ge=0, allow_inf_nan=False)] = Field(
        default=0.1, description="standard deviation of the entries of W, b and c"
    )
    coupling: Coupling
    replications: Count = Field(default=1000, description="pairs of chains")
    longest: Annotated[int, Field(ge=2, strict=True)] = Field(default=1000, description="steps after which one is cut")
    seed: Seed = 0


class SamplerGrid(Choice):
    """A sampler with its options, and for some of them several values, all of which are tried."""

    grid: dict[str, Annotated[tuple[Any, ...], Field(min_length=1)]] = Field(
        default={}, description="by option: its values, tried in all combinations"
    )

    @model_validator(mode="after")
    def _not_too_many(self) -> Self:
        if (found := math.prod(map(len, self.grid.values()))) > MOST_COMBINATIONS:
            raise ValueError(f"grid: found {found} combinations; allowed: at most {MOST_COMBINATIONS}")
        return self

    @property
    def settings(self) -> list[dict[str, Any]]:
        """The options of every combination, in a fixed order."""
        names = sorted(self.grid)
        return [
            self.options | dict(zip(names, values, strict=True)) for values in product(*(self.grid[n] for n in names))
        ]


class SamplingSettings(Settings):
    """Streams of samples of trained models, by several samplers, and how well they cover rows not seen in training."""

    samplers: Annotated[dict[str, SamplerGrid], Field(min_length=1)]
    samples: Count = Field(default=200_000, description="samples of every stream")
    points: Count = Field(default=60, description="numbers of samples, evenly spaced in logarithm, for the likelihood")
    rows: Count | None = Field(default=None, description="validation rows and test rows at most, the first; null: all")
    shown: Count = Field(default=400, description="first samples of each stream of the first model that are kept")
    seed: Seed = 0
