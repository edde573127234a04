# SPDX-License-Identifier: BSD-3-Clause
"""Tables of the times of a training iteration with algorithms that are timed side by side.

ms       of the processor, for an iteration of one trial: the median over rounds;
ratio    to the time of another algorithm in the same round: the geometric mean over rounds, with its interval.
Other work on the machine slows both turns of a round alike, or else widens the interval.
"""

from collections.abc import Iterator
from itertools import chain
from typing import Annotated

import numpy as np
import pandas as pd
from pydantic import Field

from rbmbench.base.metrics import INTERVAL
from rbmbench.base.settings import Count, Positive
from rbmbench.config.checks import Checks
from rbmbench.config.paper import KINDS, Paper
from rbmbench.config.parts import Name, Names, Panel
from rbmbench.io.layout import META, TIMES
from rbmbench.io.meta import Meta
from rbmbench.io.results import read_meta, read_table
from rbmbench.kinds.run_times import notes_of_times
from rbmbench.planning.chart import Table
from rbmbench.planning.jobs import Output, unique
from rbmbench.planning.kinds import Kind
from rbmbench.planning.runs import Planner
from rbmbench.planning.specs import Folder, Source, TableSpec
from rbmbench.reporting.claims.intervals import ratio_of_times
from rbmbench.reporting.frames import data_of
from rbmbench.reporting.text_tables import by_interval, interval, part_of, significant
from rbmbench.reporting.words import count

Timed = tuple[pd.DataFrame, Meta]
"""The seconds per iteration of a row, by round (index) and algorithm (columns), and the meta of its job."""


class TimedRow(Panel):
    """Data, model and algorithms of a row, which are timed side by side."""

    iterations: Count = Field(default=1, description="ignored: a turn has as many as fit into its time")
    algorithms: Names = Field(description="keys of the algorithms")


class TimedFolder(Folder):
    """A row, and the folder of its timings."""

    name: str
    data: str
    hidden: int
    trials: int


class StepTimesSpec(TableSpec):
    """A table of times of training iterations."""

    rows: tuple[TimedFolder, ...]
    against: dict[str, str]
    labels: dict[str, str]

    NAMES = "TABLE"

    def sources(self) -> dict[str, tuple[str, ...]]:
        return {row.folder: (TIMES, META) for row in self.rows}

    def read(self) -> dict[str, Timed]:
        tables = {folder: read_table(folder, TIMES) for folder in self.folders()}
        by_round = {"index": "round", "columns": "algorithm", "values": "seconds_per_iteration"}
        return {folder: (table.pivot(**by_round), read_meta(folder)) for folder, table in tables.items()}

    def numbers(self, results: dict[str, Timed]) -> pd.DataFrame:
        """Return the table with a line per row and algorithm.

        Columns are scale, row, data, data_title, stand_in, hidden, batch, trials, rounds, backend, threads, cpu;
        algorithm, label; milliseconds of an iteration of one trial; against (key of the algorithm that it is divided
        by, "" for none), ratio, ratio_low and ratio_high (NaN without).
        """
        return pd.DataFrame([line for row in self.rows for line in self._lines(row, *results[row.folder])])

    def _lines(self, row: TimedFolder, times: pd.DataFrame, meta: Meta) -> Iterator[dict[str, object]]:
        data = data_of(meta, row.folder)
        shared = {"scale": self.scale, "row": row.name, "data": row.data, "data_title": data["title"]}
        shared |= {"stand_in": data["stand_in"], "hidden": row.hidden, "trials": row.trials, "rounds": len(times)}
        shared |= {"batch": meta["settings"]["batch"]}
        shared |= {"backend": meta["backend"], "threads": meta["threads"], "cpu": meta["hardware"]["cpu"]}
        for name in (name for name in self.labels if name in times):
            against = other if (other := self.against.get(name)) in times else ""
            ratio, low, high = ratio_of_times([(times[name], times[against])]) if against else (np.nan,) * 3
            milliseconds = 1000 * times[name].median() / row.trials
            entry = {"algorithm": name, "label": self.labels[name], "milliseconds": milliseconds, "against": against}
            yield shared | entry | {"ratio": ratio, "ratio_low": low, "ratio_high": high}

    def table(self, numbers: pd.DataFrame) -> Table:
        ends = numbers[["ratio", "ratio_low", "ratio_high"]].to_numpy()
        cells = {
            "data": numbers["data_title"],
            "hidden": numbers["hidden"].map(count),
            "batch": numbers["batch"].map(count),
            "algorithm": numbers["label"],
            "ms": numbers["milliseconds"].map(significant),
            "over": numbers["against"].map(lambda name: self.labels.get(name, "")),
            "ratio": [by_interval(*number) for number in ends],
            INTERVAL: [interval(*bounds) for _, *bounds in ends],
        }
        rounds = count(numbers["rounds"].min())
        caption = (
            f"{self.title}. Processor milliseconds of an iteration of one trial, without evaluation, where all trials"
            f" advance together; median of {rounds} rounds. In a round each algorithm has a turn, from the initial"
            " parameters on, and a ratio is that of two turns of one round, its geometric mean over the rounds. Ratios"
            " can be compared across machines, times cannot."
        )
        parts = (part_of(caption, pd.DataFrame(cells), 4),)
        return Table(parts=parts, notes=tuple(notes_of_times(self, numbers)))

    def evidence(self, results: dict[str, Timed], name: str, **_: object) -> Source | None:
        """See `Shown.evidence`; the frame has the seconds by round (index), and by row and algorithm (columns)."""
        frame = pd.concat({row.name: results[row.folder][0] for row in self.rows}, axis=1)
        return Source(label=self.name, frame=frame, budget={}, differences=self.of_part(None))


@KINDS.register
class StepTimes(Kind):
    """A table of the times of a training iteration with algorithms that are timed side by side."""

    rows: Annotated[dict[Name, TimedRow], Field(min_length=1)] = Field(description="rows of the table, by name")
    against: dict[Name, Name] = Field(description="by algorithm, the algorithm whose time divides its time")
    rounds: Count = Field(default=60, description="turns of each algorithm")
    seconds: Positive = Field(default=0.03, description="processor seconds of a turn, about")

    IS_TABLE = True
    SPEC = StepTimesSpec

    def names(self, paper: Paper) -> Iterator[str]:
        return iter(unique(name for row in self.rows.values() for name in row.algorithms))

    def check(self, checks: Checks, location: tuple) -> None:
        for name, row in self.rows.items():
            place = (*location, "rows", name)
            checks.check_algorithms(row.algorithms, (*place, "algorithms"))
            checks.check_one_stage(row.algorithms, (*place, "algorithms"))
            checks.check_panel(row, row.algorithms, place)
        timed, divided = tuple(self.names(checks.paper)), chain(*self.against.items())
        checks.check_names("algorithm of the table", divided, timed, (*location, "against"))

    def plan(self, planner: Planner, key: str) -> Output:
        rows, parts = [], {}
        for name, row in self.rows.items():
            job = planner.timing(row, row.algorithms, self.rounds, self.seconds)
            sizes = job.settings.model_dump(include={"hidden", "trials"})
            rows.append({"name": name, "data": row.data, "folder": planner.plan.folder(job)} | sizes)
            parts |= {(name, algorithm): (job,) for algorithm in row.algorithms}
        labels = {name: planner.paper.algorithms[name].label for name in self.names(planner.paper)}
        spec = StepTimesSpec(**planner.heading(key, self), rows=rows, against=self.against, labels=labels)
        return planner.output(spec, parts)
