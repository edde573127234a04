"""1DBall: d / 2 neighbouring ones on a ring of d bits."""

from dataclasses import asdict, dataclass

import numpy as np

from rbmbench.base.errors import SettingsError
from rbmbench.datasets import REGISTRY, Dataset, build
from rbmbench.datasets._options import check_whole_number


@REGISTRY.register
@dataclass(frozen=True)
class OneDBall:
    """1DBall (Bengio, Delalleau 2009; Fischer, Igel 2011): d rows of d / 2 consecutive ones.

    First d / 2 rows whose ones start at bit 0, 1, ..., then their complements. These are the d rotations of the first
    row.

    Parameters
    ----------
    d : int
        Number of visible units, an even number from 2 to 4096.
    """

    d: int = 6

    def __post_init__(self):
        check_whole_number("one_d_ball", "d", self.d, 2, 4096)
        if self.d % 2:
            raise SettingsError(f"data set 'one_d_ball': option 'd': found {self.d}; allowed: an even number")

    def load(self, _sources=None) -> Dataset:
        """Generate the data set."""
        start, bit = np.ogrid[: self.d // 2, : self.d]
        balls = ((start <= bit) & (bit < start + self.d // 2)).astype(np.uint8)
        return build(
            "one_d_ball",
            f"1DBall, d = {self.d}",
            train=np.concatenate([balls, 1 - balls]),
            source="generated",
            preprocessing="none: every ball and its complement once",
            options=asdict(self),
        )
