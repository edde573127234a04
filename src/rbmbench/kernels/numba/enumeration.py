# SPDX-License-Identifier: BSD-3-Clause
"""Log weights of all hidden states by the split product, for tiles of 64 states of one half of the units."""

import numpy as np

from rbmbench.kernels import numpy as numpy_kernels
from rbmbench.kernels.numba.compiling import compiled
from rbmbench.kernels.splitting import factor_groups

TILE = 64


@compiled(fastmath={"contract"})
def _multiply_factors(a, B, first, last, product):
    """Multiply ``product[s]`` by 1 + a[i] B[i, s] for first <= i < last, four at a time."""
    i = first
    while i + 4 <= last:
        a0, a1, a2, a3 = a[i], a[i + 1], a[i + 2], a[i + 3]
        b0, b1, b2, b3 = B[i], B[i + 1], B[i + 2], B[i + 3]
        for s in range(product.size):
            product[s] *= ((1.0 + a0 * b0[s]) * (1.0 + a1 * b1[s])) * ((1.0 + a2 * b2[s]) * (1.0 + a3 * b3[s]))
        i += 4
    while i < last:
        for s in range(product.size):
            product[s] *= 1.0 + a[i] * B[i, s]
        i += 1


@compiled()
def _split_product(A, B, groups, score_a, score_b, out):
    """Write score_a[s] + score_b[t] + sum_i log(1 + A[s, i] B[i, t]) to ``out[s, t]``."""
    states = B.shape[1]
    for first in range(0, states, TILE):
        last = min(states, first + TILE)
        tile = B[:, first:last].copy()
        product = np.empty(last - first)
        for s in range(A.shape[0]):
            out[s, first:last] = score_a[s] + score_b[first:last]
            for g in range(groups.size - 1):
                product[:] = 1.0
                _multiply_factors(A[s], tile, groups[g], groups[g + 1], product)
                out[s, first:last] += np.log(product)


def hidden_log_weights(W, b, c):
    """See `rbmbench.kernels.numpy.hidden_log_weights`, also the fallback if factors overflow."""
    groups = factor_groups(W, b)
    if groups is None:
        return numpy_kernels.hidden_log_weights(W, b, c)
    n = len(c)
    first = n // 2
    states_a, states_b = numpy_kernels.binary_states(first), numpy_kernels.binary_states(n - first)
    A = np.exp(states_a @ W[:, :first].T + b)
    B = np.exp(W[:, first:] @ states_b.T)
    out = np.empty((len(states_a), len(states_b)))
    _split_product(A, B, groups, states_a @ c[:first], states_b @ c[first:], out)
    return out.reshape(-1)
