"""Half steps of coupled Gibbs chains: a pair's visible states are proposed, tested and drawn again in one pass."""

import numpy as np
from numba import njit

from rbmbench.kernels.numba_home.bernoulli import mark_open, mean_row
from rbmbench.kernels.numba_home.elementary import exp_minus
from rbmbench.kernels.numba_home.random import fill_coins, refinement, row_uniforms
from rbmbench.streams import ATTEMPTS

__all__ = ["couple_visible", "mean_of_rows", "sample_rows"]

BLOCK = 64
TILE, CHUNK = 4096, 128  # units tossed at once; coins that come together
LARGE = 1e270
MOST_COIN = np.float32(65535)
FAST = {"contract", "nsz", "nnan", "ninf", "arcp", "reassoc"}


@njit(cache=True, nogil=True, fastmath=FAST)
def _mirror(k):
    for i in range(k.size):
        k[i] = k.dtype.type(MOST_COIN) - k[i]


# Rows are short where layers are small. So rows whose places lie close together are tossed at once: their coins share
# Philox blocks, and one walk over them all is what vector loops like.


@njit(cache=True, nogil=True)
def _end_of_tile(row, replica, place, units):
    """Return the end of the rows from ``row`` on that share a window of coins."""
    last, most = row + 1, place[row] + max(1, TILE // units)
    while last < replica.size and replica[last] == replica[row] and place[last] < most:
        if not 0 <= (place[last] - place[last - 1]) * units <= CHUNK + units:
            break
        last += 1
    return last


@njit(cache=True, nogil=True)
def _fill_tile(place, mirrored, units, seed, trial, number, purpose, window, coins):
    """Write the coins of a tile's rows, one row after the other."""
    start = place[0] * units
    at = fill_coins(seed, trial, number, purpose, start, (place[place.size - 1] + 1) * units, window)
    for row in range(place.size):
        first = at + place[row] * units - start
        k = coins[row * units : (row + 1) * units]
        k[:] = window[first : first + units]
        if mirrored[row]:
            _mirror(k)


@njit(cache=True, nogil=True)
def _toss(mean, k, place, mirrored, units, seed, trial, number, purpose, out):
    """Sample rows from their means, all flat, on their coins."""
    if mark_open(mean, k, out):
        for i in range(mean.size):
            if out[i] > 1:
                row = i // units
                r = refinement(seed, trial, number, purpose, place[row] * units + i % units)
                out[i] = (1.0 - r if mirrored[row] else r) < mean[i] * 65536.0 - k[i]


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def _means_and_difference(a, a2, bias, mean, mean2):
    """Write both means, overwrite a with a' - a; return the sum of softplus(a) - softplus(a')."""
    zero, one = bias.dtype.type(0), bias.dtype.type(1)
    positive, product, product2 = 0.0, 1.0, 1.0
    for start in range(0, a.size, BLOCK):
        block_positive, block_product, block_product2 = zero, one, one
        for j in range(min(BLOCK, a.size - start)):
            i = np.uint64(start) + np.uint64(j)
            x, x2 = a[i] + bias[i], a2[i] + bias[i]
            t, t2 = exp_minus(abs(x)), exp_minus(abs(x2))
            block_positive += max(x, zero) - max(x2, zero)
            block_product *= one + t
            block_product2 *= one + t2
            mean[i] = (one if x >= zero else t) / (one + t)
            mean2[i] = (one if x2 >= zero else t2) / (one + t2)
            a[i] = x2 - x
        positive += block_positive
        product *= block_product
        product2 *= block_product2
        if product > LARGE or product2 > LARGE:
            positive += np.log(product) - np.log(product2)
            product, product2 = 1.0, 1.0
    return positive + np.log(product) - np.log(product2)


@njit(cache=True, nogil=True, fastmath=FAST)
def _product(v, difference):
    """Return the inner product, in float64 from block to block."""
    total = 0.0
    for start in range(0, v.size, BLOCK):
        part = v.dtype.type(0)
        for j in range(min(BLOCK, v.size - start)):
            i = np.uint64(start) + np.uint64(j)
            part += v[i] * difference[i]
        total += part
    return total


@njit(cache=True, nogil=True)
def _is_kept(log_odds, number_of_uniform, seed, trial, number, purpose, place, mirrored):
    """Return whether log u <= log_odds; a uniform is drawn only where the odds leave the matter open."""
    if log_odds >= 0:
        return True
    return np.log(row_uniforms(seed, trial, number, purpose, place, mirrored)[number_of_uniform]) <= log_odds


@njit(cache=True, nogil=True)
def _redraw(mean, mean2, difference, normaliser, place, mirrored, seed, trial, number, purpose, window, v, v2, pending):
    """Draw both states of a pair that has not met, the first only if it is ``pending``; return the rejections.

    ``place`` and ``mirrored`` have one entry.
    """
    rejections, pending2, units = 0, True, mean.size
    start = place[0] * units
    for t in range(1, ATTEMPTS + 1):
        attempt = np.uint32(purpose | np.uint32(t << 8))
        at = fill_coins(seed, trial, number, attempt, start, start + units, window)
        k = window[at : at + units]
        if mirrored[0]:
            _mirror(k)
        if pending:
            _toss(mean, k, place, mirrored, units, seed, trial, number, attempt, v)
            odds = normaliser + _product(v, difference)
            pending = _is_kept(odds, 0, seed, trial, number, attempt, place[0], mirrored[0]) and t < ATTEMPTS
            rejections += pending
        if pending2:
            _toss(mean2, k, place, mirrored, units, seed, trial, number, attempt, v2)
            odds = -normaliser - _product(v2, difference)
            pending2 = _is_kept(odds, 1, seed, trial, number, attempt, place[0], mirrored[0]) and t < ATTEMPTS
            rejections += pending2
        if not (pending or pending2):
            break
    return rejections


@njit(cache=True, nogil=True)
def _couple_visible(
    activation, other, bias, replica, place, mirrored, seed, trials, number, purpose, redraw_both, met, rejections
):
    units, kind = bias.shape[1], activation.dtype
    room = max(1, TILE // units)
    window, retry = np.empty(room * units + 254, kind), np.empty(units + 254, kind)
    coins, states, normalisers = np.empty(room * units, kind), np.empty((room, units), kind), np.empty(room)
    mean, mean2 = np.empty((room, units), kind), np.empty((room, units), kind)
    row = 0
    while row < replica.size:
        last = min(row + room, _end_of_tile(row, replica, place, units))
        r, rows = replica[row], last - row
        trial = trials[r]
        for i in range(rows):
            # The activation becomes a' - a: states are written over it when they are accepted.
            normalisers[i] = _means_and_difference(activation[row + i], other[row + i], bias[r], mean[i], mean2[i])
        _fill_tile(place[row:last], mirrored[row:last], units, seed, trial, number, purpose, window, coins)
        k, flat_mean, flat_states = coins[: rows * units], mean[:rows].reshape(-1), states[:rows].reshape(-1)
        _toss(flat_mean, k, place[row:last], mirrored[row:last], units, seed, trial, number, purpose, flat_states)
        for i in range(rows):
            at, v, v2 = row + i, activation[row + i], other[row + i]
            odds = normalisers[i] + _product(states[i], v)
            met[at] = _is_kept(odds, 0, seed, trial, number, purpose, place[at], mirrored[at])
            rejections[at] = 0
            if met[at]:
                v2[:] = states[i]
            else:
                rejections[at] = _redraw(
                    mean[i], mean2[i], v, normalisers[i], place[at : at + 1], mirrored[at : at + 1], seed, trial,
                    number, purpose, retry, states[i], v2, redraw_both,
                )  # fmt: skip
            v[:] = states[i]
        row = last


@njit(cache=True, nogil=True)
def _sample_rows(mean, replica, place, mirrored, seed, trials, number, purpose, out):
    units = mean.shape[1]
    room = max(1, TILE // units)
    window, coins = np.empty(room * units + 254, mean.dtype), np.empty(room * units, mean.dtype)
    row = 0
    while row < replica.size:
        last = min(row + room, _end_of_tile(row, replica, place, units))
        places, mirrors, trial = place[row:last], mirrored[row:last], trials[replica[row]]
        _fill_tile(places, mirrors, units, seed, trial, number, purpose, window, coins)
        k, flat_mean, flat_out = coins[: (last - row) * units], mean[row:last].reshape(-1), out[row:last].reshape(-1)
        _toss(flat_mean, k, places, mirrors, units, seed, trial, number, purpose, flat_out)
        row = last


@njit(cache=True, nogil=True)
def _mean_of_rows(activation, bias, replica):
    for row in range(replica.size):
        mean_row(activation[row], bias[replica[row]])


def mean_of_rows(activation, bias, places):
    """See `rbmbench.kernels.numpy_home.mean_of_rows`."""
    _mean_of_rows(activation, bias, places.replica)


def sample_rows(mean, places, draw, out):
    """See `rbmbench.kernels.numpy_home.sample_rows`."""
    _sample_rows(mean, *places, draw.seed, draw.trials, draw.number, draw.purpose, out)


def couple_visible(activation, other, bias, places, draw, redraw_both, met, rejections):
    """See `rbmbench.kernels.numpy_home.couple_visible`."""
    words = draw.seed, draw.trials, draw.number, draw.purpose
    _couple_visible(activation, other, bias, *places, *words, redraw_both, met, rejections)
