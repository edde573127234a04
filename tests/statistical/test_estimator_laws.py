# SPDX-License-Identifier: BSD-3-Clause
"""Expectations of estimators against enumeration of all outcomes, consistency of population estimates."""

import numpy as np
import pytest
from core_helpers import (
    Enumerated,
    binary_data,
    holds,
    random_rbm,
    repeated,
    total_variation,
    total_variation_bound,
    training_stream,
    two_mode_rbm,
)
from scipy.stats import norm

from rbmbench import estimators
from rbmbench.model.gibbs import Buffers, population_statistics

ERROR_RATE = 1e-4  # of every test in this file, Bonferroni over its components


def two_sided(components):
    """Return the standard normal bound that one of the components exceeds at ERROR_RATE."""
    return norm.isf(ERROR_RATE / components / 2)


def negative_statistics(name, rbm, batch, **options):
    """Return the negative statistics of one estimate per replica, (replicas, P)."""
    estimator = estimators.create(name, **options)
    estimate = estimator.estimate(rbm, batch, {}, training_stream(len(batch), seed=2018))
    return population_statistics(estimate.negative, Buffers(), "negative").flat()


class Outcomes:
    """All (v^(k-1), h^(k-1), v^(k)) of a chain from one row, with probabilities, as flat arrays of state numbers."""

    def __init__(self, table, row, k):
        start = np.zeros(len(table.visible))
        start[table.numbers_of(row)] = 1
        before = start @ np.linalg.matrix_power(table.gibbs, k - 1)
        probability = before[:, None, None] * table.hidden_given_visible[:, :, None] * table.visible_given_hidden[None]
        self.before, self.hidden, self.visible = (index.ravel() for index in np.indices(probability.shape))
        self.probability = probability.ravel()


def log_weights(name, table, outcome, other):
    """Return the log weight of an outcome (before, hidden, visible) paired with another, by the paper's formulas."""
    (u, h, v), (_, h2, _) = outcome, other
    if name == "pop_cd_joint":
        return np.logaddexp.reduce(-table.energy, axis=0)[h] - np.log(table.hidden_given_visible[u, h])
    proposal = table.visible_given_hidden[h, v]
    if name == "pop_cd_mixture":
        proposal = (proposal + table.visible_given_hidden[h2, v]) / 2
    return np.logaddexp.reduce(-table.energy, axis=1)[v] - np.log(proposal)


def weights(name, log_odds):
    """Return the weight of an outcome whose log weight exceeds that of the other by ``log_odds``."""
    if name == "cd":
        return np.full_like(log_odds, 0.5)
    # Equation 9 for two rows: half of a weight over the other; equation 8: a weight over their sum.
    return np.exp(log_odds) / 2 if name == "pop_cd_leave_one_out" else 1 / (1 + np.exp(-log_odds))


def enumerated_expectation(name, table, rows, k):
    """Return the expectation of an estimate from two rows, over all pairs of outcomes of their chains."""
    outcomes, other = (Outcomes(table, row, k) for row in rows)
    first = outcomes.before[:, None], outcomes.hidden[:, None], outcomes.visible[:, None]
    second = other.before[None], other.hidden[None], other.visible[None]
    log_odds = log_weights(name, table, first, second) - log_weights(name, table, second, first)
    chance = outcomes.probability[:, None] * other.probability[None]
    of_first, of_second = chance * weights(name, log_odds), chance * weights(name, -log_odds)
    return of_first.sum(axis=1) @ table.f[outcomes.visible] + of_second.sum(axis=0) @ table.f[other.visible]


TINY = [(2, 1, 1), (2, 1, 2), (3, 2, 1)]
TWO_ROWS = ["cd", "pop_cd", "pop_cd_leave_one_out", "pop_cd_joint", "pop_cd_mixture"]


def tiny(m, n):
    """Return a tiny RBM, its tables, and two training rows that differ."""
    rbm = two_mode_rbm(m, n, coupling=6.0)
    rows = np.zeros((2, m))
    rows[1, 0] = rows[0, -1] = 1
    return rbm, Enumerated.of(rbm), rows


@pytest.mark.parametrize(("m", "n", "k"), TINY)
@pytest.mark.parametrize("name", TWO_ROWS)
def test_expectation_of_two_rows_is_the_enumerated_one(name, m, n, k):
    rbm, table, rows = tiny(m, n)
    expected = enumerated_expectation(name, table, rows, k)
    replicas = 40_009
    estimates = negative_statistics(name, repeated(rbm, replicas), np.repeat(rows[None], replicas, axis=0), k=k)
    z = (estimates.mean(axis=0) - expected) / (estimates.std(axis=0, ddof=1) / np.sqrt(replicas))
    assert np.abs(z).max() < two_sided(len(z))
    # The test has power: with one step, expectations of all estimators differ from that of the model.
    error = estimates.std(axis=0, ddof=1) / np.sqrt(replicas)
    assert k > 1 or (np.abs(estimates.mean(axis=0) - table.expectation) / error).max() > two_sided(len(z))


M, N, ROWS = 5, 3, 2**16


def weighted_mean_and_error(name, rbm, **options):
    """Return the estimate from ROWS rows and its standard errors by the delta method, (P,) each."""
    data = np.repeat(binary_data(29, M), -(-ROWS // 29), axis=0)[None, :ROWS].astype(float)
    estimator = estimators.create(name, **options)
    negative = estimator.estimate(rbm.replicas, data, {}, training_stream(1, seed=7)).negative
    visible, hidden = negative.visible[0], negative.hidden[0]
    outer = (visible[:, :, None] * hidden[:, None, :]).reshape(ROWS, -1)
    f = np.concatenate([outer, visible, hidden], axis=1)
    w = np.full(ROWS, 1 / ROWS) if negative.weights is None else negative.weights[0]
    mean = w @ f
    return mean, np.sqrt((w**2) @ (f - mean) ** 2)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("pop_cd", {"k": 1}),
        ("pop_cd", {"k": 2}),
        ("pop_cd_joint", {"k": 1}),
        ("pop_cd_joint", {"k": 2}),
        ("pop_cd_leave_one_out", {"k": 1}),
        ("pop_cd_mixture", {"k": 1, "tau": 2}),
        ("pop_cd_mixture", {"k": 2, "tau": 8}),
    ],
)
def test_population_estimates_are_consistent_and_cd_is_not(name, options):
    # The bias of the self-normalised estimate, of order 1 / ROWS, is a fiftieth of its standard error. Rows are drawn
    # from different components, so that the error of the delta method is an upper bound.
    rbm = random_rbm(M, N, seed=21)
    exact = Enumerated.of(rbm).expectation
    mean, error = weighted_mean_and_error(name, rbm, **options)
    assert (np.abs(mean - exact) / error).max() < two_sided(len(exact))
    mean, error = weighted_mean_and_error("cd", rbm, k=options["k"])
    assert (np.abs(mean - exact) / error).max() > 10


@pytest.mark.parametrize("k", [1, 3])
def test_cd_samples_have_the_distribution_of_k_gibbs_steps(k):
    # Rows are independent given the batch, with the distribution K^k from the row.
    rbm, rows = two_mode_rbm(M, N, coupling=9.0), binary_data(4, M, seed=1)
    table = Enumerated.of(rbm)
    batch = np.repeat(rows, ROWS // 4, axis=0)[None].astype(float)
    states = estimators.create("cd", k=k).estimate(rbm.replicas, batch, {}, training_stream(1)).negative.visible[0]
    power = np.linalg.matrix_power(table.gibbs, k)
    for numbers, row in zip(table.numbers_of(states).reshape(4, -1), rows, strict=True):
        law = power[table.numbers_of(row)]
        bound = total_variation_bound(law, numbers.size, ERROR_RATE / 4)
        assert total_variation(numbers, law) < bound
        assert total_variation(numbers, table.joint.sum(axis=1)) > 2 * bound


def test_persistent_chains_have_the_distribution_of_all_their_steps():
    # After t calls of PCD-k, chains have the distribution K^(k t) from a training row.
    rbm, rows = two_mode_rbm(M, N, coupling=9.0), binary_data(4, M, seed=1)
    table = Enumerated.of(rbm)
    estimator, stream, batch = estimators.create("pcd", k=2), training_stream(1), np.zeros((1, 2**16, M))
    state = estimator.start(rbm.replicas, rows, 2**16, stream)
    law = np.bincount(table.numbers_of(rows), minlength=2**M) / 4
    for _ in range(4):
        assert holds(table.numbers_of(state["visible"]), law, ERROR_RATE / 5)
        state = estimator.estimate(rbm.replicas, batch, state, stream).state
        law = law @ table.gibbs @ table.gibbs
    assert holds(table.numbers_of(state["visible"]), law, ERROR_RATE / 5)
