# SPDX-License-Identifier: BSD-3-Clause
"""What a figure or a table shows, as plain data: ``figures/KEY.json`` and ``tables/KEY.json``.

A spec computes it from results. The page reads these files and nothing else of a figure, so that a figure of any kind
is interactive there.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, FiniteFloat

from rbmbench.base.settings import Settings

VERSION = 1

Numbers = tuple[FiniteFloat | None, ...]
Words = tuple[str, ...]


class StepsPerIteration(Settings):
    """Gibbs steps of an iteration, for each row of the negative phase, in one stage of training."""

    until: int = Field(description="iteration after which the stage ends")
    steps: int


class Series(Settings):
    """One curve: mean, and band and trials where there are, at its x; null where it has no value."""

    key: str = Field(description="what it is of, such as an algorithm; decides its look")
    label: str
    metric: str = Field(default="", description="name of the metric, where the panel shows one")
    metric_title: str = Field(default="", description="the metric in words, where the panel shows several")
    x: tuple[FiniteFloat, ...] = Field(description="ascending, in the unit of the axis")
    mean: Numbers
    low: Numbers = ()
    high: Numbers = ()
    trials: int | None = None
    singles: tuple[Numbers, ...] = Field(default=(), description="single trials at the same x")
    run: str = Field(default="", description="id of the run behind it")
    seconds: FiniteFloat | None = Field(
        default=None, description="processor seconds of training of an iteration of one trial, the run's mean"
    )
    steps: tuple[StepsPerIteration, ...] = Field(
        default=(), description="by stage, up to the first without a fixed number of them"
    )


class PrintedValue(Settings):
    """A number that the paper prints of what a panel shows."""

    label: str
    value: FiniteFloat
    at: FiniteFloat | None = Field(default=None, description="its x; null: a horizontal line")


class Line(Settings):
    """A horizontal line that curves are compared with."""

    title: str
    value: FiniteFloat


class Axis(Settings):
    """An axis of a panel."""

    title: str
    log: bool = False
    range: tuple[FiniteFloat, FiniteFloat] | None = Field(default=None, description="null: that of the curves")
    ticks: Words = Field(default=(), description="labels of the places 0, 1, ...; empty: numbers")


class ChartPanel(Settings):
    """One panel of curves."""

    name: str
    title: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    lines: tuple[Line, ...] = ()
    printed: tuple[PrintedValue, ...] = ()
    rows: int | None = Field(default=None, description="rows of the training set; given if sums over them make sense")
    epoch: int | None = Field(default=None, description="iterations of an epoch, where x counts epochs")


class Image(Settings):
    """An image of a model, such as its filters or samples."""

    key: str = Field(description="the algorithm")
    label: str
    name: str = Field(description="what it is, such as filters")
    words: str = Field(default="", description="what is written below it")
    iteration: int | None = Field(default=None, description="iteration of training; null: there is one image only")
    address: str = Field(pattern="^data:image/")


class Shown(Settings):
    """What figures and tables have in common."""

    version: Literal[1] = VERSION
    key: str = ""
    paper: str = ""
    title: str = ""
    reading: str = Field(default="", description="another reading of the paper, in words")
    differences: Words = Field(default=(), description="from the published settings, in words")
    variant: bool = Field(default=False, description="whether settings beside budgets and data differ")


class Chart(Shown):
    """What a figure shows."""

    caption: str = ""
    panels: tuple[ChartPanel, ...] = ()
    images: tuple[Image, ...] = ()
    machines: int = Field(default=0, description="on how many machines the runs behind its curves were trained")


class TablePart(Settings):
    """One table of text; its first ``words`` columns are words, the others numbers."""

    caption: str
    columns: Words
    words: int
    lines: tuple[Words, ...]
    published: dict[int, int] = Field(
        default={}, description="place of the column with the published numbers, by that of the measured ones"
    )


class Table(Shown):
    """What a table shows."""

    parts: tuple[TablePart, ...] = ()
    notes: Words = ()
