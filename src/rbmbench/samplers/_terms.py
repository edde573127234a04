# SPDX-License-Identifier: BSD-3-Clause
"""Sums of (v h', v, h) over the terms of coupled chains."""

from typing import NamedTuple

import numpy as np

from rbmbench.kernels import Array, kernels_for
from rbmbench.kernels.numpy.coupling import parts_of
from rbmbench.model.gibbs import Buffers
from rbmbench.model.rbm import Statistics
from rbmbench.samplers.coupled_gibbs import Terms


class TermArrays(NamedTuple):
    """The sums W (replicas, m, n), b (replicas, m), c (replicas, n), and rows whose products are not yet added.

    ``kept`` (replicas,), int64, is the number of such rows in ``visible`` (replicas, room, m) and ``hidden``
    (replicas, room, n), with room for two rows of each chain.
    """

    W: Array
    b: Array
    c: Array
    visible: Array
    hidden: Array
    kept: np.ndarray


class TermSums(Terms):
    """Sums of the terms f(v) and f(v) - f(v') of every replica, f(v) = (v p(h|v)', v, p(h|v)).

    Rows v and p(h|v), and v' and -p(h|v'), are collected, and added by one product of binary states per replica.
    """

    arrays: TermArrays

    def __init__(self):
        self._buffers = Buffers()

    def clear(self, rbm, chains: int) -> None:
        """Set the sums to zero, for this number of chains per replica."""
        replicas, m, n = rbm.W.shape
        self._kernels, self._chains = kernels_for(rbm.W), chains
        self._product = self._buffers.get("product", (1, m, n), rbm.W)
        shapes = rbm.W.shape, rbm.b.shape, rbm.c.shape, (replicas, 2 * chains, m), (replicas, 2 * chains, n)
        parts = (self._buffers.get(name, shape, rbm.W) for name, shape in zip(TermArrays._fields, shapes, strict=False))
        self.arrays = TermArrays(*parts, np.zeros(replicas, np.int64))
        for total in self.arrays[:3]:
            total[...] = 0

    def add(self, rows, visible, mean) -> None:
        self._keep(rows, visible, mean)
        self._add_visible(rows, visible)

    def add_differences(self, rows, visible, mean, other_visible, other_mean) -> None:
        self._keep(rows, visible, mean)
        self._keep(rows, other_visible, -other_mean)
        self._add_visible(rows, visible - other_visible)

    def _add_visible(self, rows, visible) -> None:
        for r, replica_rows in parts_of(rows.bounds):
            self.arrays.b[r] += visible[replica_rows].sum(axis=0)

    def _keep(self, rows, visible, hidden) -> None:
        counts, kept = np.diff(rows.bounds), self.arrays.kept
        room = self.arrays.visible.shape[1]
        for r in np.flatnonzero(kept + counts > room):
            self._flush(r)
        first_index = np.arange(len(counts)) * room + kept - rows.bounds[:-1]
        index = np.asarray(first_index[rows.replica] + np.arange(len(visible)), like=visible)
        self.arrays.visible.reshape(-1, visible.shape[1])[index] = visible
        self.arrays.hidden.reshape(-1, hidden.shape[1])[index] = hidden
        kept += counts

    def _flush(self, r: int) -> None:
        W, _, c, visible, hidden, kept = (array[r] for array in self.arrays)
        visible, hidden = visible[:kept], hidden[:kept]
        self._kernels.multiply_binary(visible.T[None], hidden[None], self._product)
        W += self._product[0]
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
