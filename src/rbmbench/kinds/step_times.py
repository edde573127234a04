# SPDX-License-Identifier: BSD-3-Clause
"""Tables of how long a training iteration takes with algorithms that are timed side by side.

ms       of the processor, for an iteration of one trial: the median over rounds;
ratio    to the time of another algorithm in the same round: the geometric mean over rounds, with its 95 % interval.
Other work on the machine slows both turns of a round down alike; where it does not, the interval is wider.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from rbmbench.base.settings import Count, Positive, Settings
from rbmbench.config.checks import Checks
from rbmbench.config.paper import KINDS, Paper
from rbmbench.config.parts import Name, PanelAddress
from rbmbench.io.layout import META, TIMES
from rbmbench.io.meta import Meta
from rbmbench.io.results import read_meta, read_table
from rbmbench.kinds.run_times import notes_of_times
from rbmbench.planning.chart import Table
from rbmbench.planning.jobs import Output
from rbmbench.planning.kinds import Kind
from rbmbench.planning.runs import Planner
from rbmbench.planning.specs import Folder, Source, TableSpec
from rbmbench.reporting.claims.intervals import ratio_of_times
from rbmbench.reporting.frames import data_of
from rbmbench.reporting.text_tables import by_interval, interval, part_of, significant
from rbmbench.reporting.words import count

Timed = tuple[pd.DataFrame, Meta]
"""The seconds per iteration of a panel, by round (index) and algorithm (columns), and the meta of its job."""


@KINDS.register
class StepTimes(Kind):
    """A table of how long a training iteration takes with algorithms that are timed side by side."""

    kind: Literal["step_times"] = Field(description="kind of the table, and of its notebook template")
    panels: Annotated[tuple[PanelAddress, ...], Field(min_length=1)] = Field(
        description="panels whose training is timed, as FIGURE.PANEL"
    )
    against: Annotated[dict[Name, Name], Field(min_length=1)] = Field(
        description="by algorithm, the one that its time is divided by; panels that show both are timed"
    )
    rounds: Count = Field(default=60, description="turns of each algorithm")
    seconds: Positive = Field(default=0.03, description="processor seconds of a turn, about")

    IS_TABLE = True

    @property
    def parts(self) -> Mapping[str, str]:
        return {f"panel {panel}": panel for panel in self.panels}

    def algorithms_of(self, paper: Paper, address: str) -> tuple[str, ...]:
        """Return the algorithms that are timed for a panel: both of each pair that it shows."""
        figure, panel = paper.panels_of("learning_curves")[address]
        shown = figure.algorithms_of(paper, panel)
        pairs = [pair for pair in self.against.items() if set(pair) <= set(shown)]
        return tuple(name for name in shown if any(name in pair for pair in pairs))

    def names(self, paper: Paper) -> Iterator[str]:
        return iter({**self.against, **dict.fromkeys(self.against.values())})

    def check(self, checks: Checks, location: tuple) -> None:
        checks.check_names("panel", self.panels, checks.paper.panels_of("learning_curves"), (*location, "panels"))
        checks.check_algorithms(self.names(checks.paper), (*location, "against"))
        for name in self.names(checks.paper):
            if len(stages := checks.paper.algorithms[name].stages) > 1:
                message = f"must be algorithms of one estimator, got {name!r}, a schedule of {len(stages)} stages"
                raise checks.refuse((*location, "against"), message)
        for panel in self.panels:
            if not self.algorithms_of(checks.paper, panel):
                pairs = ", ".join(f"{one} and {other}" for one, other in self.against.items())
                message = f"must be panels that show both algorithms of a pair ({pairs}), got {panel!r}"
                raise checks.refuse((*location, "panels"), message)

    def plan(self, planner: Planner, key: str) -> Output:
        panels, parts, shown = [], {}, planner.paper.panels_of("learning_curves")
        for address in self.panels:
            (_, panel), algorithms = shown[address], self.algorithms_of(planner.paper, address)
            job = planner.timing(panel, algorithms, self.rounds, self.seconds)
            sizes = job.settings.model_dump(include={"hidden", "trials"})
            panels.append({"name": address, "data": panel.data, "folder": planner.plan.folder(job)} | sizes)
            parts |= {(address, name): (job,) for name in algorithms}
        labels = {name: planner.paper.algorithms[name].label for name in self.names(planner.paper)}
        spec = StepTimesSpec(**planner.heading(key, self), panels=panels, against=self.against, labels=labels)
        return Output(spec, tuple(job.id for (job,) in parts.values()), parts)


class TimedPanel(Folder):
    """A panel, and the folder of its timings."""

    name: str
    data: str
    hidden: int
    trials: int


class StepTimesSpec(TableSpec):
    """A table of times of training iterations."""

    kind: Literal["step_times"]
    panels: tuple[TimedPanel, ...]
    against: dict[str, str]
    labels: dict[str, str]
    published: Settings = Field(default=Settings(), description="nothing: no paper prints such a table")

    NAMES = "TABLE"

    def sources(self) -> dict[str, tuple[str, ...]]:
        return {panel.folder: (TIMES, META) for panel in self.panels}

    def read(self) -> dict[str, Timed]:
        tables = {folder: read_table(folder, TIMES) for folder in self.folders()}
        by_round = {"index": "round", "columns": "algorithm", "values": "seconds_per_iteration"}
        return {folder: (table.pivot(**by_round), read_meta(folder)) for folder, table in tables.items()}

    def numbers(self, results: dict[str, Timed]) -> pd.DataFrame:
        """Return the table with a row per panel and algorithm.

        Returns
        -------
        DataFrame
            Columns scale, panel, data, data_title, stand_in, hidden, trials, algorithm, label, rounds; milliseconds
            of an iteration of one trial; against (key of the algorithm that it is divided by, "" for none), ratio,
            ratio_low and ratio_high; backend, threads, cpu.
        """
        return pd.DataFrame([line for panel in self.panels for line in self._lines(panel, *results[panel.folder])])

    def _lines(self, panel: TimedPanel, times: pd.DataFrame, meta: Meta) -> Iterator[dict[str, object]]:
        data = data_of(meta, panel.folder)
        shared = {"scale": self.scale, "panel": panel.name, "data": panel.data, "data_title": data["title"]}
        shared |= {"stand_in": data["stand_in"], "hidden": panel.hidden, "trials": panel.trials}
        for name in (name for name in self.labels if name in times):
            against = self.against.get(name, "")
            ratio = ratio_of_times([(times[name], times[against])]) if against in times else (np.nan,) * 3
            yield shared | {
                "algorithm": name,
                "label": self.labels[name],
                "rounds": len(times),
                "milliseconds": 1000 * times[name].median() / panel.trials,
                "against": against if against in times else "",
                **dict(zip(("ratio", "ratio_low", "ratio_high"), ratio, strict=True)),
                "backend": meta["backend"],
                "threads": meta["threads"],
                "cpu": meta["hardware"]["cpu"],
            }

    def table(self, numbers: pd.DataFrame) -> Table:
        ends = numbers[["ratio", "ratio_low", "ratio_high"]].to_numpy()
        cells = {
            "panel": numbers["panel"],
            "data": numbers["data_title"],
            "hidden": numbers["hidden"].map(count),
            "algorithm": numbers["label"],
            "ms": numbers["milliseconds"].map(significant),
            "over": numbers["against"].map(lambda name: self.labels.get(name, "")),
            "ratio": [by_interval(*number) for number in ends],
            "95 % interval": [interval(*of_interval) for _, *of_interval in ends],
        }
        part = part_of(self._caption(numbers), pd.DataFrame(cells), 4)
        return Table(parts=(part,), notes=tuple(notes_of_times(self, numbers)))

    def _caption(self, numbers: pd.DataFrame) -> str:
        rounds = numbers["rounds"].min()
        return (
            f"{self.title}. Processor milliseconds of a training iteration of one trial, where all trials of a panel"
            f" advance together, without evaluation; median of {count(rounds)} rounds. In a round each algorithm has a"
            " turn, from the initial parameters on, and a ratio is that of two turns of one round, its geometric mean"
            " over the rounds. Ratios can be compared across machines, times cannot."
        )

    def evidence(self, results: dict[str, Timed], name: str, **_: object) -> Source | None:
        """See `Shown.evidence`; the frame has columns (panel, algorithm), of panels with the published hidden units."""
        if name:
            return None
        frames, dropped, differences = {}, [], []
        for panel in self.panels:
            if (hidden := self.as_published("hidden", panel.hidden, panel.name)) != panel.hidden:
                dropped.append(f"{panel.name} left out: {panel.hidden} of {hidden} hidden units")
                continue
            frames[panel.name] = results[panel.folder][0]
            differences += self.of_part(panel.name)
        frame = pd.concat(frames, axis=1) if frames else pd.DataFrame()
        more = {"differences": tuple(differences), "dropped": tuple(dropped)}
        return Source(label=self.name, frame=frame, budget={}, **more)


StepTimes.SPEC = StepTimesSpec
