# SPDX-License-Identifier: BSD-3-Clause
"""Transition matrices and distributions of Gibbs chains against tables over all states."""

import numpy as np
import pytest
from core_helpers import Enumerated, binary_data, random_rbm

from rbmbench.base.errors import SettingsError
from rbmbench.model.enumeration import empirical_distribution, visible_distribution
from rbmbench.samplers import distribution_after, transition_matrix

R = 2
SIZES = pytest.mark.parametrize(("m", "n"), [(5, 3), (3, 7), (1, 2), (2, 1)])


def model(m, n, scale=1.0, dtype=np.float64):
    rbm = random_rbm(m, n, (R,), scale=scale, seed=4, dtype=dtype)
    return rbm, [Enumerated.of(rbm[r]) for r in range(R)]


@SIZES
def test_transition_matrix_is_the_enumerated_one(m, n):
    rbm, tables = model(m, n)
    np.testing.assert_allclose(transition_matrix(rbm), [table.gibbs for table in tables], rtol=0, atol=1e-14)


@SIZES
@pytest.mark.parametrize("k", [0, 1, 2, 11])
def test_distribution_after_k_steps_is_that_of_the_matrix_power(m, n, k):
    rbm, tables = model(m, n)
    start = np.random.default_rng(1).dirichlet(np.ones(2**m), R)
    expected = [mu @ np.linalg.matrix_power(table.gibbs, k) for mu, table in zip(start, tables, strict=True)]
    # Rounding errors add up over the steps.
    np.testing.assert_allclose(distribution_after(rbm, start, k), expected, rtol=0, atol=(k + 1) * 1e-14)


def test_distribution_of_the_model_is_stationary():
    rbm, tables = model(5, 3, scale=2.0)
    distribution = visible_distribution(rbm)
    np.testing.assert_allclose(distribution, [table.joint.sum(axis=1) for table in tables], rtol=1e-12)
    np.testing.assert_allclose(distribution_after(rbm, distribution, 1), distribution, rtol=0, atol=1e-14)


def test_large_weights_do_not_overflow():
    rbm, tables = model(5, 3, scale=300.0)
    distribution = distribution_after(rbm, np.full((R, 32), 1 / 32), 3)
    expected = [np.full(32, 1 / 32) @ np.linalg.matrix_power(table.gibbs, 3) for table in tables]
    # Activations of a thousand are themselves rounded at 1e-13.
    np.testing.assert_allclose(distribution, expected, rtol=0, atol=1e-12)


def test_matrices_of_float32_parameters_are_computed_in_float64():
    rbm, _ = model(5, 3, dtype=np.float32)
    matrix = transition_matrix(rbm)
    assert matrix.dtype == np.float64
    np.testing.assert_array_equal(matrix, transition_matrix(rbm.astype(np.float64)))


def test_empirical_distribution_counts_the_rows_of_each_state():
    rows = binary_data(23, 5)
    numbers = Enumerated.of(random_rbm(5, 3)).numbers_of(rows)
    np.testing.assert_allclose(empirical_distribution(rows) * 23, np.bincount(numbers, minlength=32), rtol=1e-12)


def test_too_many_units_raise():
    with pytest.raises(
        SettingsError, match="must have at most 24 units in both layers together, got 13 visible and 12 hidden units"
    ):
        distribution_after(random_rbm(13, 12, (1,)), np.zeros((1, 2**13)), 1)
    with pytest.raises(SettingsError, match="transition matrix: must be of at most 12 visible units, got 13"):
        transition_matrix(random_rbm(13, 2, (1,)))
