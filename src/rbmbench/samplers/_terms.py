"""Sums of (v h', v, h) over the terms of coupled chains."""

from typing import Any, NamedTuple

import numpy as np

from rbmbench.kernels import kernels_for
from rbmbench.model.gibbs import Buffers
from rbmbench.model.rbm import Statistics


class TermArrays(NamedTuple):
    """The sums W (replicas, m, n), b (replicas, m), c (replicas, n), and rows whose products are not yet added.

    ``kept`` (replicas,), int64, is the number of such rows in ``visible`` (replicas, chains, m) and ``hidden``
    (replicas, chains, n).
    """

    W: Any
    b: Any
    c: Any
    visible: Any
    hidden: Any
    kept: np.ndarray


class TermSums:
    """Sums of the terms f(v) and f(v) - f(v') of every replica, f(v) = (v p(h|v)', v, p(h|v)).

    A difference is v (p(h|v) - p(h|v'))' + (v - v') p(h|v')'. Rows of the first part are collected and added by one
    product per replica; the second part is nonzero for few units.
    """

    def __init__(self):
        self._buffers = Buffers()

    def clear(self, rbm, chains: int) -> None:
        """Set the sums to zero, for this number of chains per replica."""
        replicas, m, n = rbm.W.shape
        self._kernels, self._chains = kernels_for(rbm.W), chains
        self._product = self._buffers.get("product", (m, n), rbm.W)
        shapes = rbm.W.shape, rbm.b.shape, rbm.c.shape, (replicas, chains, m), (replicas, chains, n)
        parts = (self._buffers.get(name, shape, rbm.W) for name, shape in zip(TermArrays._fields, shapes, strict=False))
        self.arrays = TermArrays(*parts, np.zeros(replicas, np.int64))
        for total in self.arrays[:3]:
            total[...] = 0

    def add(self, rows, visible, mean) -> None:
        """Add f(v) of all pairs; see `rbmbench.samplers.coupled_gibbs.Terms`."""
        self._keep(rows, visible, mean)
        self.arrays.b[...] += visible.reshape(self.arrays.visible.shape).sum(axis=1)

    def add_differences(self, rows, visible, mean, other_visible, other_mean) -> None:
        """Add f(v) - f(v'); see `rbmbench.samplers.coupled_gibbs.Terms`."""
        self._keep(rows, visible, mean - other_mean)
        W, b = self.arrays.W, self.arrays.b
        self._kernels.add_products_of_differences(visible, other_visible, rows.bounds, other_mean, W, b)

    def _keep(self, rows, visible, hidden) -> None:
        """Collect rows; flush replicas whose rows do not fit."""
        counts, kept = np.diff(rows.bounds), self.arrays.kept
        for r in np.flatnonzero(kept + counts > self._chains):
            self._flush(r)
        first_index = np.arange(len(counts)) * self._chains + kept - rows.bounds[:-1]
        index = np.asarray(first_index[rows.replica] + np.arange(len(visible)), like=visible)
        self.arrays.visible.reshape(-1, visible.shape[1])[index] = visible
        self.arrays.hidden.reshape(-1, hidden.shape[1])[index] = hidden
        kept += counts

    def _flush(self, r: int) -> None:
        W, _, c, visible, hidden, kept = (part[r] for part in self.arrays)
        visible, hidden = visible[:kept], hidden[:kept]
        W += np.matmul(visible.T, hidden, out=self._product)
        c += hidden.sum(axis=0)
        self.arrays.kept[r] = 0

    def mean(self) -> Statistics:
        """Return the sums divided by the number of chains, in reusable buffers."""
        for r in range(len(self.arrays.kept)):
            self._flush(r)
        sums = Statistics(*self.arrays[:3])
        for total in sums:
            total /= total.dtype.type(self._chains)
        return sums
