# SPDX-License-Identifier: BSD-3-Clause
"""Products of states with matrices by cuBLAS, and distances between packed states."""

import numpy as np

from rbmbench.kernels.cupy import _device
from rbmbench.kernels.cupy._grids import THREADS, contiguous, sized, start
from rbmbench.kernels.numpy.products import multiply_packed, packed_rows  # noqa: F401 - array operations

WORD = 64  # units


def multiply_binary(states, matrix, out):
    _device.multiply(*_stored(states, out), *_stored(matrix, out), contiguous(out))


def sum_rows(weights, rows, out):
    _device.multiply(*_stored(weights[:, None, :], out), *_stored(rows, out), contiguous(out))


def _stored(array, out):
    """Return an array (replicas, rows, columns) as its entries lie in memory, and whether its last axes are exchanged.

    The entries of a replica are contiguous, of the type of ``out``, else it is a copy; replicas may be the same.
    """
    array = array.astype(out.dtype, copy=False)
    if array[:1].flags.c_contiguous:
        return array, False
    turned = array.swapaxes(1, 2)
    return (turned, True) if turned[:1].flags.c_contiguous else (array.copy(), False)


def _words(states):
    """Return packed states (rows, words), uint64."""
    rows, units = states.shape
    words = _device.empty((rows, -(-units // WORD)), np.uint64)
    blocks = -(-words.size // THREADS)
    start("pack_rows", np.float32, blocks, (contiguous(states.astype(np.uint8)), words, *sized(rows, units)))
    return words


def count_distances(packed, samples, counts):
    x, s = _words(packed.states), _words(samples.reshape(-1, samples.shape[2]))
    sizes = sized(*counts.shape[:2], samples.shape[1], x.shape[1], counts.shape[2])
    blocks = -(-counts.shape[0] * counts.shape[1] // THREADS)
    start("count_distances", np.float32, blocks, (x, s, contiguous(counts), *sizes))
