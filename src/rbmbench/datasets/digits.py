# SPDX-License-Identifier: BSD-3-Clause
"""The 8x8 digits bundled with scikit-learn: real images without a download."""

from dataclasses import dataclass
from typing import Annotated

from rbmbench.datasets import REGISTRY, Dataset
from rbmbench.datasets._recipe import Recipe, text, whole_number

ROWS = 1797


@REGISTRY.register
@dataclass(frozen=True)
class Digits(Recipe):
    """The 1797 digits of 8x8 pixels (0 to 16) in scikit-learn, from the UCI optical digits (test part).

    Parameters
    ----------
    threshold : int
        A pixel is 1 if its value is larger; 7 is half the range, as 127 is for MNIST.
    validation, test : int
        Number of rows of these parts, taken from the end: validation rows, then test rows.
    stands_in_for : str, optional
        The data set that the digits stand in for, named in the title and the provenance.
    """

    image = (8, 8)

    threshold: Annotated[int, whole_number(0, 15)] = 7
    validation: Annotated[int, whole_number(0, ROWS - 1)] = 0
    test: Annotated[int, whole_number(0, lambda data: ROWS - 1 - data.validation)] = 0
    stands_in_for: Annotated[str | None, text] = None

    def load(self, _sources=None) -> Dataset:
        """Return the data set, from the images in scikit-learn."""
        import sklearn
        from sklearn.datasets import load_digits

        bits = load_digits().data > self.threshold
        ends = ROWS - self.validation - self.test, ROWS - self.test
        return self.build(
            "Digits 8x8",
            train=bits[: ends[0]],
            validation=bits[ends[0] : ends[1]],
            test=bits[ends[1] :],
            source=f"optical digits of UCI (CC BY 4.0), as bundled with scikit-learn {sklearn.__version__}",
            preprocessing=f"1 where the value (0 to 16) is above {self.threshold}",
        )
