# SPDX-License-Identifier: BSD-3-Clause
"""Diag: rows of d bits that start with an increasing number of ones."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from rbmbench.datasets import REGISTRY, Dataset
from rbmbench.datasets._recipe import Recipe, whole_number


@REGISTRY.register
@dataclass(frozen=True)
class Diag(Recipe):
    """Diag (Bengio, Delalleau 2009; Fischer, Igel 2011): d + 1 rows, of which row i is i ones and then d - i zeros.

    Parameters
    ----------
    d : int
        Number of visible units, from 1 to 4096.
    """

    d: Annotated[int, whole_number(1, 4096)] = 6

    def load(self, _sources=None) -> Dataset:
        """Generate the data set."""
        return self.build(
            f"Diag, d = {self.d}",
            train=np.tri(self.d + 1, self.d, -1, dtype=np.uint8),
            preprocessing="none: every number of leading ones once",
        )
