# SPDX-License-Identifier: BSD-3-Clause
"""MNIST: handwritten digits of 28x28 grey pixels, made binary."""

from dataclasses import dataclass
from typing import Annotated

from rbmbench.datasets import REGISTRY, Dataset
from rbmbench.datasets._downloads import fetch_parts
from rbmbench.datasets._formats import amat, idx_images
from rbmbench.datasets._images import binarised
from rbmbench.datasets._recipe import Recipe, Seed, one_of, whole_number

TRAINING_IMAGES = 60_000


@REGISTRY.register
@dataclass(frozen=True)
class Mnist(Recipe):
    """MNIST (LeCun, Cortes, Burges): 60000 training and 10000 test images of 784 pixels, row-major.

    Parameters
    ----------
    binarise : {"threshold", "bernoulli", "fixed"}
        "threshold": a pixel is 1 if its grey value (0 to 255) is above ``threshold``. 127 is what Krause, Fischer, Igel
        (2018) used through their library Shark. "bernoulli": a pixel is 1 with probability value / 255, drawn once
        (Salakhutdinov, Murray 2008). "fixed": the binary images that Larochelle and Murray (2011) publish, 50000 of the
        training images and 10000 of them for validation.
    threshold : int
        Threshold, if ``binarise`` is "threshold".
    seed : int
        Seed of the draws, if ``binarise`` is "bernoulli".
    validation : int
        Number of validation rows, the last of the training images; 10000 is usual. The "fixed" images have validation
        rows of their own.
    """

    image = (28, 28)

    threshold: Annotated[int, whole_number(0, 254)] = 127
    validation: Annotated[int, whole_number(0, lambda data: 0 if data.binarise == "fixed" else TRAINING_IMAGES - 1)] = 0
    binarise: Annotated[str, one_of("threshold", "bernoulli", "fixed")] = "threshold"
    seed: Seed = 0

    def load(self, sources) -> Dataset:
        """Return the data set, downloading its image files if necessary."""
        if self.binarise == "fixed":
            parts, origin = fetch_parts("binarized_mnist", sources, amat, ("train", "validation", "test"))
            preprocessing = "none: binary as published"
        else:
            images, origin = fetch_parts("mnist", sources, idx_images, ("train", "test"))
            parts, preprocessing = binarised(images, self.binarise, self.threshold, self.seed)
            cut = len(parts["train"]) - self.validation
            parts |= {"train": parts["train"][:cut], "validation": parts["train"][cut:]}
        return self.build("MNIST", **parts, **origin, preprocessing=preprocessing)
