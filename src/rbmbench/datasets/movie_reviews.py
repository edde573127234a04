# SPDX-License-Identifier: BSD-3-Clause
"""Movie reviews: 1001 binary variables per review, from a benchmark for density estimation."""

from dataclasses import dataclass
from typing import Annotated

from rbmbench.datasets import REGISTRY, Dataset
from rbmbench.datasets._downloads import fetch_parts
from rbmbench.datasets._formats import bits_with_commas
from rbmbench.datasets._recipe import Recipe, text

COLUMNS = 1001


@REGISTRY.register
@dataclass(frozen=True)
class MovieReviews(Recipe):
    """1600 reviews for training, 150 for validation, 250 for testing: 1000 words, and whether the review is positive.

    Parameters
    ----------
    stands_in_for : str, optional
        The data set that the reviews stand in for, named in the title and the provenance.
    """

    stands_in_for: Annotated[str | None, text] = None

    def load(self, sources) -> Dataset:
        """Return the data set, downloading its three files if necessary."""
        parts, origin = fetch_parts("movie_reviews", sources, bits_with_commas, ("train", "validation", "test"))
        return self.build(
            "Movie reviews",
            **parts,
            **origin,
            preprocessing=f"none: {COLUMNS} binary variables, the last of them the class",
        )
