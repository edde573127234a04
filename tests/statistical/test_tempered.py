# SPDX-License-Identifier: BSD-3-Clause
"""Tempered chains from two starts: distributions, inverse temperatures, and log Z with its error."""

import re

import numpy as np
import pytest
from core_helpers import Enumerated, binary_data, holds, random_rbm, stopped_and_resumed, training_stream, two_mode_rbm
from scipy.stats import binom, chi2, norm

from rbmbench import datasets, train
from rbmbench.base import pace
from rbmbench.base.errors import SettingsError
from rbmbench.kernels import reference_kernels
from rbmbench.likelihood import bennett_log_partition, exact_log_partition, tempered, tempered_log_partition
from rbmbench.likelihood.tempered import spaced
from rbmbench.likelihood.trajectories import acceptance
from rbmbench.model.rbm import RBM
from rbmbench.model.tempered_sets import TemperedSets
from shim import NEEDS_COMPILER, DeviceArray, runs_on_cpu

ERROR_RATE = 1e-5  # of every single comparison in this file
M, N = 3, 2
BASE = np.array([-0.7, 0.2, 0.9])
BETAS = np.array([0, 0.25, 0.625, 1])
MODELS = pytest.mark.parametrize(
    "rbm", [random_rbm(M, N, scale=2.0, seed=31), two_mode_rbm(M, N, coupling=9.0)], ids=["random", "two modes"]
)


def tables(rbm, base, betas):
    """Return the enumerated models along the path: W and c times beta, and the visible bias between base and b."""
    return [Enumerated(beta * rbm.W, (1 - beta) * base + beta * rbm.b, beta * rbm.c) for beta in betas]


def equilibrium(levels, sets, seed=1):
    """Return independent states of every level, uint8 (sets, levels, m)."""
    rng = np.random.default_rng(seed)
    numbers = [rng.choice(len(t.visible), sets, p=t.joint.sum(axis=1)) for t in levels]
    return np.stack([t.visible[number] for t, number in zip(levels, numbers, strict=True)], axis=1).astype(np.uint8)


def check_law(rbm, rounds, sets):
    """Assert that rounds leave the distributions of all levels and of all pairs of neighbours unchanged."""
    levels, chains = tables(rbm.on_host(), BASE, BETAS), TemperedSets(rbm.replicas, BASE, training_stream(1))
    chains.begin(BETAS, equilibrium(levels, sets))
    for _ in range(rounds):
        chains.round()
    assert (np.sort(chains.walkers, axis=1) == np.arange(len(BETAS))).all()
    assert (chains.walkers != np.arange(len(BETAS))).any()
    numbers = levels[0].numbers_of(chains.states())
    for level, table in enumerate(levels):
        assert holds(numbers[:, level], table.joint.sum(axis=1))
    for low in range(len(BETAS) - 1):
        law = np.outer(*(table.joint.sum(axis=1) for table in levels[low : low + 2])).ravel()
        assert holds(numbers[:, low] * 2**M + numbers[:, low + 1], law)


@MODELS
@pytest.mark.parametrize(("rounds", "dtype"), [(1, np.float32), (2, np.float64), (7, np.float32)])
def test_rounds_leave_the_distributions_of_all_levels_unchanged(rbm, rounds, dtype):
    check_law(rbm.astype(dtype), rounds, 60_013)


@MODELS
def test_rounds_of_reference_kernels_leave_distributions_unchanged(rbm):
    with reference_kernels():
        check_law(rbm, 3, 30_011)


@NEEDS_COMPILER
@MODELS
def test_rounds_of_cuda_kernels_leave_distributions_unchanged(rbm):
    with runs_on_cpu():
        check_law(rbm.like(DeviceArray(np.empty(0))), 3, 3_011)


@pytest.mark.parametrize(("betas", "flaw"), [(BETAS, "none"), (BETAS**2, "other temperatures")])
def test_chains_at_other_temperatures_change_the_distributions(betas, flaw):
    # Negative control: states of BETAS, chains at other inverse temperatures.
    rbm, sets = random_rbm(M, N, scale=2.0, seed=31), 100_003
    levels, chains = tables(rbm, BASE, BETAS), TemperedSets(rbm.replicas, BASE, training_stream(1))
    chains.begin(betas, equilibrium(levels, sets))
    for _ in range(2):
        chains.round()
    numbers = levels[0].numbers_of(chains.states())
    unchanged = [holds(numbers[:, level], table.joint.sum(axis=1)) for level, table in enumerate(levels)]
    assert all(unchanged) == (flaw == "none")


@MODELS
def test_differences_and_exchanges_are_those_of_the_enumerated_models(rbm):
    levels = tables(rbm, BASE, BETAS)
    start = equilibrium(levels, 20_011)
    chains = TemperedSets(rbm.replicas, BASE, training_stream(1))
    chains.begin(BETAS, start)
    differences = chains.round()
    log_weights = np.array([np.logaddexp.reduce(-table.energy, axis=1) for table in levels])
    numbers = levels[0].numbers_of(start)
    for low in range(len(BETAS) - 1):
        d = log_weights[low + 1] - log_weights[low]
        np.testing.assert_allclose(differences[low], d[numbers[:, low : low + 2]].T, rtol=1e-5, atol=1e-5)
    # Even pairs are first, with the acceptance of the Metropolis rule.
    exchanged = chains.walkers != np.arange(len(BETAS))
    for low in (0, 2):
        d = (log_weights[low + 1] - log_weights[low])[numbers[:, low : low + 2]]
        chances = np.exp(np.minimum(d[:, 0] - d[:, 1], 0))
        z = (exchanged[:, low].sum() - chances.sum()) / np.sqrt((chances * (1 - chances)).sum())
        assert abs(z) < norm.isf(ERROR_RATE / 2)
        np.testing.assert_allclose(acceptance(differences[None].astype(np.float64))[low], chances.mean(), rtol=1e-5)


def test_round_trips_are_those_of_the_paths_of_the_walkers():
    rbm = random_rbm(M, N, scale=2.0, seed=31)
    chains = TemperedSets(rbm.replicas, BASE, training_stream(1))
    chains.begin(BETAS, equilibrium(tables(rbm, BASE, BETAS), 5))
    paths = [np.argsort(chains.walkers)]
    for _ in range(97):
        chains.round()
        paths.append(np.argsort(chains.walkers))
    trips = np.zeros((5, len(BETAS)), int)
    for number in np.ndindex(trips.shape):
        ends = [level for level in np.array(paths)[:, *number] if level in (0, len(BETAS) - 1)]
        turns = np.count_nonzero(np.diff(ends))
        trips[number] = (turns - (bool(ends) and ends[0] > 0)) // 2
    assert chains.round_trips.tolist() == trips.sum(axis=1).tolist()
    assert trips.sum() > 50


@MODELS
def test_standard_error_of_independent_samples_is_that_of_bennett(rbm):
    # Delta method, from the enumerated laws: with p, q = p_l, p_(l+1), overlap O = sum p q / (p + q), a state x of
    # level l changes log Z by (q / (p + q) - O) / O, as the upper state of the pair below by -(p / (p + q) - O) / O.
    levels, chains, repetitions = tables(rbm, BASE, BETAS), 401, 211
    laws = np.array([table.joint.sum(axis=1) for table in levels])
    influence = np.zeros_like(laws)
    for low in range(len(BETAS) - 1):
        p, q = laws[low : low + 2]
        overlap = (p * q / (p + q)).sum()
        influence[low] += (q / (p + q) - overlap) / overlap
        influence[low + 1] -= (p / (p + q) - overlap) / overlap
    variance = ((laws * influence**2).sum(axis=1) - (laws * influence).sum(axis=1) ** 2).sum() / chains
    log_weights = np.array([np.logaddexp.reduce(-table.energy, axis=1) for table in levels])
    d, truth = np.diff(log_weights, axis=0), levels[-1].log_partition - levels[0].log_partition
    values, errors = [], []
    for repetition in range(repetitions):
        numbers = levels[0].numbers_of(equilibrium(levels, chains, seed=(2, repetition)))
        pairs = [d[low][numbers[:, low : low + 2]].T for low in range(len(BETAS) - 1)]
        estimate = bennett_log_partition(0.0, np.array(pairs)[None])
        values.append(estimate.log_partition[-1] - truth)
        errors.append(estimate.standard_error[-1])
    scaled = (np.array(values) ** 2).sum() / variance
    assert chi2.ppf(ERROR_RATE / 2, repetitions) < scaled < chi2.isf(ERROR_RATE / 2, repetitions)
    # Standard deviations of 401 chains have an error of 4 %, their mean over repetitions 0.3 %; 3 % allow for kurtosis.
    assert np.mean(errors) == pytest.approx(np.sqrt(variance), rel=0.03)


def test_temperatures_are_equidistant_in_cumulative_rejections():
    grid = np.array([0, 0.1, 0.5, 1.0])
    # Rejections of 0.2, 1.6 and 0.2 sum to 2: five levels at 0, 0.5, 1, 1.5 and 2.
    temperatures = spaced(grid, np.array([0.2, 1.6, 0.2]) - 1e-3)
    np.testing.assert_allclose(temperatures, [0, 0.1 + 0.4 * 0.3 / 1.6, 0.3, 0.1 + 0.4 * 1.3 / 1.6, 1])
    assert spaced(grid, np.zeros(3)).tolist() == [0, pytest.approx(0.3), 1]


@pytest.fixture(scope="module")
def estimates():
    """20 models from easy to hard, and their estimates."""
    rbm = random_rbm(23, 11, replicas=(4, 5), seed=8, dtype=np.float32)
    scales = np.linspace(0.2, 2.5, 5, dtype=np.float32)
    rbm = RBM(rbm.W * scales[:, None, None], rbm.b * scales[:, None], rbm.c * scales[:, None])
    return rbm, tempered_log_partition(rbm, binary_data(97, 23), seed=3)


def test_estimates_are_within_their_error_of_exact_values(estimates):
    rbm, estimate = estimates
    assert estimate.log_partition.shape == (4, 5)
    z = (estimate.log_partition - exact_log_partition(rbm)) / estimate.standard_error
    # The error has 14 degrees of freedom and is enlarged: below a normal one in 1 of 100 000 tests.
    assert np.abs(z).max() < 5
    assert (z**2).sum() < chi2.isf(ERROR_RATE, 20)
    assert estimate.converged.all()
    assert (estimate.standard_error <= 0.1).all()
    assert (estimate.round_trips >= 16).all()
    for part in (estimate.gap, estimate.drift):
        assert (estimate.standard_error >= np.abs(part) / 2).all()
    # The target is 0.5, from few rounds.
    assert ((estimate.acceptance > 0.3) & (estimate.acceptance < 0.9)).all()


def test_chains_without_a_round_trip_in_each_set_do_not_converge():
    # Large weights: of 16 sets about seven make no round trip within the first budget.
    rng = np.random.default_rng(0)
    rbm = RBM(*(9 * rng.normal(size=size).astype(np.float32) for size in ((199, 11), 199, 11)))
    short, long = (tempered_log_partition(rbm, binary_data(53, 199), 8.0, budget, 1) for budget in (10**6, 10**7))
    assert max(short.standard_error, long.standard_error) < 8
    assert (bool(short.converged), bool(long.converged)) == (False, True)


@pytest.mark.slow
def test_intervals_of_converged_estimates_of_trained_models_cover_log_z():
    # 60 models of PCD at a high rate, far from equilibrium, and up to three times their parameters.
    rows = datasets.load("bars_and_stripes").train
    trained = train(rows, hidden=7, batch=32, estimator="pcd", rate=0.3, iterations=2000, trials=60).rbm
    scales = np.linspace(1, 3, 60, dtype=np.float32)
    rbm = RBM(trained.W * scales[:, None, None], trained.b * scales[:, None], trained.c * scales[:, None])
    estimate = tempered_log_partition(rbm, rows, target_error=0.2, seed=3)
    z = (
        np.abs(estimate.log_partition - exact_log_partition(rbm))[estimate.converged]
        / estimate.standard_error[estimate.converged]
    )
    assert len(z) >= 54

    def are_as_reported(z):
        """Return whether 95 % of intervals may cover log Z, and 2 % of errors exceed three standard errors."""
        counts = ((z > 1.96).sum(), 0.05), ((z > 3).sum(), 0.02)
        return all(binom.sf(count - 1, len(z), share) > ERROR_RATE for count, share in counts)

    assert are_as_reported(z)
    assert not are_as_reported(4 * z)  # standard errors four times too small


def test_harder_models_and_smaller_errors_need_more_products(estimates):
    rbm, estimate = estimates
    assert estimate.products[:, 4].mean() > 1.5 * estimate.products[:, 0].mean()
    closer = tempered_log_partition(rbm[0, 2], binary_data(97, 23), target_error=0.02, seed=3)
    assert closer.converged
    assert closer.standard_error <= 0.02
    assert closer.products > 3 * estimate.products[0, 2]


def test_estimates_do_not_depend_on_other_models_and_threads():
    rbm, data = random_rbm(13, 5, replicas=(2, 3), seed=2, dtype=np.float32), binary_data(31, 13)
    batch = tempered_log_partition(rbm, data, budget=1, seed=3)
    on_threads = tempered_log_partition(rbm, data, budget=1, seed=3, threads=4)
    single = tempered_log_partition(rbm[1, 2], data, budget=1, seed=3, keys=[5])
    for name, values in vars(batch).items():
        np.testing.assert_array_equal(values, getattr(on_threads, name))
        assert getattr(single, name) == values[1, 2]
    assert len(np.unique(batch.log_partition)) == 6


def test_estimates_above_the_target_error_are_not_converged():
    rbm, data = two_mode_rbm(31, 17, coupling=90.0), np.ones((7, 31))
    estimate = tempered_log_partition(rbm, data, target_error=0.001, budget=1)
    assert not estimate.converged
    assert estimate.standard_error > 0.001
    assert estimate.products >= 1


@pytest.mark.parametrize("threads", [1, 2])
def test_a_stopped_estimate_is_resumed_at_any_point(monkeypatch, threads):
    rbm, data = random_rbm(5, 3, replicas=(3,), seed=2), binary_data(31, 5)
    arguments = {"target_error": 0.05, "seed": 3}
    expected = tempered_log_partition(rbm, data, **arguments)
    monkeypatch.setattr(pace.Pace, "update", lambda self, steps, seconds: setattr(self, "steps", 97))
    calls = []

    def tempered(begun, pause, _stops):
        report = {"progress": lambda done, total: calls.append((done, total)), "pause": pause}
        return tempered_log_partition(rbm, data, **arguments, begun=begun, threads=threads, **report)

    estimate, stops = stopped_and_resumed(tempered)
    assert stops >= 3
    assert {total for _, total in calls} == {3 * 5_000_000}
    assert calls[-1][0] == 3 * 5_000_000
    for value, expected_value in zip(vars(estimate).values(), vars(expected).values(), strict=True):
        np.testing.assert_array_equal(value, expected_value)


@NEEDS_COMPILER
def test_estimates_of_device_arrays_equal_those_on_the_host(monkeypatch):
    monkeypatch.setattr(tempered, "ADAPTED", (4, 9))
    # In float64, with this seed, no uniform is between two roundings of a mean, so that all states are equal.
    host, data = random_rbm(7, 5, (2,)), binary_data(31, 7)
    with runs_on_cpu():
        device = host.like(DeviceArray(np.empty(0)))
        estimate, expected = (tempered_log_partition(rbm, data, budget=1, seed=3) for rbm in (device, host))
    for value, expected_value in zip(vars(estimate).values(), vars(expected).values(), strict=True):
        np.testing.assert_allclose(value, expected_value, rtol=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"target_error": 0}, "target_error: must be a positive number of nats, got 0"),
        ({"budget": 0}, "option 'budget': must be an integer >= 1, got 0"),
        ({"base": np.zeros(4)}, "base: must be finite, of shape (5,), got shape (4,), float64"),
        ({"keys": [1, 2]}, "keys: must be 3 integers, one for each model, got [1, 2]"),
    ],
)
def test_invalid_arguments_raise_a_one_line_error(change, message):
    with pytest.raises(SettingsError, match=rf"^{re.escape(message)}\Z"):
        tempered_log_partition(random_rbm(5, 3, replicas=(3,)), binary_data(7, 5), **change)
