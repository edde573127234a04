# SPDX-License-Identifier: BSD-3-Clause
"""Tempered chains: one thread block per set of chains, all sweeps in one launch."""

import numpy as np

from rbmbench.kernels.cupy import _device
from rbmbench.kernels.cupy._grids import SUM_BYTES, THREADS, constant, contiguous, draw_words, start

NULL = np.uint64(0)


def _workspace_bytes(chains: int, m: int, n: int, itemsize: int) -> int:
    """Return the size of the workspace of a set of chains: energies, uniforms, an index, states; see tempering.cuh."""
    return chains * (8 + (m + n + 1) * itemsize + 4 + m + n)


def tempered_sweeps(W, b, c, inverse_temperatures, draw, visible, samples):
    draw.check(len(W))
    replicas, sets, chains, m = visible.shape
    n = W.shape[-1]
    doubles = -(-_workspace_bytes(chains, m, n, W.itemsize) // 8)
    shared, workspace = SUM_BYTES + 8 * doubles, NULL
    if shared > _device.SHARED_BYTES:
        shared, workspace = SUM_BYTES, _device.empty((replicas * sets, doubles), np.dtype(np.float64))
    transposed = W.swapaxes(-1, -2).copy()
    beta = constant(inverse_temperatures).astype(W.dtype, copy=False)
    parameters = contiguous(W), transposed, contiguous(b), contiguous(c), beta
    lanes = 1 << (max(1, THREADS // chains).bit_length() - 1)  # a power of 2, with room for all chains if possible
    sizes = (np.int32(size) for size in (sets, chains, m, n, samples.shape[2]))
    states = contiguous(visible), contiguous(samples), workspace, np.int64(doubles)
    arguments = (*parameters, *draw_words(draw), *states, *sizes)
    start("tempered_sweeps", W.dtype, replicas * sets, arguments, lanes=lanes, shared_bytes=shared)
