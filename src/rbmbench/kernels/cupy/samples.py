# SPDX-License-Identifier: BSD-3-Clause
"""Launches for samplers: unlearning of samples."""

from rbmbench.kernels.cupy._grids import THREADS, contiguous, sized, start
from rbmbench.kernels.cupy.bernoulli import sample_bernoulli
from rbmbench.kernels.numpy.samples import multiply_lazily


def sample_lazily(states, scale, matrix, factor, drift, bias, draw, out):
    multiply_lazily(states, scale, matrix, factor, drift, out)
    sample_bernoulli(out, bias, draw)


def unlearn_samples(W, b, c, drift_W, drift_b, drift_c, decay, rate, visible, hidden):
    arrays = (W, b, c, drift_W, drift_b, drift_c, decay, rate, visible, hidden)
    (replicas, m, n), chains = W.shape, visible.shape[1]
    blocks = -(-replicas * (m * n + m + n) // THREADS)
    start("unlearn_samples", W.dtype, blocks, (*map(contiguous, arrays), *sized(replicas, chains, m, n)))
