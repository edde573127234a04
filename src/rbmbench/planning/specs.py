# SPDX-License-Identifier: BSD-3-Clause
"""The spec of a figure or a table: checked plain data of a plan, from which reports are made.

A spec is written as ``results/SCALE/specs/KEY.json``. Folders in it are relative to the working directory or, if they
do not exist there, to the folder that holds ``results``, for notebooks that are opened in their own folder.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from os.path import exists
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import ConfigDict, Field

from rbmbench.base.errors import SettingsError, unknown_name
from rbmbench.base.parsing import parse
from rbmbench.base.settings import Settings
from rbmbench.config.paper import KINDS
from rbmbench.io.layout import META
from rbmbench.io.results import read_json
from rbmbench.planning.chart import Chart, Table
from rbmbench.planning.differences import Difference

if TYPE_CHECKING:
    import pandas as pd

KEY_WITHIN_PAPER = re.compile(r"_(fig|table)([a-z0-9]+)_?([a-z0-9_]*)$")
PLACES = ("folder", "model", "data_file", "certificate")  # keys of a spec that name a folder or a file of results


class Spec(Settings):
    """Base of all specs: frozen; unknown keys are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Curve(Spec):
    """Base of curves, with a colour and a dash pattern if these do not follow from its key."""

    color: str | None = None
    dash: str | None = None


class RunFolder(Curve):
    """One algorithm and the folder of its run, or of the run's evaluation."""

    algorithm: str
    label: str
    folder: str


class Folder(Spec):
    """The folder of a measurement."""

    folder: str


class Trained(Spec):
    """Settings of training that runs share."""

    data: str
    hidden: int
    rate: float
    iterations: int
    trials: int


class TrainedPanel(Trained):
    """A panel, and the runs that it shows."""

    name: str
    runs: tuple[RunFolder, ...]
    rates: tuple[float, ...] = Field(default=(), description="learning rates of the runs, at first if they change")

    @property
    def rate_words(self) -> list[str]:
        """The learning rates of its runs, in words; that of the panel if they are not stored."""
        return [f"{rate:g}" for rate in self.rates or (self.rate,)]


@dataclass(frozen=True)
class Place:
    """Position of a source in charts: keys of figure, panel and curve."""

    figure: str
    panel: str
    curve: str
    metric: str = ""  # of the curve; empty where it has one only
    unit: float = 1.0  # of the horizontal axis, in that of the source
    is_exact: bool = True  # false if the curve is drawn with other numbers


@dataclass(frozen=True, kw_only=True)
class Source:
    """The numbers that a claim is measured on: those of a curve, of an entry of a table, or of a whole table."""

    label: str
    frame: pd.DataFrame
    budget: Mapping[str, float | None]  # by name, such as iterations
    differences: tuple[Difference, ...] = ()  # from the published settings
    stand_in: str = ""  # name of the data that the data stand in for; empty for the real ones
    dropped: tuple[str, ...] = ()  # omitted parts, in words
    place: Place | None = None  # None: in no chart


class Shown(Spec):
    """Base of the specs of figures and tables."""

    key: str = Field(pattern=r"^[a-z][a-z0-9_]*_(fig|table)[a-z0-9][a-z0-9_]*$")
    paper: str
    title: str
    kind: str
    scale: str
    reading: str | None = Field(default=None, description="another reading of the paper, in words")
    differences: tuple[Difference, ...] = Field(default=(), description="differences from the published one")

    NAMES: ClassVar[str] = ""  # form of the names that claims give its parts, such as FIGURE.PANEL.ALGORITHM

    @property
    def name(self) -> str:
        """The name within its paper: "fig1" for the key ``popcd_fig1``."""
        return self.key.removeprefix(f"{self.paper}_")

    @property
    def which(self) -> str:
        """Its name in words: "Figure 1 of popcd, paper scale, without panel a"."""
        return f"{self.origin}, {self.scale} scale{self.lacks}"

    @property
    def origin(self) -> str:
        """Its origin: "Figure 1 of popcd", or a variant of that where a setting differs from the published one."""
        return f"{'Variant of ' * bool(self.changed)}{self.number} of {self.paper}"

    @property
    def changed(self) -> tuple[Difference, ...]:
        """The settings that differ from the published ones, budgets and data apart."""
        return tuple(difference for difference in self.differences if difference.kind == "setting")

    @property
    def lacks(self) -> str:
        """The omitted parts of the published one: ", without panels a and d"; "" if there are none."""
        names: dict[str, list[str]] = {}
        for difference in self.differences:
            if difference.is_part and not difference.algorithm and difference.value is None:
                names.setdefault(difference.setting, []).append(str(difference.panel))
        words = [
            f"{noun}s {', '.join(others)} and {last}" if others else f"{noun} {last}"
            for noun, (*others, last) in names.items()
        ]
        return f", without {', '.join(words)}" * bool(words)

    def of_part(self, panel: str | None, algorithm: str | None = None) -> tuple[Difference, ...]:
        """Return the differences that concern a panel, or an algorithm of it; None matches any."""
        return tuple(difference for difference in self.differences if difference.concerns(panel, algorithm))

    def as_published(self, setting: str, value: Any, panel: str | None = None) -> Any:
        """Return the published value of a setting, which is ``value`` unless there is a difference."""
        return next((item.published for item in self.of_part(panel, "") if item.setting == setting), value)

    @property
    def notes(self) -> list[str]:
        """First sentences of the captions of all kinds."""
        return [f"Another reading of the paper: {self.reading}."] if self.reading else []

    @property
    def number(self) -> str:
        """See `number_of`."""
        return number_of(self.key)

    @abstractmethod
    def sources(self) -> Mapping[str, Sequence[str]]:
        """Return the names of the files that `read` reads, by their folder; folders with a meta are results."""

    def files(self) -> list[str]:
        """Return the files that `read` reads, each once."""
        return [f"{folder}/{name}" for folder, names in self.sources().items() for name in names]

    def folders(self) -> list[str]:
        """Return the folders of all results behind it, each once."""
        return [folder for folder, names in self.sources().items() if META in names]

    @abstractmethod
    def read(self) -> object:
        """Return the results, read from the files; `ResultsError` if one is missing or damaged."""

    @abstractmethod
    def numbers(self, results: object) -> pd.DataFrame:
        """Return the numbers in its CSV; ``results`` is the value of `read`."""

    def evidence(self, results: object, name: str, **options: object) -> Source | None:
        """Return the `Source` of one of its curves, rows or times, or an object with its attributes; None without one.

        ``results`` is the value of `read`. ``name`` is relative to the figure or table: "a.cd_1" for ``fig1.a.cd_1``.
        ``options`` are those of the kind, such as the metric of a curve.
        """
        return None


def number_of(key: str) -> str:
    """Return the name in the paper, "Figure 1" for the key ``popcd_fig1``; with an addition for ``_fig1_more``.

    A letter in place of the number marks a figure or table of ours: "Table of step times" for ``_tablea_step_times``.
    """
    kind, number, addition = KEY_WITHIN_PAPER.search(key).groups()
    name = "Figure" if kind == "fig" else "Table"
    if number.isalpha() and addition:
        return f"{name} of {addition.replace('_', ' ')}"
    name += f" {number}"
    return f"{name} ({addition.replace('_', ' ')})" if addition else name


class FigureSpec(Shown):
    """Base of the specs of figures."""

    @abstractmethod
    def chart(self, results: object) -> Chart:
        """Return the contents of the figure from the value of `read`; see `rbmbench.planning.chart`.

        Its picture and the page are drawn from the chart alone.
        """

    @abstractmethod
    def caption(self, results: object) -> str:
        """Return the caption of the figure, with its differences from the paper's."""


class TableSpec(Shown):
    """Base of the specs of tables."""

    published: Settings = Field(default=Settings(), description="the numbers that the paper prints; nothing by default")

    @abstractmethod
    def table(self, numbers: pd.DataFrame) -> Table:
        """Return the printed table; ``numbers`` is the value of `numbers`."""


def read_specs(path: str | PathLike) -> dict[str, Any]:
    """Return the specs of figures and tables in ``results/SCALE/specs.json``, by key, as unchecked plain data.

    `ResultsError` if the file is missing or is not JSON, `SettingsError` if it is no mapping.
    """
    specs = read_json(path)
    if not isinstance(specs, dict):
        raise SettingsError(f"{path}: must be a mapping of keys, got a {type(specs).__name__}")
    return specs


def parse_spec(values: object, where: str) -> Any:
    """Return plain data as the spec of its kind.

    `SettingsError` that names ``where`` if the kind is unknown, a key is missing or its value is not allowed.
    """
    if not isinstance(values, dict):
        raise SettingsError(f"{where}: must be a mapping of keys, got a {type(values).__name__}")
    kind = values.get("kind")
    if not isinstance(kind, str) or kind not in KINDS.names():
        raise SettingsError(f"{where}: {unknown_name('kind', kind, KINDS.names())}")
    return parse(KINDS.get(kind).SPEC, values, where)


def read_spec(path: str | PathLike) -> Any:
    """Return the spec of a figure or a table from ``results/SCALE/specs/KEY.json``.

    `ResultsError` if the file is missing or is not JSON, `SettingsError` as `parse_spec` raises it.
    """
    return parse_spec(rooted(read_json(path), Path(path)), str(path))


def rooted(values: object, path: Path) -> object:
    """Return the plain data of a spec with missing folders and files looked up beside the folder ``results``."""
    folders = path.resolve().parents
    root = folders[min(3, len(folders) - 1)]
    return with_places(values, lambda place: place if exists(place) else str(root / place))


def with_places(values: object, change: Callable[[str], str]) -> object:
    """Return the plain data of a spec with ``change`` applied to all paths of folders and files."""
    if isinstance(values, dict):
        return {
            key: change(value) if key in PLACES and isinstance(value, str) else with_places(value, change)
            for key, value in values.items()
        }
    return [with_places(value, change) for value in values] if isinstance(values, list) else values
