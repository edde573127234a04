# SPDX-License-Identifier: BSD-3-Clause
"""Figures of the share of targets that algorithms reach, by the share of the budget that they have spent."""

from rbmbench.config.paper import KINDS
from rbmbench.kinds._contests import ViewOfContests


@KINDS.register
class ArenaTargets(ViewOfContests):
    """A figure of the targets that algorithms reach in the contests of another figure."""
