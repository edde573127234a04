"""we8there: restaurant reviews as the presence of their most frequent stemmed bigrams."""

from dataclasses import asdict, dataclass

import numpy as np

from rbmbench.base.errors import DataError
from rbmbench.base.streams import Purpose, Stream
from rbmbench.datasets import REGISTRY, Dataset, build
from rbmbench.datasets._downloads import fetch_parts
from rbmbench.datasets._options import check_text, check_whole_number
from rbmbench.kernels import kernels_for

REVIEWS, TERMS = 6166, 2640


@REGISTRY.register
@dataclass(frozen=True)
class We8there:
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

    terms: int = 1000
    validation: int = 600
    test: int = 600
    seed: int = 0
    stands_in_for: str | None = None

    def __post_init__(self):
        check_whole_number("we8there", "terms", self.terms, 1, TERMS)
        check_whole_number("we8there", "validation", self.validation, 0, REVIEWS - 1)
        check_whole_number("we8there", "test", self.test, 0, REVIEWS - 1 - self.validation)
        check_whole_number("we8there", "seed", self.seed, 0, 2**32 - 1)
        if self.stands_in_for is not None:
            check_text("we8there", "stands_in_for", self.stands_in_for)

    def load(self, sources) -> Dataset:
        """Return the data set, downloading its file if necessary."""
        content, origin = fetch_parts("we8there", sources, _present)
        present = content["train"]
        frequent = np.argsort(-present.sum(axis=0, dtype=np.int64), kind="stable")[: self.terms]
        keys = kernels_for(np.empty(0)).uniforms(Stream(self.seed, [0], Purpose.DATA).next(), len(present), np.float64)
        dealt = present[np.argsort(keys[0], kind="stable")][:, frequent]
        ends = np.cumsum([self.validation, self.test])
        return build(
            "we8there",
            "we8there reviews",
            validation=dealt[: ends[0]],
            test=dealt[ends[0] : ends[1]],
            train=dealt[ends[1] :],
            **origin,
            preprocessing=f"1 where a review has one of the {self.terms} most frequent stemmed bigrams; reviews dealt "
            f"out to the parts with seed {self.seed}",
            stand_in_for=self.stands_in_for,
            options=asdict(self),
        )


def _present(file, content: bytes, where: str) -> np.ndarray:
    """Return which terms each review has, uint8 (reviews, terms), from the sparse matrix of counts."""
    from rbmbench.datasets._rdata import r_objects

    found = np.zeros((REVIEWS, TERMS), np.uint8)
    objects = r_objects(file, content, where)
    try:
        counts = objects["we8thereCounts"]
        ends = np.asarray(counts["p"], np.int64)
        if ends.shape != (TERMS + 1,) or ends[0] != 0 or (np.diff(ends) < 0).any() or ends[-1] != len(counts["i"]):
            raise ValueError(f"columns of {len(counts['i'])} counts that end at {str(ends)[:80]}")
        found[counts["i"], np.repeat(np.arange(TERMS), np.diff(ends))] = counts["x"] > 0
    except (KeyError, ValueError, IndexError, TypeError) as error:
        reason = " ".join(str(error).split())
        raise DataError(f"{where}: not the {REVIEWS} reviews of {TERMS} terms ({reason})") from None
    return found
