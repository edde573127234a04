# SPDX-License-Identifier: BSD-3-Clause
"""Figures of what the rates of algorithms were tuned by: one panel per contest, one curve per algorithm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd
from pydantic import Field

from rbmbench.config.paper import KINDS
from rbmbench.kinds._contests import (
    OfContestsSpec,
    ViewOfContests,
    contests_in_words,
    curves_of,
    draw_curves,
    finish_sheet,
)
from rbmbench.planning.chart import Axis, Chart, ChartPanel
from rbmbench.planning.specs import FigureSpec
from rbmbench.reporting.contests import tuned_rates

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_COLUMNS = 3
MOST_LABELS = 5
"""Of an axis, which do not touch."""


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

    def chart_of(self, numbers: pd.DataFrame) -> Chart:
        """Return the likelihoods by the rate, a panel for each contest."""
        panels = []
        for contest in self.contests:
            of_contest = numbers[numbers["contest"] == contest.name].sort_values("rate", kind="stable")
            best = of_contest[of_contest["chosen"].astype(bool)]["mean"]
            low = min(of_contest.groupby("rate")["mean"].max().min(), best.min())
            pad = 0.08 * (best.max() - low) or 0.1
            y = Axis(title="log-likelihood of validation rows (nats per row)", range=(low - pad, best.max() + pad))
            order = numbers[numbers["contest"] == contest.name]["algorithm"].unique()
            curves = sorted(curves_of(of_contest, "rate"), key=lambda curve: list(order).index(curve.key))
            x = Axis(title="learning rate", log=True)
            title = f"{of_contest['data_title'].iloc[0]}, {contest.hidden} hidden units"
            panels.append(ChartPanel(name=contest.name, title=title, x=x, y=y, series=tuple(curves)))
        return Chart(panels=tuple(panels))

    def picture(self, numbers: pd.DataFrame, facts: Mapping[str, Any], sheet: Any = None) -> Figure:
        """Return the figure."""
        from rbmbench.reporting.style import PAGE, looks_of, page, theme

        sheet = sheet or PAGE
        looks = looks_of(self.entries.values())
        columns = min(MOST_COLUMNS if sheet.is_wide else 1, len(self.contests))
        rows = -(-len(self.contests) // columns)
        with theme():
            drawn = page(rows, sheet)
            axes = drawn.subplots(rows, columns, squeeze=False).ravel()
            for panel, ax in zip(self.chart_of(numbers).panels, axes, strict=False):
                draw_curves(ax, panel, looks, banded=False)
                chosen = numbers[(numbers["contest"] == panel.name) & numbers["chosen"].astype(bool)]
                for one in chosen.itertuples():
                    ax.plot(one.rate, one.mean, "o", color=looks[one.algorithm]["color"], markersize=4, zorder=3)
                rates = sorted(numbers.loc[numbers["contest"] == panel.name, "rate"].unique())
                each = -(-len(rates) // MOST_LABELS)
                ax.set_xticks(rates, ["" if place % each else f"{rate:g}" for place, rate in enumerate(rates)])
                ax.set_xticks([], minor=True)
                ax.set_title(f"{panel.name}", loc="left")
            for ax in axes[len(self.contests) :]:
                ax.set_axis_off()
            for first in axes[::columns]:
                first.set_ylabel("log-likelihood\nof validation rows\n(nats per row)")
            finish_sheet(drawn, self, looks, sheet)
        return drawn

    def words(self, numbers: pd.DataFrame, facts: Mapping[str, Any]) -> str:
        """Return the caption."""
        return (
            "Mean log-likelihood of the validation rows at the end of the budget of matrix products, by the learning"
            " rate, over the trials that tune it; dots: the rate that is chosen. Values far below the best are cut off."
            f" {contests_in_words(self, numbers)}"
        )


ArenaRates.SPEC = ArenaRatesSpec
