"""Tempered chains of one RBM, sweep after sweep in one compiled loop: the serial cost is arithmetic, not calls."""

import numpy as np
from numba import njit

from rbmbench.kernels.numba_home.elementary import exp_minus
from rbmbench.kernels.numba_home.random import fill_uniforms

__all__ = ["tempered_sweeps"]

FAST = {"contract", "nsz", "nnan", "ninf", "arcp", "reassoc"}


@njit(cache=True, nogil=True, fastmath=FAST)
def _sample_all(activation, beta, beta_bias, u, out):
    """Sample all units of all chains, given activations without bias; every argument is flat."""
    one = out.dtype.type(1)
    for i in range(out.size):
        out[i] = out.dtype.type(u[i] + u[i] * exp_minus(beta[i] * activation[i] + beta_bias[i]) < one)


@njit(cache=True, nogil=True, fastmath=FAST)
def _set_energies(visible, activation, hidden, b, c, energy):
    """Write E(v, h) = - v'(b + W h) - c'h of every chain, given W h."""
    for k in range(energy.size):
        total = energy.dtype.type(0)
        for i in range(b.size):
            total += visible[k, i] * (activation[k, i] + b[i])
        for j in range(c.size):
            total += hidden[k, j] * c[j]
        energy[k] = -total


@njit(cache=True, nogil=True)
def _swap_neighbours(beta, u, visible, energy):
    """Swap the states of the even and then of the odd neighbours with the Metropolis probability."""
    for first in range(2):
        for k in range(first, energy.size - 1, 2):
            exponent = (beta[k] - beta[k + 1]) * (energy[k] - energy[k + 1])
            if exponent >= 0 or u[k] < np.exp(exponent):
                energy[k], energy[k + 1] = energy[k + 1], energy[k]
                for i in range(visible.shape[1]):
                    visible[k, i], visible[k + 1, i] = visible[k + 1, i], visible[k, i]


@njit(cache=True, nogil=True)
def _repeat(beta, bias):
    """Return beta of every unit of every chain, and beta times its bias, both flat."""
    return np.repeat(beta, bias.size), np.outer(beta, bias).ravel()


@njit(cache=True, nogil=True)
def _tempered_sweeps(W, b, c, beta, seed, trials, number, purpose, visible, samples):
    replicas, sets, chains, m = visible.shape
    n = W.shape[2]
    ends = chains * n, chains * (n + m), chains * (n + m + 1)
    u = np.empty(ends[2] + 126, W.dtype)
    hidden, hidden_activation = np.empty((chains, n), W.dtype), np.empty((chains, n), W.dtype)
    visible_activation, energy = np.empty((chains, m), W.dtype), np.empty(chains, W.dtype)
    for r in range(replicas):
        W_transposed = W[r].T.copy()
        beta_h, beta_c = _repeat(beta, c[r])
        beta_v, beta_b = _repeat(beta, b[r])
        for s in range(sets):
            v = visible[r, s]
            for sweep in range(samples.shape[2]):
                start = s * ends[2]
                at = fill_uniforms(seed, trials[r], number + np.uint64(sweep), purpose, start, start + ends[2], u)
                np.dot(v, W[r], hidden_activation)
                _sample_all(hidden_activation.ravel(), beta_h, beta_c, u[at : at + ends[0]], hidden.ravel())
                np.dot(hidden, W_transposed, visible_activation)
                _sample_all(visible_activation.ravel(), beta_v, beta_b, u[at + ends[0] : at + ends[1]], v.ravel())
                _set_energies(v, visible_activation, hidden, b[r], c[r], energy)
                _swap_neighbours(beta, u[at + ends[1] : at + ends[2]], v, energy)
                samples[r, s, sweep] = v[chains - 1]


def tempered_sweeps(W, b, c, inverse_temperatures, draw, visible, samples):
    """See `rbmbench.kernels.numpy_home.tempered_sweeps`."""
    beta = np.asarray(inverse_temperatures, W.dtype)
    _tempered_sweeps(W, b, c, beta, draw.seed, draw.trials, draw.number, draw.purpose, visible, samples)
