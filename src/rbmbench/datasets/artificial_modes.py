# SPDX-License-Identifier: BSD-3-Clause
"""Artificial modes: noisy copies of a few distant prototypes."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from rbmbench.datasets import REGISTRY, Dataset
from rbmbench.datasets._recipe import Recipe, Seed, number, whole_number


def prototypes(dim: int, modes: int) -> np.ndarray:
    """Return the prototypes of the modes: uint8 (modes, dim).

    Bit i of mode t is (t mod 2) xor (floor(i (floor(t / 2) + 1) / dim) mod 2): mode 2s has s + 1 blocks of equal
    bits that begin with 0, and mode 2s + 1 is its complement.
    """
    mode, bit = np.ogrid[:modes, :dim]
    blocks = mode // 2 + 1
    return ((mode ^ (bit * blocks // dim)) & 1).astype(np.uint8)


@REGISTRY.register
@dataclass(frozen=True)
class ArtificialModes(Recipe):
    """Artificial modes (Krause, Fischer, Igel 2018; DistantModes of their library Shark).

    Rows are ordered by mode; the bits of the copies are flipped independently.

    Parameters
    ----------
    dim : int
        Number of visible units.
    modes : int
        Number of prototypes, at most 2 * dim.
    copies : int
        Rows per mode.
    flip : float
        Probability that a bit is flipped, from 0 to 0.5.
    seed : int
        Seed of the flips (numpy's Philox).
    """

    dim: Annotated[int, whole_number(1, 4096)] = 16
    modes: Annotated[int, whole_number(1, lambda data: 2 * data.dim)] = 4
    # Keeps the uniforms of one mode, and the whole data set, within about 1 GB.
    copies: Annotated[int, whole_number(1, lambda data: 10**8 // (data.dim * data.modes))] = 2500
    flip: Annotated[float, number(0, 0.5)] = 0.001
    seed: Seed = 0

    def load(self, _sources=None) -> Dataset:
        """Generate the data set."""
        rows = np.repeat(prototypes(self.dim, self.modes), self.copies, axis=0)
        uniforms = np.random.Generator(np.random.Philox(self.seed)).random(rows.shape)
        return self.build(
            "Artificial modes",
            train=rows ^ (uniforms < self.flip),
            preprocessing=f"{self.copies} copies of each of {self.modes} prototypes, "
            f"each bit flipped with probability {self.flip}",
        )
