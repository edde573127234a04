# SPDX-License-Identifier: BSD-3-Clause
"""Reference kernels for samplers: unlearning of samples."""

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
        ones = (slice(None), *[None] * (parameter.ndim - 1))
        parameter[...] = decay[ones] * parameter + drift - share[ones] * sums


def unlearn_lazily(W, b, c, drift_W, drift_b, drift_c, decay, rate, scale, factor, visible, hidden) -> None:
    """Change parameters like `unlearn_samples`, with lazy decay and drift: the weights are scale W + factor drift_W.

        factor <- decay factor + 1,   scale <- decay scale,   W <- W - (rate / scale) mean(x h')

    Decay and drift are applied to W when factor reaches LONGEST_WAIT or scale falls below SMALLEST_SCALE.

    Parameters
    ----------
    scale, factor : ndarray, shape (replicas,), float64
        Changed in place; 1 and 0 if nothing is pending.
    W, b, c, drift_W, drift_b, drift_c, decay, rate, visible, hidden
        See `unlearn_samples`.
    """
    factor[...] = decay * factor + 1
    scale *= decay
    for r in np.flatnonzero((factor >= LONGEST_WAIT) | (scale < SMALLEST_SCALE)):
        one = slice(int(r), int(r) + 1)
        own_scale, own_factor = (numbers[one, None, None].astype(W.dtype) for numbers in (scale, factor))
        W[one] = own_scale * W[one] + own_factor * drift_W[one]
        scale[one], factor[one] = 1, 0
    share = rate / rate.dtype.type(visible.shape[1])
    W -= (share / scale).astype(W.dtype)[:, None, None] * (visible.swapaxes(-1, -2) @ hidden)
    for parameter, drift, states in ((b, drift_b, visible), (c, drift_c, hidden)):
        parameter[...] = decay[:, None] * parameter + drift - share[:, None] * states.sum(axis=1)


def add_states(activation, states, scale, factor, matrix) -> None:
    """Overwrite ``activation`` with scale activation + factor states matrix.

    Parameters
    ----------
    activation : array, shape (replicas, chains, units)
    states : array, shape (replicas, chains, other units), entries 0 or 1
    scale, factor : ndarray, shape (replicas,), float64
    matrix : array, shape (replicas, other units, units)
    """
    scale, factor = (numbers.astype(activation.dtype)[:, None, None] for numbers in (scale, factor))
    activation[...] = scale * activation + factor * (states @ matrix)


def add_states_and_sample(activation, states, scale, factor, matrix, bias, draw: Draw) -> None:
    """Apply `add_states` and then `rbmbench.kernels.numpy.sample_bernoulli` with ``bias`` (replicas, units)."""
    add_states(activation, states, scale, factor, matrix)
    activation[...] = toss(draw, sigmoid(activation + bias[:, None, :]))
