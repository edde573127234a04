# SPDX-License-Identifier: BSD-3-Clause
"""Helpers of all launches: grid sizes, and arguments of the types that kernels take."""

from collections import OrderedDict

import numpy as np

from rbmbench.kernels.cupy import _device

THREADS = 256
SUM_BYTES = 8 * THREADS  # shared memory for sums over the lanes of rows
KEPT_CONSTANTS = 64

_constants: OrderedDict[tuple, object] = OrderedDict()


def constant(array):
    """Return the cached device copy of a small NumPy array; device arrays are returned unchanged."""
    if not isinstance(array, np.ndarray):
        return array
    key = array.dtype.str, array.shape, array.tobytes()
    if key not in _constants:
        _constants[key] = _device.copy_in(np.ascontiguousarray(array))
        if len(_constants) > KEPT_CONSTANTS:
            _constants.popitem(last=False)
    _constants.move_to_end(key)
    return _constants[key]


def draw_words(draw) -> tuple:
    """Return a draw as kernel arguments: seed, trials, number, purpose."""
    return np.uint32(draw.seed), constant(draw.trials), np.uint64(draw.number), np.uint32(draw.purpose)


def contiguous(array):
    """Return the array itself, or raise a `ValueError` if it is not C-contiguous: kernels write in place."""
    if not array.flags.c_contiguous:
        raise ValueError(f"array of shape {array.shape} and strides {array.strides} is not C-contiguous")
    return array


def row_stride(index):
    """Return the number of entries between successive rows of an index, as the kernels' type ``offset``.

    Raises a `ValueError` if the entries of a row are not contiguous.
    """
    if index.strides[1] != index.itemsize:
        raise ValueError(f"index of strides {index.strides}: the entries of a row are not contiguous")
    return np.int64(index.strides[0] // index.itemsize)


def sized(*numbers: int) -> tuple:
    """Return sizes as the kernels' type ``offset``."""
    return tuple(np.int64(number) for number in numbers)


def power_of_two(number: int) -> int:
    """Return the smallest power of two >= ``number`` >= 1."""
    return 1 << (number - 1).bit_length()


def start(name, dtype, blocks: int, arguments: tuple, *, lanes=THREADS, threads=THREADS, shared_bytes=0) -> None:
    """Launch a kernel with blocks of shape (lanes, threads / lanes); do nothing if there are no blocks."""
    if blocks:
        shape = lanes, threads // lanes
        _device.launch(name, np.dtype(dtype), blocks, shape, arguments, shared_bytes)
