"""Counter-based random streams: every uniform is a function of (seed, trial, purpose, draw number, position).

The generator is Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011). A stream holds no generator state but the number of
its next draw, so a trial's numbers are the same alone or among others, with any number of threads, and after a resume.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rbmbench.errors import SettingsError

__all__ = ["Draw", "Purpose", "Stream"]


class Purpose:
    """What a stream is used for: streams of different purposes are independent."""

    TRAINING = 0
    INITIAL_PARAMETERS = 1
    MINI_BATCHES = 2
    DATA = 3
    ANNEALING = 4
    GROUND_TRUTH = 5
    RECONSTRUCTION = 6


class Draw(NamedTuple):
    """One draw: the key and counter words that all its uniforms share.

    ``seed`` and ``trials[r]`` are the Philox key of replica r; ``number`` and ``purpose`` the upper counter words.
    """

    seed: np.uint32
    trials: np.ndarray
    purpose: np.uint32
    number: np.uint64


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

    def take(self, count: int) -> Draw:
        """Return the first of ``count`` successive draws and advance past all of them."""
        draw = self.next()
        self.number += count - 1
        return draw
