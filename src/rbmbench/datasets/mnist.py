"""MNIST: handwritten digits of 28x28 grey pixels, made binary."""

from dataclasses import asdict, dataclass

import numpy as np

from rbmbench.datasets import REGISTRY, Dataset, build
from rbmbench.datasets._options import check_whole_number

__all__ = ["Mnist"]


@REGISTRY.register
@dataclass(frozen=True)
class Mnist:
    """MNIST (LeCun, Cortes, Burges): 60000 training and 10000 test images of 784 pixels, row-major.

    Parameters
    ----------
    threshold : int
        A pixel is 1 if its grey value (0 to 255) is above it. 127 is what Krause, Fischer, Igel (2018) used through
        their library Shark.
    """

    threshold: int = 127

    def __post_init__(self):
        check_whole_number("mnist", "threshold", self.threshold, 0, 254)

    def load(self, sources) -> Dataset:
        """Return the data set, fetching its two image files if need be."""
        from rbmbench.datasets._downloads import catalogue, fetch
        from rbmbench.datasets._formats import idx_images

        entry, found = catalogue()["mnist"], {}
        for part, file in zip(("train", "test"), entry.files, strict=True):
            found[part] = fetch([file], sources, idx_images)
        return build(
            "mnist",
            "MNIST",
            **{part: _above(copy.value, self.threshold) for part, copy in found.items()},
            source=entry.described,
            preprocessing=f"1 where the grey value (0 to 255) is above {self.threshold}",
            files=[copy.record for copy in found.values()],
            options=asdict(self),
        )


def _above(images: np.ndarray, threshold: int) -> np.ndarray:
    """Return images (rows, height, width) as rows of bits: 1 where a value is above the threshold."""
    return (images > threshold).view(np.uint8).reshape(len(images), -1)
