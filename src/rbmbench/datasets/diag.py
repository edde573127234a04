"""Diag: rows of d bits that start with an increasing number of ones."""

from dataclasses import asdict, dataclass

import numpy as np

from rbmbench.datasets import REGISTRY, Dataset, build
from rbmbench.datasets._options import check_whole_number


@REGISTRY.register
@dataclass(frozen=True)
class Diag:
    """Diag (Bengio, Delalleau 2009; Fischer, Igel 2011): d + 1 rows, of which row i is i ones and then d - i zeros.

    Parameters
    ----------
    d : int
        Number of visible units, from 1 to 4096.
    """

    d: int = 6

    def __post_init__(self):
        check_whole_number("diag", "d", self.d, 1, 4096)

    def load(self, _sources=None) -> Dataset:
        """Generate the data set."""
        return build(
            "diag",
            f"Diag, d = {self.d}",
            train=np.tri(self.d + 1, self.d, -1, dtype=np.uint8),
            source="generated",
            preprocessing="none: every number of leading ones once",
            options=asdict(self),
        )
