# SPDX-License-Identifier: BSD-3-Clause
"""Tables of the times of the runs of one panel, beside the published times.

seconds    of training one trial: processor time if recorded, which other programs disturb less, else the clock's;
start-up and compilation are not included;
ratio      to the seconds of the reference algorithm;
the last row is the reference with its log-likelihoods: training, and the clock's seconds of all evaluations.
"""

from collections.abc import Iterator
from typing import Literal

import pandas as pd
from pydantic import Field

from rbmbench.base.settings import Positive, Settings
from rbmbench.config.checks import Checks
from rbmbench.config.paper import KINDS, Paper
from rbmbench.config.parts import Name, Names, PanelAddress
from rbmbench.io.layout import CURVE, META
from rbmbench.io.meta import Meta
from rbmbench.io.results import read_meta
from rbmbench.planning.chart import Table
from rbmbench.planning.jobs import Output, unique
from rbmbench.planning.kinds import Kind
from rbmbench.planning.runs import Planner
from rbmbench.planning.specs import Folder, RunFolder, Source, TableSpec, Trained
from rbmbench.reporting.frames import data_of, timed_alike, training_seconds
from rbmbench.reporting.text_tables import part_of, significant
from rbmbench.reporting.words import count, cuts, listed, stand_ins, variant_notes


class PublishedTime(Settings):
    """One entry of a published table."""

    algorithm: Name = Field(description="key of the algorithm")
    time: Positive = Field(description="time of training")
    time_with_log_likelihood: Positive | None = Field(default=None, description="time with all evaluations")


class PublishedTimes(Settings):
    """A published table of run times."""

    unit: Literal["seconds", "minutes"] = Field(default="seconds", description="unit of the times")
    machine: str = Field(default="", description="machine of the measurement")
    entries: tuple[PublishedTime, ...] = Field(default=(), description="the times of the table")

    def seconds(self, algorithm: str, with_log_likelihood: bool = False) -> float | None:
        """Return a published time in seconds; None if the paper has none."""
        key = "time_with_log_likelihood" if with_log_likelihood else "time"
        times = [getattr(entry, key) for entry in self.entries if entry.algorithm == algorithm]
        return times[0] * {"seconds": 1, "minutes": 60}[self.unit] if times and times[0] is not None else None


class RunTimesSpec(TableSpec, Trained):
    """A table of run times."""

    panel: str
    reference: str = Field(description="algorithm that times are divided by")
    evaluate_every: int
    runs: tuple[RunFolder, ...]
    evaluation: Folder | None = Field(default=None, description="annealing of the reference; null: log Z is exact")
    published: PublishedTimes = PublishedTimes()

    NAMES = "TABLE"

    def sources(self) -> dict[str, tuple[str, ...]]:
        return {run.folder: (CURVE, META) for run in (*self.runs, *filter(None, [self.evaluation]))}

    def read(self) -> dict[str, Meta]:
        return {folder: read_meta(folder) for folder in self.folders()}

    def numbers(self, results: dict[str, Meta]) -> pd.DataFrame:
        """Return the table with a row per algorithm, and one for the reference with its log-likelihoods.

        Columns are scale, panel, data, data_title, stand_in, hidden, algorithm, label, with_log_likelihood, trials,
        iterations; training_seconds (by the clock), training_cpu_seconds and evaluation_seconds (annealing included) of
        all trials; seconds and seconds_per_1000_iterations of one trial; ratio (NaN for a run on another machine);
        published_seconds and published_ratio (NaN where the paper has none); backend, threads, cpu.
        """
        metas = {run.algorithm: results[run.folder] for run in self.runs}
        lines = [self._line(run, metas[run.algorithm]) for run in self.runs]
        reference = next(line for line in lines if line["algorithm"] == self.reference)
        annealing = results[self.evaluation.folder]["wall"]["annealing_seconds"] if self.evaluation else 0.0
        evaluation = reference["evaluation_seconds"] + annealing
        evaluated = reference | {
            "with_log_likelihood": True,
            "evaluation_seconds": evaluation,
            "label": f"{reference['label']} with log-likelihoods",
            "seconds": reference["seconds"] + evaluation / reference["trials"],
        }
        table = pd.DataFrame([*lines, evaluated])
        table["seconds_per_1000_iterations"] = 1000 * table["seconds"] / table["iterations"]
        # Algorithms may have different iterations, so times per iteration are compared.
        table["ratio"] = table["seconds"] / table["iterations"] / (reference["seconds"] / reference["iterations"])
        reference_run = timed_alike(metas[self.reference])
        alike = [timed_alike(metas[algorithm]) == reference_run for algorithm in table["algorithm"]]
        table["ratio"] = table["ratio"].where(alike)
        pairs = table[["algorithm", "with_log_likelihood"]].to_numpy()
        table["published_seconds"] = pd.Series([self.published.seconds(*pair) for pair in pairs], dtype=float)
        table["published_ratio"] = table["published_seconds"] / (self.published.seconds(self.reference) or float("nan"))
        return table

    def _line(self, run: RunFolder, meta: Meta) -> dict[str, object]:
        data, wall = data_of(meta, run.folder), meta["wall"]
        return {
            "scale": self.scale,
            "panel": self.panel,
            "data": self.data,
            "data_title": data["title"],
            "stand_in": data["stand_in"],
            "hidden": self.hidden,
            "algorithm": run.algorithm,
            "label": run.label,
            "with_log_likelihood": False,
            "trials": meta["trials"],
            "iterations": meta["iterations"],
            "training_seconds": wall["training_seconds"],
            "training_cpu_seconds": wall.get("training_cpu_seconds"),
            "evaluation_seconds": wall["evaluation_seconds"],
            "seconds": training_seconds(meta) / meta["trials"],
            "backend": meta["backend"],
            "threads": meta["threads"],
            "cpu": meta["hardware"]["cpu"],
        }

    def table(self, numbers: pd.DataFrame) -> Table:
        """Return the printed table, without columns of published numbers if there are none."""
        published = 1000 * numbers["published_seconds"] / self.as_published("iterations", self.iterations)
        cells = {
            "algorithm": numbers["label"],
            "iterations": [count(number) for number in numbers["iterations"]],
            "training, s": numbers["seconds"].map(significant),
            "s per 1000 iterations": numbers["seconds_per_1000_iterations"].map(significant),
            "ratio": numbers["ratio"].map(significant),
            "published, s": numbers["published_seconds"].map(lambda value: f"{value:g}" if pd.notna(value) else ""),
            "published s per 1000 iterations": published.map(significant),
            "published ratio": numbers["published_ratio"].map(significant),
            "measured over published": (numbers["seconds_per_1000_iterations"] / published).map(significant),
        }
        empty = [name for name, column in cells.items() if not any(column)]
        table = pd.DataFrame(cells).drop(columns=empty)
        published = {name: f"published {name}" for name in table if f"published {name}" in table}
        label = next(run.label for run in self.runs if run.algorithm == self.reference)
        caption = (
            f"{self.title}. Seconds of training one trial of panel {self.panel}, {self.hidden} hidden units: processor"
            " time where it was recorded; start-up and compilation left out. All trials of a run advance together,"
            f" which small models gain from. Ratio: to {label}, by what an iteration takes. The row with"
            f" log-likelihoods has the clock's seconds of all evaluations added, one in {count(self.evaluate_every)}"
            " iterations. Ratios can be compared across machines, seconds cannot."
        )
        notes = [*notes_of_times(self, numbers, self.published.machine)]
        if apart := numbers.loc[numbers["ratio"].isna(), "label"].tolist():
            notes.append(f"Without a ratio, run on another machine or with other trials: {listed(apart)}.")
        return Table(parts=(part_of(caption, table, 1, published),), notes=tuple(notes))

    def evidence(self, results: dict[str, Meta], name: str, **_: object) -> Source | None:
        numbers = self.numbers(results)
        # Steps of UCD become longer during training, so that times depend on the iterations.
        fields = {"budget": {"iterations": self.iterations}, "differences": self.of_part(None)}
        return Source(label=self.name, frame=numbers, stand_in=numbers["stand_in"].iloc[0], **fields)


@KINDS.register
class RunTimes(Kind):
    """A table of the times of the runs of one panel, beside the published times."""

    panel: PanelAddress = Field(description="panel whose runs are timed, as FIGURE.PANEL")
    algorithms: Names | None = Field(default=None, description="keys of the algorithms, by row; null: the panel's")
    reference: Name = Field(description="key of the algorithm that times are divided by")

    IS_TABLE = True
    SPEC = RunTimesSpec

    def algorithms_of(self, paper: Paper) -> tuple[str, ...]:
        figure, panel = paper.panels_of("learning_curves")[self.panel]
        return self.algorithms or figure.algorithms_of(paper, panel)

    def names(self, paper: Paper) -> Iterator[str]:
        return iter(self.algorithms_of(paper))

    def check(self, checks: Checks, location: tuple) -> None:
        panels = checks.paper.panels_of("learning_curves")
        checks.check_names("panel", (self.panel,), panels, (*location, "panel"))
        checks.check_algorithms(self.algorithms or (), (*location, "algorithms"))
        names = self.algorithms_of(checks.paper)
        checks.check_names("algorithm of the table", (self.reference,), names, (*location, "reference"))
        checks.check_schedules(panels[self.panel][1], names, location)

    def plan(self, planner: Planner, key: str) -> Output:
        _, panel = planner.paper.panels_of("learning_curves")[self.panel]
        runs = planner.runs(panel, self.algorithms_of(planner.paper))
        evaluation = planner.evaluation(panel, runs[self.reference])
        folder = evaluation and planner.plan.folder(evaluation)
        spec = RunTimesSpec(
            **planner.heading(key, self),
            **planner.trained(panel),
            panel=self.panel,
            reference=self.reference,
            evaluate_every=panel.evaluations(planner.paper.defaults)[0],
            runs=planner.labelled({name: planner.plan.folder(run) for name, run in runs.items()}),
            evaluation=folder and Folder(folder=folder),
        )
        parts = {("", name): (run,) for name, run in runs.items()}
        timed = {"": {"of": self.panel, "reference": self.reference}}
        return Output(spec, unique(job.id for job in (*runs.values(), evaluation) if job), parts, timed)


def notes_of_times(spec: TableSpec, numbers: pd.DataFrame, published: str = "") -> Iterator[str]:
    """Yield the notes of a table of times: machines, with that of the ``published`` times, and differences."""
    machines = numbers[["cpu", "threads", "backend"]].drop_duplicates()
    words = (f"{cpu}, {n} thread{'s' * (n != 1)}, {backend} kernels" for cpu, n, backend in machines.values)
    yield f"Scale: {spec.scale}. Timed on: {'; '.join(words)}."
    if published:
        yield f"Published times: {published}."
    yield from variant_notes(spec)
    if less := cuts(spec):
        yield f"Iterations and trials: {listed(less)}."
    yield from (f"Stand-in data: {phrase}." for phrase in stand_ins(numbers))
