# SPDX-License-Identifier: BSD-3-Clause
"""Figures of the final ranks of algorithms: over all contests with intervals, and contest by contest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import pandas as pd
from pydantic import Field

from rbmbench.config.paper import KINDS, Paper
from rbmbench.kinds._contests import (
    OfContestsSpec,
    ViewOfContests,
    arena_chart,
    contests_in_words,
    without_ranks,
)
from rbmbench.planning.chart import Axis, Chart, ChartPanel, Layout
from rbmbench.planning.specs import FigureSpec, Place, Source
from rbmbench.reporting.contests import COSTS, contest_results, overall_ranks, standings, unit_of

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

    def chart(self, found: pd.DataFrame) -> Chart:
        """Return mean ranks with intervals, and the ranks in each contest under equal products."""
        from rbmbench.reporting import charts

        numbers = self.numbers(found)
        overall, products = numbers[numbers["contest"] == OVERALL], numbers[numbers["cost"] == "products"]
        products = products[products["contest"] != OVERALL]
        order = overall[overall["cost"] == "products"].sort_values("rank")["algorithm"].tolist()
        contests = list(dict.fromkeys(products["contest"]))

        def ranks_at(ranks: pd.DataFrame, by: str, places: list[str], **shown: str) -> pd.DataFrame:
            return ranks.set_index(by).reindex(places)[[*shown]].rename(columns=shown).reset_index(drop=True)

        interval = {"rank": "mean", "rank_low": "low", "rank_high": "high"}
        means = [
            charts.curve(cost, f"equal {words}", ranks_at(of_cost, "algorithm", order, **interval))
            for cost, words in COSTS.items()
            for of_cost in [overall[overall["cost"] == cost]]
        ]
        of_contests = [
            charts.curve(name, self.labels[name], ranks_at(ranks, "contest", contests, rank="mean"))
            for name in order
            for ranks in [products[products["algorithm"] == name]]
        ]
        first = ChartPanel(
            name="overall",
            title="Mean rank over all contests, 95 % interval",
            heading=("",),
            x=Axis(title="algorithm", ticks=tuple(self.labels[name] for name in order)),
            y=Axis(title="mean rank", label="mean rank over all contests"),
            series=tuple(means),
            drawn_as="points",
        )
        second = ChartPanel(
            name="contests",
            title="Mean rank in each contest, equal matrix products",
            heading=("",),
            x=Axis(title="contest", ticks=tuple(contests)),
            y=Axis(title="mean rank", label="mean rank in each contest, equal matrix products"),
            series=tuple(of_contests),
            drawn_as="cells",
        )
        row = {"row": 2.55 * max(1, -(-len(order) // 12)), "widths": (1, 1.25), "shares_y": True}
        legend = {"entries": (), "columns": 2, "handle": 2.0}
        return arena_chart(self, (first, second), Layout(columns=2, narrow=2, **row), **legend)

    def caption(self, found: pd.DataFrame) -> str:
        """Return the caption."""
        contests = self.numbers(found).query("contest != @OVERALL")
        return (
            "Ranks by the held-out log-likelihood at the end of the budget; 1 is the best of the algorithms in a trial."
            " Left: mean over contests and trials, with Student's 95 % intervals"
            f" over the {unit_of(len(self.contests))}s. Right: mean over the trials of each contest,"
            f" under equal matrix products. {without_ranks(contests)}"
            f" {contests_in_words(self, contests)}"
        )


ArenaRanks.SPEC = ArenaRanksSpec
