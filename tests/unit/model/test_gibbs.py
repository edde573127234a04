# SPDX-License-Identifier: BSD-3-Clause
"""Half steps of block Gibbs sampling, chains and weighted statistics against a reference on the same uniforms."""

import numpy as np
import pytest
from core_helpers import expected_tosses, random_rbm, sigmoid, training_stream

from rbmbench.model.gibbs import (
    Buffers,
    Population,
    hidden_mean,
    population_statistics,
    run_chain,
    sample_hidden,
    sample_visible,
)

R, ROWS, M, N = 2, 7, 5, 3


@pytest.fixture
def rbm():
    return random_rbm(M, N, (R,), seed=4)


def rows(units, seed=0):
    return (np.random.default_rng(seed).random((R, ROWS, units)) < 0.5).astype(float)


def sampled(mean, stream):
    """Return the sample that the next draw of the stream gives for the means."""
    return (expected_tosses(stream.next(), mean[0].size).reshape(mean.shape) < mean).astype(float)


def expected_hidden_mean(rbm, visible):
    return np.stack([sigmoid(v @ W + c) for v, W, c in zip(visible, rbm.W, rbm.c, strict=True)])


def expected_visible_mean(rbm, hidden):
    return np.stack([sigmoid(h @ W.T + b) for h, W, b in zip(hidden, rbm.W, rbm.b, strict=True)])


def test_half_steps_sample_the_conditionals(rbm):
    visible, hidden, stream, other = rows(M), rows(N, 1), training_stream(R), training_stream(R)
    np.testing.assert_allclose(hidden_mean(rbm, visible, Buffers()), expected_hidden_mean(rbm, visible), rtol=1e-13)
    expected = sampled(expected_hidden_mean(rbm, visible), stream)
    np.testing.assert_array_equal(sample_hidden(rbm, visible, other, Buffers()), expected)
    expected = sampled(expected_visible_mean(rbm, hidden), stream)
    np.testing.assert_array_equal(sample_visible(rbm, hidden, other, Buffers()), expected)
    assert other.number == 2


@pytest.mark.parametrize("k", [1, 2, 5])
def test_chains_end_before_their_last_visible_half_step(rbm, k):
    visible, stream, other = rows(M), training_stream(R), training_stream(R)
    hidden_means = expected_hidden_mean(rbm, visible)
    hidden = sampled(hidden_means, stream)
    for _ in range(k - 1):
        v = sampled(expected_visible_mean(rbm, hidden), stream)
        hidden = sampled(expected_hidden_mean(rbm, v), stream)
    before = hidden_means.copy()
    np.testing.assert_array_equal(run_chain(rbm, hidden_means, k, other, Buffers()), hidden)
    assert other.number == 2 * k - 1
    np.testing.assert_array_equal(hidden_means, before)


@pytest.mark.parametrize("weights", ["none", "positive", "any sign"])
def test_population_statistics_are_weighted_sums(weights):
    rng = np.random.default_rng(0)
    visible, hidden = rows(M), rng.random((R, ROWS, N))
    w = {"none": None, "positive": rng.random((R, ROWS)), "any sign": rng.normal(size=(R, ROWS))}[weights]
    statistics = population_statistics(Population(visible, hidden, w), Buffers(), "x")
    used = np.full((R, ROWS), 1 / ROWS) if w is None else w
    for r in range(R):
        parts = [(used[r, i], visible[r, i], hidden[r, i]) for i in range(ROWS)]
        np.testing.assert_allclose(statistics.W[r], sum(w * np.outer(v, h) for w, v, h in parts), atol=1e-14)
        np.testing.assert_allclose(statistics.b[r], sum(w * v for w, v, h in parts), atol=1e-14)
        np.testing.assert_allclose(statistics.c[r], sum(w * h for w, v, h in parts), atol=1e-14)
