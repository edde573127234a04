"""The 8x8 digits that come with scikit-learn: real images that need no download."""

from dataclasses import asdict, dataclass

from rbmbench.datasets import REGISTRY, Dataset, build
from rbmbench.datasets._options import check_text, check_whole_number

__all__ = ["Digits"]


@REGISTRY.register
@dataclass(frozen=True)
class Digits:
    """The 1797 digits of 8x8 pixels (0 to 16) in scikit-learn, from the UCI optical digits (test part).

    Parameters
    ----------
    threshold : int
        A pixel is 1 if its value is above it; 7 is half the range, as 127 is for MNIST.
    test : int
        How many of the digits, the last ones, are test rows and not for training.
    stands_in_for : str, optional
        The data set these digits take the place of; it is named in the title and the provenance.
    """

    threshold: int = 7
    test: int = 0
    stands_in_for: str | None = None

    def __post_init__(self):
        check_whole_number("digits", "threshold", self.threshold, 0, 15)
        check_whole_number("digits", "test", self.test, 0, 1796)
        if self.stands_in_for is not None:
            check_text("digits", "stands_in_for", self.stands_in_for)

    def load(self, _sources=None) -> Dataset:
        """Return the data set; the images are part of scikit-learn, so there is nothing to download."""
        import sklearn
        from sklearn.datasets import load_digits

        rows = load_digits().data > self.threshold
        train = len(rows) - self.test
        return build(
            "digits",
            "Digits 8x8",
            train=rows[:train],
            test=rows[train:],
            source=f"optical digits of UCI (CC BY 4.0), as bundled with scikit-learn {sklearn.__version__}",
            preprocessing=f"1 where the value (0 to 16) is above {self.threshold}",
            stand_in_for=self.stands_in_for,
            options=asdict(self),
        )
