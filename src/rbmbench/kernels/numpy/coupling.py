# SPDX-License-Identifier: BSD-3-Clause
"""Reference kernels of half steps of coupled Gibbs chains, on rows of several replicas.

Pairs that have met are dropped, so replicas have different numbers of rows. The rows of all replicas are one array
(rows, units), and `rbmbench.base.streams.RowKeys` gives the replica of each. Parameters and draws have one entry per
replica.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from rbmbench.base.streams import ATTEMPTS, Draw, RowKeys
from rbmbench.kernels.numpy.elementary import sigmoid, softplus
from rbmbench.kernels.numpy.random import row_uniforms, toss_rows


def parts_of(bounds) -> Iterator[tuple[int, slice]]:
    """Yield each replica r that has rows, and their slice ``bounds[r]`` to ``bounds[r + 1]``."""
    for r, (first, last) in enumerate(pairwise(bounds.tolist())):
        if first < last:
            yield r, slice(first, last)


def multiply_states(states, bounds, matrix, out) -> None:
    """Write the product of each row of states (0 or 1) with the matrix of its replica.

    Parameters
    ----------
    states, out : array, shapes (rows, units), (rows, other units)
    bounds : ndarray, shape (replicas + 1,), int64
        Replica r has the rows ``bounds[r]`` to ``bounds[r + 1]`` - 1.
    matrix : array, shape (replicas, units, other units)
    """
    for r, rows in parts_of(bounds):
        np.matmul(states[rows], matrix[r], out=out[rows])


def multiply_neighbours(states, product, neighbours, bounds, matrix, out) -> None:
    """Write the products of ``neighbours`` like `multiply_states`, given the ``product`` of ``states``.

    Backends may exploit that most units of both are equal.
    """
    multiply_states(neighbours, bounds, matrix, out)


def mean_of_rows(activation, bias, keys: RowKeys) -> None:
    """Overwrite ``activation`` (rows, units) with sigmoid(activation + bias), ``bias`` (replicas, units)."""
    activation[...] = sigmoid(activation + bias[keys.replica])


def sample_rows(mean, keys: RowKeys, draw: Draw, out) -> None:
    """Write 1 with probability ``mean`` (rows, units), else 0."""
    out[...] = toss_rows(draw, keys, mean)


def couple_visible(activation, other, bias, keys: RowKeys, draw: Draw, redraw_both: bool, met, rejections) -> None:
    """Draw v ~ p(v|h) and v' ~ p(v|h') for pairs of chains by a maximal coupling, where P(v = v') is largest.

    v is drawn, and both take it with probability min(1, p(v|h') / p(v|h)). Otherwise v' is drawn until it is accepted,
    with probability 1 - min(1, p(v'|h) / p(v'|h')). With ``redraw_both``, v is drawn again as well, from the same
    uniforms, until it is accepted with probability 1 - min(1, p(v|h') / p(v|h)). Attempt t uses ``draw.attempt(t)``;
    attempt number ATTEMPTS is always accepted.

    Source: Qiu, Zhang, Wang 2020, algorithm 1 (lines 3 to 7) and, with ``redraw_both``, algorithm 3 (lines 1 to 14).

    Parameters
    ----------
    activation, other : ndarray, shape (pairs, m)
        W h and W h' without the bias; overwritten by v and v'.
    bias : ndarray, shape (replicas, m)
    keys : RowKeys
    draw : Draw
    redraw_both : bool
    met : ndarray, shape (pairs,), uint8
        Receives 1 for pairs that took the same v.
    rejections : ndarray, shape (pairs,), int64
        Receives the number of rejected states.
    """
    a, a2 = activation + bias[keys.replica], other + bias[keys.replica]
    mean, mean2, difference = sigmoid(a), sigmoid(a2), a2 - a
    normaliser = (softplus(a) - softplus(a2)).sum(axis=1, dtype=np.float64)

    def log_odds(v, rows):
        """Return log p(v|h') - log p(v|h), nats."""
        return (v * difference[rows]).sum(axis=1, dtype=np.float64) + normaliser[rows]

    v = toss_rows(draw, keys, mean)
    u, _ = row_uniforms(draw, keys)
    odds = log_odds(v, slice(None))
    met[...] = np.log(u) <= odds
    activation[...], other[...], rejections[...] = v, v, 0
    pending, pending2 = (met == 0) & redraw_both, met == 0
    for t in range(1, ATTEMPTS + 1):
        rows = np.flatnonzero(pending | pending2)
        if not len(rows):
            return
        attempt, of_rows = draw.attempt(t), keys.select(rows)
        u, u2 = row_uniforms(attempt, of_rows)
        for states, p, waits, log_u, sign in (
            (activation, mean, pending, np.log(u), 1),
            (other, mean2, pending2, np.log(u2), -1),
        ):
            v = toss_rows(attempt, of_rows, p[rows])
            accepted = (log_u > sign * log_odds(v, rows)) | (t == ATTEMPTS)
            now = waits[rows] & accepted
            states[rows[now]] = v[now]
            rejections[rows] += waits[rows] & ~accepted
            waits[rows[now]] = False
