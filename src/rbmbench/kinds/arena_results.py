# SPDX-License-Identifier: BSD-3-Clause
"""Tables of the final held-out log-likelihoods and ranks of algorithms, contest by contest."""

from rbmbench.config.paper import KINDS
from rbmbench.kinds._arena import ArenaTableSpec
from rbmbench.kinds._contests import ViewOfContests


@KINDS.register
class ArenaResults(ViewOfContests):
    """A table of the final results of algorithms in the contests of a figure."""

    SPEC = ArenaTableSpec
    IS_TABLE = True
