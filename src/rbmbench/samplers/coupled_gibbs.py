"""Pairs of Gibbs chains, one a step behind the other, coupled so that they meet and stay together.

Both chains have the law of block Gibbs sampling from one start: xi_0 = eta_0 = (v_0, h_0), xi_1 a Gibbs step from it.
From then on xi_t and eta_(t-1) are drawn together, the visible half step as `couple_visible` says, so that they are
equal from a random time tau on:

    E_model f = E [ f(xi_k) + sum_{t=k+1}^{tau-1} ( f(xi_t) - f(eta_(t-1)) ) ],     f(v) = (v p(h|v)', v, p(h|v)).

Couplings of what does not meet: "general" draws both chains independently (algorithm 1), "rbm" from common uniforms
(algorithm 3). tau is at least 2. Pairs that have met are dropped, so that a step costs what the others cost: a
population of pairs is ragged, its rows are ordered by replica, and products are taken replica by replica.

Source: Qiu, Zhang, Wang 2020, sections 3 and 4.
"""

from itertools import count
from typing import Any, NamedTuple, Protocol

import numpy as np

from rbmbench.errors import SettingsError
from rbmbench.gibbs import Buffers, hidden_mean
from rbmbench.kernels import home_of, on_host
from rbmbench.model import RBM
from rbmbench.streams import Draw, Places, Stream

__all__ = ["COUPLINGS", "CoupledGibbs", "Meetings", "Rows", "stopping_times"]

Array = Any
COUPLINGS = "general", "rbm"


class Rows(NamedTuple):
    """The pairs that a population's rows belong to: replica and chain, arrays of NumPy, int64 (rows,).

    Rows of replica r are ``bounds[r]`` to ``bounds[r + 1]``; ``places`` tells where they take their random numbers.
    """

    replica: np.ndarray
    chain: np.ndarray
    bounds: np.ndarray
    places: Places


class Terms(Protocol):
    """What receives the terms of the estimator; arrays (rows, m), (rows, n) are valid during the call."""

    def add(self, rows: Rows, visible: Array, mean: Array) -> None:
        """Take f(v) of every row, ``mean`` being p(h|v)."""

    def add_differences(self, rows: Rows, visible: Array, mean: Array, other_visible: Array, other_mean: Array) -> None:
        """Take f(v) - f(v') of every row."""


class _NoTerms:
    def add(self, *args) -> None:
        pass

    add_differences = add


class Meetings(NamedTuple):
    """What became of the pairs, arrays of NumPy, (replicas, chains).

    ``stopping_time``, int64, is tau; ``rejections``, int64, the number of proposals that were not accepted; ``forced``
    tells which pairs were taken together because they had not met by the last step.
    """

    stopping_time: np.ndarray
    rejections: np.ndarray
    forced: np.ndarray


class CoupledGibbs:
    """Coupled Gibbs chains.

    Parameters
    ----------
    coupling : {"rbm", "general"}
    k : int
        Steps before the first term, at least 1.
    max_steps : int or None
        The last step t, above k, at which pairs are taken together that have not met; None: there is none.
    antithetic : bool
        Whether chains 2 i and 2 i + 1 take u and 1 - u for every uniform u.

    Raises
    ------
    SettingsError
        If an option is not allowed.
    """

    def __init__(self, coupling: str = "rbm", k: int = 1, max_steps: int | None = 100, antithetic: bool = False):
        if coupling not in COUPLINGS:
            raise SettingsError(f"option 'coupling': found {coupling!r}; allowed: {', '.join(COUPLINGS)}")
        if not isinstance(antithetic, bool):
            raise SettingsError(f"option 'antithetic': found {antithetic!r}; allowed: true, false")
        whole = isinstance(max_steps, int) and not isinstance(max_steps, bool)
        if max_steps is not None and not (whole and max_steps > k):
            raise SettingsError(f"option 'max_steps': found {max_steps!r}; allowed: null, or an integer > k = {k}")
        self.common_uniforms, self.k, self.max_steps = coupling == "rbm", k, max_steps
        self.antithetic = antithetic
        self._buffers = Buffers()

    def run(self, rbm: RBM, start_mean: Array, stream: Stream, terms: Terms | None = None) -> Meetings:
        """Run pairs of chains from their start until all have met.

        Parameters
        ----------
        rbm : RBM
            With one leading axis of replicas.
        start_mean : array, shape (replicas, chains, n)
            p(h = 1 | v_0).
        stream : Stream
            One draw is taken, and all others from its branch.
        terms : Terms, optional
            Receives the terms of the estimator; None: only the meetings are of interest.
        """
        replicas, chains, n = start_mean.shape
        pairs = _Pairs(rbm, replicas * chains, self._buffers, stream.branch())
        rows = pairs.rows(*(index.ravel() for index in np.indices((replicas, chains))), self.antithetic)
        tally, terms = _Tally(replicas, chains), terms or _NoTerms()
        hidden = pairs.sample(rows, start_mean.reshape(-1, n), pairs.draws.next(), "hidden")
        other = pairs.visible_activation(rows, hidden, "other activation")
        visible = pairs.sample_visible(rows, other)
        mean = pairs.hidden_mean(rows, pairs.hidden_activation(rows, visible))
        if self.k == 1:
            terms.add(rows, visible, mean)
        hidden = pairs.sample(rows, mean, pairs.draws.next(), "hidden")
        activation = pairs.visible_activation(rows, hidden, "activation")
        for t in count(2):
            met, rejections = pairs.couple_visible(rows, activation, other, self.common_uniforms)
            visible, other_visible = activation, other
            gone = tally.record(rows, t, met, rejections, last=t == self.max_steps)
            if t == self.k:
                terms.add(rows, visible, pairs.hidden_mean(rows, pairs.hidden_activation(rows, visible)))
            if t >= self.k:
                rows, visible, other_visible = pairs.without(rows, gone, visible, other_visible)
            if not len(rows.replica):
                return tally.meetings()
            mean, other_mean = pairs.hidden_means(rows, visible, other_visible)
            if t > self.k:
                terms.add_differences(rows, visible, mean, other_visible, other_mean)
            hidden, other_hidden = self._hidden_half_step(pairs, rows, mean, other_mean)
            if t < self.k:  # pairs that have met are still there, and stay together
                together = np.asarray(np.flatnonzero(gone), like=hidden)
                other_hidden[together] = hidden[together]
            activation, other = pairs.visible_activations(rows, hidden, other_hidden)

    def _hidden_half_step(self, pairs: "_Pairs", rows: Rows, mean: Array, other_mean: Array) -> tuple[Array, Array]:
        """Return h ~ p(h|v) and h' ~ p(h|v'), from common uniforms or independent ones; two draws either way."""
        draw, other_draw = pairs.draws.next(), pairs.draws.next()
        hidden = pairs.sample(rows, mean, draw, "hidden")
        return hidden, pairs.sample(rows, other_mean, draw if self.common_uniforms else other_draw, "other hidden")


class _Tally:
    """When the pairs met, and what it took."""

    def __init__(self, replicas: int, chains: int):
        self._stopping_time, self._rejections = np.zeros((2, replicas, chains), np.int64)
        self._forced = np.zeros((replicas, chains), bool)

    def record(self, rows: Rows, t: int, met: np.ndarray, rejections: np.ndarray, last: bool) -> np.ndarray:
        """Note what happened at step t; return which rows are together from now on, all of them if it is the last."""
        pair = rows.replica, rows.chain
        self._rejections[pair] += rejections
        if last:
            self._forced[pair] = ~met & (self._stopping_time[pair] == 0)
            met = np.ones_like(met)
        self._stopping_time[pair] = np.where(met & (self._stopping_time[pair] == 0), t, self._stopping_time[pair])
        return met

    def meetings(self) -> Meetings:
        """Return the tally."""
        return Meetings(self._stopping_time, self._rejections, self._forced)


class _Pairs:
    """The half steps of pairs of chains, in buffers that have room for all of them."""

    def __init__(self, rbm: RBM, room: int, buffers: Buffers, draws: Stream):
        self.rbm, self.room, self.buffers, self.draws = rbm, room, buffers, draws
        self.home = home_of(rbm.W)
        self.W_transposed = buffers.get("W transposed", rbm.W.swapaxes(-1, -2).shape, rbm.W)
        self.W_transposed[...] = rbm.W.swapaxes(-1, -2)

    def rows(self, replica: np.ndarray, chain: np.ndarray, antithetic: bool) -> Rows:
        """Return rows that are ordered by replica."""
        place, mirrored = (chain // 2, chain % 2) if antithetic else (chain, 0 * chain)
        places = (np.asarray(part, like=self.rbm.W) for part in (replica, place, mirrored.astype(np.uint8)))
        return Rows(replica, chain, self._bounds(replica), Places(*places))

    def _bounds(self, replica: np.ndarray) -> np.ndarray:
        return np.searchsorted(replica, np.arange(len(self.rbm.W) + 1))

    def without(self, rows: Rows, gone: np.ndarray, *states: Array) -> tuple:
        """Return rows and states without those that are gone; the states in their own memory."""
        index = np.flatnonzero(~gone)
        if len(index) == len(gone):
            return rows, *states
        there = np.asarray(index, like=self.rbm.W)
        for array in states:
            array[: len(index)] = array[there]
        replica = rows.replica[index]
        left = Rows(replica, rows.chain[index], self._bounds(replica), rows.places.of(there))
        return left, *(array[: len(index)] for array in states)

    def _buffer(self, name: str, rows: int, units: int) -> Array:
        return self.buffers.get(name, (self.room, units), self.rbm.W)[:rows]

    def _product(self, rows: Rows, states: Array, matrix: Array, name: str) -> Array:
        """Return each row times its replica's matrix (replicas, units, other units)."""
        out = self._buffer(name, len(states), matrix.shape[-1])
        self.home.multiply_states(states, rows.bounds, matrix, out)
        return out

    def _neighbour_product(self, rows: Rows, states: Array, product: Array, others: Array, matrix, name: str) -> Array:
        """Return each row of ``others`` times its replica's matrix, given that of ``states``."""
        out = self._buffer(name, len(states), matrix.shape[-1])
        self.home.multiply_neighbours(states, product, others, rows.bounds, matrix, out)
        return out

    def visible_activation(self, rows: Rows, hidden: Array, name: str) -> Array:
        """Return W h, (rows, m), without the bias."""
        return self._product(rows, hidden, self.W_transposed, name)

    def visible_activations(self, rows: Rows, hidden: Array, other_hidden: Array) -> tuple[Array, Array]:
        """Return W h and W h', (rows, m), without the bias."""
        first = self.visible_activation(rows, hidden, "activation")
        return first, self._neighbour_product(rows, hidden, first, other_hidden, self.W_transposed, "other activation")

    def hidden_activation(self, rows: Rows, visible: Array) -> Array:
        """Return v W, (rows, n), without the bias."""
        return self._product(rows, visible, self.rbm.W, "mean")

    def hidden_mean(self, rows: Rows, activation: Array) -> Array:
        """Turn activations into p(h = 1 | v), (rows, n)."""
        self.home.mean_of_rows(activation, self.rbm.c, rows.places)
        return activation

    def hidden_means(self, rows: Rows, visible: Array, other_visible: Array) -> tuple[Array, Array]:
        """Return p(h = 1 | v) and p(h = 1 | v'), (rows, n)."""
        first = self.hidden_activation(rows, visible)
        other = self._neighbour_product(rows, visible, first, other_visible, self.rbm.W, "other mean")
        return self.hidden_mean(rows, first), self.hidden_mean(rows, other)

    def sample(self, rows: Rows, mean: Array, draw: Draw, name: str) -> Array:
        """Return states drawn from their means."""
        states = self._buffer(name, *mean.shape)
        self.home.sample_rows(mean, rows.places, draw, states)
        return states

    def sample_visible(self, rows: Rows, activation: Array) -> Array:
        """Return v ~ p(v|h), given W h, which is left as it is."""
        mean = self._buffer("visible mean", *activation.shape)
        mean[...] = activation
        self.home.mean_of_rows(mean, self.rbm.b, rows.places)
        return self.sample(rows, mean, self.draws.next(), "activation")

    def couple_visible(self, rows: Rows, activation: Array, other: Array, redraw_both: bool) -> tuple:
        """Turn activations into coupled visible states; return which pairs met, and the rejections, on the host."""
        met = np.empty_like(activation, shape=len(activation), dtype=np.uint8)
        rejections = np.empty_like(activation, shape=len(activation), dtype=np.int64)
        draw = self.draws.next()
        self.home.couple_visible(activation, other, self.rbm.b, rows.places, draw, redraw_both, met, rejections)
        return on_host(met).astype(bool), on_host(rejections)


def stopping_times(rbm: RBM, start_visible: Array, coupling: str, longest: int, stream: Stream) -> np.ndarray:
    """Return tau of pairs of chains from given visible states, int64 (replicas, chains); ``longest`` where not below.

    Parameters
    ----------
    rbm : RBM
        With one leading axis of replicas.
    start_visible : array, shape (replicas, chains, m), entries 0 or 1
    coupling : {"rbm", "general"}
    longest : int
        The step at which pairs are cut that have not met, at least 2.
    stream : Stream

    Raises
    ------
    SettingsError
        If an option is not allowed.
    """
    chains = CoupledGibbs(coupling, max_steps=longest)
    start = hidden_mean(rbm, start_visible, Buffers())
    return chains.run(rbm, start, stream).stopping_time
