# SPDX-License-Identifier: BSD-3-Clause
"""Bars and stripes: every pattern of whole rows, and every pattern of whole columns, of a square image."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from rbmbench.datasets import REGISTRY, Dataset
from rbmbench.datasets._recipe import Recipe, truth_value, whole_number

PREPROCESSING = "none: every pattern of horizontal and of vertical bars once"


@REGISTRY.register
@dataclass(frozen=True)
class BarsAndStripes(Recipe):
    """Bars and stripes (MacKay 2003): 2 * 2^side rows of side^2 pixels.

    First the 2^side patterns of horizontal bars, then those of vertical bars, in the order of their binary numbers
    (the lowest bit is the first bar). The empty and the full image are in both halves, so they occur twice.
    With ``distinct`` each pattern occurs once, and all patterns are the test rows as well.

    Parameters
    ----------
    side : int
        Pixels per side, from 1 to 12.
    distinct : bool
        Whether the empty and the full image are left out of the second half: 2 * 2^side - 2 rows, at least 2.
    """

    side: Annotated[int, whole_number(1, 12)] = 4
    distinct: Annotated[bool, truth_value] = False

    @property
    def image(self) -> tuple[int, int]:
        """Rows and columns of the images."""
        return self.side, self.side

    def load(self, _sources=None) -> Dataset:
        """Generate the data set."""
        patterns = (np.arange(2**self.side)[:, None] >> np.arange(self.side)) & 1
        horizontal = np.repeat(patterns, self.side, axis=1)
        vertical = np.tile(patterns, self.side)
        rows = np.concatenate([horizontal, vertical[1:-1] if self.distinct else vertical])
        return self.build(
            f"Bars and stripes {self.side}x{self.side}",
            train=rows,
            test=rows if self.distinct else None,
            preprocessing="none: every pattern once" if self.distinct else PREPROCESSING,
        )
