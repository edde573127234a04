# SPDX-License-Identifier: BSD-3-Clause
"""Half steps of pairs of Gibbs chains, with rows that are dropped when a pair has met."""

from typing import NamedTuple

import numpy as np

from rbmbench.base.streams import Draw, RowKeys, Stream
from rbmbench.kernels import Array, kernels_for, on_host, pair_kernels
from rbmbench.model.gibbs import Buffers
from rbmbench.model.rbm import RBM


class Model(NamedTuple):
    """Parameters: W (replicas, m, n) and its transpose, both contiguous, b (replicas, m), c (replicas, n)."""

    W: Array
    W_transposed: Array
    b: Array
    c: Array


class Rows(NamedTuple):
    """Replica and chain of each row, NumPy arrays, int64 (rows,), and the random keys of the rows.

    Replica r has the rows ``bounds[r]`` to ``bounds[r + 1]`` - 1.
    """

    replica: np.ndarray
    chain: np.ndarray
    bounds: np.ndarray
    keys: RowKeys


class Pairs:
    """Half steps of pairs of chains, in buffers with room for all pairs."""

    def __init__(self, rbm: RBM, room: int, buffers: Buffers, draws: Stream):
        draws.take(0).check(len(rbm.W))
        self.room, self.buffers, self.draws = room, buffers, draws
        self.kernels = kernels_for(rbm.W)
        W_transposed = buffers.get("W transposed", rbm.W.swapaxes(-1, -2).shape, rbm.W)
        W_transposed[...] = rbm.W.swapaxes(-1, -2)
        self.model = Model(rbm.W, W_transposed, rbm.b, rbm.c)

    def rows(self, replica: np.ndarray, chain: np.ndarray, antithetic: bool, first_chain: int = 0) -> Rows:
        """Return the rows of these replicas and chains, ordered by replica; keys count chains from ``first_chain``."""
        number = chain + first_chain
        row_id, mirrored = (number // 2, number % 2) if antithetic else (number, 0 * number)
        keys = (np.asarray(key, like=self.model.W) for key in (replica, row_id, mirrored.astype(np.uint8)))
        return Rows(replica, chain, self._bounds(replica), RowKeys(*keys))

    def _bounds(self, replica: np.ndarray) -> np.ndarray:
        return np.searchsorted(replica, np.arange(len(self.model.W) + 1))

    def without(self, rows: Rows, gone: np.ndarray, *states: Array) -> tuple:
        """Return rows and states without those that are ``gone``; states are moved within their memory."""
        index = np.flatnonzero(~gone)
        if len(index) == len(gone):
            return rows, *states
        kept = np.asarray(index, like=self.model.W)
        for array in states:
            array[: len(index)] = array[kept]
        replica = rows.replica[index]
        remaining = Rows(replica, rows.chain[index], self._bounds(replica), rows.keys.select(kept))
        return remaining, *(array[: len(index)] for array in states)

    def _buffer(self, name: str, rows: int, units: int) -> Array:
        return self.buffers.get(name, (self.room, units), self.model.W)[:rows]

    def _product(self, rows: Rows, states: Array, matrix: Array, name: str) -> Array:
        """Return the product of each row with the matrix of its replica, (replicas, units, other units)."""
        out = self._buffer(name, len(states), matrix.shape[-1])
        self.kernels.multiply_states(states, rows.bounds, matrix, out)
        return out

    def _neighbour_product(self, rows: Rows, states: Array, product: Array, other: Array, matrix, name: str) -> Array:
        """Return the product of each row of ``other`` with the matrix of its replica, given that of ``states``."""
        out = self._buffer(name, len(states), matrix.shape[-1])
        self.kernels.multiply_neighbours(states, product, other, rows.bounds, matrix, out)
        return out

    def visible_activation(self, rows: Rows, hidden: Array, name: str) -> Array:
        """Return W h, (rows, m), without the bias."""
        return self._product(rows, hidden, self.model.W_transposed, name)

    def visible_activations(self, rows: Rows, hidden: Array, other_hidden: Array) -> tuple[Array, Array]:
        """Return W h and W h', (rows, m), without the bias."""
        first, matrix = self.visible_activation(rows, hidden, "activation"), self.model.W_transposed
        return first, self._neighbour_product(rows, hidden, first, other_hidden, matrix, "other activation")

    def hidden_activation(self, rows: Rows, visible: Array) -> Array:
        """Return v W, (rows, n), without the bias."""
        return self._product(rows, visible, self.model.W, "mean")

    def hidden_mean(self, rows: Rows, activation: Array) -> Array:
        """Overwrite activations with p(h = 1 | v), (rows, n)."""
        self.kernels.mean_of_rows(activation, self.model.c, rows.keys)
        return activation

    def hidden_activations(self, rows: Rows, visible: Array, other_visible: Array) -> tuple[Array, Array]:
        """Return v W and v' W, (rows, n), without the bias."""
        first = self.hidden_activation(rows, visible)
        return first, self._neighbour_product(rows, visible, first, other_visible, self.model.W, "other mean")

    def sample(self, rows: Rows, mean: Array, draw: Draw, name: str) -> Array:
        """Return states sampled from their means."""
        states = self._buffer(name, *mean.shape)
        self.kernels.sample_rows(mean, rows.keys, draw, states)
        return states

    def sample_visible(self, rows: Rows, activation: Array) -> Array:
        """Return v ~ p(v|h), given W h, which is not changed."""
        mean = self._buffer("visible mean", *activation.shape)
        mean[...] = activation
        self.kernels.mean_of_rows(mean, self.model.b, rows.keys)
        return self.sample(rows, mean, self.draws.next(), "activation")

    def couple_visible(self, rows: Rows, activation: Array, other: Array, redraw_both: bool) -> tuple:
        """Overwrite activations with coupled visible states; return whether pairs met, and rejections (on the host)."""
        return self._couple(rows, activation, other, self.model.b, self.draws.next(), redraw_both)

    def couple_hidden(self, rows: Rows, activation: Array, other: Array, draw: Draw) -> tuple:
        """Return coupled hidden states and the rejections; the activations are not changed."""
        hidden = self._buffer("hidden", *activation.shape)
        other_hidden = self._buffer("other hidden", *activation.shape)
        hidden[...], other_hidden[...] = activation, other
        return hidden, other_hidden, self._couple(rows, hidden, other_hidden, self.model.c, draw, True)[1]

    def _couple(self, rows: Rows, activation: Array, other: Array, bias: Array, draw: Draw, redraw_both: bool) -> tuple:
        met = np.empty(len(activation), np.uint8, like=activation)
        rejections = np.empty(len(activation), np.int64, like=activation)
        self.kernels.couple_visible(activation, other, bias, rows.keys, draw, redraw_both, met, rejections)
        return on_host(met).astype(bool), on_host(rejections)

    def can_be_followed(self, sums: tuple | None) -> bool:
        """Return whether compiled code can run the pairs to their end, see `follow`."""
        return sums is not None and pair_kernels(self.model.W) is not None

    def follow(self, rows: Rows, visible, other_visible, t: int, last: int | None, coupling: int, sums) -> tuple:
        """Run pairs from step t until they meet, at most to step ``last``, and add up their terms.

        ``coupling`` is an index into `rbmbench.samplers.coupled_gibbs.COUPLINGS`. Returns the steps at which the pairs
        met (0 if they have not) and the rejections, int64 (rows,).
        """
        last = np.iinfo(np.int64).max if last is None else last
        states, draw = (visible, other_visible, rows.bounds, rows.keys), self.draws.next()
        return pair_kernels(visible).follow_pairs(*states, self.model, draw, t, last, coupling, sums)
