# SPDX-License-Identifier: BSD-3-Clause
"""Reference computations for tests: brute force over all states in plain NumPy, from the formulas of the papers."""

import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rbmbench.base.streams import Purpose, Stream
from rbmbench.model.rbm import RBM

MASK = 0xFFFFFFFF


def philox_words(counter, key):
    """Return the four words of Philox4x32-10, from Salmon et al. 2011, for Python integers or uint64 arrays."""
    x, k = list(counter), list(key)
    for round_number in range(10):
        if round_number:
            k = [(k[0] + 0x9E3779B9) & MASK, (k[1] + 0xBB67AE85) & MASK]
        low, high = 0xD2511F53 * x[0], 0xCD9E8D57 * x[2]
        x = [(high >> 32) ^ x[1] ^ k[0], high & MASK, (low >> 32) ^ x[3] ^ k[1], low & MASK]
    return x


def words_of(draw, blocks, flip=0):
    """Return the words of Philox blocks of a draw, (replicas, 4, blocks); ``flip`` toggles bits of the purpose."""
    number = int(draw.number)
    rest = number & MASK, number >> 32, int(draw.purpose) ^ flip
    keys = [(int(draw.seed), int(trial)) for trial in draw.trials]
    words = [philox_words((blocks, *(np.full_like(blocks, word) for word in rest)), key) for key in keys]
    return np.array(words).reshape(len(keys), 4, *blocks.shape)


def expected_uniforms(draw, count, dtype):
    """Return the uniforms of a draw, float64 (replicas, count).

    Position p has block 16 (p // 64) + p % 16, word p // 16 % 4.
    """
    p = np.arange(count, dtype=np.uint64)
    words = words_of(draw, 16 * (p // 64) + p % 16)
    bits = np.take_along_axis(words, (p // 16 % 4).astype(int)[None, None], axis=1)[:, 0]
    return (bits >> 8) / 2**24 if dtype == np.float32 else (bits + 0.5) / 2**32


def expected_tosses(draw, count):
    """Return the uniforms (k + r) / 65536 of samples, float64 (replicas, count).

    k is half a word: block 16 (p // 128) + p % 16, word p // 16 % 4, the high half where p % 128 >= 64. r is the first
    word x of block p with the top bit of the purpose set, as (x + 1/2) / 2^32.
    """
    p = np.arange(count, dtype=np.uint64)
    words = words_of(draw, 16 * (p // 128) + p % 16)
    word = np.take_along_axis(words, (p // 16 % 4).astype(int)[None, None], axis=1)[:, 0]
    k = np.where(p % 128 < 64, word & 0xFFFF, word >> 16)
    return (k + (words_of(draw, p, flip=1 << 31)[:, 0] + 0.5) / 2**32) / 65536


def all_states(units):
    """Return all states of ``units`` binary units, float64 (2**units, units), the first unit the slowest."""
    return np.array(list(itertools.product((0.0, 1.0), repeat=units))).reshape(2**units, units)


def sigmoid(a):
    """Return the logistic function in float64."""
    return 1 / (1 + np.exp(-np.clip(np.asarray(a, np.float64), -700, 700)))


def random_rbm(m, n, replicas=(), scale=1.0, seed=0, dtype=np.float64):
    """Return RBMs with normal parameters of standard deviation ``scale``."""
    rng = np.random.default_rng(seed)
    shapes = ((*replicas, m, n), (*replicas, m), (*replicas, n))
    return RBM(*(rng.normal(0, scale, shape).astype(dtype) for shape in shapes))


def two_mode_rbm(m, n, coupling, dtype=np.float64):
    """Return an RBM with two modes of similar weight, nearly all units on or off, between which chains mix slowly."""
    W = coupling * np.linspace(0.8, 1.2, m * n).reshape(m, n) / np.sqrt(m * n)
    b, c = np.linspace(-0.1, 0.2, m) - W.sum(axis=1) / 2, np.linspace(0.1, -0.2, n) - W.sum(axis=0) / 2
    return RBM(W.astype(dtype), b.astype(dtype), c.astype(dtype))


def repeated(rbm, replicas):
    """Return equal replicas of an RBM."""
    return RBM(*(np.repeat(p[None], replicas, axis=0) for p in (rbm.W, rbm.b, rbm.c)))


def binary_data(rows, m, seed=0, p=0.4):
    """Return random rows of 0 and 1, uint8, with different expected means of all columns."""
    rng = np.random.default_rng(seed)
    return (rng.random((rows, m)) < np.linspace(p / 2, min(1, 2 * p), m)).astype(np.uint8)


def training_stream(replicas=1, seed=5, purpose=Purpose.TRAINING):
    """Return a stream of trials 0, 1, ..."""
    return Stream(seed, np.arange(replicas), purpose)


@dataclass(frozen=True)
class Enumerated:
    """One RBM at an inverse temperature, as tables over all states."""

    W: np.ndarray
    b: np.ndarray
    c: np.ndarray
    beta: float = 1.0

    @classmethod
    def of(cls, rbm, beta=1.0):
        """Return the tables of an RBM without replica axes."""
        return cls(*(np.asarray(p, np.float64) for p in (rbm.W, rbm.b, rbm.c)), beta)

    @cached_property
    def visible(self):
        return all_states(len(self.b))

    @cached_property
    def hidden(self):
        return all_states(len(self.c))

    @cached_property
    def energy(self):
        """E(v, h) = - sum_ij v_i W_ij h_j - sum_i b_i v_i - sum_j c_j h_j, (visible states, hidden states)."""
        interaction = np.einsum("si,ij,tj->st", self.visible, self.W, self.hidden)
        return -interaction - (self.visible * self.b).sum(axis=1)[:, None] - (self.hidden * self.c).sum(axis=1)

    @cached_property
    def log_partition(self):
        return np.logaddexp.reduce(-self.beta * self.energy, axis=None)

    @cached_property
    def joint(self):
        """p(v, h), (visible states, hidden states)."""
        return np.exp(-self.beta * self.energy - self.log_partition)

    @cached_property
    def hidden_given_visible(self):
        """p(h | v), (visible states, hidden states)."""
        return np.exp(-self.beta * self.energy - np.logaddexp.reduce(-self.beta * self.energy, axis=1)[:, None])

    @cached_property
    def visible_given_hidden(self):
        """p(v | h), (hidden states, visible states)."""
        return np.exp(-self.beta * self.energy - np.logaddexp.reduce(-self.beta * self.energy, axis=0)).T

    @cached_property
    def gibbs(self):
        """Transition matrix of v -> h -> v', (visible states, visible states)."""
        return self.hidden_given_visible @ self.visible_given_hidden

    @cached_property
    def f(self):
        """f(v) = (v p(h|v)', v, p(h|v)) of every visible state, (visible states, m n + m + n)."""
        mean = self.hidden_given_visible @ self.hidden
        outer = self.visible[:, :, None] * mean[:, None, :]
        return np.concatenate([outer.reshape(len(mean), -1), self.visible, mean], axis=1)

    @cached_property
    def expectation(self):
        """E f under the model, (m n + m + n,)."""
        return self.joint.sum(axis=1) @ self.f

    def numbers_of(self, visible):
        """Return the state number of each visible row (..., m)."""
        return (np.asarray(visible) @ 2.0 ** np.arange(len(self.b) - 1, -1, -1)).astype(int)


def frequencies(numbers, states):
    """Return the relative frequencies of state numbers."""
    return np.bincount(np.ravel(numbers), minlength=states) / np.size(numbers)


def total_variation_bound(probability, samples, error_rate):
    """Return a bound that the total variation of independent samples from ``probability`` exceeds at ``error_rate``.

    The Monte-Carlo floor is E TV <= sum sqrt(p (1 - p) / N) / 2; one sample moves TV by at most 1 / N, so by the
    inequality of McDiarmid TV exceeds its expectation by t with probability at most exp(-2 N t^2).
    """
    floor = 0.5 * np.sqrt(probability * (1 - probability) / samples).sum()
    return floor + np.sqrt(np.log(1 / error_rate) / (2 * samples))


def total_variation(numbers, probability):
    """Return the total variation between sampled state numbers and ``probability``."""
    return 0.5 * np.abs(frequencies(numbers, len(probability)) - probability).sum()


def holds(numbers, law, error_rate=1e-5):
    """Return whether independent samples of state numbers agree with ``law``; it is wrongly False at ``error_rate``."""
    return total_variation(numbers, law) < total_variation_bound(law, np.size(numbers), error_rate)


class Stopped(Exception):
    """Exception that stops a computation at a pause."""


def stopped_and_resumed(estimate):
    """Return an estimate that is stopped at every third pause and resumed, and the number of stops.

    ``estimate`` takes the state to resume from, the function called at pauses, and the number of stops so far.
    """
    saved, stops = None, 0
    while True:
        states = []

        def pause(state, states=states):
            states.append(state())
            if len(states) == 3:
                raise Stopped

        try:
            return estimate(saved, pause, stops), stops
        except Stopped:
            saved, stops = states[-1], stops + 1
