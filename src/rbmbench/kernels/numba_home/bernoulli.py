"""Sampling and summing Bernoulli units: bias, sigmoid, uniform and comparison in one pass over cache-sized tiles."""

import numpy as np
from numba import njit

from rbmbench.kernels.numba_home.elementary import exp_minus
from rbmbench.kernels.numba_home.random import fill_uniforms

__all__ = [
    "ascend",
    "bernoulli_mean",
    "bernoulli_mean_and_softplus_sum",
    "gather_rows",
    "sample",
    "sample_bernoulli",
    "sample_bernoulli_and_log_probability",
    "softplus_sum",
]

# Rows are shorter than a vector loop likes, so whole tiles of rows are walked at once, against a bias repeated as often.
# Kernels that turn activations into states or means do so in place: with a second array that may be the same one, compilers
# fall back to scalar code.
TILE = 4096  # uniforms made at a time: they stay in the first-level cache
BLOCK = 64
LARGE = 1e270
# NaN may be compared any way: parameters that are not finite are found by the training loop, not here.
FAST = {"contract", "nsz", "nnan", "ninf", "arcp", "reassoc"}


@njit(cache=True, nogil=True, fastmath=FAST)
def _compare(mean, u, out):
    for i in range(mean.size):
        out[i] = out.dtype.type(u[i] < mean[i])


@njit(cache=True, nogil=True, fastmath=FAST)
def _sample_row(a, bias, u):
    one = a.dtype.type(1)
    for i in range(a.size):
        t = exp_minus(a[i] + bias[i])
        a[i] = a.dtype.type(u[i] + u[i] * t < one)


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def _mean_row(a, bias):
    one = a.dtype.type(1)
    for i in range(a.size):
        a[i] = one / (one + exp_minus(a[i] + bias[i]))


@njit(cache=True, nogil=True)
def _repeat_row(row, tile):
    for i in range(row.size):
        tile[i] = row[i]
    for i in range(row.size, tile.size):
        tile[i] = tile[i - row.size]


@njit(cache=True, nogil=True)
def _sample_bernoulli(a, bias, seed, trials, number, purpose):
    replicas, size = a.shape
    units = bias.shape[1]
    tile = min(size, max(1, TILE // units) * units)
    u, tiled_bias = np.empty(tile + 126, a.dtype), np.empty(tile, a.dtype)
    for r in range(replicas):
        _repeat_row(bias[r], tiled_bias)
        for first in range(0, size, tile):
            last = min(size, first + tile)
            at = fill_uniforms(seed, trials[r], number, purpose, first, last, u)
            _sample_row(a[r, first:last], tiled_bias, u[at : at + last - first])


@njit(cache=True, nogil=True)
def _bernoulli_mean(a, bias):
    replicas, size = a.shape
    units = bias.shape[1]
    tile = min(size, max(1, TILE // units) * units)
    tiled_bias = np.empty(tile, a.dtype)
    for r in range(replicas):
        _repeat_row(bias[r], tiled_bias)
        for first in range(0, size, tile):
            _mean_row(a[r, first : min(size, first + tile)], tiled_bias)


@njit(cache=True, nogil=True)
def _sample(mean, seed, trials, number, purpose, out):
    replicas, size = out.shape
    u = np.empty(TILE + 126, out.dtype)
    for r in range(replicas):
        for first in range(0, size, TILE):
            last = min(size, first + TILE)
            at = fill_uniforms(seed, trials[r], number, purpose, first, last, u)
            _compare(mean[r, first:last], u[at : at + last - first], out[r, first:last])


# A row's sum of softplus(a) is the sum of its positive parts plus the log of the product of 1 + exp(-|a|), all factors in
# (1, 2]: BLOCK of them fit float32, and the logs of whole rows are taken together, by NumPy's vectorised log. Blocks are
# walked with unsigned indices, which need no check for negative values and so vectorise.


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def _softplus_parts(activation, bias, positive, product):
    replicas, rows, units = activation.shape
    zero, one = bias.dtype.type(0), bias.dtype.type(1)
    for r in range(replicas):
        for row in range(rows):
            row_positive, row_product = 0.0, 1.0
            for start in range(0, units, BLOCK):
                block_positive, block_product = zero, one
                for k in range(min(BLOCK, units - start)):
                    i = np.uint64(start) + np.uint64(k)
                    a = activation[r, row, i] + bias[r, i]
                    block_positive += max(a, zero)
                    block_product *= one + exp_minus(abs(a))
                row_positive += block_positive
                row_product *= block_product
                if row_product > LARGE:
                    row_positive += np.log(row_product)
                    row_product = 1.0
            positive[r, row], product[r, row] = row_positive, row_product


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def _mean_and_softplus_parts(a, bias, positive, product):
    replicas, rows, units = a.shape
    zero, one = bias.dtype.type(0), bias.dtype.type(1)
    for r in range(replicas):
        for row in range(rows):
            row_positive, row_product = 0.0, 1.0
            for start in range(0, units, BLOCK):
                block_positive, block_product = zero, one
                for k in range(min(BLOCK, units - start)):
                    i = np.uint64(start) + np.uint64(k)
                    x = a[r, row, i] + bias[r, i]
                    t = exp_minus(abs(x))
                    block_positive += max(x, zero)
                    block_product *= one + t
                    a[r, row, i] = (one if x >= zero else t) / (one + t)
                row_positive += block_positive
                row_product *= block_product
                if row_product > LARGE:
                    row_positive += np.log(row_product)
                    row_product = 1.0
            positive[r, row], product[r, row] = row_positive, row_product


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def _score_rows(a, bias, r, first, last, u, at, score, product):
    """Sample rows first to last of replica r; write sum s x - max(x, 0) and the product of 1 + exp(-|a|) of each."""
    units = bias.shape[1]
    zero, one = bias.dtype.type(0), bias.dtype.type(1)
    for row in range(first, last):
        row_score, row_product = 0.0, 1.0
        for start in range(0, units, BLOCK):
            block_score, block_product = zero, one
            for k in range(min(BLOCK, units - start)):
                i = np.uint64(start) + np.uint64(k)
                x = a[r, row, i] + bias[r, i]
                t = exp_minus(abs(x))
                state = a.dtype.type(u[np.uint64(at) + i] * (one + t) < (one if x >= zero else t))
                a[r, row, i] = state
                block_score += state * x - max(x, zero)
                block_product *= one + t
            row_score += block_score
            row_product *= block_product
            if row_product > LARGE:
                row_score -= np.log(row_product)
                row_product = 1.0
        score[r, row], product[r, row] = row_score, row_product
        at += units


@njit(cache=True, nogil=True)
def _sample_and_score(a, bias, seed, trials, number, purpose, score, product):
    replicas, rows, units = a.shape
    rows_at_once = max(1, TILE // units)
    u = np.empty(rows_at_once * units + 126, a.dtype)
    for r in range(replicas):
        for first in range(0, rows, rows_at_once):
            last = min(rows, first + rows_at_once)
            at = fill_uniforms(seed, trials[r], number, purpose, first * units, last * units, u)
            _score_rows(a, bias, r, first, last, u, at, score, product)


@njit(cache=True, nogil=True, fastmath=FAST)
def _ascend(parameter, up, up_rate, down, down_rate):
    for i in range(parameter.size):
        parameter[i] += up_rate * up[i] - down_rate * down[i]


def ascend(parameter, up, up_rate, down, down_rate):
    """See `rbmbench.kernels.numpy_home.ascend`."""
    kind = parameter.dtype.type
    _ascend(parameter.reshape(-1), up.reshape(-1), kind(up_rate), down.reshape(-1), kind(down_rate))


@njit(cache=True, nogil=True)
def gather_rows(data, index, out):
    """See `rbmbench.kernels.numpy_home.gather_rows`."""
    for r in range(index.shape[0]):
        for row in range(index.shape[1]):
            source = data[index[r, row]]
            target = out[r, row]
            for i in range(target.size):
                target[i] = source[i]


def bernoulli_mean(activation, bias):
    """See `rbmbench.kernels.numpy_home.bernoulli_mean`."""
    _bernoulli_mean(activation.reshape(len(bias), -1), bias)


def sample(mean, draw, out):
    """See `rbmbench.kernels.numpy_home.sample`."""
    replicas = len(mean)
    flat = out.reshape(replicas, -1)
    _sample(mean.reshape(replicas, -1), draw.seed, draw.trials, draw.number, draw.purpose, flat)


def sample_bernoulli(activation, bias, draw):
    """See `rbmbench.kernels.numpy_home.sample_bernoulli`."""
    flat = activation.reshape(len(bias), -1)
    _sample_bernoulli(flat, bias, draw.seed, draw.trials, draw.number, draw.purpose)


def sample_bernoulli_and_log_probability(activation, bias, draw, log_probability):
    """See `rbmbench.kernels.numpy_home.sample_bernoulli_and_log_probability`."""
    product = np.empty_like(log_probability)
    _sample_and_score(activation, bias, draw.seed, draw.trials, draw.number, draw.purpose, log_probability, product)
    log_probability -= np.log(product, out=product)


def softplus_sum(activation, bias, softplus):
    """See `rbmbench.kernels.numpy_home.softplus_sum`."""
    product = np.empty_like(softplus)
    _softplus_parts(activation, bias, softplus, product)
    softplus += np.log(product, out=product)


def bernoulli_mean_and_softplus_sum(activation, bias, softplus):
    """See `rbmbench.kernels.numpy_home.bernoulli_mean_and_softplus_sum`."""
    product = np.empty_like(softplus)
    _mean_and_softplus_parts(activation, bias, softplus, product)
    softplus += np.log(product, out=product)
