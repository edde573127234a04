"""Fashion-MNIST: articles of clothing in 28x28 grey pixels, made binary."""

from dataclasses import asdict, dataclass

from rbmbench.datasets import REGISTRY, Dataset, build
from rbmbench.datasets._downloads import fetch_parts
from rbmbench.datasets._formats import idx_images
from rbmbench.datasets._images import binarised
from rbmbench.datasets._options import check_choice, check_whole_number


@REGISTRY.register
@dataclass(frozen=True)
class FashionMnist:
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

    binarise: str = "bernoulli"
    threshold: int = 127
    seed: int = 0

    def __post_init__(self):
        check_choice("fashion_mnist", "binarise", self.binarise, ("bernoulli", "threshold"))
        check_whole_number("fashion_mnist", "threshold", self.threshold, 0, 254)
        check_whole_number("fashion_mnist", "seed", self.seed, 0, 2**32 - 1)

    def load(self, sources) -> Dataset:
        """Return the data set, downloading its two image files if necessary."""
        images, origin = fetch_parts("fashion_mnist", sources, idx_images, ("train", "test"))
        parts, preprocessing = binarised(images, self.binarise, self.threshold, self.seed)
        return build(
            "fashion_mnist",
            "Fashion-MNIST",
            **parts,
            **origin,
            preprocessing=preprocessing,
            options=asdict(self),
        )
