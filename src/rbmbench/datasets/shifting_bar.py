# SPDX-License-Identifier: BSD-3-Clause
"""Shifting bar: consecutive ones on a ring of zeros, at every position."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from rbmbench.datasets import REGISTRY, Dataset
from rbmbench.datasets._recipe import Recipe, whole_number


@REGISTRY.register
@dataclass(frozen=True)
class ShiftingBar(Recipe):
    """Shifting bar (Melchior, Fischer, Wiskott 2016): d rows of d bits, of which row i has ``bar`` ones from bit i on.

    The rows are all possible ones, so they are the test rows as well.

    Parameters
    ----------
    d : int
        Number of visible units, from 2 to 4096.
    bar : int
        Number of ones, from 1 to d - 1.
    """

    d: Annotated[int, whole_number(2, 4096)] = 9
    bar: Annotated[int, whole_number(1, lambda data: data.d - 1)] = 1

    def load(self, _sources=None) -> Dataset:
        """Generate the data set."""
        places = np.arange(self.d)
        rows = (places - places[:, None]) % self.d < self.bar
        return self.build(
            f"Shifting bar, {self.bar} of {self.d}",
            train=rows,
            test=rows,
            preprocessing="none: every place of the bar once",
        )
