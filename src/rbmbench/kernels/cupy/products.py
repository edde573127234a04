"""Products with binary states, by cuBLAS, and distances between packed states."""

import numpy as np

from rbmbench.kernels.cupy import _device
from rbmbench.kernels.cupy._grids import THREADS, contiguous, sized, start
from rbmbench.kernels.numpy.products import multiply_binary, multiply_packed, packed_rows  # noqa: F401 - array operations

WORD = 64  # units


def _words(states):
    """Return packed states (rows, words), uint64."""
    rows, units = states.shape
    words = _device.empty((rows, -(-units // WORD)), np.uint64)
    blocks = -(-words.size // THREADS)
    start("pack_rows", np.float32, blocks, (contiguous(states.astype(np.uint8)), words, *sized(rows, units)))
    return words


def count_distances(rows, samples, counts):
    x, s = _words(rows), _words(samples.reshape(-1, samples.shape[2]))
    sizes = sized(*counts.shape[:2], samples.shape[1], x.shape[1], counts.shape[2])
    blocks = -(-counts.shape[0] * counts.shape[1] // THREADS)
    start("count_distances", np.float32, blocks, (x, s, contiguous(counts), *sizes))
