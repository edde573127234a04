# SPDX-License-Identifier: BSD-3-Clause
"""Reference kernels for samplers: unlearning of samples, and chains whose weights change lazily."""

from typing import NamedTuple

import numpy as np

from rbmbench.base.streams import Draw
from rbmbench.kernels.numpy.elementary import sigmoid
from rbmbench.kernels.numpy.random import toss

LONGEST_WAIT = 64
SMALLEST_SCALE = 1 / 32
"""Additions to weights with pending decay are divided by their scale, so it must not become too small."""


def unlearn_samples(W, b, c, drift_W, drift_b, drift_c, decay, rate, visible, hidden) -> None:
    """Apply decay and drift to the parameters, and move them away from the current samples of the chains.

        W <- decay W + drift_W - rate mean(x h'),   b <- decay b + drift_b - rate mean(x),

    and c like b, with h; the means are over the chains of a replica.

    Parameters
    ----------
    W, b, c : array, shapes (replicas, m, n), (replicas, m), (replicas, n)
        Changed in place.
    drift_W, drift_b, drift_c : array, shapes as W, b, c
    decay, rate : array, shape (replicas,), of the parameters' type
    visible, hidden : array, shapes (replicas, chains, m), (replicas, chains, n), entries 0 or 1
    """
    share = rate / rate.dtype.type(visible.shape[1])
    statistics = visible.swapaxes(-1, -2) @ hidden, visible.sum(axis=1), hidden.sum(axis=1)
    for parameter, drift, sums in zip((W, b, c), (drift_W, drift_b, drift_c), statistics, strict=True):
        broadcast = (slice(None), *[None] * (parameter.ndim - 1))
        parameter[...] = decay[broadcast] * parameter + drift - share[broadcast] * sums


class Lazy(NamedTuple):
    """Parameters of one chain per replica, with lazy decay and drift: the weights are scale W + factor drift_W.

    Attributes
    ----------
    W, b, c, drift_W, drift_b, drift_c, decay, rate : array
        See `unlearn_samples`. A replica whose rate is 0 must have drift 0 and decay 1; its parameters do not change.
    W_transposed, drift_W_transposed : array, shape (replicas, n, m), contiguous
    scale, factor : ndarray, shape (replicas,), float64
        1 and 0 if nothing is pending.
    of_visible, of_hidden : array, shape (replicas, m), (replicas, n)
        In compiled code, the states whose products with W and drift_W are kept; a step adds the rows of the units that
        changed since. They are 0 at first, and after LONGEST_WAIT samples at the latest, to limit rounding errors.
    to_hidden, to_visible : array, shape (replicas, 2, n), (replicas, 2, m)
        These products.
    """

    W: np.ndarray
    b: np.ndarray
    c: np.ndarray
    drift_W: np.ndarray
    drift_b: np.ndarray
    drift_c: np.ndarray
    decay: np.ndarray
    rate: np.ndarray
    W_transposed: np.ndarray
    drift_W_transposed: np.ndarray
    scale: np.ndarray
    factor: np.ndarray
    of_visible: np.ndarray
    of_hidden: np.ndarray
    to_hidden: np.ndarray
    to_visible: np.ndarray

    @classmethod
    def start(cls, parameters, drifts, decay, rate) -> "Lazy":
        """Return copies of W, b and c, and their drifts, with nothing pending."""
        W, b, c = (np.array(parameter) for parameter in parameters)
        turned = (matrix.swapaxes(-1, -2).copy() for matrix in (W, drifts[0]))  # never views, which one unit would give
        (replicas, m, n), kind = W.shape, W.dtype
        kept = (np.zeros((replicas, *shape), kind) for shape in ((m,), (n,), (2, n), (2, m)))
        return cls(W, b, c, *drifts, decay, rate, *turned, np.ones(replicas), np.zeros(replicas), *kept)

    def whole(self) -> np.ndarray:
        """Return the weights (replicas, m, n)."""
        scale, factor = (numbers.astype(self.W.dtype)[:, None, None] for numbers in (self.scale, self.factor))
        return scale * self.W + factor * self.drift_W


def unlearn_lazily(lazy: Lazy, visible, hidden) -> None:
    """Change parameters in place like `unlearn_samples`, for states (replicas, m) and (replicas, n).

        factor <- decay factor + 1,   scale <- decay scale,   W <- W - (rate / scale) x h'

    Decay and drift are applied to W when factor reaches LONGEST_WAIT or scale falls below SMALLEST_SCALE.
    """
    lazy.factor[...] = lazy.decay * lazy.factor + 1
    lazy.scale[...] *= lazy.decay
    for r in np.flatnonzero((lazy.factor >= LONGEST_WAIT) | (lazy.scale < SMALLEST_SCALE)):
        lazy.W[r] = Lazy(*(array[r : r + 1] for array in lazy)).whole()[0]
        lazy.scale[r], lazy.factor[r] = 1, 0
    of_weights = (lazy.rate / lazy.scale).astype(lazy.W.dtype)[:, None, None]
    lazy.W[...] -= of_weights * visible[:, :, None] * hidden[:, None]
    lazy.W_transposed[...] = lazy.W.swapaxes(-1, -2)
    for parameter, drift, states in ((lazy.b, lazy.drift_b, visible), (lazy.c, lazy.drift_c, hidden)):
        parameter[...] = lazy.decay[:, None] * parameter + drift - lazy.rate[:, None] * states


def draw_lazily(lazy: Lazy, steps: int, hidden, draw: Draw, samples, means=None) -> None:
    """Run a Gibbs chain of ``steps`` steps per sample, with `unlearn_lazily` after each sample.

    Step t takes the draws 2 t and 2 t + 1 from the first, ``draw``.

    Parameters
    ----------
    lazy : Lazy
    hidden : array, shape (replicas, n), entries 0 or 1
        The states of the chains. Changed in place, like ``lazy``.
    samples : array, shape (replicas, samples, m)
        Receives the visible states.
    means : array, shape as samples, optional
        Receives E(x | h) for each sample.
    """
    for s in range(samples.shape[1]):
        W = lazy.whole()
        for _ in range(steps):
            visible = _tossed(draw, sigmoid(_activation(W.swapaxes(-1, -2), hidden, lazy.b))).astype(W.dtype)
            draw = draw._replace(number=draw.number + np.uint64(1))
            hidden[...] = _tossed(draw, sigmoid(_activation(W, visible, lazy.c)))
            draw = draw._replace(number=draw.number + np.uint64(1))
        samples[:, s] = visible
        if means is not None:
            means[:, s] = sigmoid(_activation(W.swapaxes(-1, -2), hidden, lazy.b))
        unlearn_lazily(lazy, visible, hidden)


def _activation(matrix, states, bias):
    return (states[:, None] @ matrix)[:, 0] + bias


def _tossed(draw: Draw, mean):
    return toss(draw, mean[:, None])[:, 0]


def herd_lazily(lazy: Lazy, most_steps: int, hidden, samples, means=None) -> None:
    """Iterate a chain to fixed points of the signs of the activations, with `unlearn_lazily` after each.

    At most ``most_steps`` iterations are made per sample; ``means`` are 0 or 1. See `draw_lazily`.
    """
    for s in range(samples.shape[1]):
        W = lazy.whole()
        for _ in range(most_steps):
            visible = (_activation(W.swapaxes(-1, -2), hidden, lazy.b) > 0).astype(W.dtype)
            before = hidden.copy()
            hidden[...] = _activation(W, visible, lazy.c) > 0
            if (hidden == before).all():
                break
        samples[:, s] = visible
        if means is not None:
            means[:, s] = _activation(W.swapaxes(-1, -2), hidden, lazy.b) > 0
        unlearn_lazily(lazy, visible, hidden)
