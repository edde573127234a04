# SPDX-License-Identifier: BSD-3-Clause
"""Coupling kernels of all backends against the algorithms of the paper."""

from functools import cache

import numpy as np
import pytest
from backends import BACKENDS, DTYPES
from core_helpers import expected_tosses, sigmoid, words_of

from rbmbench.base.streams import ATTEMPTS, Draw, RowKeys, Stream
from rbmbench.kernels import kernels_for
from rbmbench.kernels import numpy as numpy_kernels
from rbmbench.kernels.numpy.random import row_uniforms, toss_rows

COMPILED = pytest.mark.skipif(kernels_for(np.empty(0)) is numpy_kernels, reason="Numba is not installed")
UNITS = pytest.mark.parametrize("units", [1, 5, 67, 131, 1097])
REPLICAS, ROWS = 3, 29


def keys(seed=1):
    """Return keys in no order, half of them mirrored; replica 1 has no rows."""
    rng = np.random.default_rng(seed)
    replica = np.sort(rng.choice([0, 2], ROWS))
    return RowKeys(replica, rng.permutation(101)[:ROWS].astype(np.int64), rng.integers(0, 2, ROWS).astype(np.uint8))


def draw():
    return Stream(2018, [4, 9, 11], purpose=2, number=5).branch().next()


def uniforms_of_rows(draw, where, units):
    """Return the uniform of every unit, float64 (rows, units)."""
    uniforms = expected_tosses(draw, int((where.row_id.max() + 1) * units))
    u = np.stack([uniforms[r, p * units : (p + 1) * units] for r, p in zip(where.replica, where.row_id, strict=True)])
    return np.where(where.mirrored[:, None] == 1, 1 - u, u)


def two_uniforms(draw, where):
    """Return the two uniforms of every row, float64 (2, rows): words 0 and 1 of the block of its row_id."""
    words = words_of(draw, where.row_id.astype(np.uint64), flip=1 << 30)
    u = (words[where.replica, :2, np.arange(ROWS)].T + 0.5) / 2**32
    return np.where(where.mirrored == 1, 1 - u, u)


def activations(units, dtype, distance=0.7, seed=3):
    """Return two activations a row that lie close to each other, equal in row 3, and biases."""
    rng = np.random.default_rng(seed)
    a = rng.normal(0, 2, (ROWS, units))
    other = a + rng.normal(0, distance / np.sqrt(units), a.shape)
    other[3] = a[3]
    return a.astype(dtype), other.astype(dtype), rng.normal(size=(REPLICAS, units)).astype(dtype)


def log_probability(v, p):
    return (v * np.log(p) + (1 - v) * np.log1p(-p)).sum()


def means(units, dtype):
    """Return p and p' of `activations`, float64 (rows, units)."""
    a, other, bias = activations(units, dtype)
    return [sigmoid(x.astype(np.float64) + bias[keys().replica]) for x in (a, other)]


@cache
def coupled_by_hand(units, dtype, redraw_both):
    """Return (v, v', met, rejections) of algorithms 1 and 3 of Qiu, Zhang, Wang, row by row."""
    (p, p2), where, results = means(units, dtype), keys(), []

    @cache
    def uniforms(t):
        return uniforms_of_rows(draw().attempt(t), where, units)

    for row in range(ROWS):

        def propose(means, t, row=row):
            return (uniforms(t)[row] < means[row]).astype(float)

        def log_ratio(v, row=row):
            return log_probability(v, p2[row]) - log_probability(v, p[row])

        v = propose(p, 0)
        if np.log(two_uniforms(draw(), where)[0, row]) <= log_ratio(v):
            results.append((v, v, 1, 0))
            continue
        v2, rejections, t = None, 0, 0
        if redraw_both:
            v = None
        while v is None or v2 is None:
            t += 1
            u, u2 = np.log(two_uniforms(draw().attempt(t), where)[:, row])
            if v is None:
                proposal = propose(p, t)
                v, rejections = (proposal, rejections) if u > log_ratio(proposal) else (None, rejections + 1)
            if v2 is None:
                proposal = propose(p2, t)
                v2, rejections = (proposal, rejections) if u2 > -log_ratio(proposal) else (None, rejections + 1)
        results.append((v, v2, 0, rejections))
    return [np.array(part) for part in zip(*results, strict=True)]


def coupled(kernels, a, other, bias, where, redraw_both, at=None):
    """Return the result of `couple_visible` on copies."""
    a, other, met, rejections = a.copy(), other.copy(), np.full(ROWS, 7, np.uint8), np.full(ROWS, -1)
    kernels.couple_visible(a, other, bias, where, at or draw(), redraw_both, met, rejections)
    return a, other, met, rejections


@BACKENDS
@DTYPES
@pytest.mark.parametrize(
    ("units", "redraw_both"), [(1, True), (5, False), (67, True), (67, False), (131, True), (1097, False)]
)
def test_pairs_are_those_of_the_algorithms_of_the_paper(kernels, dtype, units, redraw_both):
    # With this seed no uniform lies so close to its bound that rounding decides, in either type.
    (a, other, bias), where = activations(units, dtype), keys()
    expected = coupled_by_hand(units, dtype, redraw_both)
    for array, wanted in zip(coupled(kernels, a, other, bias, where, redraw_both), expected, strict=True):
        np.testing.assert_array_equal(array, wanted)
    met = expected[2] == 1
    assert met[3]
    assert 0 < met.sum() < ROWS
    assert units == 1 or (expected[0][~met] != expected[1][~met]).any(axis=1).all()


@BACKENDS
@DTYPES
def test_rows_do_not_depend_on_other_rows(kernels, dtype):
    (a, other, bias), where = activations(67, dtype), keys()
    whole = coupled(kernels, a, other, bias, where, True)
    rows = np.array([2, 3, 11, 23])
    v, v2, met, rejections = a[rows], other[rows], np.empty(4, np.uint8), np.empty(4, np.int64)
    kernels.couple_visible(v, v2, bias, where.select(rows), draw(), True, met, rejections)
    for selected, all_rows in zip((v, v2, met, rejections), whole, strict=True):
        np.testing.assert_array_equal(selected, all_rows[rows])


@BACKENDS
@DTYPES
def test_extreme_activations_give_states(kernels, dtype):
    rng, where = np.random.default_rng(4), keys()
    a, other = (rng.choice([-200.0, -90.0, -1.0, 0.0, 90.0, 200.0], (ROWS, 67)).astype(dtype) for _ in range(2))
    other[: ROWS // 2] = a[: ROWS // 2]
    bias = np.zeros((REPLICAS, 67), dtype)
    v, v2, met, _ = coupled(kernels, a, other, bias, where, True)
    assert set(np.unique([v, v2])) == {0, 1}
    np.testing.assert_array_equal(v[np.abs(a) == 200], a[np.abs(a) == 200] > 0)
    np.testing.assert_array_equal(v2[np.abs(other) == 200], other[np.abs(other) == 200] > 0)
    assert met[: ROWS // 2].all()
    assert not met[ROWS // 2 :].any()


@BACKENDS
@DTYPES
@UNITS
def test_rows_are_sampled_from_their_means(kernels, dtype, units):
    (a, _, bias), where = activations(units, dtype), keys()
    mean = a.copy()
    kernels.mean_of_rows(mean, bias, where)
    expected = sigmoid(a + bias[where.replica])
    np.testing.assert_allclose(mean, expected, rtol=2e-6 if dtype == np.float32 else 1e-14)
    states = np.full_like(mean, np.nan)
    kernels.sample_rows(mean, where, draw(), states)
    np.testing.assert_array_equal(states, uniforms_of_rows(draw(), where, units) < mean)


@pytest.mark.parametrize("few_differ", [False, True])
@BACKENDS
@DTYPES
def test_products_of_states(kernels, dtype, few_differ):
    rng, m, n = np.random.default_rng(5), 31, 23
    bounds = np.array([0, 2, 2, 15, ROWS])  # few rows, none, many
    states = (rng.random((ROWS, m)) < 0.4).astype(dtype)
    neighbours = np.abs(states - (rng.random((ROWS, m)) < (0.1 if few_differ else 0.5))).astype(dtype)
    matrix = rng.normal(size=(4, m, n)).astype(dtype)
    replica = np.repeat(np.arange(4), np.diff(bounds))
    expected, expected_other = (np.einsum("im,imn->in", s.astype(float), matrix[replica]) for s in (states, neighbours))
    product, other = np.full((2, ROWS, n), np.nan, dtype)
    tolerance = {"rtol": 0, "atol": 2e-5 if dtype == np.float32 else 1e-13}
    kernels.multiply_states(states, bounds, matrix, product)
    np.testing.assert_allclose(product, expected, **tolerance)
    kernels.multiply_neighbours(states, product, neighbours, bounds, matrix, other)
    np.testing.assert_allclose(other, expected_other, **tolerance)


@COMPILED
def test_rejection_sampling_ends():
    # Only 1 of 50 000 proposals is accepted: with one unit, P(0|h') is less than P(0|h) by 2e-5.
    rows, gap = 300_007, 2e-5
    pairs = RowKeys(np.zeros(rows, np.int64), np.arange(rows), np.zeros(rows, np.uint8))
    start = Draw(np.uint32(5), np.array([1], np.uint32), np.uint32(2), np.uint64(3))
    rejected = row_uniforms(start, pairs)[0] > 1 - 2 * gap
    where = pairs.select(np.flatnonzero(rejected & (toss_rows(start, pairs, np.full((rows, 1), 0.5))[:, 0] == 0)))
    count = len(where.row_id)
    assert count > 3
    a, other = np.zeros((count, 1)), np.full((count, 1), np.log((0.5 + gap) / (0.5 - gap)))
    met, rejections = np.ones(count, np.uint8), np.full(count, -1)
    kernels_for(a).couple_visible(a, other, np.zeros((1, 1)), where, start, False, met, rejections)
    assert not met.any()
    assert rejections.max() == ATTEMPTS - 1
    # Accepted proposals have the state that h' gives more often; after the last attempt either is possible.
    assert (other[rejections < ATTEMPTS - 1] == 1).all()


def test_attempts_and_branches_have_their_own_numbers():
    stream = Stream(7, [1, 2], purpose=3, number=11)
    branch = stream.branch()
    assert stream.number == 12
    first, second = branch.next(), branch.next()
    assert (int(first.number), int(second.number)) == (11 << 32, (11 << 32) + 1)
    purposes = {int(d.purpose) for d in (first, first.attempt(1), first.attempt(ATTEMPTS), stream.next())}
    assert len(purposes) == 4
    assert first.attempt(0) == first
    # Kernels use the two highest bits for refinements and for the uniforms of rows.
    assert max(purposes) < 1 << 30
