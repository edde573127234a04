# SPDX-License-Identifier: BSD-3-Clause
"""Figures of what the rates of algorithms were tuned by: one panel per contest, one curve per algorithm."""

from __future__ import annotations

from typing import Literal

import pandas as pd
from pydantic import Field

from rbmbench.config.paper import KINDS
from rbmbench.kinds._contests import OfContestsSpec, ViewOfContests, arena_chart, contests_in_words, curves_of
from rbmbench.planning.chart import Axis, Chart, ChartPanel, Layout, Mark
from rbmbench.planning.specs import FigureSpec
from rbmbench.reporting.contests import tuned_rates


@KINDS.register
class ArenaRates(ViewOfContests):
    """A figure of how the rate of algorithms matters in the contests of another figure."""

    kind: Literal["arena_rates"] = Field(description="kind of the figure, and of its notebook template")


class ArenaRatesSpec(OfContestsSpec, FigureSpec):
    """A figure of rates."""

    kind: Literal["arena_rates"]

    def numbers(self, found: pd.DataFrame) -> pd.DataFrame:
        """Return `rbmbench.reporting.contests.tuned_rates`."""
        return tuned_rates(found)

    def chart(self, found: pd.DataFrame) -> Chart:
        """Return the likelihoods by the rate, a panel for each contest, with a dot at each rate that is chosen."""
        numbers, panels = self.numbers(found), []
        for contest in self.contests:
            of_contest = numbers[numbers["contest"] == contest.name]
            chosen, ascending = of_contest[of_contest["chosen"]], of_contest.sort_values("rate", kind="stable")
            best = chosen["mean"]
            low = min(of_contest.groupby("rate")["mean"].max().min(), best.min())
            pad = 0.08 * (best.max() - low) or 0.1
            order = list(of_contest["algorithm"].unique())
            curves = sorted(curves_of(ascending, "rate"), key=lambda curve: order.index(curve.key))
            panel = ChartPanel(
                name=contest.name,
                title=f"{of_contest['data_title'].iloc[0]}, {contest.hidden} hidden units",
                heading=(contest.name,),
                x=Axis(title="learning rate", log=True, places=tuple(sorted(of_contest["rate"].unique()))),
                y=Axis(
                    title="log-likelihood of validation rows (nats per row)",
                    label="log-likelihood\nof validation rows\n(nats per row)",
                    range=(low - pad, best.max() + pad),
                ),
                series=tuple(curves),
                marks=tuple(Mark(key=one.algorithm, at=one.rate, height=one.mean) for one in chosen.itertuples()),
            )
            panels.append(panel)
        return arena_chart(self, panels, Layout(shade=0))

    def caption(self, found: pd.DataFrame) -> str:
        """Return the caption."""
        return (
            "Mean log-likelihood of the validation rows at the end of the budget of matrix products, by the learning"
            " rate, over the trials that tune it; dots: the rate that is chosen. Values far below the best are cut off."
            f" {contests_in_words(self, self.numbers(found))}"
        )


ArenaRates.SPEC = ArenaRatesSpec
