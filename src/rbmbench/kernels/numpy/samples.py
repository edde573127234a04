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
        broadcast = (slice(None), *[None] * (parameter.ndim - 1))
        parameter[...] = decay[broadcast] * parameter + drift - share[broadcast] * sums


def unlearn_lazily(
    W, W_transposed, b, c, drift_W, drift_W_transposed, drift_b, drift_c, decay, rate, scale, factor, visible, hidden
) -> None:
    """Change parameters like `unlearn_samples`, with lazy decay and drift: the weights are scale W + factor drift_W.

        factor <- decay factor + 1,   scale <- decay scale,   W <- W - (rate / scale) mean(x h')

    Decay and drift are applied to W when factor reaches LONGEST_WAIT or scale falls below SMALLEST_SCALE.

    Parameters
    ----------
    W_transposed, drift_W_transposed : array, shape (replicas, n, m), contiguous
        The former is changed as W is.
    scale, factor : ndarray, shape (replicas,), float64
        Changed in place; 1 and 0 if nothing is pending.
    W, b, c, drift_W, drift_b, drift_c, decay, rate, visible, hidden
        See `unlearn_samples`.
    """
    factor[...] = decay * factor + 1
    scale *= decay
    for r in np.flatnonzero((factor >= LONGEST_WAIT) | (scale < SMALLEST_SCALE)):
        entry = slice(int(r), int(r) + 1)
        entry_scale, entry_factor = (numbers[entry, None, None].astype(W.dtype) for numbers in (scale, factor))
        W[entry] = entry_scale * W[entry] + entry_factor * drift_W[entry]
        scale[entry], factor[entry] = 1, 0
    share = rate / rate.dtype.type(visible.shape[1])
    W -= (share / scale).astype(W.dtype)[:, None, None] * (visible.swapaxes(-1, -2) @ hidden)
    W_transposed[...] = W.swapaxes(-1, -2)
    for parameter, drift, states in ((b, drift_b, visible), (c, drift_c, hidden)):
        parameter[...] = decay[:, None] * parameter + drift - share[:, None] * states.sum(axis=1)


def multiply_lazily(states, scale, matrix, factor, drift, out) -> None:
    """Write the products of states with scale matrix + factor drift to ``out``.

    Parameters
    ----------
    states : array, shape (replicas, chains, units), entries 0 or 1
    scale, factor : ndarray, shape (replicas,), float64
    matrix, drift : array, shape (replicas, units, other units), contiguous
    out : array, shape (replicas, chains, other units), contiguous
    """
    scale, factor = (numbers.astype(out.dtype)[:, None, None] for numbers in (scale, factor))
    out[...] = scale * (states @ matrix) + factor * (states @ drift)


def sample_lazily(states, scale, matrix, factor, drift, bias, draw: Draw, out) -> None:
    """Apply `multiply_lazily` and then `rbmbench.kernels.numpy.sample_bernoulli` with ``bias`` (replicas, units)."""
    multiply_lazily(states, scale, matrix, factor, drift, out)
    out[...] = toss(draw, sigmoid(out + bias[:, None, :]))
