"""MNIST: handwritten digits of 28x28 grey pixels, made binary."""

from dataclasses import asdict, dataclass

from rbmbench.datasets import REGISTRY, Dataset, build
from rbmbench.datasets._images import above, fetch_images
from rbmbench.datasets._options import check_whole_number

__all__ = ["Mnist"]

TRAINING_IMAGES = 60_000


@REGISTRY.register
@dataclass(frozen=True)
class Mnist:
    """MNIST (LeCun, Cortes, Burges): 60000 training and 10000 test images of 784 pixels, row-major.

    Parameters
    ----------
    threshold : int
        A pixel is 1 if its grey value (0 to 255) is above it. 127 is what Krause, Fischer, Igel (2018) used through
        their library Shark.
    validation : int
        The last so many training images are for validation, which no other rows are; 10000 is usual.
    """

    threshold: int = 127
    validation: int = 0

    def __post_init__(self):
        check_whole_number("mnist", "threshold", self.threshold, 0, 254)
        check_whole_number("mnist", "validation", self.validation, 0, TRAINING_IMAGES - 1)

    def load(self, sources) -> Dataset:
        """Return the data set, fetching its two image files if need be."""
        images, origin = fetch_images("mnist", sources)
        train, test = (above(images[part], self.threshold) for part in ("train", "test"))
        cut = len(train) - self.validation
        return build(
            "mnist",
            "MNIST",
            train=train[:cut],
            validation=train[cut:],
            test=test,
            **origin,
            preprocessing=f"1 where the grey value (0 to 255) is above {self.threshold}",
            options=asdict(self),
        )
