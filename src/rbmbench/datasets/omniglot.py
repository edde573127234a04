# SPDX-License-Identifier: BSD-3-Clause
"""OMNIGLOT: handwritten characters of many alphabets, 28x28 grey pixels made binary."""

from dataclasses import dataclass

import numpy as np

from rbmbench.datasets import REGISTRY, Dataset
from rbmbench.datasets._downloads import fetch_parts
from rbmbench.datasets._formats import chardata_mat, grey_npz
from rbmbench.datasets._images import as_probabilities
from rbmbench.datasets._recipe import Recipe, Seed

STAND_IN = "omniglot_28x28_area_standin.npz"
OWN_WORDS = "the 28x28 images and split of Burda, Grosse, Salakhutdinov"
STAND_IN_WORDS = "a stand-in: the 105x105 originals averaged to 28x28 and split at random into as many rows"


@REGISTRY.register
@dataclass(frozen=True)
class Omniglot(Recipe):
    """OMNIGLOT (Lake et al.), as split by Burda, Grosse, Salakhutdinov 2016: 24345 training and 8070 test images.

    The file is chardata.mat of these authors. If it is not available, images with another resampling and split, but the
    same numbers of rows, are used. Their title says "stand-in for OMNIGLOT": their likelihoods cannot be compared with
    published ones.

    Parameters
    ----------
    seed : int
        Seed of the draws: a pixel is 1 with probability grey value, drawn once.
    """

    image = (28, 28)

    seed: Seed = 0

    def load(self, sources) -> Dataset:
        """Return the data set, downloading one of its two files if necessary."""
        grey, origin = fetch_parts("omniglot", sources, _grey_images)
        own = origin["files"][0]["name"] != STAND_IN
        parts = {
            name: as_probabilities(np.asarray(images), self.seed, part, 1.0 if own else 255.0)
            for part, (name, images) in enumerate(grey["train"].items())
        }
        return self.build(
            "OMNIGLOT" if own else "OMNIGLOT, other 28x28 images",
            **parts,
            **origin,
            preprocessing=f"{OWN_WORDS if own else STAND_IN_WORDS}; each pixel 1 with probability grey value, drawn"
            f" once with seed {self.seed}",
            stand_in_for=None if own else "OMNIGLOT",
        )


def _grey_images(file, content: bytes, where: str) -> dict[str, np.ndarray]:
    return (grey_npz if file.name == STAND_IN else chardata_mat)(file, content, where)
