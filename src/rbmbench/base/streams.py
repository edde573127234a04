# SPDX-License-Identifier: BSD-3-Clause
"""Counter-based random streams: every uniform is a function of (seed, trial, purpose, draw number, position).

The generator is Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011). The only state of a stream is the number of its next
draw, so the numbers of a trial do not depend on other trials, on the number of threads, or on a resume.

A *trial* is one independent repetition of a run, as users configure it; its number is part of the random key.
A *replica* is an entry of the leading axis of the arrays in a batched call. Training has one replica for each trial;
other calls may have several replicas of a trial, such as the settings of a grid search, or replicas without a trial.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rbmbench.base.errors import SettingsError

BRANCH = 0x80  # bit of the purpose that distinguishes branches from streams
# Rejection sampling of coupled chains ends here. A pair needs 1 / d attempts on average and enters with probability d,
# the total variation distance of its two laws. So at most 1 / (e ATTEMPTS) = 6e-6 of the pairs reach the last attempt
# in a half step, and only if d is near the rounding errors of float32 log odds.
ATTEMPTS = 2**16 - 1


class Purpose:
    """Purposes of streams; streams of different purposes are independent."""

    TRAINING = 0
    INITIAL_PARAMETERS = 1
    MINI_BATCHES = 2
    DATA = 3
    ANNEALING = 4
    GROUND_TRUTH = 5
    RECONSTRUCTION = 6
    SAMPLES = 7
    CERTIFICATE = 8
    TEMPERING = 9


class Draw(NamedTuple):
    """The key and counter words that all uniforms of one draw share.

    ``seed`` and ``trials[r]`` are the Philox key of replica r; ``number`` and ``purpose`` are the upper counter words.
    """

    seed: np.uint32
    trials: np.ndarray
    purpose: np.uint32
    number: np.uint64

    def check(self, replicas: int) -> None:
        """Raise a `SettingsError` unless there is one trial for each replica: compiled code relies on it."""
        if len(self.trials) != replicas:
            raise SettingsError(f"stream: must have {replicas} trials, one for each model, got {len(self.trials)}")

    def attempt(self, number: int) -> "Draw":
        """Return the draw for attempt ``number``, 0 (this draw) to ATTEMPTS, of rejection sampling."""
        return self._replace(purpose=np.uint32(self.purpose | number << 8))


class RowKeys(NamedTuple):
    """Random keys of the rows of a population that mixes rows of several replicas; arrays of shape (rows,)."""

    replica: np.ndarray  # int64: index into the trials of the draw
    row_id: np.ndarray  # int64: rows of a replica with different ids take different numbers
    mirrored: np.ndarray  # uint8: 1 for rows that take 1 - u in place of every uniform u (antithetic)

    def select(self, rows) -> "RowKeys":
        """Return the keys of some rows."""
        return RowKeys(*(array[rows] for array in self))


class Stream:
    """A sequence of draws for a number of trials.

    Parameters
    ----------
    seed : int
        First key word, 0 <= seed < 2**32.
    trials : sequence of int, shape (replicas,)
        Second key word of each replica, 0 <= trial < 2**32. The numbers of a replica depend on its own entry only.
    purpose : int
        One of `Purpose`; the fourth counter word.
    number : int
        Number of the next draw.

    Raises
    ------
    SettingsError
        If a word is no integer in its range, or the trials are not a sequence.
    """

    def __init__(
        self,
        seed: int | np.integer,
        trials: Sequence[int] | np.ndarray,
        purpose: int | np.integer = Purpose.TRAINING,
        number: int | np.integer = 0,
    ):
        trials = np.asarray(trials)
        for name, kind, axes, words in (
            ("seed", "an integer", 0, np.asarray(seed)),
            ("trials", "a list of integers", 1, trials),
        ):
            fit = not words.size or (words.dtype.kind in "iu" and words.min() >= 0 and words.max() < 2**32)
            if words.ndim != axes or not fit:
                raise SettingsError(f"{name}: must be {kind} from 0 to {2**32 - 1}, got {words.tolist()}")
        self.seed = np.uint32(seed)
        self.trials = trials.astype(np.uint32)
        self.purpose = np.uint32(purpose)
        self.number = int(number)

    def next(self) -> Draw:
        """Return the next draw and advance."""
        draw = Draw(self.seed, self.trials, self.purpose, np.uint64(self.number))
        self.number += 1
        return draw

    def branch(self) -> "Stream":
        """Return a new stream that belongs to the next draw, and advance by that one draw.

        Use a branch where the number of draws is random: later draws of this stream then do not depend on it.
        """
        purpose = self.purpose | np.uint32(BRANCH)
        return Stream(int(self.seed), self.trials, purpose, int(self.next().number) << 32)

    def take(self, count: int) -> Draw:
        """Return the first of ``count`` successive draws and advance past all of them."""
        draw = self.next()
        self.number += count - 1
        return draw
