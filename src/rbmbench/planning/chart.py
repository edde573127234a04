# SPDX-License-Identifier: BSD-3-Clause
"""Contents of a figure or a table as plain data: ``figures/KEY.json`` and ``tables/KEY.json``.

A spec computes it from results. Pictures are drawn from these files alone, and so is the interactive page, whatever
the kind of a figure.
"""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, FiniteFloat, model_validator

from rbmbench.base.settings import Settings
from rbmbench.config.parts import Look, Printed

VERSION = 2

Numbers = tuple[FiniteFloat | None, ...]
Words = tuple[str, ...]


class StepsPerIteration(Settings):
    """Gibbs steps of an iteration, per row of the negative phase, in one stage of training."""

    until: int = Field(description="iteration after which the stage ends")
    steps: int


class CurveValues(Settings):
    """Values of a curve, null where it has none: mean and band over the trials; and the run behind it."""

    key: str = Field(description="its subject, such as an algorithm; decides its look")
    label: str
    metric: str = Field(default="", description="its name; with one, the axis has the title of `metrics.metric_of`")
    trials: int | None = None
    mean: Numbers
    low: Numbers = ()
    high: Numbers = ()
    estimate_low: Numbers = Field(default=(), description="lower ends of intervals of estimates; null: none")
    estimate_high: Numbers = ()
    marked: bool = Field(default=False, description="whether the values are open circles, without a line")
    singles: tuple[Numbers, ...] = Field(default=(), description="single trials, the first ones")
    run: str = Field(default="", description="id of the run behind it")
    seconds: FiniteFloat | None = Field(
        default=None, description="processor seconds of training of an iteration of one trial, the run's mean"
    )
    steps: tuple[StepsPerIteration, ...] = Field(
        default=(), description="by stage, up to the first without a fixed number of them"
    )


class Series(CurveValues):
    """One curve at its x."""

    metric_title: str = Field(default="", description="the metric in words, where the panel shows several")
    x: tuple[FiniteFloat, ...] = Field(description="ascending, in the unit of the axis")
    place: int = Field(default=0, ge=0, le=2, description="of its metric in the panel; those after the first are thin")
    median: Numbers = ()
    paths: tuple[Numbers, ...] = Field(default=(), description="single trials that pictures show")

    @model_validator(mode="after")
    def _values_are_at_x(self) -> Self:
        estimates = self.estimate_low, self.estimate_high
        for values in (self.mean, self.low, self.high, self.median, *estimates, *self.singles, *self.paths):
            if len(values) not in (0, len(self.x)):
                raise ValueError(f"{self.key}: must have {len(self.x)} values, one for each x, got {len(values)}")
        return self


class Line(Settings):
    """A horizontal line that curves are compared with."""

    title: str
    value: FiniteFloat
    look: Literal["maximum", "true_model", "training_set"] = "maximum"


class Mark(Settings):
    """A point of a curve: a dot, or a vertical line where it has no height."""

    key: str = Field(description="that of the curve")
    at: FiniteFloat
    height: FiniteFloat | None = None


class Bars(Settings):
    """A histogram."""

    key: str
    edges: tuple[FiniteFloat, ...]
    heights: tuple[FiniteFloat, ...]

    @model_validator(mode="after")
    def _edges_enclose_bars(self) -> Self:
        if len(self.edges) != len(self.heights) + 1:
            raise ValueError(f"{self.key}: must have {len(self.heights) + 1} edges, got {len(self.edges)}")
        return self

    def edges_on(self, axis: Axis) -> tuple[float, ...]:
        """Return the edges on an axis; those on a logarithmic one begin at 1."""
        return tuple(max(edge, 1.0) for edge in self.edges) if axis.log else self.edges


class Entry(Look):
    """An entry of a legend."""

    label: str
    key: str = Field(default="", description="that of its curves")
    look: Literal["", "second", "third", "compared", "maximum", "true_model", "training_set", "upright", "printed"] = (
        Field(default="", description="style of entries other than curves of one key")
    )


class Legend(Settings):
    """The legend below all panels."""

    entries: tuple[Entry, ...] = ()
    title: str = ""
    columns: int | None = Field(default=None, description="on a page; null: as many as there is room for")
    handle: float = Field(default=3.2, description="length of the lines, in units of the size of letters")


class Layout(Settings):
    """Arrangement of the panels in a picture."""

    columns: int = Field(default=3, ge=1, le=4, description="panels side by side on a page, at most")
    narrow: int = Field(default=1, ge=1, description="panels side by side in a column of a journal, at most")
    row: FiniteFloat = Field(default=2.55, description="height of a row, inches")
    head: tuple[FiniteFloat, FiniteFloat] = Field(
        default=(1.0, 0.5), description="height of all else, inches, with and without a title"
    )
    widths: tuple[FiniteFloat, ...] = Field(default=(), description="ratios of the columns; empty: equal")
    shares_y: bool = Field(default=False, description="whether all panels have one vertical axis")
    shade: FiniteFloat | None = Field(default=None, description="opacity of bands; null: that of all figures")


class Axis(Settings):
    """An axis of a panel."""

    title: str
    label: str = Field(default="", description="in pictures, in place of the title")
    unit: str = Field(default="", description="below the label")
    log: bool = False
    range: tuple[FiniteFloat, FiniteFloat] | None = Field(default=None, description="null: that of the curves")
    ticks: Words = Field(default=(), description="labels of the places 0, 1, ...; empty: numbers")
    places: tuple[FiniteFloat, ...] = Field(default=(), description="the numbers at ticks; empty: any")


class ChartPanel(Settings):
    """One panel of curves, or of bars."""

    name: str
    title: str
    x: Axis
    y: Axis
    series: tuple[Series, ...] = ()
    drawn_as: Literal["lines", "steps", "points", "cells"] = Field(
        default="lines", description="how pictures show the curves; points and cells: one row for each tick of x"
    )
    bars: tuple[Bars, ...] = ()
    lines: tuple[Line, ...] = ()
    marks: tuple[Mark, ...] = ()
    printed: tuple[Printed, ...] = Field(default=(), description="at x, in the unit of the axis")
    rows: int | None = Field(default=None, description="rows of the training set; given if sums over them make sense")
    epoch: int | None = Field(default=None, description="iterations of an epoch, where x counts epochs")
    heading: Words = Field(default=(), description="words above the panel in pictures; empty: name and title")
    notes: Words = Field(default=(), description="differences from the published panel, the most important first")
    group: str = Field(default="", description="panels of one group have rows of their own")
    legend: tuple[Entry, ...] = Field(default=(), description="legend of the panel, where it has its own")


class Image(Settings):
    """An image of a model, such as its filters or samples."""

    key: str = Field(description="the algorithm")
    label: str
    name: str = Field(description="its kind, such as filters")
    words: str = Field(default="", description="text below it")
    heading: str = Field(default="", description="words above it in pictures")
    iteration: int | None = Field(default=None, description="iteration of training; null: there is one image only")
    address: str = Field(pattern="^data:image/")


class Shown(Settings):
    """Common part of figures and tables."""

    version: Literal[2] = VERSION
    key: str = ""
    paper: str = ""
    title: str = ""
    reading: str = Field(default="", description="another reading of the paper, in words")
    differences: Words = Field(default=(), description="from the published settings, in words")
    variant: bool = Field(default=False, description="whether settings beside budgets and data differ")


class Chart(Shown):
    """Contents of a figure."""

    heading: Words = Field(default=(), description="lines above all panels in pictures; empty: title and differences")
    caption: str = ""
    layout: Layout = Layout()
    legend: Legend = Legend()
    panels: tuple[ChartPanel, ...] = ()
    images: tuple[Image, ...] = ()
    machines: int = Field(default=0, description="number of machines that trained the runs of its curves")


class TablePart(Settings):
    """One table of text; its first ``words`` columns are words, the others numbers."""

    caption: str
    columns: Words
    groups: Words = Field(default=(), description="beginning of the name of each column; empty: none")
    words: int
    lines: tuple[Words, ...]
    published: dict[int, int] = Field(
        default={}, description="place of the column with the published numbers, by that of the measured ones"
    )

    @model_validator(mode="after")
    def _lines_fit_columns(self) -> Self:
        for cells in (*self.lines, *[self.groups] * bool(self.groups)):
            if len(cells) != len(self.columns):
                raise ValueError(f"lines must have {len(self.columns)} cells, one for each column, got {len(cells)}")
        return self


class Table(Shown):
    """Contents of a table."""

    heading: str = ""
    parts: tuple[TablePart, ...] = ()
    notes: Words = ()
