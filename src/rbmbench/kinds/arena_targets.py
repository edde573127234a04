# SPDX-License-Identifier: BSD-3-Clause
"""Figures of the share of targets that algorithms reach, by the share of the budget that they have spent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd
from pydantic import Field

from rbmbench.config.paper import KINDS
from rbmbench.kinds._contests import OfContestsSpec, ViewOfContests, curves_of, draw_curves, finish_sheet
from rbmbench.planning.chart import Axis, Chart, ChartPanel
from rbmbench.planning.specs import FigureSpec
from rbmbench.reporting.contests import COSTS, NEAREST_TARGET, SHARES, TARGETS, reached_targets
from rbmbench.reporting.words import count

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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

    def chart_of(self, numbers: pd.DataFrame) -> Chart:
        """Return the shares, a panel for each cost."""
        y = Axis(title="share of targets reached", range=(0, 1))
        panels = []
        for cost, words in COSTS.items():
            curves = curves_of(numbers[numbers["cost"] == cost].rename(columns={"reached": "mean"}), "spent")
            x = Axis(title=f"share of the {words}", log=True, range=(SHARES[0], 1))
            panels.append(ChartPanel(name=cost, title=f"equal {words}", x=x, y=y, series=curves))
        return Chart(panels=tuple(panels))

    def picture(self, numbers: pd.DataFrame, facts: Mapping[str, Any], sheet: Any = None) -> Figure:
        """Return the figure, one panel for each cost."""
        from rbmbench.reporting.style import PAGE, looks_of, page, theme

        sheet = sheet or PAGE
        looks = looks_of(self.entries.values())
        shape = (1, 2) if sheet.is_wide else (2, 1)
        with theme():
            drawn = page(shape[0], sheet)
            axes = drawn.subplots(*shape, sharey=True)
            for ax, panel in zip(axes, self.chart_of(numbers).panels, strict=True):
                draw_curves(ax, panel, looks)
            axes[0].set_ylabel("share of targets reached")
            finish_sheet(drawn, self, looks, sheet)
        return drawn

    def words(self, numbers: pd.DataFrame, facts: Mapping[str, Any]) -> str:
        """Return the caption."""
        return (
            f"Share of targets that trials have reached, by the share of the budget spent; {count(TARGETS - 1)}"
            " targets in each contest, all contests and judged trials together. Targets are held-out log-likelihoods"
            " between the initial one and the best mean at the end of the budget, at distances from it that fall by"
            f" equal factors to {100 * NEAREST_TARGET:g} % of the whole. Contests in which an algorithm has no"
            " evaluation near the end of the budget are left out."
        )


ArenaTargets.SPEC = ArenaTargetsSpec
