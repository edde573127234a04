# SPDX-License-Identifier: BSD-3-Clause
"""USPS: handwritten digits of 16x16 grey pixels from envelopes, made binary."""

from dataclasses import dataclass
from typing import Annotated

from rbmbench.datasets import REGISTRY, Dataset
from rbmbench.datasets._downloads import fetch_parts
from rbmbench.datasets._formats import labelled_grey_text
from rbmbench.datasets._recipe import Recipe, number, whole_number

TRAINING_FILE_ROWS = 7291


@REGISTRY.register
@dataclass(frozen=True)
class Usps(Recipe):
    """USPS zip code digits: 7291 images for training and validation, 2007 for testing, 256 pixels, row-major.

    Parameters
    ----------
    threshold : float
        A pixel is 1 if its grey value (-1 to 1, 1 is ink) is larger.
    validation : int
        Number of validation rows, the last of the training file: 1000 as in Breuleux, Bengio, Vincent (2011), who do
        not say which.
    """

    image = (16, 16)

    threshold: Annotated[float, number(-1, 1)] = 0.0
    validation: Annotated[int, whole_number(0, TRAINING_FILE_ROWS - 1)] = 1000

    def load(self, sources) -> Dataset:
        """Return the data set, downloading its two files if necessary."""
        grey, origin = fetch_parts("usps", sources, labelled_grey_text, ("train", "test"))
        train, test = (part > self.threshold for part in grey.values())
        cut = len(train) - self.validation
        return self.build(
            "USPS",
            train=train[:cut],
            validation=train[cut:],
            test=test,
            **origin,
            preprocessing=f"1 where the grey value (-1 to 1) is above {self.threshold:g}; the last {self.validation} "
            "rows of the training file are for validation",
        )
