# SPDX-License-Identifier: BSD-3-Clause
"""Kernels for samplers: unlearning of samples, and chains whose weights change lazily in one compiled loop."""

import numpy as np

from rbmbench.kernels.numba.bernoulli import mean_row, sample_flat
from rbmbench.kernels.numba.compiling import compiled
from rbmbench.kernels.numba.elementary import FAST
from rbmbench.kernels.numba.products import add_one, add_rows
from rbmbench.kernels.numpy.samples import LONGEST_WAIT, SMALLEST_SCALE

ONE, TWO = np.uint64(1), np.uint64(2)


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
def _add_to_rows_on(states, added, share, matrix):
    """Add ``share`` times ``added`` to the rows of the matrix whose unit is on."""
    for i in range(states.size):
        if states[i] != 0:
            add_one(added, share, matrix[i])


@compiled()
def unlearn_lazily(lazy, visible, hidden):
    kind = lazy.W.dtype.type
    for r in range(len(lazy.W)):
        W, turned, v, h = lazy.W[r], lazy.W_transposed[r], visible[r], hidden[r]
        share, scale, factor = -lazy.rate[r], lazy.decay[r] * lazy.scale[r], lazy.decay[r] * lazy.factor[r] + 1
        if factor >= LONGEST_WAIT or scale < SMALLEST_SCALE:
            if share != 0:
                for i in range(len(W)):
                    _make_whole(W[i], kind(scale), kind(factor), lazy.drift_W[r, i])
                for j in range(len(turned)):
                    _make_whole(turned[j], kind(scale), kind(factor), lazy.drift_W_transposed[r, j])
            scale, factor = 1.0, 0.0
            # Sums begin anew, without their rounding errors.
            for states, sums in ((lazy.of_visible[r], lazy.to_hidden[r]), (lazy.of_hidden[r], lazy.to_visible[r])):
                states[:] = 0
                sums[:] = 0
        lazy.scale[r], lazy.factor[r] = scale, factor
        if share == 0:  # Gibbs sampling
            continue
        of_weights = kind(share / scale)
        biases = lazy.b[r], lazy.c[r], lazy.drift_b[r], lazy.drift_c[r]
        _unlearn_biases(*biases, lazy.decay[r], share, visible[r : r + 1], hidden[r : r + 1])
        _add_to_rows_on(v, h, of_weights, W)
        _add_to_rows_on(h, v, of_weights, turned)
        add_one(h, of_weights * np.dot(v, lazy.of_visible[r]), lazy.to_hidden[r, 0])
        add_one(v, of_weights * np.dot(h, lazy.of_hidden[r]), lazy.to_visible[r, 0])


@compiled()
def _multiply(states, matrix, drift, drifts, before, sums):
    """Change ``sums`` (2, columns), products of the states ``before`` with matrix and drift, to those of ``states``.

    The rows of the units that changed are added, or those of all units that are on where these are fewer; those of the
    drift only if it ``drifts``.
    """
    units, one = states.size, sums.dtype.type(1)
    rows = np.empty((3, units), np.int32)
    on, more, less = 0, 0, 0
    for i in range(units):
        rows[0, on], rows[1, more], rows[2, less] = i, i, i
        on += states[i] != 0
        more += states[i] > before[i]
        less += states[i] < before[i]
        before[i] = states[i]
    if on < more + less:
        sums[:] = 0
        more, less = on, 0
        rows[1, :on] = rows[0, :on]
    add_rows(rows[1], more, matrix, one, sums[0])
    add_rows(rows[2], less, matrix, -one, sums[0])
    if drifts:
        add_rows(rows[1], more, drift, one, sums[1])
        add_rows(rows[2], less, drift, -one, sums[1])


@compiled(fastmath=FAST)
def _join(sums, scale, factor, out):
    for i in range(out.size):
        out[i] = scale * sums[0, i] + factor * sums[1, i]


@compiled()
def _activate_visible(lazy, r, hidden, before, sums, out):
    kind, drifts = out.dtype.type, lazy.rate[r] != 0
    _multiply(hidden[r], lazy.W_transposed[r], lazy.drift_W_transposed[r], drifts, before[r], sums[r])
    _join(sums[r], kind(lazy.scale[r]), kind(lazy.factor[r]), out[r])


@compiled()
def _activate_hidden(lazy, r, visible, out):
    kind, drifts = out.dtype.type, lazy.rate[r] != 0
    _multiply(visible[r], lazy.W[r], lazy.drift_W[r], drifts, lazy.of_visible[r], lazy.to_hidden[r])
    _join(lazy.to_hidden[r], kind(lazy.scale[r]), kind(lazy.factor[r]), out[r])


@compiled()
def _switch(activation, bias):
    """Overwrite activations with 1 where the sum with the bias is positive, else 0."""
    for i in range(activation.size):
        activation[i] = activation[i] + bias[i] > 0


@compiled()
def _end_sample(lazy, s, hidden, visible, herds, samples, means):
    """Keep a sample and, where asked for, its mean, or its state at zero temperature if it ``herds``; unlearn it."""
    samples[:, s] = visible
    if means.shape[1]:
        # Kept sums are unchanged, so that samples do not depend on means.
        mean, before, sums = np.empty_like(visible), np.zeros_like(hidden), np.zeros_like(lazy.to_visible)
        for r in range(len(mean)):
            _activate_visible(lazy, r, hidden, before, sums, mean)
            if herds:
                _switch(mean[r], lazy.b[r])
            else:
                mean_row(mean[r], lazy.b[r])
        means[:, s] = mean
    unlearn_lazily(lazy, visible, hidden)


@compiled()
def _draw_lazily(lazy, steps, hidden, seed, trials, number, purpose, visible, samples, means):
    one = visible.dtype.type(1)
    for s in range(samples.shape[1]):
        for _ in range(steps):
            for r in range(len(visible)):
                _activate_visible(lazy, r, hidden, lazy.of_hidden, lazy.to_visible, visible)
            sample_flat(visible, one, lazy.b, seed, trials, number, purpose)
            for r in range(len(visible)):
                _activate_hidden(lazy, r, visible, hidden)
            sample_flat(hidden, one, lazy.c, seed, trials, number + ONE, purpose)
            number += TWO
        _end_sample(lazy, s, hidden, visible, np.bool_(False), samples, means)


@compiled()
def _herd_lazily(lazy, most_steps, hidden, visible, samples, means):
    before = np.empty_like(hidden)
    for s in range(samples.shape[1]):
        for r in range(len(visible)):
            for _ in range(most_steps):
                before[r] = hidden[r]
                _activate_visible(lazy, r, hidden, lazy.of_hidden, lazy.to_visible, visible)
                _switch(visible[r], lazy.b[r])
                _activate_hidden(lazy, r, visible, hidden)
                _switch(hidden[r], lazy.c[r])
                if np.array_equal(hidden[r], before[r]):
                    break
        _end_sample(lazy, s, hidden, visible, np.bool_(True), samples, means)


def _fill(samples, means, loop, lazy, *arguments):
    """Fill samples, and means unless None, by a compiled loop, whose arrays have the same types for all callers."""
    drawn = np.empty(samples.shape, np.uint8)
    expected = np.empty(samples.shape if means is not None else (len(samples), 0, samples.shape[2]), np.float32)
    loop(lazy, *arguments, np.empty_like(lazy.b), drawn, expected)
    samples[...] = drawn
    if means is not None:
        means[...] = expected


def draw_lazily(lazy, steps, hidden, draw, samples, means=None):
    words = draw.seed, draw.trials, draw.number, draw.purpose
    _fill(samples, means, _draw_lazily, lazy, steps, hidden, *words)


def herd_lazily(lazy, most_steps, hidden, samples, means=None):
    _fill(samples, means, _herd_lazily, lazy, most_steps, hidden)
