"""Movie reviews: 1001 binary variables per review, from a benchmark for density estimation."""

from dataclasses import asdict, dataclass

from rbmbench.datasets import REGISTRY, Dataset, build
from rbmbench.datasets._downloads import fetch_parts
from rbmbench.datasets._formats import bits_with_commas
from rbmbench.datasets._options import check_text

COLUMNS = 1001


@REGISTRY.register
@dataclass(frozen=True)
class MovieReviews:
    """1600 reviews for training, 150 for validation, 250 for testing: 1000 words, and whether the review is positive.

    Parameters
    ----------
    stands_in_for : str, optional
        The data set that the reviews stand in for, named in the title and the provenance.
    """

    stands_in_for: str | None = None

    def __post_init__(self):
        if self.stands_in_for is not None:
            check_text("movie_reviews", "stands_in_for", self.stands_in_for)

    def load(self, sources) -> Dataset:
        """Return the data set, downloading its three files if necessary."""
        parts, origin = fetch_parts("movie_reviews", sources, bits_with_commas, ("train", "validation", "test"))
        return build(
            "movie_reviews",
            "Movie reviews",
            **parts,
            **origin,
            preprocessing=f"none: {COLUMNS} binary variables, the last of them the class",
            stand_in_for=self.stands_in_for,
            options=asdict(self),
        )
