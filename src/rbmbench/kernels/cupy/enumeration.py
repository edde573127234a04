# SPDX-License-Identifier: BSD-3-Clause
"""Log weights of all hidden states by the split product."""

import numpy as np

from rbmbench.kernels import numpy as numpy_kernels
from rbmbench.kernels import on_host
from rbmbench.kernels.cupy import _device
from rbmbench.kernels.cupy._grids import THREADS, constant, contiguous, sized, start
from rbmbench.kernels.splitting import factor_groups


def hidden_log_weights(W, b, c):
    """See `rbmbench.kernels.numpy.hidden_log_weights`, which is the fallback, on the host, if factors overflow."""
    groups = factor_groups(on_host(W), on_host(b))
    if groups is None:
        return _device.copy_in(numpy_kernels.hidden_log_weights(on_host(W), on_host(b), on_host(c)))
    n = len(c)
    first = n // 2
    states_a, states_b = (constant(numpy_kernels.binary_states(units)) for units in (first, n - first))
    A = contiguous(np.exp(states_a @ W[:, :first].T + b))
    B = contiguous(np.exp(W[:, first:] @ states_b.T))
    out = _device.empty((len(states_a), len(states_b)), W.dtype)
    arrays = A, B, constant(groups.astype(np.int32)), np.int32(len(groups) - 1)
    scores = states_a @ c[:first], states_b @ c[first:]
    blocks = len(states_a) * -(-len(states_b) // THREADS)
    start("split_product", W.dtype, blocks, (*arrays, *scores, out, *sized(*out.shape, len(b))))
    return out.reshape(-1)
