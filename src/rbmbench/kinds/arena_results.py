# SPDX-License-Identifier: BSD-3-Clause
"""Tables of the final held-out log-likelihoods and ranks of algorithms, contest by contest."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd
from pydantic import Field

from rbmbench.base.settings import Settings
from rbmbench.config.paper import KINDS
from rbmbench.kinds._contests import OfContestsSpec, ViewOfContests, contests_in_words, without_ranks
from rbmbench.planning.chart import Table
from rbmbench.planning.specs import TableSpec
from rbmbench.reporting.contests import contest_results
from rbmbench.reporting.text_tables import by_interval, interval, part_of, significant
from rbmbench.reporting.words import count


@KINDS.register
class ArenaResults(ViewOfContests):
    """A table of the final results of algorithms in the contests of a figure."""

    kind: Literal["arena_results"] = Field(description="kind of the table, and of its notebook template")

    IS_TABLE = True


class ArenaResultsSpec(OfContestsSpec, TableSpec):
    """A table of final results."""

    kind: Literal["arena_results"]
    published: Settings = Field(default=Settings(), description="nothing: no paper prints such a table")

    def numbers(self, found: pd.DataFrame) -> pd.DataFrame:
        """Return `rbmbench.reporting.contests.contest_results`."""
        return contest_results(found)

    def table(self, numbers: pd.DataFrame) -> Table:
        """Return one table for people for each contest, the best first."""
        parts = []
        for contest in self.contests:
            of_contest = numbers[numbers["contest"] == contest.name]
            caption = f"{contest.name}: {of_contest['data_title'].iloc[0]}, {contest.hidden} hidden units,"
            caption += f" {count(contest.products)} products"
            parts.append(part_of(caption, _cells(of_contest), 1))
        notes = [
            "Held-out log-likelihood: mean over judged trials, nats per row, with Student's 95 % interval. Rank: mean"
            " over trials. * the chosen rate is an end of the grid. No fault found: judged models whose"
            " certificate finds nothing wrong, of those that were examined.",
            without_ranks(numbers),
            contests_in_words(self, numbers),
        ]
        return Table(parts=tuple(parts), notes=tuple(filter(None, notes)))


def _cells(numbers: pd.DataFrame) -> pd.DataFrame:
    """Return the cells of one contest, by the rank under equal products."""
    tables = {cost: one.set_index("algorithm") for cost, one in numbers.groupby("cost", sort=False)}
    products = tables["products"].sort_values("rank")
    seconds = tables["seconds"].reindex(products.index)
    rates = [f"{rate:g}{'*' if edge else ''}" for rate, edge in zip(products["rate"], products["at_edge"], strict=True)]
    return pd.DataFrame(
        {
            "algorithm": products["label"],
            "rate": rates,
            "log-likelihood": _values(products),
            "95 % interval": [interval(*ends) for ends in products[["low", "high"]].to_numpy()],
            "rank": products["rank"].map(_rank),
            "no fault found": [_share(*pair) for pair in zip(products["certified"], products["examined"], strict=True)],
            "seconds": products["seconds"].map(significant),
            "log-likelihood, equal seconds": _values(seconds),
            "rank, equal seconds": seconds["rank"].map(_rank),
        }
    )


def _share(certified: int, examined: int) -> str:
    return f"{certified} of {examined}" if examined else "-"


def _rank(rank: float) -> str:
    return f"{rank:.1f}" if np.isfinite(rank) else "-"


def _values(numbers: pd.DataFrame) -> list[str]:
    # Empty texts are missing values in a CSV.
    rows = zip(numbers["missing"].fillna(""), numbers[["value", "low", "high"]].to_numpy(), strict=True)
    return [missing or by_interval(*value) for missing, value in rows]


ArenaResults.SPEC = ArenaResultsSpec
