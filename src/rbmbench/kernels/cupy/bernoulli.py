# SPDX-License-Identifier: BSD-3-Clause
"""Launches over units and rows: sampling, means, sums, uniforms, parameter updates."""

import numpy as np

from rbmbench.kernels.cupy import _device
from rbmbench.kernels.cupy._grids import (
    SUM_BYTES,
    THREADS,
    contiguous,
    draw_words,
    power_of_two,
    row_stride,
    sized,
    start,
)

LANES, COINS, UNIFORMS = 16, 8, 4  # as philox.cuh


def _over_elements(name: str, dtype, count: int, *arguments) -> None:
    """Launch a kernel with ``count`` threads."""
    start(name, dtype, -(-count // THREADS), arguments)


def _over_rows(name: str, array, *arguments) -> None:
    """Launch a kernel with lanes for each row of an array (replicas, rows, units), whose shape is passed last."""
    replicas, rows, units = array.shape
    lanes = min(THREADS, power_of_two(units))
    blocks = -(-replicas * rows // (THREADS // lanes))
    start(name, array.dtype, blocks, (*arguments, *sized(*array.shape)), lanes=lanes, shared_bytes=SUM_BYTES)


def _over_coins(name: str, array, *arguments, after=()) -> None:
    """Launch a kernel with a thread for each Philox block of the coins of an array (replicas, ...)."""
    replicas, size = len(array), array.size // len(array)
    blocks = -(-size // (LANES * COINS)) * LANES
    _over_elements(name, array.dtype, replicas * blocks, *arguments, *sized(replicas, size), *after)


def uniforms(draw, count, dtype=np.float32):
    replicas, stride = len(draw.trials), -(-count // (LANES * UNIFORMS)) * LANES * UNIFORMS
    out = _device.empty((replicas, stride), np.dtype(dtype))
    _over_elements("uniforms", dtype, replicas * stride // UNIFORMS, out, *draw_words(draw), *sized(replicas, stride))
    return out[:, :count]


def gather_rows(data, index, out):
    """See `rbmbench.kernels.numpy.gather_rows`; ``index`` is int64, its rows may lie apart."""
    _over_rows("gather_rows", out, contiguous(data), index, row_stride(index), contiguous(out))


def bernoulli_mean(activation, bias):
    _over_rows("bernoulli_mean", activation, contiguous(activation), contiguous(bias))


def bernoulli_mean_and_softplus_sum(activation, bias, softplus):
    arrays = map(contiguous, (activation, bias, softplus))
    _over_rows("bernoulli_mean_and_softplus_sum", activation, *arrays)


def softplus_sum(activation, bias, softplus):
    _over_rows("softplus_sum", activation, *map(contiguous, (activation, bias, softplus)))


def softplus_difference(activation, bias, first, second, difference):
    kind = activation.dtype.type
    arguments = contiguous(activation), contiguous(bias), kind(first), kind(second), contiguous(difference)
    _over_rows("softplus_difference", activation, *arguments)


def ascend(parameter, up, up_rate, down, down_rate):
    kind = parameter.dtype.type
    arguments = contiguous(parameter), contiguous(up), kind(up_rate), contiguous(down), kind(down_rate)
    _over_elements("ascend", parameter.dtype, parameter.size, *arguments, *sized(parameter.size))


def sample(mean, draw, out):
    draw.check(len(mean))
    _over_coins("sample", mean, contiguous(mean), contiguous(out), *draw_words(draw))


def sample_bernoulli(activation, bias, draw, scale=1.0):
    draw.check(len(bias))
    arguments = contiguous(activation), contiguous(bias), activation.dtype.type(scale), *draw_words(draw)
    _over_coins("sample_bernoulli", activation, *arguments, after=(np.uint32(bias.shape[1]),))


def sample_bernoulli_and_log_probability(activation, bias, draw, log_probability):
    draw.check(len(bias))
    replicas, rows, units = activation.shape
    # Each block takes as many rows as its threads have coins for.
    lanes = min(THREADS, power_of_two(-(-units // COINS)))
    blocks = -(-rows // (THREADS // lanes))
    arrays = contiguous(activation), contiguous(bias), contiguous(log_probability)
    start(
        "sample_bernoulli_and_log_probability",
        activation.dtype,
        replicas * blocks,
        (*arrays, *draw_words(draw), np.int64(rows), np.uint32(units), np.int64(blocks)),
        lanes=lanes,
        shared_bytes=SUM_BYTES + THREADS * COINS * activation.itemsize,
    )
