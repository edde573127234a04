"""Conversion of grey images to rows of bits."""

import numpy as np

from rbmbench.base.streams import Purpose, Stream
from rbmbench.kernels import kernels_for

BLOCK_ROWS = 1024


def binarised(images: dict[str, np.ndarray], how: str, threshold: int, seed: int) -> tuple[dict[str, np.ndarray], str]:
    """Return images (rows, height, width) of 0 to 255 as rows of bits, uint8, by part, and a description.

    Parameters
    ----------
    images : dict of numpy.ndarray
    how : {"bernoulli", "threshold"}
        "bernoulli": 1 with probability value / 255; "threshold": 1 above ``threshold``.
    threshold : int
        Threshold, if ``how`` is "threshold".
    seed : int
        Seed of the draws, if ``how`` is "bernoulli".
    """
    if how == "bernoulli":
        parts = {name: as_probabilities(part, seed, i) for i, (name, part) in enumerate(images.items())}
        return parts, f"1 with probability value / 255, drawn once with seed {seed}"
    parts = {name: above(part, threshold) for name, part in images.items()}
    return parts, f"1 where the grey value (0 to 255) is above {threshold}"


def above(images: np.ndarray, threshold: int) -> np.ndarray:
    """Return images (rows, height, width) as rows of bits, uint8: 1 where a value is above the threshold."""
    return (images > threshold).view(np.uint8).reshape(len(images), -1)


def as_probabilities(images: np.ndarray, seed: int, part: int, full: float = 255.0) -> np.ndarray:
    """Return images (rows, ...) as rows of bits, uint8, each 1 with probability value / full.

    Parameters
    ----------
    images : numpy.ndarray
        Grey values from 0 to ``full``.
    seed : int
        Seed of the draws.
    part : int
        Number of the part; each part has its own random numbers.
    full : float
        The grey value with probability 1.
    """
    values = images.reshape(len(images), -1)
    bits, stream = np.empty(values.shape, np.uint8), Stream(seed, [part], Purpose.DATA)
    for start in range(0, len(values), BLOCK_ROWS):
        mean = values[None, start : start + BLOCK_ROWS] / full
        drawn = np.empty_like(mean)
        kernels_for(mean).sample(mean, stream.next(), drawn)
        bits[start : start + BLOCK_ROWS] = drawn[0]
    return bits
