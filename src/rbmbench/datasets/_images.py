# SPDX-License-Identifier: BSD-3-Clause
"""Conversion of grey images to rows of bits."""

import numpy as np

from rbmbench.base.streams import Purpose, Stream
from rbmbench.kernels import kernels_for

BLOCK_ROWS = 1024


def binarised(images: dict[str, np.ndarray], how: str, threshold: int, seed: int) -> tuple[dict[str, np.ndarray], str]:
    """Return images (rows, height, width) of 0 to 255 as rows of bits, uint8, by part, and a description.

    A bit is 1 with probability value / 255 if ``how`` is "bernoulli", or where the value is above ``threshold`` if it
    is "threshold". ``seed`` is that of the draws.
    """
    if how == "bernoulli":
        parts = {name: as_probabilities(part, seed, i) for i, (name, part) in enumerate(images.items())}
        return parts, f"1 with probability value / 255, drawn once with seed {seed}"
    parts = {name: (part > threshold).view(np.uint8).reshape(len(part), -1) for name, part in images.items()}
    return parts, f"1 where the grey value (0 to 255) is above {threshold}"


def as_probabilities(images: np.ndarray, seed: int, part: int, full: float = 255.0) -> np.ndarray:
    """Return images (rows, ...) of 0 to ``full`` as rows of bits, uint8, each 1 with probability value / full.

    ``seed`` is that of the draws; each ``part``, a number, has its own.
    """
    values = images.reshape(len(images), -1)
    bits, stream = np.empty(values.shape, np.uint8), Stream(seed, [part], Purpose.DATA)
    for start in range(0, len(values), BLOCK_ROWS):
        mean = values[None, start : start + BLOCK_ROWS] / full
        drawn = np.empty_like(mean)
        kernels_for(mean).sample(mean, stream.next(), drawn)
        bits[start : start + BLOCK_ROWS] = drawn[0]
    return bits
