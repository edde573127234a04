# SPDX-License-Identifier: BSD-3-Clause
"""Kernels for samplers: unlearning of samples."""

import numpy as np

from rbmbench.kernels.numba.bernoulli import sample_flat
from rbmbench.kernels.numba.compiling import compiled
from rbmbench.kernels.numba.elementary import FAST
from rbmbench.kernels.numba.products import add_one, add_rows
from rbmbench.kernels.numpy.samples import LONGEST_WAIT, SMALLEST_SCALE


@compiled(fastmath=FAST)
def _drift(parameter, decay, drift):
    for i in range(parameter.size):
        parameter[i] = decay * parameter[i] + drift[i]


@compiled(fastmath=FAST)
def _make_whole(parameter, scale, factor, drift):
    for i in range(parameter.size):
        parameter[i] = scale * parameter[i] + factor * drift[i]


@compiled()
def _on(states):
    """Return for each unit the indices of the rows in which it is on, and their number."""
    rows, units = states.shape
    where, count = np.empty((units, rows), np.int32), np.zeros(units, np.int64)
    for row in range(rows):
        for i in range(units):
            where[i, count[i] if count[i] < rows else 0] = row
            count[i] += states[row, i] != 0
    return where, count


@compiled()
def _unlearn_biases(b, c, drift_b, drift_c, decay, share, visible, hidden):
    """Update the biases of one replica; ``share`` is the factor of each chain."""
    _drift(b, decay, drift_b)
    _drift(c, decay, drift_c)
    for chain in range(visible.shape[0]):
        add_one(visible[chain], share, b)
        add_one(hidden[chain], share, c)


@compiled()
def unlearn_samples(W, b, c, drift_W, drift_b, drift_c, decay, rate, visible, hidden):
    for r in range(W.shape[0]):
        share = -rate[r] / W.dtype.type(visible.shape[1])
        _unlearn_biases(b[r], c[r], drift_b[r], drift_c[r], decay[r], share, visible[r], hidden[r])
        chains, count = _on(visible[r])
        for i in range(W.shape[1]):
            _drift(W[r, i], decay[r], drift_W[r, i])
            add_rows(chains[i], count[i], hidden[r], share, W[r, i])


@compiled()
def unlearn_lazily(
    W, W_transposed, b, c, drift_W, drift_W_transposed, drift_b, drift_c, decay, rate, scale, factor, visible, hidden
):
    kind = W.dtype.type
    for r in range(W.shape[0]):
        share = -rate[r] / kind(visible.shape[1])
        factor[r] = decay[r] * factor[r] + 1
        scale[r] *= decay[r]
        if factor[r] >= LONGEST_WAIT or scale[r] < SMALLEST_SCALE:
            for i in range(W.shape[1]):
                _make_whole(W[r, i], kind(scale[r]), kind(factor[r]), drift_W[r, i])
            for j in range(W.shape[2]):
                _make_whole(W_transposed[r, j], kind(scale[r]), kind(factor[r]), drift_W_transposed[r, j])
            scale[r], factor[r] = 1, 0
        of_weights = kind(share / scale[r])
        _unlearn_biases(b[r], c[r], drift_b[r], drift_c[r], decay[r], share, visible[r], hidden[r])
        for chain in range(visible.shape[1]):
            _add_to_rows_on(visible[r, chain], hidden[r, chain], of_weights, W[r])
            _add_to_rows_on(hidden[r, chain], visible[r, chain], of_weights, W_transposed[r])


@compiled()
def _add_to_rows_on(states, added, share, matrix):
    """Add ``share`` times ``added`` to the rows of the matrix whose unit is on."""
    for i in range(states.size):
        if states[i] != 0:
            add_one(added, share, matrix[i])


@compiled()
def multiply_lazily(states, scale, matrix, factor, drift, out):
    kind, units = out.dtype.type, states.shape[2]
    rows = np.empty(units, np.int32)
    for r in range(out.shape[0]):
        for chain in range(out.shape[1]):
            count = 0
            for i in range(units):
                rows[count] = i
                count += states[r, chain, i] != 0
            out[r, chain, :] = 0
            add_rows(rows, count, matrix[r], kind(scale[r]), out[r, chain])
            add_rows(rows, count, drift[r], kind(factor[r]), out[r, chain])


@compiled()
def _sample_lazily(states, scale, matrix, factor, drift, bias, seed, trials, number, purpose, out):
    multiply_lazily(states, scale, matrix, factor, drift, out)
    flat = out.reshape((out.shape[0], out.shape[1] * out.shape[2]))
    sample_flat(flat, out.dtype.type(1), bias, seed, trials, number, purpose)


def sample_lazily(states, scale, matrix, factor, drift, bias, draw, out):
    words = draw.seed, draw.trials, draw.number, draw.purpose
    _sample_lazily(states, scale, matrix, factor, drift, bias, *words, out)
