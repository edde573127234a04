"""Half steps of coupled Gibbs chains: a pair's visible states are proposed, tested and drawn again in one pass."""

import numpy as np
from numba import njit

from rbmbench.kernels.numba_home.bernoulli import mark_open
from rbmbench.kernels.numba_home.elementary import exp_minus
from rbmbench.kernels.numba_home.random import fill_coins, refinement, row_uniforms
from rbmbench.streams import ATTEMPTS

__all__ = ["couple_visible", "mean_of_rows", "sample_rows"]

BLOCK = 64
LARGE = 1e270
MOST_COIN = np.float32(65535)
FAST = {"contract", "nsz", "nnan", "ninf", "arcp", "reassoc"}


@njit(cache=True, nogil=True, fastmath=FAST)
def _mirror(k):
    for i in range(k.size):
        k[i] = k.dtype.type(MOST_COIN) - k[i]


@njit(cache=True, nogil=True)
def _toss_row(mean, k, place, mirrored, seed, trial, number, purpose, out):
    """Sample a row from its means, on its coins."""
    if mark_open(mean, k, out):
        for i in range(mean.size):
            if out[i] > 1:
                r = refinement(seed, trial, number, purpose, place * mean.size + i)
                out[i] = (1.0 - r if mirrored else r) < mean[i] * 65536.0 - k[i]


@njit(cache=True, nogil=True)
def _coins_of_row(place, units, mirrored, seed, trial, number, purpose, window, filled, coins):
    """Return the coins of a row; short rows share chunks, so what is in the window is used again.

    ``filled`` holds the positions that the window has, first and last, of a trial; the last is 0 where it has none.
    """
    start, stop = place * units, (place + 1) * units
    if not (filled[2] == trial and filled[0] <= start and stop <= filled[1]):
        filled[0], filled[1], filled[2] = start // 128 * 128, -(-stop // 128) * 128, trial
        fill_coins(seed, trial, number, purpose, filled[0], filled[1], window)
    k = window[start - filled[0] : stop - filled[0]]
    if not mirrored:
        return k
    coins[:] = k
    _mirror(coins)
    return coins


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
def _redraw(
    mean, mean2, difference, normaliser, place, mirrored, seed, trial, number, purpose, window, coins, v, v2, pending
):
    """Draw both states of a pair that has not met, the first only if it is ``pending``; return the rejections."""
    rejections, pending2, units = 0, True, mean.size
    start = place * units
    for t in range(1, ATTEMPTS + 1):
        attempt = np.uint32(purpose | np.uint32(t << 8))
        at = fill_coins(seed, trial, number, attempt, start, start + units, window)
        k = window[at : at + units]
        if mirrored:
            coins[:] = k
            _mirror(coins)
            k = coins
        if pending:
            _toss_row(mean, k, place, mirrored, seed, trial, number, attempt, v)
            odds = normaliser + _product(v, difference)
            pending = _is_kept(odds, 0, seed, trial, number, attempt, place, mirrored) and t < ATTEMPTS
            rejections += pending
        if pending2:
            _toss_row(mean2, k, place, mirrored, seed, trial, number, attempt, v2)
            odds = -normaliser - _product(v2, difference)
            pending2 = _is_kept(odds, 1, seed, trial, number, attempt, place, mirrored) and t < ATTEMPTS
            rejections += pending2
        if not (pending or pending2):
            break
    return rejections


@njit(cache=True, nogil=True)
def _couple_visible(
    activation, other, bias, replica, place, mirrored, seed, trials, number, purpose, redraw_both, met, rejections
):
    units, kind = bias.shape[1], activation.dtype
    window, retry, coins = np.empty(units + 254, kind), np.empty(units + 254, kind), np.empty(units, kind)
    mean, mean2, difference = np.empty(units, kind), np.empty(units, kind), np.empty(units, kind)
    filled = np.zeros(3, np.int64)
    for row in range(replica.size):
        r, at, mirror, v, v2 = replica[row], place[row], mirrored[row], activation[row], other[row]
        normaliser = _means_and_difference(v, v2, bias[r], mean, mean2)
        difference[:] = v
        k = _coins_of_row(at, units, mirror, seed, trials[r], number, purpose, window, filled, coins)
        _toss_row(mean, k, at, mirror, seed, trials[r], number, purpose, v)
        log_odds = normaliser + _product(v, difference)
        met[row] = _is_kept(log_odds, 0, seed, trials[r], number, purpose, at, mirror)
        rejections[row] = 0
        if met[row]:
            v2[:] = v
        else:
            rejections[row] = _redraw(
                mean, mean2, difference, normaliser, at, mirror, seed, trials[r], number, purpose, retry, coins, v, v2,
                redraw_both,
            )  # fmt: skip


@njit(cache=True, nogil=True)
def _sample_rows(mean, replica, place, mirrored, seed, trials, number, purpose, out):
    units = mean.shape[1]
    window, coins, filled = np.empty(units + 254, mean.dtype), np.empty(units, mean.dtype), np.zeros(3, np.int64)
    for row in range(replica.size):
        at, mirror, trial = place[row], mirrored[row], trials[replica[row]]
        k = _coins_of_row(at, units, mirror, seed, trial, number, purpose, window, filled, coins)
        _toss_row(mean[row], k, at, mirror, seed, trial, number, purpose, out[row])


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def _mean_of_row(a, bias):
    one = a.dtype.type(1)
    for i in range(a.size):
        a[i] = one / (one + exp_minus(a[i] + bias[i]))


@njit(cache=True, nogil=True)
def _mean_of_rows(activation, bias, replica):
    for row in range(replica.size):
        _mean_of_row(activation[row], bias[replica[row]])


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
