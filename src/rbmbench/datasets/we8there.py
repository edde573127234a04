# SPDX-License-Identifier: BSD-3-Clause
"""we8there: restaurant reviews as the presence of their most frequent stemmed bigrams."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from rbmbench.base.errors import DataError
from rbmbench.base.streams import Purpose, Stream
from rbmbench.datasets import REGISTRY, Dataset
from rbmbench.datasets._downloads import fetch_parts
from rbmbench.datasets._recipe import Recipe, Seed, text, whole_number
from rbmbench.kernels import kernels_for

REVIEWS, TERMS = 6166, 2640


@REGISTRY.register
@dataclass(frozen=True)
class We8there(Recipe):
    """6166 reviews: which of the most frequent terms (stemmed pairs of words) each has.

    Parameters
    ----------
    terms : int
        Number of terms, those in the most reviews; ties are in the order of the file.
    validation, test : int
        Number of rows of these parts; reviews are assigned at random.
    seed : int
        Seed of the assignment.
    stands_in_for : str, optional
        The data set that the reviews stand in for, named in the title and the provenance.
    """

    terms: Annotated[int, whole_number(1, TERMS)] = 1000
    validation: Annotated[int, whole_number(0, REVIEWS - 1)] = 600
    test: Annotated[int, whole_number(0, lambda data: REVIEWS - 1 - data.validation)] = 600
    seed: Seed = 0
    stands_in_for: Annotated[str | None, text] = None

    def load(self, sources) -> Dataset:
        """Return the data set, downloading its file if necessary."""
        content, origin = fetch_parts("we8there", sources, _present)
        present = content["train"]
        frequent = np.argsort(-present.sum(axis=0, dtype=np.int64), kind="stable")[: self.terms]
        keys = kernels_for(np.empty(0)).uniforms(Stream(self.seed, [0], Purpose.DATA).next(), len(present), np.float64)
        dealt = present[np.argsort(keys[0], kind="stable")][:, frequent]
        ends = np.cumsum([self.validation, self.test])
        return self.build(
            "we8there reviews",
            validation=dealt[: ends[0]],
            test=dealt[ends[0] : ends[1]],
            train=dealt[ends[1] :],
            **origin,
            preprocessing=f"1 where a review has one of the {self.terms} most frequent stemmed bigrams; reviews dealt "
            f"out to the parts with seed {self.seed}",
        )


def _present(file, content: bytes, where: str) -> np.ndarray:
    """Return which terms each review has, uint8 (reviews, terms), from the sparse matrix of counts."""
    from rbmbench.datasets._rdata import r_objects

    present = np.zeros((REVIEWS, TERMS), np.uint8)
    objects = r_objects(file, content, where)
    try:
        counts = objects["we8thereCounts"]
        ends = np.asarray(counts["p"], np.int64)
        if ends.shape != (TERMS + 1,) or ends[0] != 0 or (np.diff(ends) < 0).any() or ends[-1] != len(counts["i"]):
            raise ValueError(f"columns of {len(counts['i'])} counts that end at {str(ends)[:80]}")
        present[counts["i"], np.repeat(np.arange(TERMS), np.diff(ends))] = counts["x"] > 0
    except (KeyError, ValueError, IndexError, TypeError) as error:
        reason = " ".join(str(error).split())
        raise DataError(f"{where}: not the {REVIEWS} reviews of {TERMS} terms ({reason})") from None
    return present
