# SPDX-License-Identifier: BSD-3-Clause
"""Launches over rows of several replicas, with one thread block per row."""

import numpy as np

from rbmbench.kernels.cupy import _device
from rbmbench.kernels.cupy._grids import THREADS, contiguous, draw_words, power_of_two, sized, start

COINS = 8  # as philox.cuh


def _over_rows(name: str, array, *arguments) -> None:
    """Launch a kernel with a thread block for each row of (rows, units); the units are passed as last argument."""
    rows, units = array.shape
    lanes = min(THREADS, max(16, power_of_two(-(-units // COINS))))  # 16: a chunk of Philox blocks
    if rows:
        shape, shared_bytes = (lanes, 1), 8 * lanes
        _device.launch(name, array.dtype, rows, shape, (*arguments, *sized(units)), shared_bytes)


def mean_of_rows(activation, bias, keys):
    blocks = -(-activation.size // THREADS)
    arrays = contiguous(activation), contiguous(bias), keys.replica
    start("mean_of_rows", activation.dtype, blocks, (*arrays, *sized(*activation.shape)))


def sample_rows(mean, keys, draw, out):
    _over_rows("sample_rows", mean, contiguous(mean), contiguous(out), *keys, *draw_words(draw))


def couple_visible(activation, other, bias, keys, draw, redraw_both, met, rejections):
    arrays = contiguous(activation), contiguous(other), contiguous(bias), *keys, *draw_words(draw)
    _over_rows("couple_visible", activation, *arrays, np.int32(redraw_both), contiguous(met), contiguous(rejections))
