# SPDX-License-Identifier: BSD-3-Clause
"""Tables of the final held-out log-likelihoods and ranks of algorithms, contest by contest."""

from typing import Literal

from pydantic import Field

from rbmbench.config.paper import KINDS
from rbmbench.kinds._arena import ArenaTableSpec
from rbmbench.kinds._contests import ViewOfContests


@KINDS.register
class ArenaResults(ViewOfContests):
    """A table of the final results of algorithms in the contests of a figure."""

    kind: Literal["arena_results"] = Field(description="kind of the table, and of its notebook template")

    SPEC = ArenaTableSpec
    IS_TABLE = True
