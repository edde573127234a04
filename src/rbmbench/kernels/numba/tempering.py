# SPDX-License-Identifier: BSD-3-Clause
"""Tempered chains: all sweeps in one compiled loop, without the overhead of calls."""

import numpy as np
from llvmlite.binding import get_host_cpu_features

from rbmbench.kernels import SMALL_PRODUCT, ways
from rbmbench.kernels.numba.compiling import compiled
from rbmbench.kernels.numba.elementary import FAST, exp_minus
from rbmbench.kernels.numba.products import add_one, multiply_rows, takes_tables
from rbmbench.kernels.numba.random import fill_uniforms

# Multiplications up to which BLAS is faster than the loops below.
SMALL = SMALL_PRODUCT if get_host_cpu_features().get("avx512f") else 40_000

# BLAS is slow for few chains; many, as in several sets, take tables. Else both products read W' in strips of rows that
# stay in the first-level cache while they are applied to all chains.


@compiled(fastmath=FAST)
def _project(way, visible, W, W_transposed, activation):
    """Write v W of all chains, four hidden units at a time; the last unit is repeated to fill up."""
    if len(visible) * W.size < SMALL or takes_tables(way, len(visible), *W.shape):
        multiply_rows(way, visible, W, activation)
        return
    chains, n = activation.shape
    last = n - 1
    for j in range(0, n, 4):
        j1, j2, j3 = min(j + 1, last), min(j + 2, last), min(j + 3, last)
        row0, row1, row2, row3 = W_transposed[j], W_transposed[j1], W_transposed[j2], W_transposed[j3]
        for k in range(chains):
            v = visible[k]
            sum0 = sum1 = sum2 = sum3 = activation.dtype.type(0)
            for i in range(v.size):
                sum0 += v[i] * row0[i]
                sum1 += v[i] * row1[i]
                sum2 += v[i] * row2[i]
                sum3 += v[i] * row3[i]
            activation[k, j], activation[k, j1], activation[k, j2], activation[k, j3] = sum0, sum1, sum2, sum3


@compiled(fastmath=FAST)
def _add_rows(h, rows, a):
    """Add h[k] rows[k] to ``a`` for eight rows."""
    h0, h1, h2, h3, h4, h5, h6, h7 = h[0], h[1], h[2], h[3], h[4], h[5], h[6], h[7]
    r0, r1, r2, r3, r4, r5, r6, r7 = rows[0], rows[1], rows[2], rows[3], rows[4], rows[5], rows[6], rows[7]
    for i in range(a.size):
        first, second = h0 * r0[i] + h1 * r1[i] + h2 * r2[i] + h3 * r3[i], h4 * r4[i] + h5 * r5[i]
        a[i] += first + second + h6 * r6[i] + h7 * r7[i]


@compiled()
def _reconstruct(way, hidden, W_transposed, activation):
    """Write W h of all chains, eight hidden units at a time, then one by one."""
    if len(hidden) * W_transposed.size < SMALL or takes_tables(way, len(hidden), *W_transposed.shape):
        multiply_rows(way, hidden, W_transposed, activation)
        return
    chains, n = hidden.shape
    whole = n - n % 8
    activation[...] = 0
    for j in range(0, whole, 8):
        for k in range(chains):
            _add_rows(hidden[k, j : j + 8], W_transposed[j : j + 8], activation[k])
    for j in range(whole, n):
        for k in range(chains):
            add_one(W_transposed[j], hidden[k, j], activation[k])


@compiled(fastmath=FAST)
def _sample(activation, bias, beta, u, first, out, total):
    """Sample the units of all chains; write the sum of activations (with bias) of the units that are on."""
    chains, units = out.shape
    one = out.dtype.type(1)
    for k in range(chains):
        at, sum_on = np.uint64(first + k * units), out.dtype.type(0)
        for i in range(np.uint64(units)):
            a = activation[k, i] + bias[i]
            state = out.dtype.type(u[at + i] + u[at + i] * exp_minus(beta[k] * a) < one)
            out[k, i] = state
            sum_on += state * a
        total[k] = sum_on


@compiled(fastmath=FAST)
def _set_energies(hidden, c, energy):
    """Convert v'(b + W h) of each chain to E(v, h) = - v'(b + W h) - c'h."""
    for k in range(energy.size):
        total = energy[k]
        for j in range(c.size):
            total += c[j] * hidden[k, j]
        energy[k] = -total


@compiled()
def _swap_neighbours(beta, u, visible, energy):
    """Swap the states of even and then of odd neighbouring pairs with the Metropolis probability."""
    for first in range(2):
        for k in range(first, energy.size - 1, 2):
            exponent = (beta[k] - beta[k + 1]) * (energy[k] - energy[k + 1])
            if exponent >= 0 or u[k] < np.exp(exponent):
                energy[k], energy[k + 1] = energy[k + 1], energy[k]
                for i in range(visible.shape[1]):
                    visible[k, i], visible[k + 1, i] = visible[k + 1, i], visible[k, i]


@compiled()
def _tempered_sweeps(way, W, b, c, beta, seed, trials, number, purpose, visible, samples):
    replicas, sets, chains, m = visible.shape
    n = W.shape[2]
    first_visible, count = chains * n, chains * (n + m + 1)
    u, energy = np.empty(count + 126, W.dtype), np.empty((sets, chains), W.dtype)
    hidden, to_hidden = np.empty((sets * chains, n), W.dtype), np.empty((sets * chains, n), W.dtype)
    to_visible = np.empty((sets * chains, m), W.dtype)
    for r in range(replicas):
        W_transposed, v = W[r].T.copy(), visible[r].reshape((sets * chains, m))
        for sweep in range(samples.shape[2]):
            key = seed, trials[r], number + np.uint64(sweep), purpose
            _project(way, v, W[r], W_transposed, to_hidden)
            for s in range(sets):
                of_set = slice(s * chains, (s + 1) * chains)
                at = fill_uniforms(*key, s * count, s * count + first_visible, u)
                _sample(to_hidden[of_set], c[r], beta, u, at, hidden[of_set], energy[s])
            _reconstruct(way, hidden, W_transposed, to_visible)
            for s in range(sets):
                of_set = slice(s * chains, (s + 1) * chains)
                at = fill_uniforms(*key, s * count + first_visible, (s + 1) * count, u)
                _sample(to_visible[of_set], b[r], beta, u, at, v[of_set], energy[s])
                _set_energies(hidden[of_set], c[r], energy[s])
                _swap_neighbours(beta, u[at + chains * m :], v[of_set], energy[s])
                samples[r, s, sweep] = v[(s + 1) * chains - 1]


def tempered_sweeps(W, b, c, inverse_temperatures, draw, visible, samples):
    beta, way = np.asarray(inverse_temperatures, W.dtype), ways.number()
    _tempered_sweeps(way, W, b, c, beta, draw.seed, draw.trials, draw.number, draw.purpose, visible, samples)
