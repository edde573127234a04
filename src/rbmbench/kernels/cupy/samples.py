# SPDX-License-Identifier: BSD-3-Clause
"""Launches for samplers: unlearning of samples."""

from rbmbench.kernels.cupy._grids import THREADS, contiguous, sized, start


def unlearn_samples(W, b, c, drift_W, drift_b, drift_c, decay, rate, visible, hidden):
    arrays = (W, b, c, drift_W, drift_b, drift_c, decay, rate, visible, hidden)
    (replicas, m, n), chains = W.shape, visible.shape[1]
    blocks = -(-replicas * (m * n + m + n) // THREADS)
    start("unlearn_samples", W.dtype, blocks, (*map(contiguous, arrays), *sized(replicas, chains, m, n)))
