# SPDX-License-Identifier: BSD-3-Clause
"""Pairs of Gibbs chains with a lag of one step, coupled so that they meet and stay together.

Both chains are block Gibbs chains from the same start xi_0 = eta_0 = (v_0, h_0), and xi_1 is one Gibbs step from it.
Then xi_t and eta_(t-1) are drawn jointly, the visible half step by `couple_visible`, so that they are equal from a
random time tau on:

    E_model f = E [ f(xi_k) + sum_{t=k+1}^{tau-1} ( f(xi_t) - f(eta_(t-1)) ) ],     f(v) = (v p(h|v)', v, p(h|v)).

Couplings: states that do not meet are independent in "general" (algorithm 1), and use common uniforms in "rbm"
(algorithm 3); in both, chains meet only in visible half steps. "both_layers" couples the hidden half step like the
visible one, and chains meet sooner. "from_start" couples the first hidden states as well: h_1 ~ p(h|v_1) of xi, and a
new state h'_0 ~ p(h|v_0) of eta, where the other couplings keep h'_0 = h_0; the authors' program (cdtau, src/mcmc.h)
draws its pairs so. tau is at least 2.

Pairs that have met are dropped. So replicas have different numbers of rows, which are ordered by replica, and products
are computed replica by replica.

Source: Qiu, Zhang, Wang 2020, sections 3 and 4.
"""

from itertools import count
from typing import NamedTuple, get_args

import numpy as np

from rbmbench.base.errors import SettingsError
from rbmbench.base.registry import positive_integer, truth_value
from rbmbench.base.settings import MOST_STEPS, Coupling
from rbmbench.base.streams import ATTEMPTS, Stream
from rbmbench.kernels import Array, contiguous
from rbmbench.model.gibbs import Buffers, Population, hidden_mean
from rbmbench.model.rbm import RBM, check_replicas, check_shape
from rbmbench.model.rows import binary_states
from rbmbench.samplers._pairs import Pairs, Rows

COUPLINGS = get_args(Coupling)


class Terms:
    """Receiver of the terms of the estimator; derived classes override the methods, which do nothing here.

    The arrays (rows, m), (rows, n) are valid during the call. Each term comes twice: by its means as soon as v is
    known, and by its hidden states as the chains continue, for receivers that need f(v, h).

    Compiled code adds differences to ``arrays`` directly, see `rbmbench.samplers._terms.TermArrays`; None forbids it.
    """

    arrays: tuple | None = None

    def add(self, rows: Rows, visible: Array, mean: Array) -> None:
        """Add f(v) of each row; ``mean`` is p(h|v)."""

    def add_differences(self, rows: Rows, visible: Array, mean: Array, other_visible: Array, other_mean: Array) -> None:
        """Add f(v) - f(v') of each row."""

    def add_states(self, rows: Rows, hidden: Array, activation: Array) -> None:
        """Take the hidden states of a term and W h, (rows, m), without the bias."""

    def add_state_differences(
        self, rows: Rows, hidden: Array, activation: Array, other_hidden: Array, other_activation: Array
    ) -> None:
        """Take the hidden states of a difference, and W h and W h'."""


class Meetings(NamedTuple):
    """Outcome of the pairs, NumPy arrays, (replicas, chains).

    ``stopping_time``, int64, is tau; ``rejections``, int64, the number of rejected proposals of all half steps;
    ``forced``, bool, marks pairs that had not met by the last step and were merged.
    """

    stopping_time: np.ndarray
    rejections: np.ndarray
    forced: np.ndarray

    @property
    def truncated(self) -> np.ndarray:
        """Pairs with as many rejections as one half step may have, after which any proposal is taken: bool."""
        return self.rejections >= ATTEMPTS - 1


class CoupledGibbs:
    """Coupled Gibbs chains.

    Parameters
    ----------
    coupling : {"rbm", "general", "both_layers", "from_start"}
    k : int
        Steps before the first term, at least 1.
    max_steps : int or None
        Last step, above k, at which pairs that have not met are merged; None for no limit.
    antithetic : bool
        Whether chains 2 i and 2 i + 1 use u and 1 - u for each uniform u.

    Raises
    ------
    SettingsError
        If an option is not allowed.
    """

    def __init__(self, coupling: str = "rbm", k: int = 1, max_steps: int | None = 100, antithetic: bool = False):
        if coupling not in COUPLINGS:
            raise SettingsError(f"option 'coupling': must be one of {', '.join(COUPLINGS)}, got {coupling!r}")
        k = positive_integer("k", k)
        whole = isinstance(max_steps, int | np.integer) and not isinstance(max_steps, bool)
        if max_steps is not None and not (whole and k < max_steps <= MOST_STEPS):
            allowed = f"null, or an integer > k = {k}, at most {MOST_STEPS}"
            raise SettingsError(f"option 'max_steps': must be {allowed}, got {max_steps!r}")
        self.coupling, self.k, self.max_steps = coupling, k, max_steps
        self._of_steps = "both_layers" if coupling == "from_start" else coupling
        self.antithetic = truth_value("antithetic", antithetic)
        self._buffers = Buffers()

    def run(
        self, rbm: RBM, start: Population, stream: Stream, terms: Terms | None = None, first_chain: int = 0
    ) -> Meetings:
        """Run pairs of chains until all have met; ``terms`` receives the terms of the estimator.

        The RBM has one leading axis of replicas; ``start`` is v_0, (replicas, chains, m), and p(h = 1 | v_0),
        (replicas, chains, n). One draw of the stream is taken, and its branch is used. The random numbers of a chain
        depend on its number, counted from ``first_chain``, so that chains may be run in parts. Raises a `SettingsError`
        if the start has another shape.
        """
        check_replicas(rbm)
        start_visible, start_mean = (contiguous(array, rbm.W.dtype, rbm.W) for array in start[:2])
        replicas, m, n = rbm.W.shape
        check_shape("start.visible", start_visible, replicas, "chains", m)
        chains = start_visible.shape[1]
        check_shape("start.hidden", start_mean, replicas, chains, n)
        pairs = Pairs(rbm, replicas * chains, self._buffers, stream.branch())
        rows = pairs.rows(*(index.ravel() for index in np.indices((replicas, chains))), self.antithetic, first_chain)
        tally, terms = _Tally(replicas, chains), terms or Terms()
        hidden = pairs.sample(rows, start_mean.reshape(-1, n), pairs.draws.next(), "hidden")
        other = pairs.visible_activation(rows, hidden, "other activation")
        visible = pairs.sample_visible(rows, other)
        if self.coupling == "from_start":
            start_visible = start_visible.reshape(-1, rbm.visible_units)
            hidden, other_hidden, mean, _, rejections = self._hidden_half_step(pairs, rows, visible, start_visible)
            tally.add(rows, rejections)
            other = pairs.visible_activation(rows, other_hidden, "other activation")
        else:
            mean = pairs.hidden_mean(rows, pairs.hidden_activation(rows, visible))
            hidden = pairs.sample(rows, mean, pairs.draws.next(), "hidden")
        if self.k == 1:
            terms.add(rows, visible, mean)
        activation = pairs.visible_activation(rows, hidden, "activation")
        if self.k == 1:
            terms.add_states(rows, hidden, activation)
        for t in count(2):
            met, rejections = pairs.couple_visible(rows, activation, other, self.coupling != "general")
            visible, other_visible = activation, other
            gone = tally.record(rows, t, met, rejections, last=t == self.max_steps)
            if t == self.k:
                terms.add(rows, visible, pairs.hidden_mean(rows, pairs.hidden_activation(rows, visible)))
            if t > self.k:
                rows, visible, other_visible = pairs.without(rows, gone, visible, other_visible)
            if not len(rows.replica):
                return tally.meetings()
            if t > self.k and pairs.can_be_followed(terms.arrays):
                steps, coupling = (t, self.max_steps), COUPLINGS.index(self._of_steps)
                followed = pairs.follow(rows, visible, other_visible, *steps, coupling, terms.arrays)
                return tally.ended(rows, *followed, self.max_steps)
            step = self._hidden_half_step(pairs, rows, visible, other_visible)
            hidden, other_hidden, mean, other_mean, rejections = step
            tally.add(rows, rejections)
            if t > self.k:
                terms.add_differences(rows, visible, mean, other_visible, other_mean)
            else:  # pairs that have met are not dropped before all have drawn the h of their first term
                together = np.asarray(np.flatnonzero(gone), like=hidden)
                other_hidden[together] = hidden[together]
            activation, other = pairs.visible_activations(rows, hidden, other_hidden)
            if t == self.k:
                terms.add_states(rows, hidden, activation)
            elif t > self.k:
                terms.add_state_differences(rows, hidden, activation, other_hidden, other)

    def _hidden_half_step(self, pairs: Pairs, rows: Rows, visible: Array, other_visible: Array) -> tuple:
        """Return h and h', p(h|v) and p(h|v'), and the rejections; takes two draws for all couplings."""
        draw, other_draw = pairs.draws.next(), pairs.draws.next()
        activations = pairs.hidden_activations(rows, visible, other_visible)
        if self._of_steps == "both_layers":
            *states, rejections = pairs.couple_hidden(rows, *activations, draw)
            return *states, *(pairs.hidden_mean(rows, activation) for activation in activations), rejections
        means = [pairs.hidden_mean(rows, activation) for activation in activations]
        draws = draw, draw if self.coupling == "rbm" else other_draw
        names = "hidden", "other hidden"
        return *map(pairs.sample, [rows, rows], means, draws, names), *means, 0


class _Tally:
    def __init__(self, replicas: int, chains: int):
        self._stopping_time, self._rejections = np.zeros((2, replicas, chains), np.int64)
        self._forced = np.zeros((replicas, chains), bool)

    def record(self, rows: Rows, t: int, met: np.ndarray, rejections: np.ndarray, last: bool) -> np.ndarray:
        """Record the outcome of step t; return whether each row has met, true for all at the last step."""
        pair = rows.replica, rows.chain
        self._rejections[pair] += rejections
        if last:
            self._forced[pair] = ~met & (self._stopping_time[pair] == 0)
            met = np.ones_like(met)
        self._stopping_time[pair] = np.where(met & (self._stopping_time[pair] == 0), t, self._stopping_time[pair])
        return met

    def add(self, rows: Rows, rejections: np.ndarray | int) -> None:
        self._rejections[rows.replica, rows.chain] += rejections

    def ended(self, rows: Rows, stopping_time: np.ndarray, rejections: np.ndarray, last: int | None) -> Meetings:
        """Record the outcome of pairs run to their end (stopping time 0 if they have not met); return all meetings."""
        pair = rows.replica, rows.chain
        self._rejections[pair] += rejections
        self._forced[pair] = stopping_time == 0
        self._stopping_time[pair] = np.where(stopping_time == 0, last or 0, stopping_time)
        return self.meetings()

    def meetings(self) -> Meetings:
        return Meetings(self._stopping_time, self._rejections, self._forced)


def stopping_times(
    rbm: RBM, start_visible: Array, coupling: str, longest: int, stream: Stream, first_chain: int = 0
) -> np.ndarray:
    """Return tau of pairs of chains from given visible states, at most ``longest``: int64 (replicas, chains).

    ``start_visible`` (replicas, chains, m) holds 0 and 1. Pairs that have not met after step ``longest``, at least 2,
    are cut off. For ``first_chain`` see `CoupledGibbs.run`. Raises a `SettingsError` if an option is not allowed, a
    `DataError` if the states are not 0 and 1.
    """
    check_replicas(rbm)
    chains = CoupledGibbs(coupling, max_steps=positive_integer("longest", longest, 2, MOST_STEPS))
    start_visible = binary_states(start_visible, "start", 3, rbm.visible_units)
    check_shape("start", start_visible, len(rbm.W), "chains", rbm.visible_units)
    start_visible = contiguous(start_visible, rbm.W.dtype, rbm.W)
    start = Population(start_visible, hidden_mean(rbm, start_visible, Buffers()))
    return chains.run(rbm, start, stream, first_chain=first_chain).stopping_time
