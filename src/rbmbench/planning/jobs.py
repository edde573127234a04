# SPDX-License-Identifier: BSD-3-Clause
"""The plan of a scale: the jobs that are computed, and the figures and tables that show them."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rbmbench.base.errors import SettingsError, unknown_name
from rbmbench.config.parts import DataEntry
from rbmbench.io.layout import META, Layout
from rbmbench.jobs import Sizes, of_name
from rbmbench.model.work import default_seconds
from rbmbench.planning.specs import Shown


@dataclass(frozen=True)
class Job:
    """A computation that is run once, however many figures and tables use it."""

    id: str
    kind: str  # name, see `rbmbench.jobs`
    settings: Any  # of the kind
    data: str = ""  # key of the data set; empty where none is read
    run: str = ""  # id of the training run whose models are measured; empty for the run itself
    needs: tuple[str, ...] = ()  # ids of further jobs whose results are read
    title: str = ""  # algorithm, data and sizes


@dataclass(frozen=True)
class Output:
    """A figure or a table: its spec, and the ids of the jobs that it shows.

    ``parts`` has the jobs by panel, algorithm and further labels such as the rate, for the comparison with the
    published ones; by default all jobs are compared in their order. ``settings`` has, by panel ("" for all), the
    numbers that results depend on beside the settings of jobs.
    """

    spec: Shown
    jobs: tuple[str, ...] = ()
    parts: Mapping[tuple[str, ...], tuple[Job, ...]] = field(default_factory=dict)
    settings: Mapping[str, Mapping[str, object]] = field(default_factory=dict)


@dataclass
class Plan:
    """Jobs of one scale by id, and its figures and tables by key."""

    scale: str
    papers: tuple[str, ...]  # and studies
    studies: tuple[str, ...] = ()
    data: dict[str, DataEntry] = field(default_factory=dict)
    jobs: dict[str, Job] = field(default_factory=dict)
    run_ids: dict[tuple[str, str], str] = field(default_factory=dict)
    """Ids of training runs by data set and digest of the settings: algorithms that train alike share a run."""
    figures: dict[str, Output] = field(default_factory=dict)
    tables: dict[str, Output] = field(default_factory=dict)

    @property
    def layout(self) -> Layout:
        """Paths of the files of this scale."""
        return Layout.of(self.scale)

    @property
    def outputs(self) -> dict[str, Output]:
        """All figures and tables."""
        return self.figures | self.tables

    def of_kind(self, kind: str) -> dict[str, Job]:
        """Return the jobs of a kind by their ids."""
        return {name: job for name, job in self.jobs.items() if job.kind == kind}

    def add(self, job: Job) -> Job:
        """Return the job of this id in the plan, which is added if there is none."""
        return self.jobs.setdefault(job.id, job)

    def folder(self, job: Job) -> str:
        """Return the folder of a job."""
        return self.layout.job(of_name(job.kind).folder, job.id)

    def files(self, job: Job) -> list[str]:
        """Return all files of a job."""
        return [f"{self.folder(job)}/{name}" for name in (*of_name(job.kind).files, META)]

    def is_done(self, job: Job) -> bool:
        """Return whether all files of a job exist."""
        return all(Path(file).is_file() for file in self.files(job))

    def sizes(self, job: Job, expected: Mapping[str, float] | None = None) -> Sizes:
        """Return the sizes that the cost of a job follows from, see `rbmbench.jobs.Sizes`."""
        if not job.data:
            return Sizes(expected=expected or {})
        entry, run = self.data[job.data], self.jobs[job.run or job.id].settings
        held_out = {name: number for name, number in entry.options.items() if isinstance(number, int)}
        return Sizes(entry.rows, entry.visible, run.hidden, run.trials, held_out, run, expected or {})

    def default_seconds(self, job: Job) -> float:
        """Return the processor seconds of a job by default costs: the same on every machine."""
        return default_seconds(of_name(job.kind).work(job.settings, self.sizes(job)))

    def needed(self, output: Output) -> tuple[str, ...]:
        """Return the ids of the jobs that a figure or table needs, directly or through others."""
        return unique(name for job in output.jobs for name in (job, *self.before(self.jobs[job])))

    def before(self, job: Job) -> tuple[str, ...]:
        """Return the ids of the jobs whose results a job reads."""
        return (*((job.run,) if job.run else ()), *job.needs)

    @property
    def targets(self) -> dict[str, list[str]]:
        """Figures and tables by target; those of studies are not in ``all_figures`` and ``all_tables``."""
        papers = {key: output.spec.paper for key, output in self.outputs.items()}
        names = {key: key if key in self.studies else f"paper_{key}" for key in self.papers}
        return {
            "all": list(papers),
            "all_figures": [key for key in self.figures if papers[key] not in self.studies],
            "all_tables": [key for key in self.tables if papers[key] not in self.studies],
            **{name: [key for key in papers if papers[key] == paper] for paper, name in names.items()},
            **{key: [key] for key in papers},
        }

    def only(self, targets: Iterable[str]) -> "Plan":
        """Return the plan of some targets; `SettingsError` for the first one that is unknown."""
        keys_of, keys = self.targets, set()
        for target in targets:
            if target not in keys_of:
                raise SettingsError(unknown_name("target", target, keys_of))
            keys.update(keys_of[target])
        needed = keys.union(*(self.needed(self.outputs[key]) for key in keys))
        fields = {"jobs": self.jobs, "figures": self.figures, "tables": self.tables}
        chosen = {field: {id: entries[id] for id in entries if id in needed} for field, entries in fields.items()}
        return replace(self, **chosen)


def data_name(name: str) -> str:
    """Return the title of a data set: "MNIST" for "mnist"; other names as they are."""
    return {"mnist": "MNIST", "letters": "Letters"}.get(name, name)


def title_of_data(entry: DataEntry) -> str:
    """Return the title of a data set in titles of jobs: that of the other data set, if it has the rows of another."""
    return data_name(str(entry.options.get("data", entry.name))).replace("_", " ")


def derived_seed(seed: int, *purpose: object) -> int:
    """Return the seed for one purpose: 32 bits of the sha256 of the paper's seed and the purpose."""
    text = "/".join(map(str, (seed, *purpose)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def digest_of(*parts: str) -> str:
    """Return the first 10 hexadecimal digits of the sha256 of the parts, one per line."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:10]


def unique(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names without repetitions, in their first order."""
    return tuple(dict.fromkeys(names))
