# SPDX-License-Identifier: BSD-3-Clause
"""Settings of runs and measurements, as frozen pydantic models.

A result depends on its settings and the data only. Run ids are hashes of the canonical JSON of the settings.
"""

import hashlib
import json
import math
from functools import partial
from itertools import pairwise, product
from operator import not_
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

Coupling = Literal["general", "rbm", "both_layers", "from_start"]

MOST_COUNT = 2**31 - 1  # largest count of arrays and kernels
# Limits of numbers that determine the work or the memory of a single step, far above useful values: a larger number is
# a mistake that would go unnoticed for hours.
MOST_STEPS = 10**6  # of a chain, for an estimate or a sample
MOST_CHAINS = 10**6  # chains or particles at a time
MOST_TEMPERATURES = 10**4  # of parallel tempering
MOST_ANNEALING_STEPS = 10**7
MOST_POINTS = 10**4  # of a curve of likelihoods of samples
MOST_THREADS = 1024
HELD_OUT = ("validation", "test")  # parts of a data set that are not trained on
LARGEST = dict.fromkeys(("k", "steps", "inner_steps", "max_steps", "most_steps"), MOST_STEPS)
LARGEST |= dict.fromkeys(("chains", "particles", "sets"), MOST_CHAINS)
LARGEST |= {"temperatures": MOST_TEMPERATURES, "threads": MOST_THREADS}
"""Limits of options and arguments by their name; others are at most MOST_COUNT."""

Count = Annotated[int, Field(ge=1, lt=2**31, strict=True)]
CountOrZero = Annotated[int, Field(ge=0, lt=2**31, strict=True)]
StepCount = Annotated[int, Field(ge=1, le=MOST_STEPS, strict=True)]
Several = Annotated[int, Field(ge=2, le=MOST_COUNT, strict=True)]
LastStep = Annotated[int, Field(ge=2, le=MOST_STEPS, strict=True)]
ChainCount = Annotated[int, Field(ge=1, le=MOST_CHAINS, strict=True)]
ParticleCount = Annotated[int, Field(ge=2, le=MOST_CHAINS, strict=True)]
TemperatureCount = Annotated[int, Field(ge=2, le=MOST_TEMPERATURES, strict=True)]
AnnealingStepCount = Annotated[int, Field(ge=1, le=MOST_ANNEALING_STEPS, strict=True)]
PointCount = Annotated[int, Field(ge=1, le=MOST_POINTS, strict=True)]


def no_truth_value(value: object) -> object:
    """Return a value; `ValueError` for True and False, which pydantic would convert to 1 and 0."""
    if isinstance(value, bool):
        raise ValueError("must be a number")
    return value


Number = Annotated[float, Field(allow_inf_nan=False), BeforeValidator(no_truth_value)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False), BeforeValidator(no_truth_value)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False), BeforeValidator(no_truth_value)]
Rate = Positive
Seed = Annotated[int, Field(ge=0, lt=2**32, strict=True)]


def _ascending(values: tuple[float, ...]) -> tuple[float, ...]:
    if any(later <= earlier for earlier, later in pairwise(values)):
        raise ValueError("must ascend")
    return values


Iterations = Annotated[tuple[Count, ...], AfterValidator(_ascending)]
Costs = Annotated[tuple[Positive, ...], AfterValidator(_ascending)]
# A setting that the canonical JSON omits unless it is set, so that older run ids stay valid.
IfSet = partial(Field, exclude_if=not_)
MOST_COMBINATIONS = 10_000


def check_budget(products: float | None, evaluate_at_products: tuple[float, ...] | None) -> None:
    """Raise a ValueError for evaluations at costs without a budget."""
    if evaluate_at_products and not products:
        raise ValueError("evaluate_at_products: needs products, the budget")


class Settings(BaseModel):
    """Base of all settings: frozen, without unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def canonical(self) -> str:
        """Return the settings as JSON with sorted keys."""
        return json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))

    def digest(self) -> str:
        """Return the first 10 hexadecimal digits of the sha256 of the canonical JSON."""
        return hashlib.sha256(self.canonical().encode()).hexdigest()[:10]


class Choice(Settings):
    """A part chosen by its name in a registry, and its options."""

    name: str = Field(description="name of the part, which is its module")
    options: dict[str, Any] = Field(default={}, description="its options")


class Initial(Settings):
    """Distribution of the entries of the initial W, b and c; the biases may also be fixed."""

    kind: Literal["uniform", "normal"] = Field(
        default="uniform", description="uniform on [-width, width], or normal with standard deviation width"
    )
    width: NotNegative = Field(default=0.1, description="bound or standard deviation, see kind")
    biases: Literal["drawn", "zero", "base_rate"] = Field(
        default="drawn",
        description="b and c: drawn like W; zero; or c zero and b the log odds of the rates of the training rows",
        exclude_if=lambda biases: biases == "drawn",  # so that older run ids stay valid
    )


class Step(Settings):
    """Estimator, update rule and rate of a training iteration."""

    estimator: Choice
    update: Choice = Choice(name="sgd")
    rate: Rate = Field(description="learning rate")


class Stage(Step):
    """One stage of a training schedule."""

    until: Count = Field(description="iteration after which the stage ends, counted from the start of the run")


class Proxy(Settings):
    """Estimation of the reconstruction log-likelihood at the evaluations of a run."""

    chains: ChainCount = Field(default=30, description="Gibbs chains from each row")
    steps: StepCount = Field(default=10, description="Gibbs steps of a chain")
    rows: Count | None = Field(default=None, description="training rows, evenly spaced; null: all")


class BiasBound(Settings):
    """Evaluation of the exact bias of CD-k and its bounds at the evaluations of a run."""

    k: StepCount | None = Field(default=None, description="Gibbs steps; null: the option k of the estimator, or else 1")


class RunSettings(Settings):
    """One training run of one or more trials."""

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
    evaluate_at: Iterations = IfSet(default=(), description="further iterations at which the run is evaluated")
    proxy: Proxy | None = IfSet(default=None, description="proxy of the log-likelihood to evaluate; null: none")
    bias_bound: BiasBound | None = IfSet(default=None, description="bias of CD to evaluate, with bounds; null: none")
    validation_likelihood: bool = IfSet(default=False, description="also evaluate that of the validation rows")
    test_likelihood: bool = IfSet(default=False, description="also evaluate the log-likelihood of the test rows")
    patience: Count | None = IfSet(
        default=None,
        description="evaluations without a rise of the score of the validation rows, mean over the trials, after which "
        "training ends: their log-likelihood, or an estimate of their pseudo-likelihood where log Z is not computed; "
        "null: all iterations",
    )
    products: Positive | None = IfSet(
        default=None,
        description="most matrix products of a trial, which keeps its last model inside them; null: no limit",
    )
    evaluate_at_products: Costs = IfSet(
        default=(), description="with products: means over the trials at which the run is evaluated, too"
    )

    @property
    def iterations(self) -> int:
        """Number of iterations of the whole schedule."""
        return self.schedule[-1].until

    @property
    def most_rows(self) -> int:
        """Largest number of rows in a step: the mini-batch, or the chains of an estimator if there are more."""
        chains = (stage.estimator.options.get("chains") for stage in self.schedule)
        return max([self.batch, *(count for count in chains if isinstance(count, int))])

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        ends = [stage.until for stage in self.schedule]
        if any(later <= earlier for earlier, later in pairwise(ends)):
            raise ValueError(f"schedule: 'until' must ascend, got {ends}")
        check_budget(self.products, self.evaluate_at_products)
        if self.patience and not self.validation_likelihood:
            raise ValueError("patience: needs validation_likelihood")
        if self.first_trial + self.trials > 2**32:  # words of random keys
            raise ValueError(f"first_trial + trials: must be at most 2**32, got {self.first_trial + self.trials}")
        return self


class TimingSettings(Settings):
    """Training iterations of several algorithms on the same data, timed side by side in rounds."""

    data: Choice
    hidden: Count = Field(description="number of hidden units")
    batch: Count = Field(description="rows of a mini-batch")
    algorithms: Annotated[dict[str, Step], Field(min_length=1)]
    trials: Count = Field(default=1, description="models that an iteration trains together")
    seed: Seed = 0
    initial: Initial = Initial()
    precision: Literal["float32", "float64"] = "float32"
    rounds: Count = Field(default=60, description="turns of each algorithm")
    seconds: Positive = Field(default=0.03, description="processor seconds of a turn, about")

    def run(self, algorithm: str) -> RunSettings:
        """Return the settings of a run of one algorithm, of one iteration."""
        shared = self.model_dump(exclude={"algorithms", "rounds", "seconds"})
        return RunSettings(**shared, schedule=(Stage(until=1, **self.algorithms[algorithm].model_dump()),))


class GroundTruthSettings(Settings):
    """Computation of the model expectation that estimates are compared with."""

    method: Literal["exact", "parallel_tempering"]
    chains: TemperatureCount = 100
    burn_in: CountOrZero = 50_000
    samples: Several = 200_000
    seed: Seed = 0


class EstimateSettings(Settings):
    """A series of gradient estimates of one model, each from its own mini-batch."""

    estimator: Choice
    batch: Count
    estimates: Several = 50_000
    seed: Seed = 0


class Tempering(Settings):
    """Parallel tempering from two starts, see `rbmbench.likelihood.tempered_log_partition`."""

    target_error: Positive = Field(
        default=0.1, description="standard error of log Z, nats, at which the chains of a model end"
    )
    products: Count = Field(default=5_000_000, description="products of a row with W after which they end in any case")


class Bracket(Settings):
    """Annealing in both directions, see `rbmbench.likelihood.bracketed_log_partition`."""

    steps: StepCount = Field(
        default=1000, description="Gibbs steps from training rows to the samples that are annealed in reverse"
    )
    repeat: Annotated[int, Field(ge=1, le=100, strict=True)] = Field(
        default=5,
        description="times the temperatures of a second annealing, where fewer than a tenth of the particles count; "
        "1: none",
    )


class Annealed(Settings):
    """Estimation of log Z, for models of which neither layer can be enumerated."""

    particles: ParticleCount = Field(default=512, description="particles per model")
    temperatures: AnnealingStepCount = Field(default=50_000, description="steps of the inverse temperature from 0 to 1")
    spacing: Literal["equal", "dense"] = Field(
        default="equal",
        description="of the steps: equal, or denser near 1 (a fifth of them below 0.5, two fifths above 0.9)",
        exclude_if=lambda spacing: spacing == "equal",  # so that older ids stay valid
    )
    base: Literal["base_rate", "uniform"] = Field(
        default="base_rate", description="start model: independent units with the rates of the data, or fair coins"
    )
    tempering: Tempering | None = IfSet(
        default=None, description="parallel tempering in place of annealing, without particles; null: annealing"
    )

    @property
    def chain_steps(self) -> int:
        """Most Gibbs steps of all particles or chains of a model."""
        return self.tempering.products // 2 if self.tempering else self.particles * self.temperatures


class AnnealingBudget(Annealed):
    """Estimation of log Z at the evaluations of a run."""

    bracket: Bracket | None = IfSet(
        default=None, description="annealing in reverse, too, for an interval of both directions; null: forward only"
    )
    compared: CountOrZero = IfSet(
        default=0,
        description="with tempering: evaluations of a run, evenly spread up to the last, that are also annealed, with "
        "particles and temperatures",
    )

    @property
    def chain_steps(self) -> int:
        """See `Annealed.chain_steps`."""
        if self.tempering or not self.bracket:
            return super().chain_steps
        repeated = self.bracket.repeat if self.bracket.repeat > 1 else 0
        return self.particles * ((2 + repeated) * self.temperatures + self.bracket.steps)

    @model_validator(mode="after")
    def _compared_with_tempering(self) -> Self:
        if self.compared and not self.tempering:
            raise ValueError("compared: needs tempering")
        return self


class AnnealingSettings(AnnealingBudget):
    """An annealing budget and the seed of the particles."""

    seed: Seed = 0


LEAST_SWEEPS = 128  # of a certificate, which keeps 4 samples of each of 32 pieces of a chain


class CertificateBudget(Annealed):
    """Budget of the certificate of a trained model."""

    temperatures: AnnealingStepCount = Field(
        default=2000, description="equal steps of the inverse temperature from 0 to 1, forward and in reverse"
    )
    chains: ParticleCount = Field(default=128, description="sets of tempered chains")
    ladder: TemperatureCount = Field(default=20, description="inverse temperatures of a set, from 0 to 1")
    sweeps: Annotated[int, Field(ge=LEAST_SWEEPS, le=MOST_STEPS, strict=True)] = Field(
        default=1000, description="sweeps of a set; the second half is used"
    )
    walkers: ParticleCount = Field(default=256, description="Gibbs chains from noise, and as many from training rows")
    steps: StepCount = Field(default=1024, description="Gibbs steps of these chains")
    rows: Several = Field(default=1000, description="most rows, and samples, that are compared by nearest neighbours")
    models: Count | None = Field(default=None, description="number of models that are examined; null: all")


class CertificateSettings(CertificateBudget):
    """The budget of a certificate, the models it is for, and the seed."""

    first_model: CountOrZero = Field(default=0, description="first model that is examined, counted from 0")
    seed: Seed = 0

    def examined(self, trials: int) -> int:
        """Return the number of models that are examined of a run of so many trials."""
        return self.models or trials - self.first_model


class CouplingSettings(Settings):
    """Independent pairs of coupled Gibbs chains of one random model, each run until the chains meet."""

    visible: Count
    hidden: Count
    width: NotNegative = Field(default=0.1, description="standard deviation of the entries of W, b and c")
    coupling: Coupling
    replications: ChainCount = Field(default=1000, description="pairs of chains")
    longest: LastStep = Field(default=1000, description="steps after which a pair is cut off")
    seed: Seed = 0


class SamplerGrid(Choice):
    """A sampler with its options, and a grid of values for some of them."""

    grid: dict[str, Annotated[tuple[object, ...], Field(min_length=1)]] = Field(
        default={}, description="values of each option, tried in all combinations"
    )

    @model_validator(mode="after")
    def _few_and_distinct(self) -> Self:
        if (count := math.prod(map(len, self.grid.values()))) > MOST_COMBINATIONS:
            raise ValueError(f"grid: must have at most {MOST_COMBINATIONS} combinations, got {count}")
        for name, values in self.grid.items():
            if any(value in values[:place] for place, value in enumerate(values)):
                raise ValueError(f"grid: {name}: values must differ, got {list(values)}")
        return self

    @property
    def settings(self) -> list[dict[str, Any]]:
        """The options of every combination, in a fixed order."""
        names = sorted(self.grid)
        combinations = product(*(self.grid[name] for name in names))
        return [self.options | dict(zip(names, values, strict=True)) for values in combinations]


class SamplingSettings(Settings):
    """Samples of trained models by several samplers, and their indirect sampling likelihood on unseen rows."""

    samplers: Annotated[dict[str, SamplerGrid], Field(min_length=1)]
    samples: Count = Field(default=200_000, description="samples of each stream")
    points: PointCount = Field(
        default=60, description="numbers of samples, evenly spaced in logarithm, for the likelihood"
    )
    rows: Count | None = Field(default=None, description="number of first validation and test rows to use; null: all")
    shown: Count = Field(default=400, description="first samples of each stream of the first model to keep")
    seed: Seed = 0
