# SPDX-License-Identifier: BSD-3-Clause
"""Figures of anytime curves: held-out log-likelihood by cost; a row of panels per contest, a curve per algorithm."""

from __future__ import annotations

from typing import Literal

import pandas as pd
from pydantic import Field

from rbmbench.config.paper import KINDS
from rbmbench.kinds._contests import Contests, OfContestsSpec, arena_chart, contests_in_words, curves_of
from rbmbench.planning.chart import Axis, Chart, ChartPanel, Layout
from rbmbench.planning.specs import FigureSpec
from rbmbench.reporting.contests import COSTS, WIDEST, anytime_curves
from rbmbench.reporting.words import count

START = 0.02
"""Share of the budget before which curves do not decide the vertical range."""


@KINDS.register
class ArenaCurves(Contests):
    """A figure of anytime curves, and the contests that the other figures of an arena show."""

    kind: Literal["arena_curves"] = Field(description="kind of the figure, and of its notebook template")


class ArenaCurvesSpec(OfContestsSpec, FigureSpec):
    """A figure of anytime curves."""

    kind: Literal["arena_curves"]

    def numbers(self, found: pd.DataFrame) -> pd.DataFrame:
        """Return the curves of all rates and trials: `rbmbench.reporting.contests.contest_curves`."""
        return found

    def chart(self, found: pd.DataFrame) -> Chart:
        """Return means and bands: by matrix products on the left, by processor seconds on the right."""
        shown, panels = anytime_curves(found), []
        for contest in self.contests:
            of_contest = shown[shown["contest"] == contest.name]
            title = f"{of_contest['data_title'].iloc[0]}, {contest.hidden} hidden units"
            for place, (cost, words) in enumerate(COSTS.items()):
                of_cost = of_contest[of_contest["cost"] == cost]
                y = {"title": "held-out log-likelihood (nats per row)", "range": vertical_range(of_cost)}
                panel = ChartPanel(
                    name=f"{contest.name} {cost}",
                    title=title,
                    heading=("" if place else f"{contest.name}: {title}",),
                    group=contest.name,
                    x=Axis(title=f"{words} of a trial", log=True),
                    y=Axis(label="held-out log-likelihood\n(nats per row)", **y),
                    series=curves_of(of_cost[of_cost["spent"] > 0].dropna(subset="mean"), "spent"),
                )
                panels.append(panel)
        return arena_chart(self, panels, Layout(columns=2, narrow=2, shade=0.1))

    def caption(self, found: pd.DataFrame) -> str:
        """Return the caption."""
        shown = anytime_curves(found)
        trials = count(shown["trials"].min())
        return (
            "Mean log-likelihood of rows that are not trained on, by the cost of a trial so far: matrix products of a"
            " mini-batch with W on the left, processor seconds of training on one thread on the right. All algorithms"
            f" have the same budget of products; that of seconds is the least time that one of them takes for it."
            f" Bands: 10 to 90 % of at least {trials} trials. Between evaluations more than {WIDEST:.0%} of the budget"
            f" apart, lines only connect them; no value there is used. {contests_in_words(self, shown)}"
        )


def vertical_range(numbers: pd.DataFrame) -> tuple[float, float]:
    """Return the range of all curves once they have spent `START` of the budget, but for the worst fifth at the end."""
    numbers = numbers.dropna(subset="mean")
    ends = numbers.sort_values("spent").groupby("algorithm")["mean"].last()
    later = numbers[numbers["spent"] >= START * numbers["spent"].max()]
    low = min(later.groupby("algorithm")["mean"].min().quantile(0.25), ends.quantile(0.2))
    high = later["high"].max()
    pad = 0.06 * (high - low) or 0.1
    return low - pad, high + pad


ArenaCurves.SPEC = ArenaCurvesSpec
