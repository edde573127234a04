# SPDX-License-Identifier: BSD-3-Clause
"""Contents of the page as checked plain data: one model for folders of results and for kept results.

The page contains it as one block of JSON, without fields that are in its HTML. Programs may read the block: `VERSION`
changes whenever a key is renamed, removed or gets another meaning.
"""

import re
from typing import Literal

from pydantic import ConfigDict, Field, FiniteFloat

from rbmbench.base.settings import Settings
from rbmbench.planning.chart import CurveValues, Entry, Image, Line, Printed, TablePart, Words
from rbmbench.reporting.claims.verdict import Answered, Measured, Region

VERSION = 3


class Look(Settings):
    """Look of lines or of edges of marks, such as the curves of an algorithm, on the whole page; in pixels."""

    colour: str = Field(pattern=r"^#[0-9A-Fa-f]{6}$")
    dash: tuple[FiniteFloat, ...] = ()
    width: FiniteFloat
    alpha: FiniteFloat = 1.0
    size: FiniteFloat = Field(default=0.0, description="of marks")


class Theme(Settings):
    """The look of all charts, from `rbmbench.reporting.style`."""

    fonts: dict[str, str] = Field(description="of ticks, labels and titles, in CSS")
    looks: dict[str, Look] = Field(description="of marks and lines other than curves of algorithms")
    start: FiniteFloat = Field(description="share of the iterations that the range of log-likelihoods need not show")


class Panel(Settings):
    """One panel: curves over common x."""

    name: str
    title: str
    x_title: str
    y_title: str
    sum_title: str = ""
    log_x: bool = False
    log_y: bool = False
    range: tuple[FiniteFloat, FiniteFloat] | None = Field(default=None, description="of y; null: that of the curves")
    stepped: bool = Field(default=False, description="whether a value holds from one x to the next")
    ticks: Words = Field(default=(), description="labels of the x 0, 1, ...; empty: numbers")
    rows: int | None = Field(default=None, description="rows of the training set; given if sums over them make sense")
    epoch: int | None = Field(default=None, description="iterations of an epoch, where x counts epochs")
    x: tuple[FiniteFloat, ...]
    places: tuple[int, ...] = Field(default=(), description="the places in x at which single trials are given")
    series: tuple[CurveValues, ...] = Field(description="at the x of the panel; single trials at its places")
    printed: tuple[Printed, ...] = ()
    lines: tuple[Line, ...] = ()


class Mark(Region):
    """Region of the evidence of a claim in a panel of its figure, in the units of the axes."""

    curves: tuple[int, ...] = Field(description="places of its curves in the panel's series")
    metric: str = Field(default="", exclude=True)


class Claim(Measured):
    """A claim with its verdict; infinite ends of its range are null, other infinite numbers texts in JSON."""

    model_config = ConfigDict(ser_json_inf_nan="strings")

    published: str
    verdict: str
    note: str
    judged: bool = Field(default=True, description="whether the scale meets the requirements of the claim")
    marks: tuple[Mark, ...] = Field(default=(), description="regions of its evidence in the panels of that figure")


class Picture(Settings):
    """A picture: its data URL and its size in pixels."""

    address: str = Field(pattern="^data:")
    width: int
    height: int


class Shown(Settings):
    """A figure or a table."""

    key: str
    paper: str
    heading: str
    reading: str = ""
    differences: Words = Field(default=(), description="from the published settings, such as 5 of 25 trials")
    variant: bool = Field(default=False, description="whether settings beside budgets and data differ, too")
    caption: str = ""
    command: str
    notebook: str = Field(default="", description="address of its notebook relative to the page")
    results: int = Field(default=0, description="number of its results")
    other_code: int = Field(default=0, description="number of those made by other code")
    panels: tuple[Panel, ...] = ()
    shade: FiniteFloat | None = Field(default=None, description="opacity of bands; null: that of all figures")
    machines: int = Field(default=0, description="number of machines that trained the runs of its curves")
    images: tuple[Image, ...] = ()
    own_looks: tuple[Entry, ...] = Field(default=(), exclude=True)
    """Entries of legends that define a colour or a dash pattern."""
    picture: Picture | None = Field(default=None, exclude=True)
    parts: tuple[TablePart, ...] = Field(default=(), exclude=True)
    notes: Words = Field(default=(), exclude=True)


class Data(Settings):
    """A data set that runs used."""

    title: str
    size: str
    stand_in: str
    source: str
    preprocessing: str
    files: tuple[tuple[str, str], ...]


class Code(Settings):
    """Files of results by the code that made them, and the command that computes those of other code again."""

    results: int = 0
    unrecorded: int = 0
    other: Words = ()
    command: str = ""


class Results(Settings):
    """One folder of results."""

    name: str
    judges: bool = Field(description="false for a check of the installation, whose verdicts and times are meaningless")
    findings: tuple[Answered, ...] = Field(default=(), description="findings of the papers, with the answers")
    claims: tuple[Claim, ...]
    shown: tuple[Shown, ...]
    data: tuple[Data, ...] = Field(default=(), exclude=True)
    machines: Words = ()
    versions: Words = ()
    dates: tuple[str, str] | None = Field(default=None, description="end of the first run, and of the last")
    hours: FiniteFloat = 0.0
    runs: tuple[dict[str, str], ...] = Field(default=(), exclude=True)
    code: Code = Field(default=Code(), exclude=True)


class Paper(Settings):
    """A paper, and its figures and tables in the configuration."""

    key: str
    title: str = ""
    citation: str = Field(default="", description="authors. journal, year")
    shown: dict[str, str] = Field(default={}, description="by key: Figure 1, with its title")

    @property
    def name(self) -> str:
        """Authors and year as in citations: "Krause et al. 2018"; the key where the citation has no such form."""
        names, *rest = re.split(r"(?<=\w\w)\. ", self.citation)
        people = re.split(r", | and ", names) if rest else []
        authors = [words[-1] for person in people if (words := person.split())]
        years = re.findall(r"\b(?:19|20)\d\d\b", self.citation)
        if not (authors and years):
            return self.key
        return f"{f'{authors[0]} et al.' if len(authors) > 2 else ' and '.join(authors)} {years[-1]}"


class Speed(Settings):
    """The measured speed of training steps."""

    caption: str
    part: TablePart
    picture: Picture


class Report(Settings):
    """Everything on the page."""

    version: Literal[3] = VERSION
    title: str
    papers: tuple[Paper, ...]
    results: tuple[Results, ...]
    looks: dict[str, Look]
    theme: Theme
    speed: tuple[Speed, ...] = Field(default=(), exclude=True)
