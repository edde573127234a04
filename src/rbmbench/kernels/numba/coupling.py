# SPDX-License-Identifier: BSD-3-Clause
"""Half steps of coupled Gibbs chains: proposals, tests and redraws of all pairs of a replica in one pass."""

import numpy as np

from rbmbench.base.streams import ATTEMPTS
from rbmbench.kernels.numba.bernoulli import mark_open, mean_row, repeat_row
from rbmbench.kernels.numba.compiling import compiled
from rbmbench.kernels.numba.elementary import FAST, exp_minus
from rbmbench.kernels.numba.random import fill_coins, refinement, row_uniforms

BLOCK = 64
TILE, CHUNK = 4096, 128  # units sampled at once; coins per chunk
LARGE = 1e270
MOST_COIN = np.float32(65535)


@compiled(fastmath=FAST)
def _mirror(k):
    for i in range(k.size):
        k[i] = k.dtype.type(MOST_COIN) - k[i]


# Rows of small layers are short. Rows with close row_ids are sampled together: their coins share Philox blocks, and one
# loop over all of them vectorises better.


@compiled()
def _end_of_replica(row, replica, most):
    """Return the end of the rows from ``row`` on that belong to its replica, at most ``most`` of them."""
    last = row + 1
    while last < replica.size and last < row + most and replica[last] == replica[row]:
        last += 1
    return last


@compiled()
def _end_of_tile(row, row_id, units):
    """Return the end of the rows from ``row`` on that share one window of coins."""
    last, most = row + 1, row_id[row] + max(1, TILE // units)
    while last < row_id.size and row_id[last] < most:
        if not 0 <= (row_id[last] - row_id[last - 1]) * units <= CHUNK + units:
            break
        last += 1
    return last


@compiled()
def _fill_tile(row_id, mirrored, units, seed, trial, number, purpose, window, coins):
    """Write the coins of a tile's rows, one row after the other."""
    start = row_id[0] * units
    at = fill_coins(seed, trial, number, purpose, start, (row_id[row_id.size - 1] + 1) * units, window)
    for row in range(row_id.size):
        first = at + row_id[row] * units - start
        k = coins[row * units : (row + 1) * units]
        k[:] = window[first : first + units]
        if mirrored[row]:
            _mirror(k)


@compiled()
def _fill_rows(row_id, mirrored, units, seed, trial, number, purpose, window, coins):
    """Write the coins of rows of one replica, one row after the other, tile by tile."""
    row = np.int64(0)
    while row < row_id.size:
        last = _end_of_tile(row, row_id, units)
        tile = slice(row, last)
        of_tile = coins[row * units : last * units]
        _fill_tile(row_id[tile], mirrored[tile], units, seed, trial, number, purpose, window, of_tile)
        row = last


@compiled()
def _toss(mean, k, row_id, mirrored, units, seed, trial, number, purpose, out):
    """Sample rows (flattened) from their means with coins ``k``."""
    if mark_open(mean, k, out):
        for i in range(mean.size):
            if out[i] > 1:
                row = i // units
                r = refinement(seed, trial, number, purpose, row_id[row] * units + i % units)
                out[i] = (1.0 - r if mirrored[row] else r) < mean[i] * 65536.0 - k[i]


@compiled(fastmath=FAST, error_model="numpy")
def _means_and_difference(a, a2, bias, mean, mean2, difference, linear, ratio):
    """Write both means, a' - a, and terms with softplus(a) - softplus(a') = linear + log ratio; all flattened.

    Equal activations give 0 and 1 exactly, so that equal distributions always meet.
    """
    zero, one = bias.dtype.type(0), bias.dtype.type(1)
    for i in range(a.size):
        x, x2 = a[i] + bias[i], a2[i] + bias[i]
        t, t2 = exp_minus(abs(x)), exp_minus(abs(x2))
        s, s2 = one / (one + t), one / (one + t2)
        mean[i] = s if x >= zero else t * s
        mean2[i] = s2 if x2 >= zero else t2 * s2
        difference[i] = x2 - x
        linear[i] = max(x, zero) - max(x2, zero)
        ratio[i] = one if t == t2 else (one + t) * s2


@compiled(fastmath=FAST)
def _normaliser(linear, ratio):
    """Return the sum of linear + log ratio, accumulated over blocks in float64."""
    total, product = 0.0, 1.0
    for start in range(0, linear.size, BLOCK):
        part, block_product = linear.dtype.type(0), ratio.dtype.type(1)
        for j in range(min(BLOCK, linear.size - start)):
            i = np.uint64(start) + np.uint64(j)
            part += linear[i]
            block_product *= ratio[i]
        total += part
        product *= block_product
        if not 1.0 / LARGE < product < LARGE:
            total += np.log(product)
            product = 1.0
    return total + np.log(product)


@compiled(fastmath=FAST)
def _product(v, difference):
    """Return the inner product, accumulated over blocks in float64."""
    total = 0.0
    for start in range(0, v.size, BLOCK):
        part = v.dtype.type(0)
        for j in range(min(BLOCK, v.size - start)):
            i = np.uint64(start) + np.uint64(j)
            part += v[i] * difference[i]
        total += part
    return total


@compiled()
def _is_kept(log_odds, u):
    """Return whether log u <= log_odds."""
    return log_odds >= 0 or np.log(u) <= log_odds


@compiled()
def _meets(log_odds, seed, trial, number, purpose, row_id, mirrored):
    """Return whether a pair keeps its first proposal; a uniform is drawn only if the odds do not decide."""
    return log_odds >= 0 or _is_kept(log_odds, row_uniforms(seed, trial, number, purpose, row_id, mirrored)[0])


@compiled()
def _move(row, to, means, difference, normaliser, row_id, mirrored, at):
    """Move the data of a pair to another row."""
    if to < row:
        means[0, to], means[1, to], difference[to] = means[0, row], means[1, row], difference[row]
        normaliser[to], row_id[to], mirrored[to], at[to] = normaliser[row], row_id[row], mirrored[row], at[row]


@compiled()
def _redraw(
    left, redraw_both, means, difference, normaliser, row_id, mirrored, at, seed, trial, number, purpose, window, coins,
    states, v, v2, rejections,
):  # fmt: skip
    """Draw states for the pairs of one replica that have not met, until all are accepted."""
    units = states.shape[2]
    pending = np.ones((2, left), np.bool_)
    pending[0] = redraw_both
    for t in range(1, ATTEMPTS + 1):
        attempt = np.uint32(purpose | np.uint32(t << 8))
        where, mirrors, k = row_id[:left], mirrored[:left], coins[: left * units]
        _fill_rows(where, mirrors, units, seed, trial, number, attempt, window, k)
        for chain in range(2):
            if pending[chain, :left].any():
                p, drawn = means[chain, :left].reshape(-1), states[chain, :left].reshape(-1)
                _toss(p, k, where, mirrors, units, seed, trial, number, attempt, drawn)
        rows, left = left, np.int64(0)
        for row in range(rows):
            u = row_uniforms(seed, trial, number, attempt, row_id[row], mirrored[row])
            for chain in range(2):
                if pending[chain, row]:
                    odds = normaliser[row] + _product(states[chain, row], difference[row])
                    pending[chain, row] = _is_kept(odds if chain == 0 else -odds, u[chain]) and t < ATTEMPTS
                    rejections[at[row]] += pending[chain, row]
                    if not pending[chain, row]:
                        (v if chain == 0 else v2)[at[row]] = states[chain, row]
            if pending[0, row] or pending[1, row]:
                _move(row, left, means, difference, normaliser, row_id, mirrored, at)
                pending[:, left] = pending[:, row]
                left += 1
        if not left:
            return


@compiled()
def couple_some_rows(
    activation, other, bias, replica, row_id, mirrored, seed, trials, number, purpose, redraw_both, met, rejections
):
    units, kind = bias.shape[1], activation.dtype
    room = min(max(1, TILE // units), replica.size)
    window, coins = np.empty(max(room * units, TILE) + 254, kind), np.empty(room * units, kind)
    shape = 2, room, units
    means, states, parts = np.empty(shape, kind), np.empty(shape, kind), np.empty(shape, kind)
    difference, tiled_bias = np.empty((room, units), kind), np.empty(room * units, kind)
    normaliser, at = np.empty(room), np.empty(room, np.int64)
    apart, mirrors = np.empty(room, np.int64), np.empty(room, np.uint8)
    row = np.int64(0)
    while row < replica.size:
        last = _end_of_replica(row, replica, room)
        r, rows = replica[row], last - row
        trial, some = trials[r], slice(row, last)
        bias_of_rows = tiled_bias[: rows * units]
        repeat_row(bias[r], bias_of_rows)
        _means_and_difference(
            activation[some].reshape(-1), other[some].reshape(-1), bias_of_rows, means[0, :rows].reshape(-1),
            means[1, :rows].reshape(-1), difference[:rows].reshape(-1), parts[0, :rows].reshape(-1),
            parts[1, :rows].reshape(-1),
        )  # fmt: skip
        k, p, drawn = coins[: rows * units], means[0, :rows].reshape(-1), states[0, :rows].reshape(-1)
        _fill_rows(row_id[some], mirrored[some], units, seed, trial, number, purpose, window, k)
        _toss(p, k, row_id[some], mirrored[some], units, seed, trial, number, purpose, drawn)
        left = np.int64(0)
        for i in range(rows):
            apart[i], mirrors[i], at[i] = row_id[row + i], mirrored[row + i], row + i
            normaliser[i] = _normaliser(parts[0, i], parts[1, i])
            odds = normaliser[i] + _product(states[0, i], difference[i])
            met[row + i] = _meets(odds, seed, trial, number, purpose, apart[i], mirrors[i])
            rejections[row + i] = 0
            activation[row + i] = states[0, i]
            if met[row + i]:
                other[row + i] = states[0, i]
            else:
                _move(i, left, means, difference, normaliser, apart, mirrors, at)
                left += 1
        if left:
            _redraw(
                left, redraw_both, means, difference, normaliser, apart, mirrors, at, seed, trial, number, purpose,
                window, coins, states, activation, other, rejections,
            )  # fmt: skip
        row = last


@compiled()
def sample_some_rows(mean, replica, row_id, mirrored, seed, trials, number, purpose, out):
    units = mean.shape[1]
    room = min(max(1, TILE // units), replica.size)
    window, coins = np.empty(max(room * units, TILE) + 254, mean.dtype), np.empty(room * units, mean.dtype)
    row = np.int64(0)
    while row < replica.size:
        last = _end_of_replica(row, replica, room)
        ids, mirrors, trial = row_id[row:last], mirrored[row:last], trials[replica[row]]
        k, p, drawn = coins[: (last - row) * units], mean[row:last].reshape(-1), out[row:last].reshape(-1)
        _fill_rows(ids, mirrors, units, seed, trial, number, purpose, window, k)
        _toss(p, k, ids, mirrors, units, seed, trial, number, purpose, drawn)
        row = last


@compiled()
def mean_of_some_rows(activation, bias, replica):
    for row in range(replica.size):
        mean_row(activation[row], bias[replica[row]])


def mean_of_rows(activation, bias, keys):
    mean_of_some_rows(activation, bias, keys.replica)


def sample_rows(mean, keys, draw, out):
    sample_some_rows(mean, *keys, draw.seed, draw.trials, draw.number, draw.purpose, out)


def couple_visible(activation, other, bias, keys, draw, redraw_both, met, rejections):
    words = draw.seed, draw.trials, draw.number, draw.purpose
    couple_some_rows(activation, other, bias, *keys, *words, redraw_both, met, rejections)
