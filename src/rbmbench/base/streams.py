"""Counter-based random streams: every uniform is a function of (seed, trial, purpose, draw number, position).

The generator is Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011). A stream holds no generator state but the number of
its next draw, so a trial's numbers are the same alone or among others, with any number of threads, and after a resume.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rbmbench.base.errors import SettingsError

__all__ = ["ATTEMPTS", "Draw", "Places", "Purpose", "Stream"]

BRANCH = 0x80  # bit of the purpose that tells the draws of a branch from those of streams
ATTEMPTS = 2**22 - 1  # what the purpose has room for above its lowest byte, below the two bits that kernels use


class Purpose:
    """What a stream is used for: streams of different purposes are independent."""

    TRAINING = 0
    INITIAL_PARAMETERS = 1
    MINI_BATCHES = 2
    DATA = 3
    ANNEALING = 4
    GROUND_TRUTH = 5
    RECONSTRUCTION = 6
    SAMPLES = 7


class Draw(NamedTuple):
    """One draw: the key and counter words that all its uniforms share.

    ``seed`` and ``trials[r]`` are the Philox key of replica r; ``number`` and ``purpose`` the upper counter words.
    """

    seed: np.uint32
    trials: np.ndarray
    purpose: np.uint32
    number: np.uint64

    def attempt(self, number: int) -> "Draw":
        """Return the draw that attempt ``number`` takes, 0 (the draw itself) to ATTEMPTS, where a draw is repeated."""
        return self._replace(purpose=np.uint32(self.purpose | number << 8))


class Places(NamedTuple):
    """Where the rows of a population that has rows of several replicas take their random numbers.

    ``replica`` (rows,), int64, is the entry in the draw's trials. ``place`` (rows,), int64, stands for the row: two
    rows of a replica take different numbers if their places differ. ``mirrored`` (rows,), uint8, is 1 where a row
    takes 1 - u for every uniform u.
    """

    replica: np.ndarray
    place: np.ndarray
    mirrored: np.ndarray

    def of(self, rows) -> "Places":
        """Return the places of some rows."""
        return Places(*(part[rows] for part in self))


class Stream:
    """A sequence of draws for a number of trials.

    Parameters
    ----------
    seed : int
        First key word, 0 <= seed < 2**32.
    trials : sequence of int, shape (replicas,)
        Second key word of each replica. A replica's numbers depend on its own entry only.
    purpose : int
        One of `Purpose`; the fourth counter word.
    number : int
        Number of the next draw.

    Raises
    ------
    SettingsError
        If a word is outside its range.
    """

    def __init__(self, seed: int, trials: Sequence[int], purpose: int = Purpose.TRAINING, number: int = 0):
        if not 0 <= seed < 2**32:
            raise SettingsError(f"seed: found {seed}; allowed: 0 to {2**32 - 1}")
        for trial in (min(trials), max(trials)) if len(trials) else ():
            if not 0 <= trial < 2**32:
                raise SettingsError(f"trial: found {trial}; allowed: 0 to {2**32 - 1}")
        self.seed = np.uint32(seed)
        self.trials = np.asarray(trials, dtype=np.uint32)
        self.purpose = np.uint32(purpose)
        self.number = int(number)

    def next(self) -> Draw:
        """Return the next draw and advance."""
        draw = Draw(self.seed, self.trials, self.purpose, np.uint64(self.number))
        self.number += 1
        return draw

    def branch(self) -> "Stream":
        """Return a stream of any number of draws that belongs to the next draw, and advance by that one.

        What takes draws in a number that depends on chance takes them from a branch: what follows stays the same.
        """
        purpose = self.purpose | np.uint32(BRANCH)
        return Stream(int(self.seed), self.trials, purpose, int(self.next().number) << 32)

    def take(self, count: int) -> Draw:
        """Return the first of ``count`` successive draws and advance past all of them."""
        draw = self.next()
        self.number += count - 1
        return draw
