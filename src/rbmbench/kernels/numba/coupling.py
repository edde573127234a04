# SPDX-License-Identifier: BSD-3-Clause
"""Half steps of coupled Gibbs chains: proposals, tests and redraws of all pairs of a replica in one pass."""

from typing import NamedTuple

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


@compiled(allocates=False)
def copy_row(row, to):
    """Copy a row. An assignment of slices would allocate an intermediate copy."""
    for i in range(row.size):
        to[i] = row[i]


@compiled(fastmath=FAST, allocates=False)
def _mirror(k):
    for i in range(k.size):
        k[i] = k.dtype.type(MOST_COIN) - k[i]


# Rows of small layers are short. Rows with close row_ids are sampled together: their coins share Philox blocks, and one
# loop over all of them vectorises better.


@compiled(allocates=False)
def _end_of_replica(row, replica, most):
    """Return the end of the rows from ``row`` on that belong to its replica, at most ``most`` of them."""
    last = row + 1
    while last < replica.size and last < row + most and replica[last] == replica[row]:
        last += 1
    return last


@compiled(allocates=False)
def _end_of_tile(row, row_id, units):
    """Return the end of the rows from ``row`` on that share one window of coins."""
    last, most = row + 1, row_id[row] + max(1, TILE // units)
    while last < row_id.size and row_id[last] < most:
        if not 0 <= (row_id[last] - row_id[last - 1]) * units <= CHUNK + units:
            break
        last += 1
    return last


@compiled(allocates=False)
def _fill_tile(row_id, mirrored, units, seed, trial, number, purpose, window, coins):
    """Write the coins of a tile's rows, one row after the other."""
    start = row_id[0] * units
    at = fill_coins(seed, trial, number, purpose, start, (row_id[row_id.size - 1] + 1) * units, window)
    for row in range(row_id.size):
        first, k = at + row_id[row] * units - start, coins[row * units : (row + 1) * units]
        copy_row(window[first : first + units], k)
        if mirrored[row]:
            _mirror(k)


@compiled(allocates=False)
def _fill_rows(row_id, mirrored, units, seed, trial, number, purpose, window, coins):
    """Write the coins of rows of one replica, one row after the other, tile by tile."""
    row = np.int64(0)
    while row < row_id.size:
        last = _end_of_tile(row, row_id, units)
        tile = slice(row, last)
        of_tile = coins[row * units : last * units]
        _fill_tile(row_id[tile], mirrored[tile], units, seed, trial, number, purpose, window, of_tile)
        row = last


@compiled(allocates=False)
def _toss(mean, k, row_id, mirrored, units, seed, trial, number, purpose, out):
    """Sample rows (flattened) from their means with coins ``k``."""
    if mark_open(mean, k, out):
        for i in range(mean.size):
            if out[i] > 1:
                row = i // units
                r = refinement(seed, trial, number, purpose, row_id[row] * units + i % units)
                out[i] = (1.0 - r if mirrored[row] else r) < mean[i] * 65536.0 - k[i]


@compiled(fastmath=FAST, error_model="numpy", allocates=False)
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


@compiled(fastmath=FAST, allocates=False)
def _normaliser(linear, ratio):
    """Return the sum of linear + log ratio, accumulated over blocks in float64."""
    total, product = 0.0, 1.0
    for start in range(0, linear.size, BLOCK):
        block_sum, block_product = linear.dtype.type(0), ratio.dtype.type(1)
        for j in range(min(BLOCK, linear.size - start)):
            i = np.uint64(start) + np.uint64(j)
            block_sum += linear[i]
            block_product *= ratio[i]
        total += block_sum
        product *= block_product
        if not 1.0 / LARGE < product < LARGE:
            total += np.log(product)
            product = 1.0
    return total + np.log(product)


@compiled(fastmath=FAST, allocates=False)
def _product(v, difference):
    """Return the inner product, accumulated over blocks in float64."""
    total = 0.0
    for start in range(0, v.size, BLOCK):
        block_sum = v.dtype.type(0)
        for j in range(min(BLOCK, v.size - start)):
            i = np.uint64(start) + np.uint64(j)
            block_sum += v[i] * difference[i]
        total += block_sum
    return total


@compiled()
def _is_kept(log_odds, u):
    """Return whether log u <= log_odds."""
    return log_odds >= 0 or np.log(u) <= log_odds


@compiled(allocates=False)
def _meets(log_odds, seed, trial, number, purpose, row_id, mirrored):
    """Return whether a pair keeps its first proposal; a uniform is drawn only if the odds do not decide."""
    return log_odds >= 0 or _is_kept(log_odds, row_uniforms(seed, trial, number, purpose, row_id, mirrored)[0])


class Room(NamedTuple):
    """Arrays for the half steps of some rows of one replica: R rows of U units, at least one row."""

    window: np.ndarray  # coins, whole chunks
    coins: np.ndarray  # (R U,)
    means: np.ndarray  # (2, R, U), of both chains
    states: np.ndarray  # (2, R, U), proposals
    parts: np.ndarray  # (2, R, U), of the normaliser
    difference: np.ndarray  # (R, U)
    bias: np.ndarray  # (R U,), repeated
    normaliser: np.ndarray  # (R,)
    row_id: np.ndarray  # (R,), like the following of the pairs that have not met
    mirrored: np.ndarray  # (R,)
    at: np.ndarray  # (R,), index of the pair
    pending: np.ndarray  # (2, R), whether a chain waits for an accepted proposal


@compiled()
def make_room(rows, units, like):
    """Return arrays for half steps of at most ``rows`` rows, of the type of the array ``like``."""
    room, kind = min(max(1, TILE // units), max(1, rows)), like.dtype
    shape = 2, room, units
    return Room(
        np.empty(max(room * units, TILE) + 254, kind),
        np.empty(room * units, kind),
        np.empty(shape, kind),
        np.empty(shape, kind),
        np.empty(shape, kind),
        np.empty((room, units), kind),
        np.empty(room * units, kind),
        np.empty(room),
        np.empty(room, np.int64),
        np.empty(room, np.uint8),
        np.empty(room, np.int64),
        np.empty((2, room), np.bool_),
    )


@compiled(allocates=False)
def _move(row, to, room):
    """Move the data of a pair to another row."""
    if to < row:
        copy_row(room.means[0, row], room.means[0, to])
        copy_row(room.means[1, row], room.means[1, to])
        copy_row(room.difference[row], room.difference[to])
        room.normaliser[to], room.at[to] = room.normaliser[row], room.at[row]
        room.row_id[to], room.mirrored[to] = room.row_id[row], room.mirrored[row]
        room.pending[0, to], room.pending[1, to] = room.pending[0, row], room.pending[1, row]


@compiled(allocates=False)
def _redraw(count, redraw_both, room, seed, trial, number, purpose, v, v2, rejections):
    """Draw states for the pairs of one replica that have not met, until all are accepted."""
    units, row_id, mirrored, at, pending = room.states.shape[2], room.row_id, room.mirrored, room.at, room.pending
    waiting = np.int64(redraw_both), np.int64(1)
    for row in range(count):
        pending[0, row], pending[1, row] = redraw_both, True
    for t in range(1, ATTEMPTS + 1):
        attempt = np.uint32(purpose | np.uint32(t << 8))
        ids, mirrors, k = row_id[:count], mirrored[:count], room.coins[: count * units]
        _fill_rows(ids, mirrors, units, seed, trial, number, attempt, room.window, k)
        for chain in range(2):
            if waiting[chain]:
                p, drawn = room.means[chain, :count].reshape(-1), room.states[chain, :count].reshape(-1)
                _toss(p, k, ids, mirrors, units, seed, trial, number, attempt, drawn)
        rows, count, first, second = count, np.int64(0), np.int64(0), np.int64(0)
        for row in range(rows):
            u = row_uniforms(seed, trial, number, attempt, row_id[row], mirrored[row])
            for chain in range(2):
                if pending[chain, row]:
                    odds = room.normaliser[row] + _product(room.states[chain, row], room.difference[row])
                    pending[chain, row] = _is_kept(odds if chain == 0 else -odds, u[chain]) and t < ATTEMPTS
                    rejections[at[row]] += pending[chain, row]
                    if not pending[chain, row]:
                        if chain == 0:
                            copy_row(room.states[0, row], v[at[row]])
                        else:
                            copy_row(room.states[1, row], v2[at[row]])
            if pending[0, row] or pending[1, row]:
                _move(row, count, room)
                first, second, count = first + pending[0, count], second + pending[1, count], count + 1
        waiting = first, second
        if not count:
            return


@compiled(allocates=False)
def couple_in_room(
    room, activation, other, bias, replica, row_id, mirrored, seed, trials, number, purpose, redraw_both, met,
    rejections,
):  # fmt: skip
    """Couple rows like `couple_visible`, part by part."""
    row = np.int64(0)
    while row < replica.size:
        last = _end_of_replica(row, replica, room.normaliser.size)
        span = slice(row, last)
        _couple_rows(
            room, activation[span], other[span], bias[replica[row]], row_id[span], mirrored[span], seed,
            trials[replica[row]], number, purpose, redraw_both, met[span], rejections[span],
        )  # fmt: skip
        row = last


@compiled(allocates=False)
def _couple_rows(
    room, activation, other, bias, row_id, mirrored, seed, trial, number, purpose, redraw_both, met, rejections
):
    """Couple rows of one replica, at most as many as ``room`` has."""
    rows, units = activation.shape
    flat = rows * units
    repeat_row(bias, room.bias[:flat])
    _means_and_difference(
        activation.reshape(-1), other.reshape(-1), room.bias[:flat], room.means[0, :rows].reshape(-1),
        room.means[1, :rows].reshape(-1), room.difference[:rows].reshape(-1), room.parts[0, :rows].reshape(-1),
        room.parts[1, :rows].reshape(-1),
    )  # fmt: skip
    k, p, drawn = room.coins[:flat], room.means[0, :rows].reshape(-1), room.states[0, :rows].reshape(-1)
    _fill_rows(row_id, mirrored, units, seed, trial, number, purpose, room.window, k)
    _toss(p, k, row_id, mirrored, units, seed, trial, number, purpose, drawn)
    count = np.int64(0)
    for i in range(rows):
        proposal, rejections[i] = room.states[0, i], 0
        room.row_id[i], room.mirrored[i], room.at[i] = row_id[i], mirrored[i], i
        room.normaliser[i] = _normaliser(room.parts[0, i], room.parts[1, i])
        odds = room.normaliser[i] + _product(proposal, room.difference[i])
        met[i] = _meets(odds, seed, trial, number, purpose, row_id[i], mirrored[i])
        copy_row(proposal, activation[i])
        if met[i]:
            copy_row(proposal, other[i])
        else:
            _move(i, count, room)
            count += 1
    if count:
        _redraw(count, redraw_both, room, seed, trial, number, purpose, activation, other, rejections)


@compiled(allocates=False)
def sample_in_room(room, mean, replica, row_id, mirrored, seed, trials, number, purpose, out):
    """Sample rows like `sample_rows`, part by part."""
    units, row = mean.shape[1], np.int64(0)
    while row < replica.size:
        last = _end_of_replica(row, replica, room.normaliser.size)
        ids, mirrors, trial = row_id[row:last], mirrored[row:last], trials[replica[row]]
        k, p, drawn = room.coins[: (last - row) * units], mean[row:last].reshape(-1), out[row:last].reshape(-1)
        _fill_rows(ids, mirrors, units, seed, trial, number, purpose, room.window, k)
        _toss(p, k, ids, mirrors, units, seed, trial, number, purpose, drawn)
        row = last


@compiled()
def _couple_some_rows(
    activation, other, bias, replica, row_id, mirrored, seed, trials, number, purpose, redraw_both, met, rejections
):
    room = make_room(replica.size, bias.shape[1], activation)
    couple_in_room(
        room, activation, other, bias, replica, row_id, mirrored, seed, trials, number, purpose, redraw_both, met,
        rejections,
    )  # fmt: skip


@compiled()
def _sample_some_rows(mean, replica, row_id, mirrored, seed, trials, number, purpose, out):
    room = make_room(replica.size, mean.shape[1], mean)
    sample_in_room(room, mean, replica, row_id, mirrored, seed, trials, number, purpose, out)


@compiled(allocates=False)
def mean_of_some_rows(activation, bias, replica):
    for row in range(replica.size):
        mean_row(activation[row], bias[replica[row]])


def mean_of_rows(activation, bias, keys):
    mean_of_some_rows(activation, bias, keys.replica)


def sample_rows(mean, keys, draw, out):
    _sample_some_rows(mean, *keys, draw.seed, draw.trials, draw.number, draw.purpose, out)


def couple_visible(activation, other, bias, keys, draw, redraw_both, met, rejections):
    words = draw.seed, draw.trials, draw.number, draw.purpose
    _couple_some_rows(activation, other, bias, *keys, *words, redraw_both, met, rejections)
