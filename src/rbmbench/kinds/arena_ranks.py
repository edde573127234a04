# SPDX-License-Identifier: BSD-3-Clause
"""Figures of the final ranks of algorithms: over all contests with intervals, and contest by contest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from rbmbench.config.paper import KINDS, Paper
from rbmbench.kinds._contests import OfContestsSpec, ViewOfContests, contests_in_words, heading_of, without_ranks
from rbmbench.planning.chart import Axis, Chart, ChartPanel, Series
from rbmbench.planning.specs import FigureSpec, Place, Source
from rbmbench.reporting.contests import COSTS, contest_results, overall_ranks, standings, unit_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OVERALL = "all contests"


@KINDS.register
class ArenaRanks(ViewOfContests):
    """A figure of the final ranks of algorithms in the contests of another figure."""

    kind: Literal["arena_ranks"] = Field(description="kind of the figure, and of its notebook template")

    def names(self, paper: Paper) -> Iterator[str]:
        """Yield the algorithms that take part in a contest."""
        yield from dict.fromkeys(name.partition(".")[2] for name in super().names(paper))


class ArenaRanksSpec(OfContestsSpec, FigureSpec):
    """A figure of ranks."""

    kind: Literal["arena_ranks"]

    NAMES = "NAME.ALGORITHM"

    def numbers(self, found: pd.DataFrame) -> pd.DataFrame:
        """Return mean ranks with intervals: columns contest ("all contests" or a name), cost, algorithm, label, rank...

        With contests come the columns of `rbmbench.reporting.contests.contest_results`.
        """
        overall = overall_ranks(standings(found)).assign(contest=OVERALL)
        overall["label"] = overall["algorithm"].map(self.labels)
        return pd.concat([overall, contest_results(found)], ignore_index=True)

    def evidence(self, found: pd.DataFrame, name: str, **_: Any) -> Source | None:
        """Return the ranks of an algorithm: rows of `rbmbench.reporting.contests.standings`."""
        ranks = standings(found).query("algorithm == @name")
        if ranks.empty:
            return None
        more = {"stand_in": max(found["stand_in"]), "differences": self.of_part(None, name)}
        more["place"] = Place(self.key, "contests", name, is_exact=False)
        budget = {"trials": ranks.dropna(subset="rank").groupby(["cost", "contest"]).size().min()}
        return Source(label=self.labels[name], frame=ranks, budget=budget, **more)

    def chart_of(self, numbers: pd.DataFrame) -> Chart:
        """Return mean ranks with intervals, and the ranks in each contest under equal products."""
        from rbmbench.reporting import charts

        overall, products = numbers[numbers["contest"] == OVERALL], numbers[numbers["cost"] == "products"]
        order = overall[overall["cost"] == "products"].sort_values("rank")["algorithm"].tolist()
        contests = list(dict.fromkeys(products.loc[products["contest"] != OVERALL, "contest"]))
        names = {"rank": "mean", "rank_low": "low", "rank_high": "high"}

        def series(key: str, label: str, ranks: pd.DataFrame, by: str, places: list[str], shown: dict) -> Series:
            at = ranks.set_index(by).reindex(places)[[*shown]].rename(columns=shown).reset_index(drop=True)
            return charts.curve(key, label, at)

        means = [
            series(cost, f"equal {words}", overall[overall["cost"] == cost], "algorithm", order, names)
            for cost, words in COSTS.items()
        ]
        of_contests = [
            series(name, self.labels[name], ranks, "contest", contests, {"rank": "mean"})
            for name, ranks in products[products["contest"] != OVERALL].groupby("algorithm", sort=False)
        ]
        x = Axis(title="algorithm", ticks=tuple(self.labels[name] for name in order))
        named = {"name": "overall", "title": "Mean rank over all contests, 95 % interval", "x": x}
        first = ChartPanel(**named, y=Axis(title="mean rank"), series=tuple(means))
        x = Axis(title="contest", ticks=tuple(contests))
        named = {"name": "contests", "title": "Mean rank in each contest, equal matrix products", "x": x}
        return Chart(panels=(first, ChartPanel(**named, y=Axis(title="mean rank"), series=tuple(of_contests))))

    def picture(self, numbers: pd.DataFrame, facts: Mapping[str, Any], sheet: Any = None) -> Figure:
        """Return the figure: mean ranks with intervals on the left, those in each contest on the right."""
        from rbmbench.reporting.style import PAGE, page, theme

        sheet = sheet or PAGE
        overall = numbers[numbers["contest"] == OVERALL]
        order = overall[overall["cost"] == "products"].sort_values("rank", ascending=False)["algorithm"].tolist()
        with theme():
            drawn = page(max(1, -(-len(order) // 12)), sheet)
            left, right = drawn.subplots(1, 2, width_ratios=(1, 1.25), sharey=True)
            _draw_overall(left, overall, order)
            _draw_contests(right, numbers[(numbers["contest"] != OVERALL) & (numbers["cost"] == "products")], order)
            left.set_yticks(range(len(order)), [self.labels[name] for name in order])
            if sheet.titled:
                drawn.suptitle(heading_of(self))
            drawn.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
        return drawn

    def words(self, numbers: pd.DataFrame, facts: Mapping[str, Any]) -> str:
        """Return the caption."""
        contests = numbers[numbers["contest"] != OVERALL]
        return (
            "Ranks by the held-out log-likelihood at the end of the budget; 1 is the best of the algorithms in a trial."
            " Left: mean over contests and trials, with Student's 95 % intervals"
            f" over the {unit_of(len(self.contests))}s. Right: mean over the trials of each contest,"
            f" under equal matrix products. {without_ranks(contests)}"
            f" {contests_in_words(self, contests)}"
        )


def _draw_overall(ax: Axes, overall: pd.DataFrame, order: list[str]) -> None:
    from rbmbench.reporting.style import BLUE, VERMILLION, finish_axes

    looks = {"products": (BLUE, "o", 0.12), "seconds": (VERMILLION, "D", -0.12)}
    for cost, words in COSTS.items():
        ranks = overall[overall["cost"] == cost].set_index("algorithm").reindex(order)
        color, marker, shift = looks[cost]
        heights = np.arange(len(order)) + shift
        errors = [ranks["rank"] - ranks["rank_low"], ranks["rank_high"] - ranks["rank"]]
        look = {"color": color, "fmt": marker, "markersize": 4, "linewidth": 1.1}
        ax.errorbar(ranks["rank"], heights, xerr=np.clip(errors, 0, None), label=f"equal {words}", **look)
    ax.set(xlabel="mean rank over all contests")
    finish_axes(ax)


def _draw_contests(ax: Axes, numbers: pd.DataFrame, order: list[str]) -> None:
    from rbmbench.reporting.style import finish_axes

    table = numbers.pivot(index="algorithm", columns="contest", values="rank").reindex(order)
    table = table[list(dict.fromkeys(numbers["contest"]))]
    ax.imshow(table.to_numpy(), aspect="auto", cmap="cividis_r", vmin=1, vmax=max(2, len(order)))
    for row, line in enumerate(table.to_numpy()):
        for column, rank in enumerate(line):
            if np.isfinite(rank):
                color = "white" if rank > 0.55 * len(order) else "black"
                ax.text(column, row, f"{rank:.1f}", ha="center", va="center", fontsize=6.5, color=color)
    ax.set_xticks(range(len(table.columns)), [name.replace("_", "\n") for name in table.columns])
    ax.set(xlabel="mean rank in each contest, equal matrix products")
    finish_axes(ax)
    ax.grid(visible=False)


ArenaRanks.SPEC = ArenaRanksSpec
