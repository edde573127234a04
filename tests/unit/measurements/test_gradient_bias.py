# SPDX-License-Identifier: BSD-3-Clause
"""Bias and variance of gradient estimates, against enumeration."""

import numpy as np
import pytest
from core_helpers import Enumerated, binary_data, random_rbm, repeated, two_mode_rbm
from scipy.stats import norm

from rbmbench import estimators
from rbmbench.base.errors import SettingsError
from rbmbench.base.parsing import parse
from rbmbench.base.settings import EstimateSettings, GroundTruthSettings
from rbmbench.estimators import Estimator
from rbmbench.kernels import kernels_for
from rbmbench.measurements import gradient_bias
from rbmbench.measurements.gradient_bias import GroundTruth, ground_truth, measure
from rbmbench.model.gibbs import Population

M, N, ROWS = 5, 3, 12
P = M * N + M + N
DATA = binary_data(ROWS, M)
QUANTITIES = ["variance", "variance_negative_phase", "bias", "bias_floor", "bias_debiased", "bias_low", "bias_high"]
QUANTITIES += ["seconds_per_estimate"]


def estimate_settings(name, batch=ROWS, estimates=400, seed=1, **options):
    choice = {"name": name, "options": options}
    return parse(EstimateSettings, {"estimator": choice, "batch": batch, "estimates": estimates, "seed": seed}, "test")


def exact_truth(rbm):
    return ground_truth(rbm, DATA, GroundTruthSettings(method="exact"))


def quantities_of(rbm, settings, ground_truths=None):
    """Return the quantities as columns, one row per trial, against one ground truth."""
    frame = measure(rbm, DATA, settings, ground_truths or {"exact": exact_truth(rbm)})
    return frame.pivot(index="trial", columns="quantity", values="value")


def cd_moments(rbm, k=1):
    """Return E[f(v^(k)) | row] and Var per row of CD-k's chains from every row of the data: (rows, P) each."""
    table = Enumerated.of(rbm)
    law = np.linalg.matrix_power(table.gibbs, k)[table.numbers_of(DATA)]
    mean = law @ table.f
    return mean, law @ table.f**2 - mean**2


class SampledExactly(Estimator):
    """An unbiased estimator, whose rows are drawn from the model itself."""

    def negative_phase(self, rbm, positive, state, stream):
        """Draw visible states by inverting the enumerated distribution function."""
        replicas, rows, _ = positive.visible.shape
        table = Enumerated.of(rbm[0])
        u = kernels_for(rbm.W).uniforms(stream.next(), rows, np.float64)
        numbers = np.searchsorted(np.cumsum(table.joint.sum(axis=1))[:-1], u)
        mean = (table.hidden_given_visible @ table.hidden)[numbers]
        return Population(table.visible[numbers].reshape(replicas, rows, M), mean), state, {}


@pytest.fixture
def unbiased(monkeypatch):
    monkeypatch.setitem(estimators.REGISTRY._makers, "sampled_exactly", SampledExactly)
    return "sampled_exactly"


REPLICAS = 200


def mean_of_rows(visible, hidden):
    """Return the mean over rows of (v h', v, h), flat."""
    return np.concatenate([(visible.T @ hidden / len(visible)).ravel(), visible.mean(axis=0), hidden.mean(axis=0)])


def standard_errors(values, expected):
    """Return the difference of the mean of a column from its expectation, in standard errors."""
    return (values.mean() - expected) / (values.std(ddof=1) / np.sqrt(len(values)))


def covers(measurements, value):
    """Return whether the intervals contain the value at their nominal rate.

    Binomial with error rate 1e-3, and 2 % for the jackknife's own error in 20 blocks.
    """
    covered = ((measurements.bias_low < value) & (value < measurements.bias_high)).mean()
    return abs(covered - 0.95) < norm.isf(5e-4) * np.sqrt(0.95 * 0.05 / len(measurements)) + 0.02


def test_results_are_tidy_and_complete():
    rbm = random_rbm(M, N, (2,), seed=1)
    reports = []
    ground_truths = {"exact": exact_truth(rbm), "other": GroundTruth(np.zeros((2, P)), np.empty((0, 2, P)))}
    settings = estimate_settings("cd", estimates=41)
    frame = measure(rbm, DATA, settings, ground_truths, progress=lambda *report: reports.append(report))
    assert list(frame.columns) == ["trial", "ground_truth", "quantity", "value"]
    assert len(frame) == 2 * 2 * len(QUANTITIES)
    for truth in ground_truths:
        for trial in range(2):
            part = frame[(frame.ground_truth == truth) & (frame.trial == trial)]
            assert sorted(part.quantity) == sorted(QUANTITIES)
    assert reports[-1] == (41, 41)
    assert [finished for finished, _ in reports] == sorted({finished for finished, _ in reports})
    assert (frame[frame.quantity == "seconds_per_estimate"].value > 0).all()


@pytest.mark.parametrize(("trial", "batch"), [(0, ROWS), (1, ROWS), (1, 4)])
def test_numbers_are_those_of_the_published_definitions(trial, batch, unbiased):
    # From single estimates, by the formulas of the paper: gradients of mini-batches minus the gradient of all rows.
    rbm, settings = random_rbm(M, N, (2,), seed=1), estimate_settings("cd", batch=batch, estimates=57)
    ground_truths = {"exact": exact_truth(rbm)}
    recorded = []

    class Recording(estimators.REGISTRY.get("cd")):
        def negative_phase(self, rbm, positive, *others):
            population, state, diagnostics = super().negative_phase(rbm, positive, *others)
            recorded.append([mean_of_rows(p.visible[trial], p.hidden[trial]) for p in (positive, population)])
            return population, state, diagnostics

    estimators.REGISTRY._makers[unbiased] = Recording
    measurement = quantities_of(rbm, estimate_settings(unbiased, batch=batch, estimates=57), ground_truths).loc[trial]
    positive, negative = np.array(recorded, dtype=np.float64).transpose(1, 0, 2)
    gradients, mean = positive - negative, (positive - negative).mean(axis=0)
    variance = ((gradients - mean) ** 2).sum(axis=1).mean() / P
    negative_variance = ((negative - negative.mean(axis=0)) ** 2).sum(axis=1).mean() / P
    table = Enumerated.of(rbm[trial])
    all_rows = table.f[table.numbers_of(DATA)].mean(axis=0)
    raw = ((mean - (all_rows - ground_truths["exact"].mean[trial])) ** 2).sum() / P
    values = [measurement.variance, measurement.variance_negative_phase, measurement.bias]
    np.testing.assert_allclose(values, [variance, negative_variance, raw], rtol=1e-9)
    np.testing.assert_allclose(measurement.bias_debiased, measurement.bias - measurement.bias_floor, rtol=1e-9)
    assert measurement.bias_low < measurement.bias_debiased < measurement.bias_high
    np.testing.assert_allclose(
        measurement.bias_high - measurement.bias_debiased, measurement.bias_debiased - measurement.bias_low, rtol=1e-9
    )
    again = quantities_of(rbm, settings, ground_truths).loc[trial]
    np.testing.assert_allclose(again[QUANTITIES[:-1]], measurement[QUANTITIES[:-1]], rtol=1e-12)


@pytest.mark.parametrize(("k", "estimates"), [(1, 1000), (3, 200)])
def test_bias_and_variance_of_cd_are_the_enumerated_ones(k, estimates):
    # Error rate 2e-4: the mean over 200 replicas of one model against the exact value, in standard errors.
    model = two_mode_rbm(M, N, coupling=7.0)
    mean, variances = cd_moments(model, k)
    exact_variance = variances.sum(axis=0).sum() / ROWS**2 / P
    exact_bias = ((mean.mean(axis=0) - Enumerated.of(model).expectation) ** 2).sum() / P
    measurements = quantities_of(repeated(model, REPLICAS), estimate_settings("cd", estimates=estimates, k=k))
    expected = {
        "variance": exact_variance * (1 - 1 / estimates),
        "bias": exact_bias + exact_variance / estimates,
        "bias_floor": exact_variance / estimates,
        "bias_debiased": exact_bias,
    }
    for quantity, value in expected.items():
        assert abs(standard_errors(measurements[quantity], value)) < norm.isf(2e-4 / 4 / 2), quantity
    # If the bias is of the size of its floor (k = 3) the intervals are too narrow: they cover about 88 %.
    if k == 1:
        assert covers(measurements, exact_bias)
        assert (measurements.bias_low > 0).mean() > 0.95


def test_intervals_of_an_unbiased_estimate_contain_zero(unbiased):
    # As above, for a bias of zero.
    model = two_mode_rbm(M, N, coupling=7.0)
    measurements = quantities_of(repeated(model, REPLICAS), estimate_settings(unbiased, estimates=200))
    assert covers(measurements, 0)
    assert abs(standard_errors(measurements.bias_debiased, 0)) < norm.isf(1e-4)
    # The raw bias is its floor, as the published 7.99706e-09 of artificial modes.
    assert abs(standard_errors(measurements.bias - measurements.bias_floor, 0)) < norm.isf(1e-4)
    assert measurements.bias.min() > 0


@pytest.mark.parametrize("quantity", ["variance", "variance_negative_phase"])
def test_mini_batches_add_their_own_variance(quantity):
    # Error rate 2e-4. Batches of B of the R rows without replacement: the variance between rows enters with (1 - B/R).
    # A row enters the gradient by its negative less its positive phase.
    model, batch, estimates = two_mode_rbm(M, N, coupling=9.0), 4, 198
    mean, variances = cd_moments(model)
    table = Enumerated.of(model)
    row_terms = mean - table.f[table.numbers_of(DATA)] if quantity == "variance" else mean
    between = row_terms.var(axis=0, ddof=1).sum() * (1 - batch / ROWS)
    expected = (variances.mean(axis=0).sum() + between) / batch / P
    # 198 estimates are 66 whole epochs, each of which shows every row once: their mean has no variance between rows.
    variance_of_mean = variances.mean(axis=0).sum() / ROWS / P / (estimates / 3)
    measurements = quantities_of(repeated(model, REPLICAS), estimate_settings("cd", batch=batch, estimates=estimates))
    assert abs(standard_errors(measurements[quantity], expected - variance_of_mean)) < norm.isf(1e-4)
    exact_bias = ((mean.mean(axis=0) - table.expectation) ** 2).sum() / P
    assert abs(standard_errors(measurements.bias, exact_bias + variance_of_mean)) < norm.isf(1e-4)


def test_debiased_bias_of_mini_batches_is_exact_on_average():
    # Error rate 2e-4, as above: on average the debiased bias is the exact one.
    model = two_mode_rbm(M, N, coupling=9.0)
    exact_bias = ((cd_moments(model)[0].mean(axis=0) - Enumerated.of(model).expectation) ** 2).sum() / P
    measurements = quantities_of(repeated(model, REPLICAS), estimate_settings("cd", batch=4, estimates=198))
    assert abs(standard_errors(measurements.bias_debiased, exact_bias)) < norm.isf(1e-4)


def test_debiased_bias_of_persistent_chains_is_zero_on_average():
    # Error rate 2e-4: PCD has no bias in the long run, so that the debiased bias is zero on average, but for the start.
    model = two_mode_rbm(M, N, coupling=7.0)
    measurements = quantities_of(repeated(model, REPLICAS), estimate_settings("pcd", estimates=1000, k=5))
    assert abs(standard_errors(measurements.bias_debiased, 0)) < norm.isf(1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exact_ground_truth_is_the_model_expectation(dtype):
    rbm = random_rbm(M, N, (2,), seed=3, dtype=dtype)
    truth = exact_truth(rbm)
    assert truth.blocks.shape == (0, 2, P)
    for r in range(2):
        np.testing.assert_allclose(truth.mean[r], Enumerated.of(rbm[r]).expectation, rtol=1e-12)
    assert truth.floor.tolist() == [0, 0]
    assert truth.variance_along(np.ones((2, P))).tolist() == [0, 0]


def test_floor_is_the_squared_error_of_a_tempered_ground_truth():
    # Error rate 2e-4: over 40 replicas of one model the mean squared error equals the mean floor within its own spread.
    # Blocks of 150 sweeps are nearly independent, since chains decorrelate within about ten.
    model = random_rbm(M, N, seed=5)
    settings = GroundTruthSettings(method="parallel_tempering", chains=5, burn_in=200, samples=3000, seed=2)
    reports = []
    truth = ground_truth(repeated(model, 40), DATA, settings, progress=lambda *report: reports.append(report))
    assert truth.mean.shape == (40, P)
    assert truth.blocks.shape == (20, 40, P)
    np.testing.assert_allclose(truth.blocks.mean(axis=0), truth.mean, rtol=1e-12)
    errors = ((truth.mean - Enumerated.of(model).expectation) ** 2).mean(axis=1)
    assert abs(standard_errors(errors - truth.floor, 0)) < norm.isf(1e-4)
    assert errors.mean() < 1e-3
    assert reports[-1] == (3200, 3200)
    assert len({tuple(mean) for mean in truth.mean}) == 40


def test_tempered_ground_truth_is_the_weighted_mean_of_unequal_blocks(monkeypatch):
    model = random_rbm(M, N, seed=5)
    settings = GroundTruthSettings(method="parallel_tempering", chains=3, burn_in=50, samples=33, seed=2)
    truth = ground_truth(model.replicas, DATA, settings)
    sizes = np.array([2] * 13 + [1] * 7)
    np.testing.assert_allclose(np.tensordot(sizes / 33, truth.blocks, 1), truth.mean, rtol=1e-12)
    monkeypatch.setattr(gradient_bias, "SWEEPS_AT_ONCE", 7)
    np.testing.assert_allclose(ground_truth(model.replicas, DATA, settings).mean, truth.mean, rtol=1e-12)


def test_variance_of_a_ground_truth_along_a_direction():
    rng = np.random.default_rng(0)
    blocks = rng.normal(size=(20, 2, P))
    truth = GroundTruth(blocks.mean(axis=0), blocks)
    direction = rng.normal(size=(2, P))
    for t in range(2):
        projected = blocks[:, t] @ direction[t]
        np.testing.assert_allclose(truth.variance_along(direction)[t], projected.var(ddof=1) / 20, rtol=1e-12)
        np.testing.assert_allclose(truth.floor[t], blocks[:, t].var(axis=0, ddof=1).mean() / 20, rtol=1e-12)


def test_floor_of_the_bias_includes_the_error_of_the_ground_truth():
    rbm = random_rbm(M, N, (2,), seed=1)
    rng = np.random.default_rng(0)
    exact = exact_truth(rbm)
    blocks = exact.mean + rng.normal(0, 0.01, (20, 2, P))
    noisy = GroundTruth(blocks.mean(axis=0), blocks)
    sharp, blurred = (quantities_of(rbm, estimate_settings("cd"), {"x": truth}) for truth in (exact, noisy))
    np.testing.assert_allclose(blurred.bias_floor - sharp.bias_floor, noisy.floor, rtol=1e-9)
    width, wider = (frame.bias_high - frame.bias_low for frame in (sharp, blurred))
    assert (wider > width).all()
    np.testing.assert_allclose(blurred.variance, sharp.variance, rtol=1e-9)


def test_several_ground_truths_share_the_estimates():
    rbm = random_rbm(M, N, (2,), seed=1)
    exact = exact_truth(rbm)
    far = GroundTruth(exact.mean + 0.5, exact.blocks)
    settings = estimate_settings("cd", estimates=61)
    table = measure(rbm, DATA, settings, {"far": far, "exact": exact})
    for name, truth in (("far", far), ("exact", exact)):
        alone = measure(rbm, DATA, settings, {name: truth})
        frames = table[table.ground_truth == name], alone
        part, alone = (frame.pivot(index="trial", columns="quantity", values="value") for frame in frames)
        np.testing.assert_allclose(part[QUANTITIES[:-1]], alone[QUANTITIES[:-1]], rtol=1e-6, atol=1e-15)


@pytest.mark.parametrize("seed", range(13))
def test_quantities_of_a_trial_do_not_depend_on_others(seed):
    # Several seeds: sums in another order are equal for two of three.
    rbm, settings = random_rbm(M, N, (3,), seed=seed), estimate_settings("pop_cd", batch=4, seed=seed)
    together, alone = quantities_of(rbm, settings), quantities_of(rbm[:1], settings)
    assert together.loc[0, QUANTITIES[:-1]].tolist() == alone.loc[0, QUANTITIES[:-1]].tolist()


def test_estimates_that_are_statistics_have_no_variance():
    rbm = random_rbm(M, N, (2,), seed=1)
    measurements = quantities_of(rbm, estimate_settings("exact", estimates=5))
    np.testing.assert_allclose(measurements[["variance", "bias"]], 0, atol=1e-25)


def test_too_few_estimates_give_an_interval_without_ends():
    measurements = quantities_of(random_rbm(M, N, (1,), seed=1), estimate_settings("cd", estimates=2))
    assert measurements.bias_low[0] == -np.inf
    assert measurements.bias_high[0] == np.inf


def test_invalid_settings_raise():
    rbm = random_rbm(M, N, (1,), seed=1)
    with pytest.raises(SettingsError, match=r"^batch: must be at most the 12 rows of the data set, got 13"):
        quantities_of(rbm, estimate_settings("cd", batch=13))
    with pytest.raises(SettingsError, match=r"^unknown estimator 'cdd'; nearest: 'cd'"):
        quantities_of(rbm, estimate_settings("cdd"))
    with pytest.raises(SettingsError, match=r"^ground_truths: must be at least one, got none"):
        measure(rbm, DATA, estimate_settings("cd"), {})
    large = random_rbm(31, 29, (1,))
    with pytest.raises(SettingsError, match="annealed importance sampling"):
        ground_truth(large, np.zeros((3, 31), np.uint8), GroundTruthSettings(method="exact"))
