# SPDX-License-Identifier: BSD-3-Clause
"""Products with binary states, by cuBLAS or on tensor cores, and distances between packed states.

Tensor cores multiply bfloat16 numbers and add in float32. States are exact in bfloat16, and a float32 matrix is the sum
of three bfloat16 matrices, so three products give that of float32. RBMBENCH_PRODUCTS=tensor_cores selects them.
States other than 0 and 1 give NaN then.
"""

import numpy as np

from rbmbench.kernels import ways
from rbmbench.kernels.cupy import _device
from rbmbench.kernels.cupy._grids import THREADS, contiguous, sized, start
from rbmbench.kernels.numpy.products import multiply_packed, packed_rows, rows_first  # noqa: F401 - array operations

WORD = 64  # units
PARTS = 3


def multiply_binary(states, matrix, out):
    if ways.number() != ways.TENSOR_CORES or matrix.dtype != np.float32:
        _device.multiply(*_stored(states, out), *_stored(matrix, out), contiguous(out))
        return
    (states, across), (matrix, transposed) = rows_first(states), rows_first(matrix)
    halves, parts = _device.empty(states.shape, np.uint16), _device.empty((PARTS, *matrix.shape), np.uint16)
    for name, numbers, target in (("half_states", states, halves), ("cut", matrix, parts)):
        start(name, np.float32, -(-numbers.size // THREADS), (contiguous(numbers), target, *sized(numbers.size)))
    for number in range(PARTS):
        _device.multiply(halves, across, parts[number], transposed, contiguous(out), add=number > 0)


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
