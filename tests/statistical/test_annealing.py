# SPDX-License-Identifier: BSD-3-Clause
"""Annealed importance sampling against exact partition functions.

Every comparison is of a statistic that is nearly normal by the number of particles; its error rate is stated.
"""

import numpy as np
import pytest
from core_helpers import Enumerated, random_rbm, repeated, stopped_and_resumed
from scipy.stats import chi2, norm

from rbmbench.base import pace
from rbmbench.base.errors import SettingsError
from rbmbench.likelihood import ais_log_partition, base_rate_bias, exact_log_partition, reverse_ais_log_partition
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
def test_estimates_lie_within_their_error_of_the_exact_values(base, dtype):
    # 20 models, at most one in 10^4 such tests fails: by a single model, or by all together.
    rbm = random_rbm(M, N, replicas=(20,), scale=0.6, seed=8, dtype=dtype)
    found = ais_log_partition(rbm, particles=512, temperatures=1000, seed=4, base=base)
    z = (found.log_partition - exact_log_partition(rbm)) / found.standard_error
    assert found.log_partition.dtype == np.float64
    assert (found.effective_sample_size > 256).all()
    assert np.abs(z).max() < norm.isf(ERROR_RATE / 4 / 20)
    assert chi2.ppf(ERROR_RATE / 4, 20) < (z**2).sum() < chi2.isf(ERROR_RATE / 4, 20)


@pytest.mark.parametrize("schedule", [3, np.array([0.0, 0.05, 0.4, 0.9, 1.0])], ids=["even", "uneven"])
def test_weights_are_unbiased_however_coarse_the_schedule(schedule):
    # A transition that did not leave its distribution alone would show here, where particles are far from equilibrium.
    rbm, particles = random_rbm(7, 3, scale=1.2, seed=3), 200_003
    samples = exact_samples(rbm, particles, seed=1)
    base = np.linspace(-0.5, 0.5, 7)
    forward = ais_log_partition(rbm, particles=particles, temperatures=schedule, seed=5, base=base)
    reverse = reverse_ais_log_partition(rbm, samples, temperatures=schedule, seed=6, base=base)
    for found in (forward, reverse):
        assert found.standard_error < 0.05
        z = (found.log_partition - exact_log_partition(rbm)) / found.standard_error
        assert abs(z) < norm.isf(ERROR_RATE / 2)


def test_forward_and_reverse_estimates_hold_the_truth_between_them():
    # A few steps and particles: both are off, each to its own side, and a thousand repetitions show it.
    rbm, repetitions, particles = random_rbm(11, 5, scale=2.5, seed=9), 1009, 3
    many, truth = repeated(rbm, repetitions), exact_log_partition(rbm)
    samples = exact_samples(rbm, repetitions * particles, seed=2).reshape(repetitions, particles, 11)
    forward = ais_log_partition(many, particles=particles, temperatures=3, seed=1).log_partition
    reverse = reverse_ais_log_partition(many, samples, temperatures=3, seed=2).log_partition
    for gap in (truth - forward, reverse - truth):
        assert gap.mean() > norm.isf(ERROR_RATE / 2) * gap.std() / np.sqrt(repetitions)


def test_one_step_is_importance_sampling():
    rbm, rows, b0 = random_rbm(7, 3, scale=1.0, seed=1), np.eye(7), np.linspace(-1, 1, 7)
    found = reverse_ais_log_partition(rbm, rows, temperatures=1, base=b0)
    log_start = 3 * np.log(2) + np.log1p(np.exp(b0)).sum()
    weights = np.exp(3 * np.log(2) + rows @ b0 + rbm.free_energy(rows))
    assert found.log_partition == pytest.approx(log_start - np.log(weights.mean()), rel=1e-13)
    assert found.effective_sample_size == pytest.approx(weights.sum() ** 2 / (weights**2).sum(), rel=1e-12)
    error = weights.std(ddof=1) / np.sqrt(7) / weights.mean()
    assert found.standard_error == pytest.approx(error, rel=1e-12)


def test_the_start_model_itself_is_known_without_error():
    b0 = np.linspace(-2, 2, 7)
    rbm = RBM(np.zeros((7, 3)), b0, np.zeros(3))
    found = ais_log_partition(rbm, particles=11, temperatures=5, base=b0)
    assert found.log_partition == pytest.approx(exact_log_partition(rbm), rel=1e-13)
    # Products of 3 factors of 2 leave rounding alone.
    assert found.standard_error < 1e-7
    assert found.effective_sample_size == pytest.approx(11)


def test_a_model_is_estimated_the_same_alone_and_among_others_on_any_number_of_threads():
    rbm = random_rbm(13, 5, replicas=(2, 3), scale=1.0, seed=2, dtype=np.float32)
    together = ais_log_partition(rbm, particles=31, temperatures=17, seed=3)
    assert together.log_partition.shape == (2, 3)
    on_threads = ais_log_partition(rbm, particles=31, temperatures=17, seed=3, threads=3)
    np.testing.assert_array_equal(together.log_partition, on_threads.log_partition)
    alone = ais_log_partition(rbm[1, 2], particles=31, temperatures=17, seed=3, keys=[5])
    assert alone.log_partition == together.log_partition[1, 2]
    assert alone.standard_error == together.standard_error[1, 2]
    assert len(np.unique(together.log_partition)) == 6


def test_progress_counts_the_steps_of_all_models():
    calls = []
    rbm = random_rbm(5, 3, replicas=(3,), seed=2)
    ais_log_partition(rbm, particles=7, temperatures=250, progress=lambda done, total: calls.append((done, total)))
    made = [done for done, _ in calls]
    assert made[0] == 3
    assert made == sorted(set(made))
    assert made[-1] == 750
    assert {total for _, total in calls} == {750}


@pytest.mark.parametrize(("threads", "shard_bytes"), [(1, 2**20), (2, 1), (3, 1)])
def test_an_annealing_goes_on_from_wherever_it_was_stopped(monkeypatch, threads, shard_bytes):
    rbm, b0 = random_rbm(5, 3, replicas=(2, 2), seed=2), np.linspace(-1, 1, 5)
    arguments = {"particles": 31, "temperatures": 17, "seed": 3, "base": b0}
    expected = ais_log_partition(rbm, **arguments)
    monkeypatch.setattr(particles_module, "SHARD_BYTES", shard_bytes)
    monkeypatch.setattr(pace, "PAUSE_SECONDS", 0.0)

    def annealed(begun, pause, stops):  # with another number of threads each time
        return ais_log_partition(rbm, **arguments, threads=threads + stops % 2, begun=begun, pause=pause)

    found, stops = stopped_and_resumed(annealed)
    assert stops >= 5
    for ours, theirs in zip(vars(found).values(), vars(expected).values(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_the_base_rates_are_those_of_the_data():
    data = (np.random.default_rng(0).random((97, 5)) < 0.3).astype(np.uint8)
    data[:, 0] = 0
    b0 = base_rate_bias(data)
    np.testing.assert_allclose(1 / (1 + np.exp(-b0)), (data.sum(axis=0) + 1) / 99, rtol=1e-13)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"particles": 1}, "option 'particles': found 1; allowed: an integer >= 2"),
        ({"temperatures": 0}, "option 'temperatures': found 0; allowed"),
        ({"temperatures": np.array([0.0, 0.5, 0.5, 1.0])}, "temperatures: found a schedule that does not ascend"),
        ({"temperatures": np.array([0.1, 1.0])}, "temperatures: found a schedule that does not ascend from 0 to 1"),
        ({"temperatures": np.array([0.0, 0.9])}, "temperatures: found a schedule that does not ascend from 0 to 1"),
        ({"base": np.zeros(4)}, r"base: found shape (4,); allowed: (5,), all finite"),
        ({"base": np.full(5, np.inf)}, "base: found shape"),
        ({"keys": [1, 2]}, "keys: found 2; allowed: one for each of the 3 models"),
    ],
)
def test_what_is_not_allowed_is_one_line(change, message):
    with pytest.raises(SettingsError) as caught:
        ais_log_partition(random_rbm(5, 3, replicas=(3,)), **({"particles": 7, "temperatures": 5} | change))
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("shape", [(2, 7, 5), (3, 7, 4), (3, 1, 5), (7, 5), (5,)])
def test_samples_that_do_not_fit_are_refused(shape):
    with pytest.raises(SettingsError, match=r"^samples: found shape .*; allowed: \(3, at least 2 particles, 5\)$"):
        reverse_ais_log_partition(random_rbm(5, 3, replicas=(3,)), np.zeros(shape), temperatures=5)


@pytest.mark.parametrize("samples", [np.zeros(5), np.zeros((1, 5))])
def test_samples_of_one_model_are_a_matrix(samples):
    with pytest.raises(SettingsError, match=r"^samples: found shape .*; allowed: \(at least 2 particles, 5\)$"):
        reverse_ais_log_partition(random_rbm(5, 3), samples, temperatures=5)
