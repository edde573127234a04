# SPDX-License-Identifier: BSD-3-Clause
"""Populations of states and half steps of block Gibbs sampling, in reusable buffers.

All functions take RBMs with exactly one leading axis of replicas. An array from `Buffers` is valid until the same name
is requested again; copy it to keep it longer.
"""

from collections.abc import Hashable
from typing import NamedTuple

import numpy as np

from rbmbench.base.streams import Stream
from rbmbench.kernels import Array, chain_kernels, contiguous, kernels_for
from rbmbench.kernels.threads import divide_rows
from rbmbench.model.rbm import RBM, Statistics


class Buffers:
    """Reusable arrays by name, so that a training step allocates no memory."""

    def __init__(self):
        self._arrays: dict[Hashable, Array] = {}

    def get(self, name: Hashable, shape: tuple, like: Array, dtype=None) -> Array:
        """Return the array of this name, uninitialised if it is new or its shape or type has changed.

        It has the array type of ``like``, and its dtype if ``dtype`` is None.
        """
        dtype = like.dtype if dtype is None else np.dtype(dtype)
        array = self._arrays.get(name)
        if array is None or array.shape != shape or array.dtype != dtype:
            array = self._arrays[name] = np.empty(shape, dtype, like=like)
        return array

    def ones(self, shape: tuple, like: Array) -> Array:
        """Return an array of ones, which must not be written to."""
        array = self._arrays.get(("ones", shape))
        if array is None or array.dtype != like.dtype:
            array = self._arrays["ones", shape] = 1 + np.zeros(shape, like.dtype, like=like)
        return array


def states_like(parameter: Array, states: Array) -> Array:
    """Return states (replicas, rows, units) with the array type and dtype of a parameter, rows of a replica in C order.

    States that are so are not copied, including those of one replica that are broadcast to all.
    """
    if type(states) is type(parameter) and states.dtype == parameter.dtype and states[:1].flags.c_contiguous:
        return states
    return contiguous(states, parameter.dtype, parameter)


class Population(NamedTuple):
    """Weighted rows whose weighted sum of (v h', v, h) estimates an expectation.

    ``visible`` (replicas, rows, m) and ``hidden`` (replicas, rows, n) hold states or conditional means; products are
    fastest if the visible ones are states. ``weights`` (replicas, rows) may have any sign; None means equal
    weights 1 / rows.
    """

    visible: Array
    hidden: Array
    weights: Array | None = None


class PhaseSums(NamedTuple):
    """Sums over the rows of a population, and their factor: statistics = scale * sums."""

    sums: Statistics
    scale: float


def population_sums(population: Population, buffers: Buffers, name: Hashable) -> PhaseSums:
    """Return the weighted sums of (v h', v, h) over the rows of each replica, in buffers for ``name``.

    Without weights, rows are summed as they are, with the scale 1 / rows, which saves a pass over them.
    """
    visible, hidden, weights = population
    replicas, rows, m = visible.shape
    n = hidden.shape[-1]
    W = buffers.get((name, "W"), (replicas, m, n), hidden)
    b = buffers.get((name, "b"), (replicas, 1, m), hidden)
    c = buffers.get((name, "c"), (replicas, 1, n), hidden)
    weighted, scale = hidden, 1.0
    if weights is None:
        weights, scale = buffers.ones((replicas, rows), hidden), 1.0 / rows
    else:
        weighted = buffers.get((name, "weighted hidden"), hidden.shape, hidden)
        np.multiply(hidden, weights[..., None], out=weighted)
    kernels = kernels_for(W)
    kernels.multiply_binary(visible.swapaxes(-1, -2), weighted, W)
    kernels.sum_rows(weights, visible, b)
    kernels.sum_rows(weights, hidden, c)
    return PhaseSums(Statistics(W, b[:, 0], c[:, 0]), scale)


def population_statistics(population: Population, buffers: Buffers, name: Hashable) -> Statistics:
    """Return sum_i w_i (v_i h_i', v_i, h_i) for each replica, in buffers for ``name``."""
    sums, scale = population_sums(population, buffers, name)
    if scale != 1:
        for total in sums:
            total *= total.dtype.type(scale)
    return sums


def hidden_activation(rbm: RBM, visible: Array, buffers: Buffers) -> Array:
    """Return v W, (replicas, rows, n), without the bias."""
    out = buffers.get("hidden activation", (*visible.shape[:-1], rbm.hidden_units), rbm.W)
    kernels_for(out).multiply_binary(visible, rbm.W, out)
    return out


def visible_activation(rbm: RBM, hidden: Array, buffers: Buffers) -> Array:
    """Return W h, (replicas, rows, m), without the bias."""
    out = buffers.get("visible activation", (*hidden.shape[:-1], rbm.visible_units), rbm.W)
    kernels_for(out).multiply_binary(hidden, rbm.W.swapaxes(-1, -2), out)
    return out


def visible_mean(rbm: RBM, hidden: Array, buffers: Buffers, name: Hashable = "visible mean") -> Array:
    """Return p(v = 1 | h), (replicas, rows, m)."""
    out = buffers.get(name, (*hidden.shape[:-1], rbm.visible_units), rbm.W)
    kernels = kernels_for(out)
    kernels.multiply_binary(hidden, rbm.W.swapaxes(-1, -2), out)
    kernels.bernoulli_mean(out, rbm.b)
    return out


def hidden_mean(rbm: RBM, visible: Array, buffers: Buffers, name: Hashable = "hidden mean") -> Array:
    """Return p(h = 1 | v), (replicas, rows, n)."""
    out = buffers.get(name, (*visible.shape[:-1], rbm.hidden_units), rbm.W)
    kernels = kernels_for(out)
    kernels.multiply_binary(visible, rbm.W, out)
    kernels.bernoulli_mean(out, rbm.c)
    return out


def sample_hidden(rbm: RBM, visible: Array, stream: Stream, buffers: Buffers) -> Array:
    """Return h ~ p(h | v), (replicas, rows, n); one draw of the stream."""
    activation = hidden_activation(rbm, visible, buffers)
    kernels_for(activation).sample_bernoulli(activation, rbm.c, stream.next())
    return activation


def sample_visible(rbm: RBM, hidden: Array, stream: Stream, buffers: Buffers) -> Array:
    """Return v ~ p(v | h), (replicas, rows, m); one draw of the stream."""
    activation = visible_activation(rbm, hidden, buffers)
    kernels_for(activation).sample_bernoulli(activation, rbm.b, stream.next())
    return activation


def run_chain(rbm: RBM, start_mean: Array, k: int, stream: Stream, buffers: Buffers) -> Array:
    """Return h^(k-1), (replicas, rows, n), the hidden states before the k-th visible half step of Gibbs chains.

    ``start_mean`` (replicas, rows, n) is p(h = 1 | v^(0)). The caller completes the last of the k >= 1 steps. 2 k - 1
    draws of the stream are taken.
    """
    return _half_steps(rbm, start_mean, 2 * k - 2, stream, buffers)


def end_of_chain(rbm: RBM, start_mean: Array, k: int, stream: Stream, buffers: Buffers) -> Array:
    """Return v^(k), (replicas, rows, m), the visible states after k >= 1 steps, see `run_chain`; 2 k draws."""
    return _half_steps(rbm, start_mean, 2 * k - 1, stream, buffers)


def _half_steps(rbm: RBM, start_mean: Array, count: int, stream: Stream, buffers: Buffers) -> Array:
    hidden = buffers.get("hidden activation", start_mean.shape, rbm.W)
    chains = chain_kernels(hidden)
    kernels_for(hidden).sample(start_mean, stream.next(), hidden)
    if chains and chains.takes(start_mean.shape[1], count, rbm.W):
        return _half_steps_at_once(chains, rbm, hidden, count, stream, buffers)
    return _half_steps_in_turn(rbm, hidden, count, stream, buffers)


def _half_steps_in_turn(rbm: RBM, states: Array, count: int, stream: Stream, buffers: Buffers) -> Array:
    for step in range(count):
        states = (sample_hidden if step % 2 else sample_visible)(rbm, states, stream, buffers)
    return states


def _half_steps_at_once(chains, rbm: RBM, hidden: Array, count: int, stream: Stream, buffers: Buffers) -> Array:
    shape, draw = (*hidden.shape[:-1], rbm.visible_units), stream.take(count)
    out = buffers.get(("chain", count % 2), shape if count % 2 else hidden.shape, rbm.W)

    def run(part: int, begin: int, end: int) -> Array:
        sizes = enumerate(chains.memory_sizes(end - begin, *rbm.W.shape[1:]))
        memory = tuple(buffers.get(("memory of chains", part, k), (size,), hidden, np.int16) for k, size in sizes)
        return chains.run(*rbm.parameters, draw, count, memory, (begin, end), hidden, out)

    done = divide_rows(run, hidden.shape[1])[0]
    for r in np.flatnonzero(~done):
        restarted = Stream(draw.seed, draw.trials[r : r + 1], draw.purpose, draw.number)
        out[r] = _half_steps_in_turn(rbm[r : r + 1], hidden[r : r + 1].copy(), count, restarted, buffers)[0]
    return out
