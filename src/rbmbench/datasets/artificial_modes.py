"""Artificial modes: noisy copies of a few distant prototypes."""

from dataclasses import asdict, dataclass

import numpy as np

from rbmbench.datasets import REGISTRY, Dataset, build
from rbmbench.datasets._options import check_number, check_whole_number


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
class ArtificialModes:
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

    dim: int = 16
    modes: int = 4
    copies: int = 2500
    flip: float = 0.001
    seed: int = 0

    def __post_init__(self):
        check_whole_number("artificial_modes", "dim", self.dim, 1, 4096)
        check_whole_number("artificial_modes", "modes", self.modes, 1, 2 * self.dim)
        # Keeps the uniforms of one mode, and the whole data set, within about 1 GB.
        check_whole_number("artificial_modes", "copies", self.copies, 1, 10**8 // (self.dim * self.modes))
        check_number("artificial_modes", "flip", self.flip, 0, 0.5)
        check_whole_number("artificial_modes", "seed", self.seed, 0, 2**32 - 1)

    def load(self, _sources=None) -> Dataset:
        """Generate the data set."""
        rows = np.repeat(prototypes(self.dim, self.modes), self.copies, axis=0)
        uniforms = np.random.Generator(np.random.Philox(self.seed)).random(rows.shape)
        return build(
            "artificial_modes",
            "Artificial modes",
            train=rows ^ (uniforms < self.flip),
            source="generated",
            preprocessing=f"{self.copies} copies of each of {self.modes} prototypes, "
            f"each bit flipped with probability {self.flip}",
            options=asdict(self),
        )
