# SPDX-License-Identifier: BSD-3-Clause
"""Coupled chains, run until all pairs have met, in one call.

The last pairs to meet are few, and calling kernels for one or two rows would dominate their cost. So the loop over the
steps is compiled as well, replica by replica. It takes the same random numbers as the readable form
(`rbmbench.samplers.coupled_gibbs`) and adds terms like `rbmbench.samplers._terms`.
"""

from itertools import pairwise

import numpy as np

from rbmbench.kernels import ways
from rbmbench.kernels.numba.compiling import compiled
from rbmbench.kernels.numba.coupling import copy_row, couple_in_room, make_room, mean_of_some_rows, sample_in_room
from rbmbench.kernels.numba.differences import multiply_some_neighbours, multiply_some_states
from rbmbench.kernels.numba.products import multiply_within

GENERAL, BOTH_LAYERS = 0, 2  # numbers of couplings
# The draws of a step: hidden states of either chain, and the visible states of both.
OTHER_HIDDEN, VISIBLE, A_STEP = np.uint64(1), np.uint64(2), np.uint64(3)


@compiled()
def _flush(way, sums, r):
    """Add the product of the kept rows of a replica to its sums."""
    visible, hidden = sums.visible[r, : sums.kept[r]], sums.hidden[r, : sums.kept[r]]
    product = np.empty_like(sums.W[r])
    multiply_within(way, visible, np.bool_(True), hidden, product)
    sums.W[r] += product
    for row in range(sums.kept[r]):
        for j in range(hidden.shape[1]):
            sums.c[r, j] += hidden[row, j]
    sums.kept[r] = 0


@compiled(allocates=False)
def _keep(sums, r, visible, mean, sign):
    """Keep rows v and p(h|v), times 1 or -1."""
    rows, first = visible.shape[0], sums.kept[r]
    kept_visible, kept_hidden, total = sums.visible[r, first:], sums.hidden[r, first:], sums.b[r]
    for row in range(rows):
        for j in range(mean.shape[1]):
            kept_hidden[row, j] = sign * mean[row, j]
        for i in range(visible.shape[1]):
            kept_visible[row, i] = visible[row, i]
            total[i] += sign * visible[row, i]
    sums.kept[r] += rows


@compiled(allocates=False)
def _count(rejected, pair, rejections):
    for row in range(rejected.size):
        rejections[pair[row]] += rejected[row]


@compiled(allocates=False)
def _drop_met(met, visible, other, row_id, mirrored, pair):
    """Move the pairs that have not met to the front; return their number."""
    count = 0
    for row in range(met.size):
        if not met[row]:
            if count < row:
                copy_row(visible[row], visible[count])
                copy_row(other[row], other[count])
                row_id[count], mirrored[count], pair[count] = row_id[row], mirrored[row], pair[row]
            count += 1
    return count


@compiled(allocates=False)
def _hidden_half_step(room, coupling, mean, mean2, c, replica, row_id, mirrored, draw, h, h2, met, rejected):
    """Draw h and h', and overwrite the activations ``mean`` and ``mean2`` with means."""
    seed, trials, number, purpose = draw
    rejected[:] = 0
    if coupling == BOTH_LAYERS:
        copy_row(mean.reshape(-1), h.reshape(-1))
        copy_row(mean2.reshape(-1), h2.reshape(-1))
        couple_in_room(
            room, h, h2, c, replica, row_id, mirrored, seed, trials, number, purpose, coupling != GENERAL, met, rejected
        )
    mean_of_some_rows(mean, c, replica)
    mean_of_some_rows(mean2, c, replica)
    if coupling != BOTH_LAYERS:
        of_other = number + OTHER_HIDDEN if coupling == GENERAL else number
        sample_in_room(room, mean, replica, row_id, mirrored, seed, trials, number, purpose, h)
        sample_in_room(room, mean2, replica, row_id, mirrored, seed, trials, of_other, purpose, h2)


@compiled()
def _follow_replica(r, visible, other, keys, model, words, way, t, last, coupling, sums, tau, rejections):
    seed, trials, number, purpose = words
    count, n, kind = visible.shape[0], model.c.shape[1], visible.dtype
    one = kind.type(1)
    mean, other_mean = np.empty((count, n), kind), np.empty((count, n), kind)
    hidden, other_hidden = np.empty((count, n), kind), np.empty((count, n), kind)
    of_visible, of_hidden = make_room(count, visible.shape[1], visible), make_room(count, n, visible)
    met, rejected, bounds = np.empty(count, np.uint8), np.empty(count, np.int64), np.zeros(2, np.int64)
    replica, row_id, mirrored, pair = keys[0], keys[1].copy(), keys[2].copy(), np.arange(count)
    W, W_transposed = model.W[r : r + 1], model.W_transposed[r : r + 1]
    while count and t < last:
        v, v2, p, p2, h, h2 = (
            visible[:count], other[:count], mean[:count], other_mean[:count], hidden[:count], other_hidden[:count],
        )  # fmt: skip
        bounds[1] = count
        rows, ids, mirrors = replica[:count], row_id[:count], mirrored[:count]
        multiply_some_states(way, v, bounds, W, p)
        multiply_some_neighbours(way, v, p, v2, bounds, W, p2)
        draw = seed, trials, number, purpose
        _hidden_half_step(
            of_hidden, coupling, p, p2, model.c, rows, ids, mirrors, draw, h, h2, met[:count], rejected[:count]
        )
        _count(rejected[:count], pair, rejections)
        if sums.kept[r] + 2 * count > sums.visible.shape[1]:
            _flush(way, sums, r)
        _keep(sums, r, v, p, one)
        _keep(sums, r, v2, p2, -one)
        multiply_some_states(way, h, bounds, W_transposed, v)
        multiply_some_neighbours(way, h, v, h2, bounds, W_transposed, v2)
        t += 1
        redraw_both = coupling != GENERAL
        couple_in_room(
            of_visible, v, v2, model.b, rows, ids, mirrors, seed, trials, number + VISIBLE, purpose, redraw_both,
            met[:count], rejected[:count],
        )  # fmt: skip
        _count(rejected[:count], pair, rejections)
        number += A_STEP
        for row in range(count):
            tau[pair[row]] = t if met[row] else 0
        count = _drop_met(met[:count], v, v2, row_id, mirrored, pair)


def follow_pairs(visible, other, bounds, keys, model, draw, t, last, coupling, sums):
    """Run pairs of chains from step t until all have met, or to step ``last``, and add up their terms.

    See `rbmbench.samplers._pairs.Pairs.follow`. ``visible`` and ``other`` (pairs, m) are v and v' at step t >= 1, and
    are overwritten; replica r has the pairs ``bounds[r]`` to ``bounds[r + 1]`` - 1. ``draw`` is the next draw; each
    step takes three. ``sums``, `rbmbench.samplers._terms.TermArrays`, are changed in place.
    """
    tau, rejections = np.zeros((2, len(visible)), np.int64)
    words = draw.seed, draw.trials, draw.number, draw.purpose
    way = ways.number()
    # Not compiled: a compiled loop would take seconds more, since all its callees are optimised again.
    for r, (start, stop) in enumerate(pairwise(bounds)):
        if start < stop:
            span = slice(start, stop)
            of_replica = keys.replica[span], keys.row_id[span], keys.mirrored[span]
            _follow_replica(
                r, visible[span], other[span], of_replica, model, words, way, t, last, coupling, sums, tau[span],
                rejections[span],
            )  # fmt: skip
    return tau, rejections
