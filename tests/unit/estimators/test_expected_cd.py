# SPDX-License-Identifier: BSD-3-Clause
"""Expected update of CD-k against enumeration, and its limit for many steps."""

import numpy as np
import pytest
from core_helpers import Enumerated, binary_data, random_rbm, training_stream

from rbmbench import estimators
from rbmbench.base.errors import SettingsError
from rbmbench.model.gibbs import Buffers, population_statistics

R, ROWS, M, N = 2, 11, 5, 3
BATCH = np.stack([binary_data(ROWS, M, seed) for seed in range(R)])


def estimate(rbm, **options):
    estimator, stream = estimators.create("expected_cd", **options), training_stream(R)
    phases = estimator.estimate(rbm, BATCH.astype(rbm.W.dtype), {}, stream)
    assert stream.number == 0  # nothing is drawn
    return estimator, phases


@pytest.mark.parametrize("k", [1, 2, 5])
def test_negative_phase_is_the_expectation_over_all_chains(k):
    rbm = random_rbm(M, N, (R,), seed=4)
    _, phases = estimate(rbm, k=k)
    for r, statistics in enumerate(population_statistics(phases.negative, Buffers(), "found").flat()):
        table = Enumerated.of(rbm[r])
        law = np.linalg.matrix_power(table.gibbs, k)[table.numbers_of(BATCH[r])].mean(axis=0)
        np.testing.assert_allclose(statistics, law @ table.f, rtol=0, atol=1e-14)
        assert np.abs(statistics - table.expectation).max() > 1e-4


def test_single_precision_gives_the_same_gradient():
    rbm = random_rbm(M, N, (R,), seed=4, dtype=np.float32)
    f32, f64 = (estimator.gradient(phases).flat() for estimator, phases in map(estimate, (rbm, rbm.astype(float))))
    assert f32.dtype == np.float32
    np.testing.assert_allclose(f32, f64, rtol=0, atol=1e-6)


def test_too_many_units_raise():
    with pytest.raises(
        SettingsError, match="must have at most 24 units in both layers together, got 20 visible and 5 hidden units"
    ):
        estimators.create("expected_cd").check_sizes(20, 5)
    rbm = random_rbm(20, 5, (1,))
    with pytest.raises(SettingsError, match="at most 24"):
        estimators.create("expected_cd").estimate(rbm, np.zeros((1, 2, 20)), {}, training_stream())
