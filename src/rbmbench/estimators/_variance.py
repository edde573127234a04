# SPDX-License-Identifier: BSD-3-Clause
"""The variance of the negative phase of the gradient, estimated from the chains of one estimate.

It is that of the paper's estimator, which has the states (v, h) of a chain in place of v alone:

    F = sum_t s_t f(v_t, h_t),     f(v, h) = (g h', g, h),     g = p(v|h) = sigma(W h + b),

with s_t = 1 and -1 for the terms of UCD; CD and PCD have one term, h ~ p(h|v) at the end of the chain. The estimate
itself is the mean of (v p(h|v)', v, p(h|v)), which has the same expectation, and another variance. For each part of f,
over N chains,

    V = E || F - E F ||^2  is estimated by  ( sum_i || F_i ||^2 - N || mean of F ||^2 ) / (N - 1),

summed over the entries; the variance of the mean over chains is V / N. || F_i ||^2 is computed without F_i:

    || sum_t s_t g_t h_t' ||^2 = sum_{t,u} s_t s_u (g_t'g_u) (h_t'h_u).

Source: Qiu, Zhang, Wang 2020, section 4 (f) and appendix C (V).
Shapes: chains (replicas, N, m) and (replicas, N, n); of coupled chains (terms, m) and (terms, n), in any order.
"""

from copy import copy

import numpy as np

from rbmbench.base.streams import Stream
from rbmbench.kernels import Array, kernels_for, on_host
from rbmbench.model.gibbs import Buffers, sample_hidden, visible_mean
from rbmbench.model.rbm import RBM, Statistics
from rbmbench.samplers.coupled_gibbs import Terms


def population_variances(rbm: RBM, visible: Array, stream: Stream, buffers: Buffers) -> dict[str, Array]:
    """Return the diagnostics gradient_variance_W, _b and _c, (replicas,), of chains that end at ``visible``.

    The stream is not advanced: the run continues as it would without the diagnostics.
    """
    hidden = sample_hidden(rbm, visible, copy(stream).branch(), buffers)
    means = visible_mean(rbm, hidden, buffers, "variance")
    chains = hidden.dtype.type(hidden.shape[1])
    # Kernels for products of binary states would round the means.
    mean = Statistics(means.swapaxes(-1, -2) @ hidden / chains, means.mean(axis=1), hidden.mean(axis=1))
    visible_squares, hidden_squares = _squares(means), _squares(hidden)
    return _variances(Statistics(visible_squares * hidden_squares, visible_squares, hidden_squares), mean)


def _squares(rows: Array) -> Array:
    return (rows * rows).sum(axis=-1, dtype=np.float64)


def _variances(squares: Statistics, mean: Statistics) -> dict[str, Array]:
    """Return the variances from the squared norms of the chains (replicas, chains) and their mean."""
    diagnostics = {}
    for name, norms, total in zip(("W", "b", "c"), squares, mean, strict=True):
        chains = norms.shape[1]
        mean_norm = _squares(total.reshape(len(total), -1))
        spread = norms.sum(axis=1) - chains * mean_norm
        diagnostics[f"gradient_variance_{name}"] = spread / (chains - 1) if chains > 1 else spread * np.nan
    return diagnostics


class TermRecord(Terms):
    """Record of g, h and signs of the terms of coupled chains; the means of the terms are passed on to ``sums``."""

    def __init__(self, sums: Terms, rbm: RBM, chains: int):
        self._sums, self._bias, self._shape = sums, rbm.b, (len(rbm.b), chains)
        self._pair, self._sign, self._visible, self._hidden = [], [], [], []

    def add(self, rows, visible, mean) -> None:
        self._sums.add(rows, visible, mean)

    def add_differences(self, rows, visible, mean, other_visible, other_mean) -> None:
        self._sums.add_differences(rows, visible, mean, other_visible, other_mean)

    def add_states(self, rows, hidden, activation) -> None:
        self._keep(rows, hidden, activation, 1)

    def add_state_differences(self, rows, hidden, activation, other_hidden, other_activation) -> None:
        self._keep(rows, hidden, activation, 1)
        self._keep(rows, other_hidden, other_activation, -1)

    def _keep(self, rows, hidden, activation, sign: int) -> None:
        visible = activation.copy()
        kernels_for(visible).mean_of_rows(visible, self._bias, rows.keys)
        self._pair.append(rows.replica * self._shape[1] + rows.chain)
        self._sign.append(np.full(len(visible), sign))
        self._visible.append(visible)
        self._hidden.append(hidden.copy())

    def variances(self) -> dict[str, np.ndarray]:
        """Return the diagnostics like `population_variances`."""
        pair, sign = np.concatenate(self._pair), np.concatenate(self._sign)
        visible, hidden = np.concatenate(self._visible), np.concatenate(self._hidden)
        order, counts = np.argsort(pair, kind="stable"), np.bincount(pair)
        starts = np.cumsum(counts) - counts
        squares = np.empty((3, len(counts)))
        for terms in np.unique(counts):
            chosen = np.flatnonzero(counts == terms)
            index = order[starts[chosen][:, None] + np.arange(terms)]
            kept = np.asarray(index, like=visible)
            squares[:, chosen] = _squares_of_sums(visible[kept], hidden[kept], sign[index])
        replicas, chains = self._shape
        replica_terms = np.split(order, starts[chains::chains])
        sums = [_sums(*(array[np.asarray(i, like=array)] for array in (visible, hidden, sign))) for i in replica_terms]
        mean = Statistics(*(np.stack(parts) / chains for parts in zip(*sums, strict=True)))
        return _variances(Statistics(*squares.reshape(3, replicas, chains)), mean)


def _squares_of_sums(visible: Array, hidden: Array, sign: np.ndarray) -> list[np.ndarray]:
    """Return || sum_t s_t g_t h_t' ||^2, || sum_t s_t g_t ||^2, || sum_t s_t h_t ||^2 for each chain.

    Shapes (chains, terms, m), (chains, terms, n), (chains, terms).
    """
    visible_products, hidden_products = (on_host(states @ states.swapaxes(-1, -2)) for states in (visible, hidden))
    signs = sign[:, :, None] * sign[:, None, :]
    products = visible_products * hidden_products * signs, visible_products * signs, hidden_products * signs
    return [product.sum(axis=(-2, -1), dtype=np.float64) for product in products]


def _sums(visible: Array, hidden: Array, sign: np.ndarray) -> list[np.ndarray]:
    """Return the sums of s_t g_t h_t', s_t g_t and s_t h_t over all terms, from (terms, m), (terms, n), (terms,)."""
    signs = np.asarray(sign, like=visible).astype(visible.dtype)
    sums = (visible * signs[:, None]).T @ hidden, signs @ visible, signs @ hidden
    return [on_host(total) for total in sums]
