# SPDX-License-Identifier: BSD-3-Clause
"""Whole training iterations of small RBMs: one thread block per trial, many iterations in one launch."""

from typing import NamedTuple

import numpy as np

from rbmbench.kernels.cupy import _device
from rbmbench.kernels.cupy._grids import contiguous, draw_words, row_stride, start

KERNEL = "fused_iterations"
NULL = np.uint64(0)
LANES, THREADS = 16, 512  # as philox.cuh and fused.cuh
SUM_BYTES = 8 * THREADS
# Operations per iteration of a trial up to which fused iterations are used. An ordinary iteration takes about 20
# launches of 10 us each, in which a multiprocessor makes about 2e7 operations. Assumed, not measured.
MOST_WORK = 2e7
# Operations per trial in one launch: devices that drive a display abort launches of several seconds.
LAUNCH_WORK = 1e10


class _Sizes(NamedTuple):
    """Sizes that determine the memory of a trial: rows of a mini-batch, units, bytes per number."""

    rows: int
    m: int
    n: int
    itemsize: int

    def parameter_bytes(self) -> int:
        """Return the bytes of W (rows padded to odd length), b and c, rounded up to whole float64; see fused.cuh."""
        return -(-(self.m * (self.n | 1) + self.m + self.n) * self.itemsize // 8) * 8

    def work(self, k: int) -> float:
        """Return the operations per iteration: 2 k + 1 matrix products of the chains, and 2 of the statistics."""
        return 2.0 * (2 * k + 3) * self.rows * self.m * self.n

    def workspace_doubles(self, weighted: bool) -> int:
        """Return the number of float64 for the mini-batch, the chains, the means and the weights; as fused.cuh."""
        numbers = (8 + self.itemsize) * self.rows * weighted + 2 * self.itemsize * self.rows * self.n
        return -(-(numbers + self.rows * (2 * self.m + self.n)) // 8)


def unsupported_reason(rows: int, m: int, n: int, k: int, dtype) -> str | None:
    """Return the reason why the kernels do not support iterations of these sizes, or None if they do.

    Mini-batches of ``rows`` rows, m visible and n hidden units, k Gibbs steps, parameters of type ``dtype``.
    """
    sizes = _Sizes(rows, m, n, np.dtype(dtype).itemsize)
    if sizes.work(k) > MOST_WORK:
        return f"{sizes.work(k):.1e} operations per iteration of a trial, the limit is {MOST_WORK:.0e}"
    needed = SUM_BYTES + sizes.parameter_bytes()
    if needed > _device.most_shared_bytes():
        return f"{needed} bytes of shared memory, the device has {_device.most_shared_bytes()}"
    return None


def fused_iterations(
    W, b, c, data, index, draw, k, rates, rows, first, iterations, not_finite, *, chains=None, effective_sizes=None
) -> None:
    """Train in place by CD-k, PCD-k or pop-CD-k with plain gradient ascent, like the ordinary kernels.

    Parameters
    ----------
    W, b, c : arrays, shapes (replicas, m, n), (replicas, m), (replicas, n)
        Changed in place.
    data : array, shape (any rows, m), uint8
    index : int64 array, shape (replicas, iterations * rows), or None
        Indices of the rows of ``data`` in successive mini-batches; None if every mini-batch is the first rows.
    draw : Draw
        The first of successive draws, 2 k per iteration.
    k : int
        Gibbs steps.
    rates : (float, float)
        Factors of the sums of the positive and of the negative phase.
    rows : int
        Rows of a mini-batch.
    first : int
        Number of earlier iterations, for ``not_finite``.
    iterations : int
    not_finite : int64 array, shape (replicas,)
        Zero on entry; receives the iteration after which the parameters of a replica are not finite, which stops it.
    chains : array, shape (replicas, rows, m), optional
        Visible states of persistent chains, changed in place. Without them, chains start at the mini-batch.
    effective_sizes : float64 array, shape (replicas,), optional
        The effective sample sizes of the iterations are added. Without it, the ends of chains have equal weights.
    """
    replicas, m, n = W.shape
    sizes, kind = _Sizes(rows, m, n, W.itemsize), W.dtype.type
    workspace, doubles, shared = _memory(replicas, sizes, effective_sizes is not None)
    before = contiguous(W), contiguous(b), contiguous(c), contiguous(data)
    optional = (NULL if array is None else contiguous(array) for array in (chains, effective_sizes))
    after = *optional, contiguous(not_finite), workspace, doubles
    most = max(1, int(LAUNCH_WORK / sizes.work(k)))
    for done in range(0, iterations, most):
        chosen = (NULL, np.int64(0)) if index is None else (index[:, done * rows :], row_stride(index))
        now = draw._replace(number=draw.number + np.uint64(2 * k * done))
        counts = (np.int32(count) for count in (min(most, iterations - done), k, rows, m, n))
        numbers = *draw_words(now), *map(kind, rates), np.int64(first + done), *counts
        arguments = *before, *chosen, *after, *numbers
        start(KERNEL, W.dtype, replicas, arguments, lanes=LANES, threads=THREADS, shared_bytes=shared)


def _memory(replicas: int, sizes: _Sizes, weighted: bool) -> tuple:
    """Return the workspace (none if shared memory holds it), its float64 per trial, and the bytes of shared memory."""
    doubles, shared = sizes.workspace_doubles(weighted), SUM_BYTES + sizes.parameter_bytes()
    if shared + 8 * doubles <= _device.most_shared_bytes():
        return NULL, np.int64(doubles), shared + 8 * doubles
    return _device.empty((replicas, doubles), np.dtype(np.float64)), np.int64(doubles), shared
