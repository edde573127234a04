# SPDX-License-Identifier: BSD-3-Clause
"""Annealed importance sampling against exact partition functions, by approximately normal statistics."""

import numpy as np
import pytest
from core_helpers import Enumerated, binary_data, random_rbm, repeated, stopped_and_resumed, two_mode_rbm
from scipy.stats import chi2, norm

from rbmbench.base import pace
from rbmbench.base.errors import DataError, SettingsError
from rbmbench.likelihood import (
    ais_log_partition,
    base_rate_bias,
    bracketed_log_partition,
    exact_log_partition,
    inverse_temperatures,
    reverse_ais_log_partition,
)
from rbmbench.likelihood import particles as particles_module
from rbmbench.model.rbm import RBM

ERROR_RATE = 1e-4
M, N = 23, 16
RATES = np.linspace(-1.5, 1.0, M)


def exact_samples(rbm, count, seed):
    """Return independent samples (count, m) of a single enumerated RBM."""
    table = Enumerated.of(rbm)
    p_v = table.joint.sum(axis=1)
    return table.visible[np.random.default_rng(seed).choice(len(p_v), size=count, p=p_v)]


@pytest.mark.parametrize(
    ("base", "dtype"),
    [
        (None, np.float64),
        (RATES, np.float32),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in [(None, np.float32), (RATES, np.float64)]),
    ],
    ids=["uniform-float64", "given rates-float32", "uniform-float32", "given rates-float64"],
)
def test_estimates_are_within_their_error_of_exact_values(base, dtype):
    # Error rate of single models and of all 20 together: 10^-4.
    rbm = random_rbm(M, N, replicas=(20,), scale=0.6, seed=8, dtype=dtype)
    estimate = ais_log_partition(rbm, particles=512, temperatures=1000, seed=4, base=base)
    z = (estimate.log_partition - exact_log_partition(rbm)) / estimate.standard_error
    assert estimate.log_partition.dtype == np.float64
    assert (estimate.effective_sample_size > 256).all()
    assert np.abs(z).max() < norm.isf(ERROR_RATE / 4 / 20)
    assert chi2.ppf(ERROR_RATE / 4, 20) < (z**2).sum() < chi2.isf(ERROR_RATE / 4, 20)


@pytest.mark.parametrize("schedule", [3, np.array([0.0, 0.05, 0.4, 0.9, 1.0])], ids=["even", "uneven"])
def test_weights_are_unbiased_for_coarse_schedules(schedule):
    # Particles far from equilibrium detect transitions that change their distribution.
    rbm, particles = random_rbm(7, 3, scale=1.2, seed=3), 200_003
    samples = exact_samples(rbm, particles, seed=1)
    base = np.linspace(-0.5, 0.5, 7)
    forward = ais_log_partition(rbm, particles=particles, temperatures=schedule, seed=5, base=base)
    reverse = reverse_ais_log_partition(rbm, samples, temperatures=schedule, seed=6, base=base)
    later = reverse_ais_log_partition(rbm, samples, temperatures=schedule, seed=7, burn_in=3, base=base)
    for estimate in (forward, reverse, later):
        assert estimate.standard_error < 0.05
        z = (estimate.log_partition - exact_log_partition(rbm)) / estimate.standard_error
        assert abs(z) < norm.isf(ERROR_RATE / 2)


def test_forward_and_reverse_estimates_bracket_the_exact_value():
    # With few steps and particles, the biases of both directions are visible in a thousand repetitions.
    rbm, repetitions, particles = random_rbm(11, 5, scale=2.5, seed=9), 1009, 3
    rbms, truth = repeated(rbm, repetitions), exact_log_partition(rbm)
    samples = exact_samples(rbm, repetitions * particles, seed=2).reshape(repetitions, particles, 11)
    forward = ais_log_partition(rbms, particles=particles, temperatures=3, seed=1).log_partition
    reverse = reverse_ais_log_partition(rbms, samples, temperatures=3, seed=2).log_partition
    for gap in (truth - forward, reverse - truth):
        assert gap.mean() > norm.isf(ERROR_RATE / 2) * gap.std() / np.sqrt(repetitions)


def test_annealing_of_one_step_is_importance_sampling():
    rbm, rows, b0 = random_rbm(7, 3, scale=1.0, seed=1), np.eye(7), np.linspace(-1, 1, 7)
    estimate = reverse_ais_log_partition(rbm, rows, temperatures=1, base=b0)
    log_start = 3 * np.log(2) + np.log1p(np.exp(b0)).sum()
    weights = np.exp(3 * np.log(2) + rows @ b0 + rbm.free_energy(rows))
    assert estimate.log_partition == pytest.approx(log_start - np.log(weights.mean()), rel=1e-13)
    assert estimate.effective_sample_size == pytest.approx(weights.sum() ** 2 / (weights**2).sum(), rel=1e-12)
    error = weights.std(ddof=1) / np.sqrt(7) / weights.mean()
    assert estimate.standard_error == pytest.approx(error, rel=1e-12)


def test_burn_in_brings_chains_to_the_distribution_of_the_model():
    # At scale 0.4, 40 steps are enough for chains to become independent of their start.
    rbm, particles, base = random_rbm(7, 3, scale=0.4, seed=3), 20_011, np.linspace(-0.5, 0.5, 7)
    start = rbm, np.zeros((particles, 7))
    wrong, burned_in = (reverse_ais_log_partition(*start, 3, seed=6, burn_in=steps, base=base) for steps in (0, 40))
    z = [
        (estimate.log_partition - exact_log_partition(rbm)) / estimate.standard_error for estimate in (wrong, burned_in)
    ]
    assert abs(z[0]) > 10
    assert abs(z[1]) < norm.isf(ERROR_RATE / 2)


def test_dense_temperatures_are_denser_near_1():
    schedule = inverse_temperatures(50, "dense")
    assert (len(schedule), schedule[0], schedule[-1]) == (51, 0, 1)
    assert [(schedule < edge).sum() for edge in (0.5 - 1e-9, 0.9 - 1e-9, 1 - 1e-9)] == [10, 30, 50]
    np.testing.assert_allclose(np.diff(schedule), np.repeat([0.05, 0.02, 0.005], [10, 20, 20]), rtol=1e-9)
    np.testing.assert_array_equal(inverse_temperatures(50), np.linspace(0, 1, 51))


BRACKET = {"particles": 31, "temperatures": 5, "seed": 3, "steps": 11, "repeat": 4}
ROWS = binary_data(19, 13)


def bracketed_models():
    """Return models (2, 3), two of them with few effective particles."""
    shape = {"m": 13, "n": 5, "replicas": (2, 3), "seed": 2, "dtype": np.float32}
    easy, hard = random_rbm(scale=0.5, **shape), random_rbm(scale=20, **shape)
    for part, hard_part in zip(easy.parameters, hard.parameters, strict=True):
        part[[0, 1], [1, 0]] = hard_part[[0, 1], [1, 0]]
    return easy


def test_brackets_include_both_directions_and_repeat_hard_models():
    rbm = bracketed_models()
    bracket = bracketed_log_partition(rbm, ROWS, **BRACKET)
    base = base_rate_bias(ROWS)
    first = ais_log_partition(rbm, particles=31, temperatures=5, seed=3, base=base)
    few = first.effective_sample_size < 3.1
    assert few.tolist() == [[False, True, False], [True, False, False]]
    again = ais_log_partition(rbm, 31, 20, seed=3, base=base, keys=np.arange(6) + 2**30)
    for name in ("log_partition", "standard_error", "effective_sample_size"):
        expected = np.where(few, getattr(again, name), getattr(first, name))
        np.testing.assert_array_equal(getattr(bracket, name), expected)
    lowest = bracket.log_partition - 1.96 * bracket.standard_error
    assert (bracket.low <= np.maximum(lowest, bracket.log_partition - np.log(40))).all()
    assert (bracket.low >= bracket.log_partition - np.log(40)).all()
    assert (bracket.high >= bracket.log_partition + 1.96 * bracket.standard_error).all()
    once = bracketed_log_partition(rbm, ROWS, **BRACKET | {"repeat": 1})
    np.testing.assert_array_equal(once.log_partition, first.log_partition)


def test_brackets_cover_log_z_where_forward_errors_do_not():
    # Two modes that chains leave seldom, and few temperatures. Of 200 intervals with a coverage of 95 %,
    # fewer than 177 cover log Z in 1 of 10^4 tests.
    single = two_mode_rbm(13, 7, 14.0)
    rbm, truth, rows = repeated(single, 200), exact_log_partition(single), exact_samples(single, 101, seed=5)
    bracket = bracketed_log_partition(rbm, rows, particles=11, temperatures=7, steps=20, repeat=1, seed=8)
    forward = np.abs(bracket.log_partition - truth) < 1.96 * bracket.standard_error
    assert forward.sum() < 177
    assert ((bracket.low < truth) & (truth < bracket.high)).sum() >= 177


def test_brackets_do_not_depend_on_other_models_and_threads():
    rbm = bracketed_models()
    estimates = bracketed_log_partition(rbm, ROWS, **BRACKET)
    on_threads = bracketed_log_partition(rbm, ROWS, **BRACKET, threads=3)
    single = bracketed_log_partition(rbm[1, 0], ROWS, **BRACKET, keys=[3])
    for name, values in vars(estimates).items():
        np.testing.assert_array_equal(getattr(on_threads, name), values)
        assert getattr(single, name) == values[1, 0]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_stopped_bracket_is_resumed_at_any_point(monkeypatch, threads):
    rbm = bracketed_models()
    expected = bracketed_log_partition(rbm, ROWS, **BRACKET)
    monkeypatch.setattr(particles_module, "SHARD_BYTES", 1)
    monkeypatch.setattr(pace, "PAUSE_SECONDS", 0.0)
    calls = []

    def bracketed(state, pause, stops):
        options = {"threads": threads + stops % 2, "begun": state, "pause": pause}
        return bracketed_log_partition(rbm, ROWS, **BRACKET, **options, progress=lambda *call: calls.append(call))

    bracket, stops = stopped_and_resumed(bracketed)
    assert stops >= 5
    assert all(0 < done / total <= 1 for done, total in calls)
    assert calls[-1][0] == calls[-1][1]
    for value, expected_value in zip(vars(bracket).values(), vars(expected).values(), strict=True):
        np.testing.assert_array_equal(value, expected_value)


def test_log_z_of_the_base_model_is_exact():
    b0 = np.linspace(-2, 2, 7)
    rbm = RBM(np.zeros((7, 3)), b0, np.zeros(3))
    estimate = ais_log_partition(rbm, particles=11, temperatures=5, base=b0)
    assert estimate.log_partition == pytest.approx(exact_log_partition(rbm), rel=1e-13)
    # Only rounding of products of 3 factors of 2.
    assert estimate.standard_error < 1e-7
    assert estimate.effective_sample_size == pytest.approx(11)


def test_estimates_do_not_depend_on_other_models_and_threads():
    rbm = random_rbm(13, 5, replicas=(2, 3), scale=1.0, seed=2, dtype=np.float32)
    estimates = ais_log_partition(rbm, particles=31, temperatures=17, seed=3)
    assert estimates.log_partition.shape == (2, 3)
    on_threads = ais_log_partition(rbm, particles=31, temperatures=17, seed=3, threads=3)
    np.testing.assert_array_equal(estimates.log_partition, on_threads.log_partition)
    single = ais_log_partition(rbm[1, 2], particles=31, temperatures=17, seed=3, keys=[5])
    assert single.log_partition == estimates.log_partition[1, 2]
    assert single.standard_error == estimates.standard_error[1, 2]
    assert len(np.unique(estimates.log_partition)) == 6


def test_progress_counts_the_steps_of_all_models():
    calls = []
    rbm = random_rbm(5, 3, replicas=(3,), seed=2)
    ais_log_partition(rbm, particles=7, temperatures=250, progress=lambda done, total: calls.append((done, total)))
    steps = [done for done, _ in calls]
    assert steps[0] == 3
    assert steps == sorted(set(steps))
    assert steps[-1] == 750
    assert {total for _, total in calls} == {750}


@pytest.mark.parametrize(("threads", "shard_bytes"), [(1, 2**20), (2, 1), (3, 1)])
def test_a_stopped_annealing_is_resumed_at_any_point(monkeypatch, threads, shard_bytes):
    rbm, b0 = random_rbm(5, 3, replicas=(2, 2), seed=2), np.linspace(-1, 1, 5)
    arguments = {"particles": 31, "temperatures": 17, "seed": 3, "base": b0}
    expected = ais_log_partition(rbm, **arguments)
    monkeypatch.setattr(particles_module, "SHARD_BYTES", shard_bytes)
    monkeypatch.setattr(pace, "PAUSE_SECONDS", 0.0)

    def annealed(state, pause, stops):  # with another number of threads each time
        return ais_log_partition(rbm, **arguments, threads=threads + stops % 2, begun=state, pause=pause)

    estimate, stops = stopped_and_resumed(annealed)
    assert stops >= 5
    for value, expected_value in zip(vars(estimate).values(), vars(expected).values(), strict=True):
        np.testing.assert_array_equal(value, expected_value)


def test_base_rate_bias_is_the_logit_of_the_rates_of_the_data():
    data = (np.random.default_rng(0).random((97, 5)) < 0.3).astype(np.uint8)
    data[:, 0] = 0
    b0 = base_rate_bias(data)
    np.testing.assert_allclose(1 / (1 + np.exp(-b0)), (data.sum(axis=0) + 1) / 99, rtol=1e-13)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"particles": 1}, "option 'particles': must be an integer >= 2, got 1"),
        ({"temperatures": 0}, "option 'temperatures': must be an integer >= 1, got 0"),
        ({"temperatures": np.array([0.0, 0.5, 0.5, 1.0])}, "temperatures: must be an integer, or ascend from 0 to 1"),
        ({"temperatures": np.array([0.1, 1.0])}, "temperatures: must be an integer, or ascend from 0 to 1"),
        ({"temperatures": np.array([0.0, 0.9])}, "temperatures: must be an integer, or ascend from 0 to 1"),
        ({"base": np.zeros(4)}, r"base: must be finite, of shape \(5,\), got shape \(4,\)"),
        ({"base": np.array(["0"] * 5)}, r"base: must be finite, of shape \(5,\), got shape \(5,\), <U1"),
        ({"base": np.full(5, np.inf)}, r"base: must be finite, of shape \(5,\)"),
        ({"keys": [1, 2]}, "keys: must be 3 integers, one for each model, got "),
    ],
)
def test_invalid_arguments_raise_a_one_line_error(change, message):
    with pytest.raises(SettingsError, match=rf"\A{message}[^\n]*\Z"):
        ais_log_partition(random_rbm(5, 3, replicas=(3,)), **({"particles": 7, "temperatures": 5} | change))


@pytest.mark.parametrize("shape", [(2, 7, 5), (3, 7, 4), (3, 1, 5), (7, 5), (5,)])
def test_samples_of_a_wrong_shape_raise(shape):
    with pytest.raises(SettingsError, match=r"^samples: must have shape \(3, at least 2 particles, 5\), got .*"):
        reverse_ais_log_partition(random_rbm(5, 3, replicas=(3,)), np.zeros(shape), temperatures=5)


@pytest.mark.parametrize("samples", [np.zeros(5), np.zeros((1, 5))])
def test_samples_of_one_model_that_are_no_matrix_raise(samples):
    with pytest.raises(SettingsError, match=r"^samples: must have shape \(at least 2 particles, 5\), got .*"):
        reverse_ais_log_partition(random_rbm(5, 3), samples, temperatures=5)


@pytest.mark.parametrize("base", [None, np.zeros(7)])
@pytest.mark.parametrize("data", [binary_data(11, 5), np.full((11, 7), 3)])
def test_invalid_rows_of_a_bracket_raise_before_annealing(base, data):
    def stop(*_):
        raise AssertionError("annealing has begun")

    with pytest.raises(DataError, match=r"^data: must be"):
        bracketed_log_partition(random_rbm(7, 3), data, 5, 10**6, base=base, progress=stop, pause=stop)
