# SPDX-License-Identifier: BSD-3-Clause
"""What a scale computes: runs, evaluations, ground truths, estimates, chains, samples; and what is shown of them."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rbmbench.config.parts import DataEntry
from rbmbench.io.layout import Layout
from rbmbench.planning.specs import Shown


@dataclass(frozen=True)
class Job:
    """What is computed once, whatever figures and tables show of it.

    Attributes
    ----------
    id : str
    settings : Settings
        `RunSettings`, or the settings of another job of `rbmbench.base.settings`.
    data : str
        Key of the data set of a training run.
    run : str
        Id of the training run whose models are measured.
    ground_truths : tuple of str
        Ids of the ground truths that gradient estimates are compared with.
    """

    id: str
    settings: Any
    data: str = ""
    run: str = ""
    ground_truths: tuple[str, ...] = ()


@dataclass(frozen=True)
class Output:
    """A figure or a table: its spec, and the ids of the jobs it needs.

    Attributes
    ----------
    parts : mapping
        The jobs behind what it shows: by panel and algorithm, and by what else tells them apart, such as the rate. They
        are compared with the published ones; left out, all jobs are compared in their order.
    settings : mapping
        By panel ("" for all): what numbers depend on beside the settings of jobs.
    """

    spec: Shown
    runs: tuple[str, ...] = ()
    estimates: tuple[str, ...] = ()
    evaluations: tuple[str, ...] = ()
    couplings: tuple[str, ...] = ()
    samples: tuple[str, ...] = ()
    certificates: tuple[str, ...] = ()
    parts: Mapping[tuple[str, ...], tuple[Job, ...]] = field(default_factory=dict)
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass
class Plan:
    """All that one scale computes, each job by its id, and all that it shows, by key."""

    scale: str
    papers: tuple[str, ...]
    data: dict[str, DataEntry] = field(default_factory=dict)
    runs: dict[str, Job] = field(default_factory=dict)
    evaluations: dict[str, Job] = field(default_factory=dict)
    ground_truths: dict[str, Job] = field(default_factory=dict)
    estimates: dict[str, Job] = field(default_factory=dict)
    couplings: dict[str, Job] = field(default_factory=dict)
    samples: dict[str, Job] = field(default_factory=dict)
    certificates: dict[str, Job] = field(default_factory=dict)
    figures: dict[str, Output] = field(default_factory=dict)
    tables: dict[str, Output] = field(default_factory=dict)
    alike: dict[tuple[str, str], Job] = field(default_factory=dict)
    """Runs by the key of their data and the digest of their settings."""

    @property
    def layout(self) -> Layout:
        """Where the files of this scale are."""
        return Layout.of(self.scale)

    @property
    def outputs(self) -> dict[str, Output]:
        """All figures and tables."""
        return self.figures | self.tables

    @property
    def jobs(self) -> list[Job]:
        """All jobs."""
        measured = self.evaluations, self.ground_truths, self.estimates, self.couplings, self.samples, self.certificates
        return [job for kind in (self.runs, *measured) for job in kind.values()]

    def needed(self, output: Output) -> list[str]:
        """Return the ids of the jobs that a figure or table needs."""
        truths = unique(truth for part in output.estimates for truth in self.estimates[part].ground_truths)
        runs = output.runs, output.estimates, truths, output.evaluations
        return [job for kind in (*runs, output.samples, output.couplings, output.certificates) for job in kind]

    def of_paper(self, paper: str) -> list[str]:
        """Return the keys of a paper's figures and tables."""
        return [key for key, output in self.outputs.items() if output.spec.paper == paper]


def derived_seed(seed: int, *purpose: Any) -> int:
    """Return the seed for one purpose: 32 bits of the sha256 of the paper's seed and what it is for."""
    text = "/".join(str(part) for part in (seed, *purpose))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def digest_of(*parts: str) -> str:
    """Return the first 10 hexadecimal digits of the sha256 of the parts, one per line."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:10]


def unique(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names without repetitions, in their first order."""
    return tuple(dict.fromkeys(names))
