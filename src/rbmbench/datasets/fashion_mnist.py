# SPDX-License-Identifier: BSD-3-Clause
"""Fashion-MNIST: articles of clothing in 28x28 grey pixels, made binary."""

from dataclasses import dataclass
from typing import Annotated

from rbmbench.datasets import REGISTRY, Dataset
from rbmbench.datasets._downloads import fetch_parts
from rbmbench.datasets._formats import idx_images
from rbmbench.datasets._images import binarised
from rbmbench.datasets._recipe import Recipe, Seed, one_of, whole_number


@REGISTRY.register
@dataclass(frozen=True)
class FashionMnist(Recipe):
    """Fashion-MNIST (Xiao, Rasul, Vollgraf 2017): 60000 training and 10000 test images of 784 pixels, row-major.

    Parameters
    ----------
    binarise : {"bernoulli", "threshold"}
        "bernoulli": a pixel is 1 with probability value / 255, drawn once (Qiu, Zhang, Wang 2020, section 6.3);
        "threshold": a pixel is 1 if its grey value is above ``threshold``.
    threshold : int
        Threshold, if ``binarise`` is "threshold".
    seed : int
        Seed of the draws, if ``binarise`` is "bernoulli".
    """

    image = (28, 28)

    binarise: Annotated[str, one_of("bernoulli", "threshold")] = "bernoulli"
    threshold: Annotated[int, whole_number(0, 254)] = 127
    seed: Seed = 0

    def load(self, sources) -> Dataset:
        """Return the data set, downloading its two image files if necessary."""
        images, origin = fetch_parts("fashion_mnist", sources, idx_images, ("train", "test"))
        parts, preprocessing = binarised(images, self.binarise, self.threshold, self.seed)
        return self.build("Fashion-MNIST", **parts, **origin, preprocessing=preprocessing)
