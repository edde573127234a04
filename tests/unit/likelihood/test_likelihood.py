# SPDX-License-Identifier: BSD-3-Clause
"""Exact partition function, model expectation, gradient and log-likelihood against enumeration of all joint states."""

import tracemalloc

import numpy as np
import pytest
from core_helpers import Enumerated, binary_data, random_rbm

from rbmbench.base.errors import RbmbenchWarning, SettingsError
from rbmbench.likelihood import (
    PackedData,
    ais_log_partition,
    base_rate_bias,
    data_statistics,
    exact,
    exact_gradient,
    exact_log_partition,
    exact_model_statistics,
    log_likelihood,
    tempered_log_partition,
)
from rbmbench.model.rbm import RBM

# Wide, tall, square, single units, an odd number of either.
SIZES = pytest.mark.parametrize(("m", "n"), [(7, 3), (3, 7), (5, 5), (1, 1), (1, 5), (5, 1), (2, 7), (11, 2)])


@SIZES
def test_log_partition_is_the_sum_over_all_states(m, n):
    rbm = random_rbm(m, n, (2,), seed=m + n)
    expected = [Enumerated.of(rbm[r]).log_partition for r in range(2)]
    log_z = exact_log_partition(rbm)
    assert log_z.dtype == np.float64
    np.testing.assert_allclose(log_z, expected, rtol=1e-13, atol=1e-13)


@SIZES
def test_model_statistics_are_the_expectations_of_the_joint_table(m, n):
    rbm = random_rbm(m, n, (2,), seed=m + n)
    statistics = exact_model_statistics(rbm)
    for r in range(2):
        table = Enumerated.of(rbm[r])
        W = np.einsum("st,si,tj->ij", table.joint, table.visible, table.hidden)
        np.testing.assert_allclose(statistics.W[r], W, rtol=1e-12)
        np.testing.assert_allclose(statistics.b[r], table.joint.sum(axis=1) @ table.visible, rtol=1e-12)
        np.testing.assert_allclose(statistics.c[r], table.joint.sum(axis=0) @ table.hidden, rtol=1e-12)


@SIZES
def test_log_likelihood_is_the_log_of_the_tables_probability(m, n):
    rbm, data = random_rbm(m, n, (2,), seed=m + n), binary_data(151, m)
    counts = np.random.default_rng(0).integers(1, 7, 151)
    log_partition = exact_log_partition(rbm)
    for r in range(2):
        table = Enumerated.of(rbm[r])
        log_p = np.log(table.joint.sum(axis=1)[table.numbers_of(data)])
        np.testing.assert_allclose(log_likelihood(rbm, data, log_partition)[r], log_p.mean(), rtol=1e-12)
        weighted = log_likelihood(rbm, data, log_partition, counts)[r]
        np.testing.assert_allclose(weighted, (log_p * counts).sum() / counts.sum(), rtol=1e-12)


@SIZES
def test_gradient_is_that_of_the_log_likelihood_by_finite_differences(m, n):
    rbm, data = random_rbm(m, n, seed=m * n), binary_data(23, m)
    gradient = exact_gradient(rbm, data)
    step = 1e-5

    def value():
        return float(log_likelihood(rbm, data, exact_log_partition(rbm)))

    for name in ("W", "b", "c"):
        parameter = getattr(rbm, name)
        for index in np.ndindex(parameter.shape):
            original = parameter[index]
            parameter[index] = original + step
            above = value()
            parameter[index] = original - step
            difference = (above - value()) / (2 * step)
            parameter[index] = original
            # Third derivatives are below 1, so the step costs 1e-10; rounding costs 1e-14 / step.
            np.testing.assert_allclose(getattr(gradient, name)[index], difference, rtol=0, atol=1e-8)


@pytest.mark.parametrize(("m", "n"), [(131, 7), (7, 131)])
def test_partition_functions_of_simple_models(m, n):
    zero = RBM(np.zeros((m, n)), np.zeros(m), np.zeros(n))
    assert float(exact_log_partition(zero)) == pytest.approx((m + n) * np.log(2))
    rng = np.random.default_rng(0)
    b, c = rng.normal(0, 3, m), rng.normal(0, 3, n)
    free = RBM(np.zeros((m, n)), b, c)
    expected = np.logaddexp(0, b).sum() + np.logaddexp(0, c).sum()
    np.testing.assert_allclose(exact_log_partition(free), expected, rtol=1e-13)
    # One hidden unit connected, the others free: Z = 2^(n-1) (2^m + prod_i (1 + e^{w_i})) with a weight column w.
    if m > n:
        W = np.zeros((m, n))
        W[:, 4] = b
        single = np.logaddexp(m * np.log(2), np.logaddexp(0, b).sum()) + (n - 1) * np.log(2)
        np.testing.assert_allclose(exact_log_partition(RBM(W, np.zeros(m), np.zeros(n))), single, rtol=1e-13)


@pytest.mark.parametrize("scale", [30.0, 300.0, 3000.0])
@pytest.mark.parametrize(("m", "n"), [(13, 5), (5, 13)])
def test_large_weights_neither_overflow_nor_underflow(scale, m, n):
    rbm = random_rbm(m, n, scale=scale, seed=1)
    table = Enumerated.of(rbm)
    np.testing.assert_allclose(exact_log_partition(rbm), table.log_partition, rtol=1e-12)
    np.testing.assert_allclose(exact_model_statistics(rbm).flat(), table.expectation, rtol=0, atol=1e-10)


def test_leading_axes_and_types():
    many = random_rbm(5, 3, (2, 7), seed=3, dtype=np.float32)
    data = binary_data(11, 5)
    log_partition, statistics = exact_log_partition(many), exact_model_statistics(many)
    gradient = exact_gradient(many, data)
    values = log_likelihood(many, data, log_partition)
    assert log_partition.shape == values.shape == (2, 7)
    assert log_partition.dtype == values.dtype == np.float64
    for parts in (statistics, gradient):
        assert [part.shape for part in parts] == [(2, 7, 5, 3), (2, 7, 5), (2, 7, 3)]
        assert {part.dtype for part in parts} == {np.dtype(np.float64)}
    rbm = many[1, 3]
    assert exact_log_partition(rbm).shape == ()
    assert exact_log_partition(rbm) == log_partition[1, 3]
    assert log_likelihood(rbm, data, log_partition[1, 3]) == values[1, 3]
    np.testing.assert_allclose(exact_gradient(rbm, data).flat(), gradient.flat()[1, 3], rtol=0, atol=1e-15)
    # float32 parameters are converted to float64.
    np.testing.assert_allclose(log_partition[1, 3], Enumerated.of(rbm).log_partition, rtol=1e-13)


def test_positive_phase_of_weighted_rows_is_that_of_repeated_rows():
    rbm, data, counts = random_rbm(7, 3, (2,), seed=13), binary_data(29, 7), np.arange(29) % 5
    weighted = data_statistics(rbm, PackedData(data, rbm.W.astype(np.float64), counts))
    repeated = data_statistics(rbm, np.repeat(data, counts, axis=0))
    np.testing.assert_allclose(weighted.flat(), repeated.flat(), rtol=1e-12)


@pytest.mark.parametrize("block_bytes", [1, 300, 5000])
def test_results_do_not_depend_on_the_size_of_blocks(monkeypatch, block_bytes):
    rbm, data = random_rbm(7, 6, (2,), seed=9), binary_data(151, 7)
    counts = np.arange(1, 152)
    whole = exact_model_statistics(rbm).flat(), log_likelihood(rbm, data, 0.0), log_likelihood(rbm, data, 0.0, counts)
    monkeypatch.setattr(exact, "BLOCK_BYTES", block_bytes)
    split = exact_model_statistics(rbm).flat(), log_likelihood(rbm, data, 0.0), log_likelihood(rbm, data, 0.0, counts)
    for array, other in zip(whole, split, strict=True):
        np.testing.assert_allclose(other, array, rtol=1e-12)


@pytest.mark.parametrize("models", [1, 2])
def test_threads_that_share_the_chains_of_a_model_do_not_change_its_log_partition(models):
    rbm, data = random_rbm(67, 97, (models,), scale=0.2, dtype=np.float32), binary_data(31, 67)
    annealed = [ais_log_partition(rbm, 131, 23, threads=threads) for threads in (1, 5)]
    tempered = [tempered_log_partition(rbm, data, budget=5000, threads=threads) for threads in (1, 5)]
    for alone, shared in (annealed, tempered):
        assert shared.log_partition.tobytes() == alone.log_partition.tobytes()
        assert shared.standard_error.tobytes() == alone.standard_error.tobytes()


def test_memory_of_a_large_data_set_is_bounded(monkeypatch):
    # 20 000 x 211 rows in float64 are 34 MB; in blocks of 200 kB no array of that size may be made.
    rbm, data = random_rbm(211, 3, seed=2, scale=0.1), binary_data(20_000, 211)
    monkeypatch.setattr(exact, "BLOCK_BYTES", 200_000)
    log_likelihood(rbm, data[:10], 0.0)
    tracemalloc.start()
    log_likelihood(rbm, data, 0.0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3e6


@pytest.mark.parametrize(
    "function", [exact_log_partition, exact_model_statistics, lambda r: exact_gradient(r, np.zeros((3, 31)))]
)
def test_error_of_too_large_layers_names_ais(function):
    rbm = RBM(np.zeros((31, 29)), np.zeros(31), np.zeros(29))
    line = r"must be at most 25 units in the smaller layer, got 31 visible and 29 hidden units"
    with pytest.raises(SettingsError, match=rf"\A.*{line}.*annealed importance sampling \(AIS\).*\Z"):
        function(rbm)


@pytest.mark.parametrize("shape", [(2, 1), (1,), (1, 2)])
def test_log_partitions_of_another_shape_raise(shape):
    with pytest.raises(SettingsError, match=r"^log_partition: must have shape \(2,\), got"):
        log_likelihood(random_rbm(7, 3, (2,)), binary_data(29, 7), np.full(shape, 9.0))


@pytest.mark.parametrize("pseudo_count", [0, -1, np.inf, np.nan, "1"])
def test_pseudo_counts_that_are_not_positive_numbers_raise(pseudo_count):
    with pytest.raises(SettingsError, match=r"^option 'pseudo_count': must be "):
        base_rate_bias(np.zeros((3, 2), np.uint8), pseudo_count)


def test_a_likelihood_above_0_gives_a_warning():
    # Two particles in one step miss the state that nearly all of Z comes from.
    rbm, rows = RBM(np.zeros((2, 11, 5)), np.full((2, 11), 20.0), np.zeros((2, 5))), np.ones((3, 11))
    with pytest.warns(
        RbmbenchWarning, match="^log-likelihood of binary rows: must be at most 0, .*: log Z is too low"
    ) as caught:
        assert (log_likelihood(rbm, rows, ais_log_partition(rbm, 2, 1).log_partition) > 12).all()
    assert len(caught) == 1
    assert caught[0].filename == __file__


@pytest.mark.filterwarnings("error")
def test_rounding_of_a_likelihood_of_0_gives_no_warning():
    for scale in (1e1, 1e5, 1e9):
        rbm = RBM(np.zeros((11, 5)), scale * np.linspace(3, 7, 11), -scale * np.ones(5))
        assert abs(log_likelihood(rbm, np.ones((97, 11)), exact_log_partition(rbm))) < 1e-9 * scale
