"""PartName: random bits and their mirror image.

All 2^half rows (x_1, ..., x_half, x_half, ..., x_1) once, so that the largest mean log-likelihood is -half log 2, nats
per row.

Source: origin of the data, and their licence.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from rbmbench.datasets import REGISTRY, Dataset, Recipe, whole_number


@REGISTRY.register
@dataclass(frozen=True)
class PartName(Recipe):
    """All rows of 2 ``half`` bits that are their own mirror image.

    Parameters
    ----------
    half : int
        Number of free bits, from 2 to 12.
    """

    # The fields are the options. Each has its type and its check, which runs before anything is read.
    half: Annotated[int, whole_number(2, 12)] = 4

    def load(self, _sources=None) -> Dataset:
        """Return the data set: uint8 rows (2^half, 2 half) of 0 and 1.

        Rows of a file of your own need no class: see the data set user_file. Files that have to be downloaded are
        declared with their checksums; see docs/data.md.
        """
        bits = (np.arange(2**self.half)[:, None] >> np.arange(self.half)) & 1
        return self.build(
            f"Mirrored, {2 * self.half} bits",
            train=np.hstack([bits, bits[:, ::-1]]),
            preprocessing="none: every row once",
        )
