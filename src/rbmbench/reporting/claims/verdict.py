# SPDX-License-Identifier: BSD-3-Clause
"""The verdict on a claim as a record, its rule, and its views: a note in words, and a row of a table.

One rule applies to all claims. A claim has a range (``above``, ``below``) for a measured number. It is reproduced when
the whole interval of the number lies inside the range, and not reproduced when the whole interval lies outside. In all
other cases, and when the scale does not meet the requirements of the claim, it is inconclusive at this scale.
"""

import math
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Literal, Self

import pandas as pd
from pydantic import ConfigDict, Field

from rbmbench.base.parsing import parse
from rbmbench.base.settings import Settings
from rbmbench.io.atomic import write_json
from rbmbench.io.guard import one_line
from rbmbench.io.results import read_json, reading
from rbmbench.planning.differences import Difference
from rbmbench.reporting.claims.files import VARIANT, Claim, Standing
from rbmbench.reporting.text_tables import write_csv
from rbmbench.reporting.words import data_name, phrases, reductions

REPRODUCED, NOT_REPRODUCED = "reproduced", "not reproduced"
INCONCLUSIVE = "inconclusive at this scale"
NOT_RUN, LACKS, NO_INTERVAL, BOUNDARY = "not run", "lacks", "no interval", "boundary"
CHECK_OF_INSTALLATION = "smoke"
"""Name of the smoke scale, whose verdicts are not reported."""


class Region(Settings):
    """Region of the evidence of a claim in a panel of its figure, in the units of the axes."""

    panel: str
    curves: tuple[str, ...] = Field(description="keys of its curves")
    metric: str = Field(default="", description="metric of these curves; empty: all")
    window: tuple[float, float] | None = Field(default=None, description="range of x; null: all")
    along: Literal["x", "y"] = Field(default="y", description="the axis that the accepted range lies along")
    above: float | None = Field(default=None, description="lower end of the accepted range on that axis")
    below: float | None = None


class Missing(Settings):
    """A requirement of a claim that the results do not meet."""

    setting: str = Field(description="data, particles, iterations, or another name of a budget")
    value: float | str = Field(description="value of the results; of data the name of the data they stand in for")
    needed: float = Field(default=0, description="smallest value; of iterations the share of the published ones")
    difference: Difference | None = Field(default=None, description="from the published iterations")

    def words(self) -> str:
        """Return the phrase of the note."""
        if self.setting == "data":
            return f"stand-in data for {data_name(self.value)}"
        if self.setting == "particles":
            return f"needs {self.needed:g} effective particles of annealing, got {self.value:.3g}"
        if self.difference:
            return f"{_plain(phrases([self.difference]))}, needs {100 * self.needed:.0f} % of them"
        return f"needs {self.needed:g} {self.setting}, got {self.value:g}"


class Measured(Settings):
    """A claim, and the number that was measured for it."""

    model_config = ConfigDict(populate_by_name=True)

    claim: str
    paper: str
    standing: Standing | Literal["variant"] = Field(alias="class")
    where: str
    text: str
    what: str = Field(default="", description="the number in words, or the reason why there is none")
    measured: float | None = Field(default=None, description="null: not run, or no number")
    low: float | None = None
    high: float | None = None
    above: float | None = Field(default=None, description="lower end of the accepted range; null: none, or not run")
    below: float | None = None
    fails: str = Field(default="", description="see `power`")
    shown: str = Field(default="", description="key of the figure or table that the claim is about")


class Verdict(Measured):
    """A claim, the number that was measured for it, and the verdict."""

    model_config = ConfigDict(ser_json_inf_nan="strings")

    published: str | float | None = None
    possible: tuple[float, float] = Field(default=(-math.inf, math.inf), description="values that the number can have")
    verdict: Literal["reproduced", "not reproduced", "inconclusive at this scale"] = INCONCLUSIVE
    reason: Literal["", "not run", "lacks", "no interval", "boundary"] = Field(
        default="", description="why it is inconclusive"
    )
    missing: tuple[Missing, ...] = ()
    differences: tuple[Difference, ...] = Field(default=(), description="of the results from the published settings")
    remarks: tuple[str, ...] = Field(default=(), description="omitted trials, and other remarks")
    regions: tuple[Region, ...] = Field(default=(), description="regions of its evidence in that figure")

    @property
    def judged(self) -> bool:
        """Whether the results meet the requirements of the claim."""
        return self.reason not in (NOT_RUN, LACKS) and self.measured is not None

    @property
    def lacks(self) -> list[str]:
        """The requirements that are not met, in words, each phrase once."""
        return list(dict.fromkeys(missing.words() for missing in self.missing))

    def decided(self) -> Self:
        """Return the record with the verdict by its interval, its range and the missing requirements."""
        if self.reason == NOT_RUN:
            return self
        changed = any(difference.kind == "setting" for difference in self.differences)
        result = INCONCLUSIVE if self.missing else verdict(self.low, self.high, self.above, self.below)
        undecided = LACKS if self.missing else NO_INTERVAL if self.low is None else BOUNDARY
        update = {
            "standing": VARIANT if changed else self.standing,
            "verdict": result,
            "reason": undecided if result == INCONCLUSIVE else "",
            "fails": power((self.measured, self.low, self.high), (self.above, self.below), self.possible),
        }
        return self.model_copy(update=update)

    def of(self, claim: Claim) -> Self:
        """Return the record with the words and the range of a changed claim; the number remains."""
        published = self.published if claim.published is None else claim.published
        update = {"standing": claim.standing, "where": claim.where, "text": claim.text, "published": published}
        before = self.above, self.below
        if self.reason != NOT_RUN and (bounds := claim.bounds(published, before)) != before:
            regions = tuple(region.model_copy(update={"above": None, "below": None}) for region in self.regions)
            update |= {"above": bounds[0], "below": bounds[1], "regions": regions}
        return self.model_copy(update=update).decided()

    @property
    def note(self) -> str:
        """The number, the accepted range, and the reasons of an inconclusive verdict, in words."""
        if self.reason == NOT_RUN:
            return self.what
        ends = [f"above {self.above:.3g}"] * math.isfinite(self.above)
        ends += [f"below {self.below:.3g}"] * math.isfinite(self.below)
        words = [self.what, f"should be {' and '.join(ends)}", *self.lacks]
        if variant := _plain(phrases(item for item in self.differences if item.kind == "setting"), ", "):
            words.append(f"variant: {variant}")
        words += {NO_INTERVAL: ["no interval"], BOUNDARY: ["the interval holds the boundary"]}.get(self.reason, [])
        named = [missing.difference for missing in self.missing]
        words.append(_plain(reductions((item for item in self.differences if item not in named), titled=False)))
        return "; ".join(filter(None, [*words, *self.remarks]))

    def row(self) -> dict[str, object]:
        """Return the columns of claims.csv."""
        words = {"missing": "; ".join(self.lacks), "differences": _plain(phrases(self.differences))}
        values = self.model_dump(by_alias=True, exclude={"what", "possible", "remarks", "regions", *words})
        return values | words | {"note": self.note, "judged": self.judged}


COLUMNS = [
    "claim", "paper", "class", "where", "text", "published", "measured", "low", "high", "above", "below", "fails",
    "verdict", "note", "judged", "reason", "missing", "differences", "shown",
]  # fmt: skip
NUMBERS = ["measured", "low", "high", "above", "below"]


Answer = Literal["yes", "partly", "no", "undecided", "not run"]


class Answered(Settings):
    """A finding, its answer, and the numbers of its deciding claims."""

    paper: str
    name: str
    text: str
    where: str
    headline: bool = False
    answer: Answer
    holds: int = Field(description="deciding claims that are reproduced")
    fails: int = Field(description="deciding claims that are not reproduced")
    of: int = Field(description="deciding claims in all, run or not")
    figure: str = Field(default="", description="key of the figure or table that shows it")
    claims: tuple[str, ...] = Field(default=(), description="all claims that are its evidence, the deciding ones first")
    reason: str = ""


class Verdicts(Settings):
    """The file of all verdicts of a scale, and of the answers to findings."""

    version: Literal[1] = 1
    verdicts: tuple[Verdict, ...]
    findings: tuple[Answered, ...] = ()


def table(verdicts: Iterable[Verdict]) -> pd.DataFrame:
    """Return verdicts as a table, a row each, with columns `COLUMNS`."""
    rows = pd.DataFrame([record.row() for record in verdicts], columns=COLUMNS)
    return rows.astype(dict.fromkeys(NUMBERS, float))


def write_verdicts(verdicts: Iterable[Verdict], path: str | PathLike, findings: Iterable[Answered] = ()) -> None:
    """Write verdicts to ``claims.csv``, and the records, with answers, to ``claims.json`` beside it."""
    file = Verdicts(verdicts=tuple(verdicts), findings=tuple(findings))
    values = file.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    write_json(Path(path).with_suffix(".json"), values | {"version": 1})
    write_csv(table(file.verdicts), path)


def read_verdicts(path: str | PathLike) -> tuple[Verdict, ...]:
    """Return the verdicts of ``claims.json``; `ResultsError` or `SettingsError` if it is missing or damaged."""
    verdicts = parse(Verdicts, read_json(path), str(path)).verdicts
    with reading(path):
        one_line(table)(verdicts)  # its words are made of values of any type
    return verdicts


def verdict(low: float | None, high: float | None, above: float, below: float) -> str:
    """Return the verdict for the interval of a number and the open range in which the claim holds.

    An interval that contains an end of the range, or is None, is inconclusive.
    """
    if low is None or high is None:
        return INCONCLUSIVE
    # An infinite end does not bound: an infinite number may lie inside.
    if (above < low or above == -math.inf) and (high < below or below == math.inf):
        return REPRODUCED
    return NOT_REPRODUCED if high < above or low > below else INCONCLUSIVE


def power(
    interval: tuple[float | None, float | None, float | None],
    bounds: tuple[float, float],
    possible: tuple[float, float],
) -> str:
    """Return, in words, with which values a claim would not be reproduced: "below 0.031", "above 0.95", or both.

    The interval is assumed to keep its width, or its ratio to the distance from an end of the possible numbers,
    whichever is narrower; an infinite end does not decide. "none" means that there is no such value, "" that there is
    no interval.

    Parameters
    ----------
    interval : tuple of float or None
        The number, and the lower and the upper end of its interval.
    bounds : tuple of float
        The range in which the claim holds.
    possible : tuple of float
        The smallest and the largest possible number.
    """
    value, low, high = interval
    if value is None or low is None or high is None:
        return ""
    if not (low == value == high or (math.isfinite(value) and (math.isfinite(low) or math.isfinite(high)))):
        return ""

    def edges(bound: float, end: float) -> list[float]:
        """Return values whose interval would end at ``bound``; an infinite one if ``end`` is infinite."""
        if value == end:
            return [bound]
        values = [bound + value - end]
        for anchor in filter(math.isfinite, possible):
            ends = [number - anchor for number in (bound, value, end)]
            # Only between numbers on one side of the anchor is a ratio of distances meaningful.
            if all(map(math.isfinite, ends)) and (min(ends) > 0 or max(ends) < 0):
                values.append(anchor + ends[0] * ends[1] / ends[2])
        return values

    (above, below), (lowest, highest) = bounds, possible
    lower, upper = max(edges(above, high)), min(edges(below, low))
    words = [f"below {lower:.3g}"] * bool(lowest < lower) + [f"above {upper:.3g}"] * bool(upper < highest)
    return " or ".join(words) or "none"


def _plain(words: list[str], separator: str = "; ") -> str:
    return separator.join(words).replace("\N{NO-BREAK SPACE}", " ")
