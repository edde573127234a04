# SPDX-License-Identifier: BSD-3-Clause
"""Sampling of Bernoulli units: bias, sigmoid, random bits and comparison in one pass over cache-sized tiles."""

import numpy as np

from rbmbench.kernels.numba.compiling import compiled
from rbmbench.kernels.numba.elementary import FAST, exp_minus
from rbmbench.kernels.numba.random import fill_coins, refinement

# Rows are short for vector loops, so loops go over tiles of several rows, with the bias repeated for each row. Kernels
# overwrite activations in place: with a second array that may overlap, compilers fall back to scalar code.
TILE = 4096  # coins per tile, which stay in the first-level cache
SIDES = np.float32(65536)
OPEN, LIMIT = np.float32(256), np.float32(100)
BLOCK = 64
SMALL = 1e-200


# A unit is on if its uniform (k + r) / 65536 is below p = 1 / (1 + t), where k is its 16-bit coin. In all but one of
# 65536 cases k alone decides. Otherwise the unit is marked as open, and r is drawn for it.


@compiled(fastmath=FAST, allocates=False)
def mark_open(mean, k, out):
    """Sample from means with coins ``k``; mark open units by 2 and return their number."""
    zero, one, two = mean.dtype.type(0), mean.dtype.type(1), mean.dtype.type(2)
    count = zero
    for i in range(mean.size):
        x = mean[i] * SIDES - k[i]
        is_open = (x > zero) & (x < one)
        out[i] = two if is_open else (one if x >= one else zero)
        count += one if is_open else zero
    return count


@compiled(fastmath=FAST)
def _sample_row(a, scale, bias, k):
    """Overwrite activations with states; mark open units by activation + OPEN and return their number."""
    zero, one = a.dtype.type(0), a.dtype.type(1)
    count = zero
    for i in range(a.size):
        x = scale * a[i] + bias[i]
        s = one + exp_minus(x)
        at_least = k[i] * s
        is_on = at_least + s <= SIDES
        is_open = (at_least < SIDES) & (not is_on)
        a[i] = min(max(x, -LIMIT), LIMIT) + OPEN if is_open else (one if is_on else zero)
        count += one if is_open else zero
    return count


@compiled()
def _is_on(x, k, r):
    return r < 65536.0 / (1.0 + np.exp(-np.float64(x))) - k


@compiled()
def _close(a, k, seed, trial, number, purpose, position):
    """Decide the open units; ``position`` is that of the first unit."""
    for i in range(a.size):
        if a[i] > LIMIT:
            a[i] = _is_on(a[i] - OPEN, k[i], refinement(seed, trial, number, purpose, position + i))


@compiled(fastmath=FAST, error_model="numpy", allocates=False)
def mean_row(a, bias):
    """Overwrite activations with means."""
    one = a.dtype.type(1)
    for i in range(a.size):
        a[i] = one / (one + exp_minus(a[i] + bias[i]))


@compiled(allocates=False)
def repeat_row(row, tile):
    units = np.uint64(row.size)
    for start in range(0, tile.size, row.size):
        for i in range(units):
            tile[np.uint64(start) + i] = row[i]


@compiled()
def sample_flat(a, scale, bias, seed, trials, number, purpose):
    """Sample activations (replicas, rows * units) like `sample_bernoulli`."""
    replicas, size = a.shape
    units = bias.shape[1]
    tile = min(size, max(1, TILE // units) * units)
    coins, tiled_bias = np.empty(tile + 254, a.dtype), np.empty(tile, a.dtype)
    for r in range(replicas):
        repeat_row(bias[r], tiled_bias)
        for first in range(0, size, tile):
            last = min(size, first + tile)
            at = fill_coins(seed, trials[r], number, purpose, first, last, coins)
            k = coins[at : at + last - first]
            if _sample_row(a[r, first:last], scale, tiled_bias, k):
                _close(a[r, first:last], k, seed, trials[r], number, purpose, first)


@compiled()
def _bernoulli_mean(a, bias):
    replicas, size = a.shape
    units = bias.shape[1]
    tile = min(size, max(1, TILE // units) * units)
    tiled_bias = np.empty(tile, a.dtype)
    for r in range(replicas):
        repeat_row(bias[r], tiled_bias)
        for first in range(0, size, tile):
            mean_row(a[r, first : min(size, first + tile)], tiled_bias)


@compiled()
def _sample(mean, seed, trials, number, purpose, out):
    replicas, size = out.shape
    coins = np.empty(TILE + 254, out.dtype)
    for r in range(replicas):
        for first in range(0, size, TILE):
            last = min(size, first + TILE)
            at = fill_coins(seed, trials[r], number, purpose, first, last, coins)
            if mark_open(mean[r, first:last], coins[at : at + last - first], out[r, first:last]):
                for i in range(first, last):
                    if out[r, i] > 1:
                        x = mean[r, i] * 65536.0 - coins[at + i - first]
                        out[r, i] = refinement(seed, trials[r], number, purpose, i) < x


# The log probability of a row is the log of the product over its units. If the coin decides, the probability of a unit
# is at least 2**-16, and the product over BLOCK units underflows float32 once in 2**62 blocks. Open units may have
# smaller ones; their logs are added one by one.


@compiled(fastmath=FAST, error_model="numpy")
def _sample_tile(a, bias, k, probability):
    """Sample like `_sample_row`; write the probability of each state, or 1 for open units."""
    zero, one = a.dtype.type(0), a.dtype.type(1)
    count = zero
    for i in range(a.size):
        x = a[i] + bias[i]
        t = exp_minus(x)
        s = one + t
        at_least = k[i] * s
        is_on = at_least + s <= SIDES
        is_open = (at_least < SIDES) & (not is_on)
        probability[i] = one if is_open else (one if is_on else t) / s
        a[i] = min(max(x, -LIMIT), LIMIT) + OPEN if is_open else (one if is_on else zero)
        count += one if is_open else zero
    return count


@compiled(fastmath=FAST)
def _multiply_rows(factor, units, log_sum, product):
    """Write the product of each row's factors in [0, 1]; logs of partial products near underflow go to ``log_sum``."""
    for row in range(product.size):
        row_log, row_product = 0.0, 1.0
        for start in range(row * units, (row + 1) * units, BLOCK):
            block_product = factor.dtype.type(1)
            for j in range(min(BLOCK, (row + 1) * units - start)):
                block_product *= factor[np.uint64(start) + np.uint64(j)]
            row_product *= block_product
            if row_product < SMALL:
                row_log += np.log(row_product)
                row_product = 1.0
        log_sum[row], product[row] = row_log, row_product


@compiled()
def _score_open(a, k, seed, trial, number, purpose, position, units, score):
    """Decide the open units, and add the log probabilities of their states to the scores of their rows."""
    for i in range(a.size):
        if a[i] > LIMIT:
            x = np.float64(a[i] - OPEN)
            a[i] = _is_on(x, k[i], refinement(seed, trial, number, purpose, position + i))
            score[i // units] -= np.log1p(np.exp(-x if a[i] else x))


@compiled()
def _sample_and_score(a, bias, seed, trials, number, purpose, score, product):
    replicas, size = a.shape
    units = bias.shape[1]
    tile = min(size, max(1, TILE // units) * units)
    coins, tiled_bias, probability = np.empty(tile + 254, a.dtype), np.empty(tile, a.dtype), np.empty(tile, a.dtype)
    for r in range(replicas):
        repeat_row(bias[r], tiled_bias)
        for first in range(0, size, tile):
            last = min(size, first + tile)
            rows = slice(first // units, last // units)
            at = fill_coins(seed, trials[r], number, purpose, first, last, coins)
            states, k = a[r, first:last], coins[at : at + last - first]
            open_units = _sample_tile(states, tiled_bias, k, probability)
            _multiply_rows(probability, units, score[r, rows], product[r, rows])
            if open_units:
                _score_open(states, k, seed, trials[r], number, purpose, first, units, score[r, rows])


@compiled(fastmath=FAST)
def _ascend(parameter, up, up_rate, down, down_rate):
    for i in range(parameter.size):
        parameter[i] += up_rate * up[i] - down_rate * down[i]


def ascend(parameter, up, up_rate, down, down_rate):
    kind = parameter.dtype.type
    _ascend(parameter.reshape(-1), up.reshape(-1), kind(up_rate), down.reshape(-1), kind(down_rate))


@compiled(fastmath=FAST)
def _add_deviations(first, first_scale, second, second_scale, offset, sums, squares):
    for r in range(len(first)):
        total = 0.0
        for i in range(first.shape[1]):
            deviation = first_scale * first[r, i] - offset[r, i]
            if second is not None:  # decided at compile time
                deviation -= second_scale * second[r, i]
            sums[r, i] += deviation
            total += deviation * deviation
        squares[r] += total


def add_deviations(first, first_scale, second, second_scale, offset, sums, squares):
    _add_deviations(first, float(first_scale), second, float(second_scale), offset, sums, squares)


@compiled()
def gather_rows(data, index, out):
    for r in range(index.shape[0]):
        for row in range(index.shape[1]):
            source = data[index[r, row]]
            target = out[r, row]
            for i in range(target.size):
                target[i] = source[i]


def bernoulli_mean(activation, bias):
    _bernoulli_mean(activation.reshape(len(bias), -1), bias)


def sample(mean, draw, out):
    replicas = len(mean)
    draw.check(replicas)
    flat = out.reshape(replicas, -1)
    _sample(mean.reshape(replicas, -1), draw.seed, draw.trials, draw.number, draw.purpose, flat)


def sample_bernoulli(activation, bias, draw, scale=1.0):
    draw.check(len(bias))
    flat = activation.reshape(len(bias), -1)
    sample_flat(flat, flat.dtype.type(scale), bias, draw.seed, draw.trials, draw.number, draw.purpose)


def sample_bernoulli_and_log_probability(activation, bias, draw, log_probability):
    draw.check(len(bias))
    product = np.empty_like(log_probability)
    flat = activation.reshape(len(bias), -1)
    _sample_and_score(flat, bias, draw.seed, draw.trials, draw.number, draw.purpose, log_probability, product)
    log_probability += np.log(product, out=product)
