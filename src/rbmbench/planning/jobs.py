"""What a scale computes: runs, evaluations, ground truths, estimates, chains, samples; and the results of them."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rbmbench.base.settings import (
    AnnealingSettings,
    CouplingSettings,
    EstimateSettings,
    GroundTruthSettings,
    RunSettings,
    SamplingSettings,
)
from rbmbench.config.paper import DataEntry

__all__ = [
    "CoupledChains",
    "Estimate",
    "Evaluation",
    "GroundTruth",
    "Plan",
    "Result",
    "Run",
    "Samples",
    "derived_seed",
    "digest_of",
    "unique",
]


@dataclass(frozen=True)
class Run:
    """A training run: its id, the key of its data set, and its settings."""

    id: str
    data: str
    settings: RunSettings


@dataclass(frozen=True)
class Evaluation:
    """The log-likelihoods of a run's snapshots, estimated by annealed importance sampling."""

    id: str
    run: str
    settings: AnnealingSettings


@dataclass(frozen=True)
class GroundTruth:
    """The model expectations of a run's trained models."""

    id: str
    run: str
    settings: GroundTruthSettings


@dataclass(frozen=True)
class Estimate:
    """Gradient estimates of a run's trained models, and the ground truths they are held against."""

    id: str
    run: str
    settings: EstimateSettings
    ground_truths: tuple[str, ...]


@dataclass(frozen=True)
class CoupledChains:
    """Pairs of coupled chains of a random model, by one coupling."""

    id: str
    settings: CouplingSettings


@dataclass(frozen=True)
class Samples:
    """Streams of samples of a run's trained models, by several samplers."""

    id: str
    run: str
    settings: SamplingSettings


@dataclass(frozen=True)
class Result:
    """A figure or a table: its spec for the reports, the ids of what it shows, and the data sets it reads itself."""

    key: str
    paper: str
    kind: str
    spec: Mapping[str, Any]
    runs: tuple[str, ...] = ()
    estimates: tuple[str, ...] = ()
    evaluations: tuple[str, ...] = ()
    couplings: tuple[str, ...] = ()
    samples: tuple[str, ...] = ()
    data: tuple[str, ...] = ()


@dataclass
class Plan:
    """All that one scale computes, each thing by its id."""

    scale: str
    papers: tuple[str, ...]
    data: dict[str, DataEntry] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)
    evaluations: dict[str, Evaluation] = field(default_factory=dict)
    ground_truths: dict[str, GroundTruth] = field(default_factory=dict)
    estimates: dict[str, Estimate] = field(default_factory=dict)
    couplings: dict[str, CoupledChains] = field(default_factory=dict)
    samples: dict[str, Samples] = field(default_factory=dict)
    figures: dict[str, Result] = field(default_factory=dict)
    tables: dict[str, Result] = field(default_factory=dict)

    @property
    def folder(self) -> str:
        """Where everything of this scale is written."""
        return f"results/{self.scale}"

    def run_folder(self, run: str) -> str:
        """Return the folder of a run."""
        return f"{self.folder}/runs/{run}"

    def evaluation_folder(self, evaluation: str) -> str:
        """Return the folder of an evaluation: it holds a curve and meta as a run's folder does."""
        return f"{self.folder}/evaluations/{evaluation}"

    def of_paper(self, paper: str) -> list[str]:
        """Return the keys of a paper's figures and tables."""
        return [key for key, result in (self.figures | self.tables).items() if result.paper == paper]

    def gradient_folder(self, part: str) -> str:
        """Return the folder of a ground truth or of estimates."""
        return f"{self.folder}/gradients/{part}"

    def coupling_folder(self, coupling: str) -> str:
        """Return the folder of coupled chains."""
        return f"{self.folder}/couplings/{coupling}"

    def sample_folder(self, samples: str) -> str:
        """Return the folder of streams of samples."""
        return f"{self.folder}/samples/{samples}"

    def data_file(self, data: str) -> str:
        """Return the file of a data set."""
        return f"{self.folder}/datasets/{data}.npz"


def derived_seed(seed: int, *purpose: Any) -> int:
    """Return the seed for one purpose: 32 bits of the sha256 of the paper's seed and what it is for."""
    text = "/".join(str(part) for part in (seed, *purpose))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def digest_of(*parts: str) -> str:
    """Return the first 10 hexadecimal digits of the sha256 of the parts, one a line."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:10]


def unique(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names without repetitions, in their first order."""
    return tuple(dict.fromkeys(names))
