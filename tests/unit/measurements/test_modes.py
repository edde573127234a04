# SPDX-License-Identifier: BSD-3-Clause
"""Missing and spurious modes of models: error rates, and certificates of models with planted modes."""

import numpy as np
import pytest
from core_helpers import random_rbm
from scipy.stats import binom

from rbmbench import train
from rbmbench.base.settings import CertificateSettings
from rbmbench.base.streams import Purpose, Stream
from rbmbench.measurements.certificate import certificate
from rbmbench.measurements.modes import CELLS, LEVEL, POWER, RATIO, detectable, mass_of_modes, spread_centres
from rbmbench.measurements.verdicts import CERTIFIED, verdict
from rbmbench.model.rbm import RBM
from rbmbench.samplers.exact import exact_samples

M = 17
ERROR_RATE = 1e-3
"""Probability that a test of rates fails by chance."""
FLAT = RBM(np.zeros((1, M, 2)), np.zeros((1, M)), np.zeros((1, 2)))


def in_two_modes(generator, shape, share):
    """Return states near 0 and, with probability ``share``, near 1; each bit is flipped with probability 0.1."""
    return ((generator.random(shape)[..., None] < share) ^ (generator.random((*shape, M)) < 0.1)).astype(np.uint8)


def masses_of(generator, rows, samples):
    """Return the masses beside held-out rows, with training rows that are their copies."""
    return mass_of_modes(FLAT, samples, np.repeat(rows, 2, axis=0), rows, generator.random(CELLS))


def test_centres_are_apart_and_a_distant_state_is_among_them():
    generator = np.random.default_rng(1)
    apart = np.kron(np.eye(5), np.ones(3))[:, :M].astype(np.uint8)  # in 6 of 15 units
    close = np.repeat(apart, 7, axis=0) ^ (np.arange(15) == 14)  # in 1
    centres = spread_centres(np.concatenate([np.repeat(apart, 5, axis=0), close]), generator.random(11))
    assert len(centres) == 5
    assert len(np.unique(centres[:, :14], axis=0)) == 5
    with_outlier = np.concatenate([in_two_modes(generator, (997,), 0.0), np.ones((1, M), np.uint8)])
    assert (spread_centres(with_outlier, generator.random(CELLS)).sum(axis=1) == M).any()


def test_noise_around_a_mode_is_no_spurious_mode():
    """Rows are one state, samples have an eighth of their units wrong at most."""
    generator = np.random.default_rng(8)
    rows, samples = np.zeros((1009, M), np.uint8), np.zeros((50, 32, M), np.uint8)
    samples[..., :2] = generator.random((50, 32, 2)) < 0.5
    assert masses_of(generator, rows, samples)["spurious_low"] == 0


@pytest.mark.slow
def test_masses_within_the_ratio_are_reported_at_the_rate_of_the_level():
    """At the edge: rows have exactly `RATIO` times the mass of the samples in one region, and the reverse."""
    count, detections = 300, {"missing": 0, "spurious": 0}
    for seed in range(count):
        generator = np.random.default_rng([seed, 2])
        few, many = in_two_modes(generator, (40, 30), 0.1), in_two_modes(generator, (1200,), 0.1 * RATIO)
        detections["missing"] += masses_of(generator, many, few)["missing_low"] > 0
        few, many = in_two_modes(generator, (1200,), 0.1), in_two_modes(generator, (40, 30), 0.1 * RATIO)
        detections["spurious"] += masses_of(generator, few, many)["spurious_low"] > 0
    assert max(detections.values()) <= binom.isf(ERROR_RATE, count, LEVEL)


@pytest.mark.slow
def test_rows_of_the_model_itself_are_rejected_at_the_rate_of_the_level():
    rbm, count, rejections = random_rbm(13, 5, (1,), seed=3, dtype=np.float64), 300, 0
    for seed in range(count):
        draw = exact_samples(rbm, 2 * 701 + 41 * 29, Stream(seed, [0], Purpose.DATA))[0].astype(np.uint8)
        rows, test, samples = draw[:701], draw[701:1402], draw[1402:].reshape(41, 29, 13)
        masses = mass_of_modes(rbm, samples, rows, test, np.random.default_rng(seed).random(CELLS))
        rejections += any(masses[f"{name}_low"] > 0 for name in ("missing", "spurious"))
    assert rejections <= binom.isf(ERROR_RATE, count, LEVEL)


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "chains"), [(307, 40), (1999, 11)])
def test_a_mode_of_the_detectable_share_is_found_with_the_stated_power(rows, chains):
    """The mode is one state, which has its own cell; the other states are noise."""
    count, detections = 100, {"missing": 0, "spurious": 0}
    for seed in range(count):
        generator = np.random.default_rng([seed, rows])

        def draw_states(shape, share, generator=generator):
            states = (generator.random((*shape, M)) < 0.1).astype(np.uint8)
            states[generator.random(shape) < share] = 1
            return states

        for name, (in_rows, in_samples) in {"missing": (1, 0), "spurious": (0, 1)}.items():
            counted = (chains - -(-chains // 5)) * 50
            share = detectable(rows, counted) if in_rows else detectable(counted, rows)
            parts = draw_states((rows,), share * in_rows), draw_states((chains, 50), share * in_samples)
            training = draw_states((3 * rows,), share * in_rows)
            masses = mass_of_modes(FLAT, parts[1], training, parts[0], generator.random(CELLS))
            assert masses[f"{name}_detectable"] == pytest.approx(share, rel=0.1)
            detections[name] += masses[f"{name}_low"] > 0.01
    assert min(detections.values()) >= binom.ppf(ERROR_RATE, count, POWER)


def test_detectable_share_decreases_with_the_number_of_rows():
    assert detectable(997, 5) == 1
    shares = [detectable(rows, 5000) for rows in (53, 211, 997, 9973)]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] < 1
    assert shares[-1] > 0.01


def test_chains_that_stay_in_a_mode_count_once():
    """Three of 50 chains that never leave a mode count as three samples; 6 % of 1600 samples are enough."""
    generator = np.random.default_rng(5)
    rows, samples = (in_two_modes(generator, shape, 0.0) for shape in ((1009,), (50, 32)))
    samples[[6, 7, 8]] = 1
    assert masses_of(generator, rows, samples)["spurious_low"] == 0
    samples = in_two_modes(generator, (50, 32), 0.0)
    samples[generator.random((50, 32)) < 0.06] = 1
    assert masses_of(generator, rows, samples)["spurious_low"] > 0.01


def test_free_energies_detect_a_mode_without_a_cell():
    """Rows of a mode amid the others, all different states, have free energies above all samples."""
    generator = np.random.default_rng(6)
    b = np.where(np.arange(M) < 9, 4.0, 0.0)
    rbm = RBM(np.zeros((1, M, 2)), b[None], np.zeros((1, 2)))
    chances = 1 / (1 + np.exp(-b))
    samples, rows = ((generator.random((*shape, M)) < chances).astype(np.uint8) for shape in ((40, 30), (1200,)))
    rows[:120, :9] ^= generator.permuted(np.tile([1, 1, 1, 0, 0, 0, 0, 0, 0], (120, 1)), axis=1).astype(np.uint8)
    masses = mass_of_modes(rbm, samples, rows, rows, generator.random(CELLS))
    assert 0.05 < masses["missing_low"] < 0.1 < masses["missing_high"]
    assert masses["spurious_low"] == 0


# --- Certificates ----------------------------------------------------------------------------------------------------

PROTOTYPES = np.array([[0] * 13, [1] * 13, [0, 1] * 6 + [0], [1, 0] * 6 + [1]], np.uint8)
BUDGET = {"particles": 101, "temperatures": 307, "chains": 61, "ladder": 7, "sweeps": 640, "walkers": 67, "steps": 67}


@pytest.fixture(scope="module")
def planted():
    """Return training and held-out rows, (2, 2000, 13), without and with a mode of 10 %, and models of both."""
    generator = np.random.default_rng(7)
    plain = PROTOTYPES[generator.integers(4, size=(2, 2000))] ^ (generator.random((2, 2000, 13)) < 0.05)
    mode = np.array([0, 0, 1, 1, 0, 1, 1, 1, 0, 0, 0, 1, 1], np.uint8)
    mixed = plain.copy()
    mixed[:, :200] = mode ^ (generator.random((2, 200, 13)) < 0.05)
    options = {"hidden": 7, "batch": 100, "iterations": 2000, "estimator": "exact", "rate": 0.1, "seed": 1}
    options |= {"evaluate_every": 2000, "initial": {"kind": "normal", "width": 0.01, "biases": "base_rate"}}
    return {name: (rows, train(rows[0], **options).rbm) for name, rows in (("plain", plain), ("mixed", mixed))}


def verdict_on(rbm, rows, test=None):
    return verdict(certificate(rbm, rows, CertificateSettings(**BUDGET, rows=307, seed=5), test))


@pytest.mark.parametrize("held_out", [True, False])
def test_verdict_on_a_good_model_names_the_detectable_share(planted, held_out):
    rows, rbm = planted["plain"]
    judgement = verdict_on(rbm, rows[0], rows[1] if held_out else None)
    assert (judgement.word, judgement.reasons) == (CERTIFIED, ())
    assert 0.01 < judgement.detectable < 0.03
    assert judgement.in_words.startswith("nothing wrong found: missing or spurious modes of at least 2")


@pytest.mark.parametrize("held_out", [True, False])
@pytest.mark.parametrize(
    ("model", "data", "words"), [("plain", "mixed", "rows are"), ("mixed", "plain", "samples are")]
)
def test_models_with_a_planted_mode_are_not_certified(planted, model, data, words, held_out):
    """The mode is the only reason."""
    rows = planted[data][0]
    judgement = verdict_on(planted[model][1], rows[0], rows[1] if held_out else None)
    assert judgement.word != CERTIFIED
    assert all("less than a third" in reason for reason in judgement.reasons)
    assert any(words in reason for reason in judgement.reasons)


def test_modes_missing_from_training_rows_are_no_fault(planted):
    judgement = verdict_on(planted["plain"][1], planted["plain"][0][0], planted["mixed"][0][1])
    assert (judgement.word, judgement.reasons) == (CERTIFIED, ())


def test_few_held_out_rows_are_not_used(planted):
    rows, rbm = planted["plain"]
    assert verdict_on(rbm, rows[0], rows[1, :53]).detectable == verdict_on(rbm, rows[0]).detectable
