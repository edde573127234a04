# SPDX-License-Identifier: BSD-3-Clause
"""Measurements of an arena."""

from typing import Literal

from rbmbench.reporting.claims.arguments import RankName
from rbmbench.reporting.claims.evidence import Evidence, NotRun
from rbmbench.reporting.claims.measurements._base import Measurement, measures
from rbmbench.reporting.contests import COSTS, over_contests


@measures()
def rank_difference(
    evidence: Evidence, *, ranks: RankName, against: RankName, cost: Literal["products", "seconds"] = "products"
) -> Measurement:
    """Measure the mean rank of one algorithm minus that of another over the contests in which both take part.

    Below zero the first one is better. The interval is Student's over the contests, and over the trials where there are
    fewer than three contests. Contests without ranks at this cost are left out.
    """
    one, other = evidence.of(ranks, "arena_ranks"), evidence.of(against, "arena_ranks")
    at_cost = [
        source.frame[source.frame["cost"] == cost].set_index(["contest", "trial"])["rank"] for source in (one, other)
    ]
    differences = (at_cost[0] - at_cost[1]).dropna()
    if differences.empty:
        raise NotRun(f"no contest has ranks at equal {COSTS[cost]}: algorithms have no evaluation near the budget")
    contests = ", ".join(differences.index.unique("contest"))
    what = f"mean rank of {one.label} minus that of {other.label} at equal {COSTS[cost]} ({contests})"
    return Measurement(*over_contests(differences), what, (one, other))
