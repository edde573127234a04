"""Sums of (v h', v, h) over terms that come a few at a time."""

import numpy as np

from rbmbench.gibbs import Buffers
from rbmbench.kernels import home_of
from rbmbench.model import Statistics

__all__ = ["TermSums"]


class TermSums:
    """Sums of the terms f(v) and f(v) - f(v') of every replica, f(v) = (v p(h|v)', v, p(h|v)).

    A difference is v (p(h|v) - p(h|v'))' + (v - v') p(h|v')'. The first part is kept until a replica has as many rows
    of it as it has chains, and then added by one product; the second is nonzero for few units.
    """

    def __init__(self):
        self._buffers = Buffers()

    def clear(self, rbm, chains: int) -> None:
        """Begin anew, for as many chains a replica."""
        replicas, m, n = rbm.W.shape
        self._home, self._chains = home_of(rbm.W), chains
        self._kept = np.zeros(replicas, np.int64)
        self._visible = self._buffers.get("visible", (replicas, chains, m), rbm.W)
        self._hidden = self._buffers.get("hidden", (replicas, chains, n), rbm.W)
        self._product = self._buffers.get("product", (m, n), rbm.W)
        parts = zip(("W", "b", "c"), (rbm.W, rbm.b, rbm.c), strict=True)
        self._sums = Statistics(*(self._buffers.get(name, part.shape, part) for name, part in parts))
        for total in self._sums:
            total[...] = 0

    def add(self, rows, visible, mean) -> None:
        """Add f(v) of all pairs; see `rbmbench.samplers.coupled_gibbs.Terms`."""
        self._keep(rows, visible, mean)
        self._sums.b[...] += visible.reshape(self._visible.shape).sum(axis=1)

    def add_differences(self, rows, visible, mean, other_visible, other_mean) -> None:
        """Add f(v) - f(v'); see `rbmbench.samplers.coupled_gibbs.Terms`."""
        self._keep(rows, visible, mean - other_mean)
        W, b, _ = self._sums
        self._home.add_products_of_differences(visible, other_visible, rows.bounds, other_mean, W, b)

    def _keep(self, rows, visible, hidden) -> None:
        """Keep rows, in memory that is flushed where they do not fit."""
        counts = np.diff(rows.bounds)
        for r in np.flatnonzero(self._kept + counts > self._chains):
            self._flush(r)
        first_place = np.arange(len(counts)) * self._chains + self._kept - rows.bounds[:-1]
        place = np.asarray(first_place[rows.replica] + np.arange(len(visible)), like=visible)
        self._visible.reshape(-1, visible.shape[1])[place] = visible
        self._hidden.reshape(-1, hidden.shape[1])[place] = hidden
        self._kept += counts

    def _flush(self, r: int) -> None:
        """Add the product of a replica's kept rows to its sums."""
        kept, self._kept[r] = slice(int(self._kept[r])), 0
        visible, hidden = self._visible[r, kept], self._hidden[r, kept]
        self._sums.W[r] += np.matmul(visible.T, hidden, out=self._product)
        self._sums.c[r] += hidden.sum(axis=0)

    def mean(self) -> Statistics:
        """Return the sums over the number of chains, in buffers that are used again."""
        for r in range(len(self._kept)):
            self._flush(r)
        for total in self._sums:
            total /= total.dtype.type(self._chains)
        return self._sums
