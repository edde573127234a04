"""What all launches share: the sizes of grids, and arguments of exactly the types the kernels take."""

from collections import OrderedDict

import numpy as np

from rbmbench.kernels.cupy import _device

__all__ = ["THREADS", "constant", "contiguous", "draw_words", "power_of_two", "row_stride", "sized", "start"]

THREADS = 256
SUM_BYTES = 8 * THREADS  # shared memory that sums over the lanes of rows take
KEPT_CONSTANTS = 64

_constants: OrderedDict[tuple, object] = OrderedDict()


def constant(array):
    """Return the device copy of a small NumPy array, made once for as long as it is in use; device arrays as they are.

    A step of training then copies nothing to the device.
    """
    if not isinstance(array, np.ndarray):
        return array
    key = array.dtype.str, array.tobytes()
    if key not in _constants:
        _constants[key] = _device.copy_in(np.ascontiguousarray(array))
        if len(_constants) > KEPT_CONSTANTS:
            _constants.popitem(last=False)
    _constants.move_to_end(key)
    return _constants[key]


def draw_words(draw) -> tuple:
    """Return a draw as the four arguments of a kernel: seed, trials, number, purpose."""
    return np.uint32(draw.seed), constant(draw.trials), np.uint64(draw.number), np.uint32(draw.purpose)


def contiguous(array):
    """Return an array that kernels may walk as flat memory.

    Raises
    ------
    ValueError
        If it is not C-contiguous: kernels write in place, and a copy would be lost.
    """
    if not array.flags.c_contiguous:
        raise ValueError(f"array of shape {array.shape} and strides {array.strides} is not C-contiguous")
    return array


def row_stride(index):
    """Return how many entries the rows of an index lie apart, as the kernels' type ``offset``.

    Raises
    ------
    ValueError
        If the entries of a row are not side by side.
    """
    if index.strides[1] != index.itemsize:
        raise ValueError(f"index of strides {index.strides}: the entries of a row are not side by side")
    return np.int64(index.strides[0] // index.itemsize)


def sized(*numbers: int) -> tuple:
    """Return sizes as the kernels' type ``offset``."""
    return tuple(np.int64(number) for number in numbers)


def power_of_two(number: int) -> int:
    """Return the least power of two that is not below a number of at least 1."""
    return 1 << (number - 1).bit_length()


def start(name, dtype, blocks: int, arguments: tuple, *, lanes=THREADS, threads=THREADS, shared_bytes=0) -> None:
    """Run a kernel in blocks of so many threads, ``lanes`` of them along the first side; nothing where no block is."""
    if blocks:
        shape = lanes, threads // lanes
        _device.launch(name, np.dtype(dtype).name, blocks, shape, arguments, shared_bytes)
