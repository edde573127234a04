# SPDX-License-Identifier: BSD-3-Clause
"""Figures of the final ranks of algorithms: over all contests with intervals, and contest by contest."""

from collections.abc import Iterator

from rbmbench.config.paper import KINDS, Paper
from rbmbench.kinds._contests import ViewOfContests


@KINDS.register
class ArenaRanks(ViewOfContests):
    """A figure of the final ranks of algorithms in the contests of another figure."""

    def names(self, paper: Paper) -> Iterator[str]:
        figure = self.contests_of(paper)
        names = (name for contest in figure.contests.values() for name in figure.algorithms_of(paper, contest))
        yield from dict.fromkeys(names)
