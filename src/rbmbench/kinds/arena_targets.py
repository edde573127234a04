# SPDX-License-Identifier: BSD-3-Clause
"""Figures of the share of targets that algorithms reach, by the share of the budget that they have spent."""

from __future__ import annotations

from typing import Literal

import pandas as pd
from pydantic import Field

from rbmbench.config.paper import KINDS
from rbmbench.kinds._contests import OfContestsSpec, ViewOfContests, arena_chart, curves_of
from rbmbench.planning.chart import Axis, Chart, ChartPanel, Layout
from rbmbench.planning.specs import FigureSpec
from rbmbench.reporting.contests import COSTS, NEAREST_TARGET, SHARES, TARGETS, reached_targets
from rbmbench.reporting.words import count


@KINDS.register
class ArenaTargets(ViewOfContests):
    """A figure of the targets that algorithms reach in the contests of another figure."""

    kind: Literal["arena_targets"] = Field(description="kind of the figure, and of its notebook template")


class ArenaTargetsSpec(OfContestsSpec, FigureSpec):
    """A figure of reached targets."""

    kind: Literal["arena_targets"]

    def numbers(self, found: pd.DataFrame) -> pd.DataFrame:
        """Return `rbmbench.reporting.contests.reached_targets`."""
        return reached_targets(found)

    def chart(self, found: pd.DataFrame) -> Chart:
        """Return the shares, a panel for each cost."""
        numbers, panels = self.numbers(found).rename(columns={"reached": "mean"}), []
        for cost, words in COSTS.items():
            panel = ChartPanel(
                name=cost,
                title=f"equal {words}",
                heading=("",),
                x=Axis(title=f"share of the {words}", log=True, range=(SHARES[0], 1)),
                y=Axis(title="share of targets reached", range=(0, 1)),
                series=curves_of(numbers[numbers["cost"] == cost], "spent"),
            )
            panels.append(panel)
        return arena_chart(self, panels, Layout(columns=2, shares_y=True))

    def caption(self, found: pd.DataFrame) -> str:
        """Return the caption."""
        return (
            f"Share of targets that trials have reached, by the share of the budget spent; {count(TARGETS - 1)}"
            " targets in each contest, all contests and judged trials together. Targets are held-out log-likelihoods"
            " between the initial one and the best mean at the end of the budget, at distances from it that fall by"
            f" equal factors to {100 * NEAREST_TARGET:g} % of the whole. Contests in which an algorithm has no"
            " evaluation near the end of the budget are left out."
        )


ArenaTargets.SPEC = ArenaTargetsSpec
