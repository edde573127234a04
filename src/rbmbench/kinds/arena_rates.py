# SPDX-License-Identifier: BSD-3-Clause
"""Figures of the tuning of rates: one panel per contest, one curve per algorithm."""

from rbmbench.config.paper import KINDS
from rbmbench.kinds._contests import ViewOfContests


@KINDS.register
class ArenaRates(ViewOfContests):
    """A figure of the tuning of rates in the contests of another figure."""
