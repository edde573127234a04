# SPDX-License-Identifier: BSD-3-Clause
"""Figures of anytime curves: held-out log-likelihood by cost; a row of panels per contest, a curve per algorithm."""

from rbmbench.config.paper import KINDS
from rbmbench.kinds._contests import Contests


@KINDS.register
class ArenaCurves(Contests):
    """A figure of anytime curves, and the contests of all figures of an arena."""
