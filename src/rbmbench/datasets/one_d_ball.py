# SPDX-License-Identifier: BSD-3-Clause
"""1DBall: d / 2 neighbouring ones on a ring of d bits."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from rbmbench.datasets import REGISTRY, Dataset
from rbmbench.datasets._recipe import Recipe, whole_number


@REGISTRY.register
@dataclass(frozen=True)
class OneDBall(Recipe):
    """1DBall (Bengio, Delalleau 2009; Fischer, Igel 2011): d rows of d / 2 consecutive ones.

    First d / 2 rows whose ones start at bit 0, 1, ..., then their complements. These are the d rotations of the first
    row.

    Parameters
    ----------
    d : int
        Number of visible units, an even number from 2 to 4096.
    """

    d: Annotated[int, whole_number(2, 4096)] = 6

    def __post_init__(self):
        super().__post_init__()
        if self.d % 2:
            raise self.refused("d", "an even number")

    def load(self, _sources=None) -> Dataset:
        """Generate the data set."""
        start, bit = np.ogrid[: self.d // 2, : self.d]
        balls = ((start <= bit) & (bit < start + self.d // 2)).astype(np.uint8)
        return self.build(
            f"1DBall, d = {self.d}",
            train=np.concatenate([balls, 1 - balls]),
            preprocessing="none: every ball and its complement once",
        )
