"""The variance of the negative phase of the gradient, estimated from the chains of one estimate.

The estimate of one chain is a signed sum of terms, F = sum_t s_t f(v_t), f(v) = (v p(h|v)', v, p(h|v)); CD and PCD have
one term. For each part of f, over N chains,

    V = E || F - E F ||^2  is estimated by  ( sum_i || F_i ||^2 - N || mean of F ||^2 ) / (N - 1),

summed over the entries; the variance of the mean over chains is V / N. || F_i ||^2 is computed without F_i:

    || sum_t s_t v_t h_t' ||^2 = sum_{t,u} s_t s_u (v_t'v_u) (h_t'h_u).

Source: Qiu, Zhang, Wang 2020, appendix C.
"""

from typing import Any

import numpy as np

from rbmbench.kernels import on_host
from rbmbench.model.gibbs import Buffers, Population, population_statistics
from rbmbench.model.rbm import Statistics

Array = Any


def population_variances(population: Population, buffers: Buffers) -> dict[str, Array]:
    """Return the diagnostics gradient_variance_W, _b and _c, (replicas,), of a population without weights."""
    mean = population_statistics(population, buffers, "variance")
    visible, hidden = (_squares(part) for part in population[:2])
    return _variances(Statistics(visible * hidden, visible, hidden), mean)


def _squares(rows: Array) -> Array:
    """Return the squared norms along the last axis, float64."""
    return (rows * rows).sum(axis=-1, dtype=np.float64)


def _variances(squares: Statistics, mean: Statistics) -> dict[str, Array]:
    """Return the variances from the squared norms of the chains (replicas, chains) and their mean."""
    found = {}
    for name, of_chains, part in zip(("W", "b", "c"), squares, mean, strict=True):
        chains = of_chains.shape[1]
        of_mean = _squares(part.reshape(len(part), -1))
        found[f"gradient_variance_{name}"] = (of_chains.sum(axis=1) - chains * of_mean) / max(1, chains - 1)
    return found


class TermRecord:
    """Record of the terms of coupled chains, which are passed on to ``sums``."""

    arrays = None  # compiled code would not record the terms

    def __init__(self, sums, replicas: int, chains: int):
        self._sums, self._shape = sums, (replicas, chains)
        self._pair, self._sign, self._visible, self._signed_hidden = [], [], [], []

    def add(self, rows, visible, mean) -> None:
        """See `rbmbench.samplers.coupled_gibbs.Terms`."""
        self._keep(rows, visible, mean, 1)
        self._sums.add(rows, visible, mean)

    def add_differences(self, rows, visible, mean, other_visible, other_mean) -> None:
        """See `rbmbench.samplers.coupled_gibbs.Terms`."""
        self._keep(rows, visible, mean, 1)
        self._keep(rows, other_visible, other_mean, -1)
        self._sums.add_differences(rows, visible, mean, other_visible, other_mean)

    def _keep(self, rows, visible, mean, sign: int) -> None:
        self._pair.append(rows.replica * self._shape[1] + rows.chain)
        self._sign.append(np.full(len(visible), sign))
        self._visible.append(visible.copy())
        self._signed_hidden.append(mean * mean.dtype.type(sign))

    def variances(self, mean: Statistics) -> dict[str, np.ndarray]:
        """Return the diagnostics like `population_variances`, given the mean over the chains."""
        pair, sign = np.concatenate(self._pair), np.concatenate(self._sign)
        order, counts = np.argsort(pair, kind="stable"), np.bincount(pair)
        starts = np.cumsum(counts) - counts
        visible, signed_hidden = np.concatenate(self._visible), np.concatenate(self._signed_hidden)
        squares = np.empty((3, len(counts)))
        for terms in np.unique(counts):
            chosen = np.flatnonzero(counts == terms)
            index = order[starts[chosen][:, None] + np.arange(terms)]
            kept = np.asarray(index, like=visible)
            squares[:, chosen] = _squares_of_sums(visible[kept], signed_hidden[kept], sign[index])
        of_chains = Statistics(*squares.reshape(3, *self._shape))
        return _variances(of_chains, Statistics(*(on_host(part) for part in mean)))


def _squares_of_sums(visible: Array, signed_hidden: Array, sign: np.ndarray) -> list[np.ndarray]:
    """Return || sum_t s_t v_t h_t' ||^2, || sum_t s_t v_t ||^2, || sum_t s_t h_t ||^2 for each chain.

    Shapes (chains, terms, m), (chains, terms, n), (chains, terms).
    """
    of_visible, of_hidden = (on_host(part @ part.swapaxes(-1, -2)) for part in (visible, signed_hidden))
    signs = sign[:, :, None] * sign[:, None, :]
    products = of_visible * of_hidden, of_visible * signs, of_hidden
    return [product.sum(axis=(-2, -1), dtype=np.float64) for product in products]
