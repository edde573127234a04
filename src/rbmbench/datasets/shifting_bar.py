"""Shifting bar: consecutive ones on a ring of zeros, at every position."""

from dataclasses import asdict, dataclass

import numpy as np

from rbmbench.datasets import REGISTRY, Dataset, build
from rbmbench.datasets._options import check_whole_number


@REGISTRY.register
@dataclass(frozen=True)
class ShiftingBar:
    """Shifting bar (Melchior, Fischer, Wiskott 2016): d rows of d bits, of which row i has ``bar`` ones from bit i on.

    The rows are all possible ones, so they are the test rows as well.

    Parameters
    ----------
    d : int
        Number of visible units, from 2 to 4096.
    bar : int
        Number of ones, from 1 to d - 1.
    """

    d: int = 9
    bar: int = 1

    def __post_init__(self):
        check_whole_number("shifting_bar", "d", self.d, 2, 4096)
        check_whole_number("shifting_bar", "bar", self.bar, 1, self.d - 1)

    def load(self, _sources=None) -> Dataset:
        """Generate the data set."""
        places = np.arange(self.d)
        rows = (places - places[:, None]) % self.d < self.bar
        return build(
            "shifting_bar",
            f"Shifting bar, {self.bar} of {self.d}",
            train=rows,
            test=rows,
            source="generated",
            preprocessing="none: every place of the bar once",
            options=asdict(self),
        )
