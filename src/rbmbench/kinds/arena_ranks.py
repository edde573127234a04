# SPDX-License-Identifier: BSD-3-Clause
"""Figures of the final ranks of algorithms: over all contests with intervals, and contest by contest."""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from rbmbench.config.paper import KINDS, Paper
from rbmbench.kinds._arena import ArenaSpec
from rbmbench.kinds._contests import ViewOfContests


@KINDS.register
class ArenaRanks(ViewOfContests):
    """A figure of the final ranks of algorithms in the contests of another figure."""

    kind: Literal["arena_ranks"] = Field(description="kind of the figure, and of its notebook template")

    SPEC = ArenaSpec

    def names(self, paper: Paper) -> Iterator[str]:
        """Yield the algorithms that take part in a contest."""
        yield from dict.fromkeys(name.partition(".")[2] for name in super().names(paper))
