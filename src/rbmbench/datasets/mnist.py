"""MNIST: handwritten digits of 28x28 grey pixels, made binary."""

from dataclasses import asdict, dataclass

from rbmbench.datasets import REGISTRY, Dataset, build
from rbmbench.datasets._downloads import fetch_parts
from rbmbench.datasets._formats import amat, idx_images
from rbmbench.datasets._images import binarised
from rbmbench.datasets._options import check_choice, check_whole_number

TRAINING_IMAGES = 60_000


@REGISTRY.register
@dataclass(frozen=True)
class Mnist:
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

    threshold: int = 127
    validation: int = 0
    binarise: str = "threshold"
    seed: int = 0

    def __post_init__(self):
        check_choice("mnist", "binarise", self.binarise, ("threshold", "bernoulli", "fixed"))
        check_whole_number("mnist", "threshold", self.threshold, 0, 254)
        check_whole_number("mnist", "seed", self.seed, 0, 2**32 - 1)
        most = 0 if self.binarise == "fixed" else TRAINING_IMAGES - 1
        check_whole_number("mnist", "validation", self.validation, 0, most)

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
        return build("mnist", "MNIST", **parts, **origin, preprocessing=preprocessing, options=asdict(self))
