# SPDX-License-Identifier: BSD-3-Clause
"""Bias of CD-k and its bounds for 1000 random models, and sampled estimates against their expectation."""

import numpy as np
import pytest
from core_helpers import Enumerated, random_rbm

from rbmbench.likelihood.cd_bias import (
    bias_and_bounds,
    bias_bound,
    largest_energy_change,
    older_bias_bound,
    total_variation,
)
from rbmbench.model.rbm import RBM

MODELS, STEPS = 1000, range(1, 11)
ROUNDING = 1e-12
ERROR_RATE = 1e-4


def random_model(rng):
    """Return an RBM of 2 to 12 units with small or large parameters, its tables, and a random start distribution."""
    m = int(rng.integers(1, 9))
    n = int(rng.integers(1, 13 - m))
    rbm = random_rbm(m, n, (1,), scale=10 ** rng.uniform(-2, 1.2), seed=int(rng.integers(2**32)))
    starts = [
        lambda: rng.dirichlet(np.ones(2**m)),
        lambda: np.eye(2**m)[rng.integers(2**m)],
        lambda: np.bincount(rng.integers(2**m, size=m + 1), minlength=2**m) / (m + 1),
    ]
    return rbm, Enumerated.of(rbm[0]), starts[rng.integers(3)]()


@pytest.fixture(scope="module")
def measured():
    """Enumerated biases of all parameters and both bounds, for 1000 models and 1 to 10 steps."""
    rng, triples = np.random.default_rng(2011), []
    for _ in range(MODELS):
        rbm, table, start = random_model(rng)
        model, law = table.joint.sum(axis=1), start
        distance = total_variation(start, model)[None]
        for k in STEPS:
            law = law @ table.gibbs
            bias = np.abs((law - model) @ table.f)
            triples.append((bias, bias_bound(rbm, distance, k)[0], older_bias_bound(rbm, k)[0]))
    return triples


def test_the_bound_holds_for_every_parameter(measured):
    assert len(measured) == MODELS * len(STEPS)
    assert [bias.max() for bias, bound, _ in measured if (bias > bound + ROUNDING).any()] == []


def test_the_bound_is_at_most_1_and_nearly_reached(measured):
    assert max(bound for _, bound, _ in measured) <= 1 + ROUNDING
    # The test above has power: the bias of some models nearly reaches the bound.
    assert max(bias.max() / bound for bias, bound, _ in measured if bound > 1e-6) > 0.99


def test_the_older_bound_holds_and_is_mostly_larger(measured):
    assert all((bias <= older + ROUNDING).all() for bias, _, older in measured)
    assert any(older < 1 for *_, older in measured)
    assert np.mean([bound < older for _, bound, older in measured]) > 0.9


def test_bias_and_bounds_are_those_of_the_tables():
    rng = np.random.default_rng(5)
    for k in (1, 3):
        rbm, table, start = random_model(rng)
        model, law = table.joint.sum(axis=1), start @ np.linalg.matrix_power(table.gibbs, k)
        bounds = {name: value[0] for name, value in bias_and_bounds(rbm, start, k).items()}
        bias, distance = np.abs((law - model) @ table.f).max(), 0.5 * np.abs(start - model).sum()
        bound = bias_bound(rbm, np.array([distance]), k)[0]
        expected = {"cd_bias": bias, "bias_bound": bound, "bias_bound_gap": bound - bias}
        expected |= {"older_bias_bound": older_bias_bound(rbm, k)[0], "total_variation": distance}
        expected["energy_change"] = max(
            np.abs(energies - energies[np.arange(len(energies)) ^ 2**unit]).max()
            for energies in (-np.log(table.joint), -np.log(table.joint.T))
            for unit in range(len(energies).bit_length() - 1)
        )
        assert bounds == pytest.approx(expected, rel=1e-10, abs=1e-14)


def test_bounds_of_a_model_with_two_visible_units():
    W = np.array([[1.0, -2.0, 0.5], [3.0, 1.0, -0.25]])
    rbm = RBM(W[None], np.array([[-1.5, 0.5]]), np.array([[0.75, -0.5, 0.0]]))
    # Visible: max(|1.5 - 1.5|, |-2 - 1.5|) = 3.5 and max(|4 + 0.5|, |-0.25 + 0.5|) = 4.5;
    # hidden: |4 + 0.75| = 4.75, |1 - 0.5| or |-2 - 0.5| = 2.5, 0.5.
    np.testing.assert_allclose(largest_energy_change(rbm), [4.75])
    np.testing.assert_allclose(bias_bound(rbm, np.array([0.5]), 2), [0.5 * (1 - np.exp(-5 * 4.75)) ** 2])
    # alpha = max(3.5 + 1.5, 4.25 + 0.5) = 5, beta = max(4 + 0.75, 3 + 0.5, 0.75) = 4.75.
    least = 2**5 * (1 / (1 + np.exp(5.0))) ** 2 * (1 / (1 + np.exp(4.75))) ** 3
    np.testing.assert_allclose(older_bias_bound(rbm, 3), [4 * (1 - least) ** 3], rtol=1e-12)


def test_bias_without_parameters_is_0_after_one_step():
    rbm = RBM(np.zeros((1, 3, 2)), np.zeros((1, 3)), np.zeros((1, 2)))
    bounds = bias_and_bounds(rbm, np.eye(8)[5], 1)
    assert bounds["cd_bias"] == pytest.approx(0, abs=1e-15)
    assert (bounds["bias_bound"], bounds["older_bias_bound"]) == (0, 0)
    assert bounds["total_variation"] == pytest.approx(7 / 8)
