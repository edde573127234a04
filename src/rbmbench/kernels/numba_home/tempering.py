"""Tempered chains of one RBM, sweep after sweep in one compiled loop: the serial cost is arithmetic, not calls."""

import numpy as np
from numba import njit

from rbmbench.kernels.numba_home.elementary import exp_minus
from rbmbench.kernels.numba_home.random import fill_uniforms

__all__ = ["tempered_sweeps"]

FAST = {"contract", "nsz", "nnan", "ninf", "arcp", "reassoc"}


@njit(cache=True, nogil=True, fastmath=FAST)
def _add_active_rows(table, state, active, total):
    """Add the rows of ``table`` whose unit is on, four at a time: the matrix product with a binary state."""
    count = 0
    for i in range(state.size):
        active[count] = i
        count += state[i] != 0
    k = 0
    while k + 4 <= count:
        r0, r1, r2, r3 = active[k], active[k + 1], active[k + 2], active[k + 3]
        for j in range(total.size):
            total[j] += (table[r0, j] + table[r1, j]) + (table[r2, j] + table[r3, j])
        k += 4
    while k < count:
        r0 = active[k]
        for j in range(total.size):
            total[j] += table[r0, j]
        k += 1


@njit(cache=True, nogil=True, fastmath=FAST)
def _sample_tempered(activation, inverse_temperature, u, out):
    one = out.dtype.type(1)
    for i in range(out.size):
        out[i] = out.dtype.type(u[i] + u[i] * exp_minus(inverse_temperature * activation[i]) < one)


@njit(cache=True, nogil=True, fastmath=FAST)
def _dot(x, y):
    total = x.dtype.type(0)
    for i in range(x.size):
        total += x[i] * y[i]
    return total


@njit(cache=True, nogil=True)
def _sweep_set(W, W_transposed, b, c, beta, u, visible, hidden, active, activation, energy, order):
    """One Gibbs step of all chains of a set, then swaps; chain k's state is row order[k] of ``visible``."""
    chains, m = visible.shape
    n = c.size
    for k in range(chains):
        v = visible[order[k]]
        hidden_activation = activation[:n]
        hidden_activation[:] = c
        _add_active_rows(W, v, active, hidden_activation)
        _sample_tempered(hidden_activation, beta[k], u[k * n : (k + 1) * n], hidden)
        visible_activation = activation[:m]
        visible_activation[:] = b
        _add_active_rows(W_transposed, hidden, active, visible_activation)
        at = chains * n + k * m
        _sample_tempered(visible_activation, beta[k], u[at : at + m], v)
        energy[k] = -_dot(v, visible_activation) - _dot(hidden, c)
    at = chains * (n + m)
    for first in range(2):
        for k in range(first, chains - 1, 2):
            exponent = (beta[k] - beta[k + 1]) * (energy[k] - energy[k + 1])
            if exponent >= 0 or u[at + k] < np.exp(exponent):
                order[k], order[k + 1] = order[k + 1], order[k]
                energy[k], energy[k + 1] = energy[k + 1], energy[k]


@njit(cache=True, nogil=True)
def _tempered_sweeps(W, b, c, beta, seed, trials, number, purpose, visible, samples):
    replicas, sets, chains, m = visible.shape
    n = W.shape[2]
    size = chains * (n + m + 1)
    u = np.empty(size + 126, W.dtype)
    active = np.empty(max(m, n) + 1, np.uint32)
    hidden, activation, energy = np.empty(n, W.dtype), np.empty(max(m, n), W.dtype), np.empty(chains, W.dtype)
    for r in range(replicas):
        W_transposed = W[r].T.copy()
        for s in range(sets):
            order = np.arange(chains)
            for sweep in range(samples.shape[2]):
                at = fill_uniforms(
                    seed, trials[r], number + np.uint64(sweep), purpose, s * size, (s + 1) * size, u
                )
                _sweep_set(
                    W[r],
                    W_transposed,
                    b[r],
                    c[r],
                    beta,
                    u[at : at + size],
                    visible[r, s],
                    hidden,
                    active,
                    activation,
                    energy,
                    order,
                )
                samples[r, s, sweep] = visible[r, s, order[chains - 1]]
            visible[r, s] = visible[r, s][order]


def tempered_sweeps(W, b, c, inverse_temperatures, draw, visible, samples):
    """See `rbmbench.kernels.numpy_home.tempered_sweeps`."""
    beta = np.asarray(inverse_temperatures, W.dtype)
    _tempered_sweeps(W, b, c, beta, draw.seed, draw.trials, draw.number, draw.purpose, visible, samples)
