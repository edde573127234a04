"""part_name against oracles that share no code with it."""

from pathlib import Path

import numpy as np
import pytest

import rbmbench
from rbmbench.base.errors import SettingsError

rbmbench.load_plugins(Path(__file__).with_name("part_name.py"))

K, FADING = 3, 0.5


def test_without_earlier_steps_it_is_cd():
    rows = rbmbench.datasets.load("bars_and_stripes", side=3).train
    settings = {"hidden": 5, "batch": 8, "iterations": 11, "trials": 2, "precision": "float64", "backend": "numpy"}
    part, cd = (
        rbmbench.train(rows, estimator=name, options=options, **settings).rbm
        for name, options in {"part_name": {"k": K, "fading": 0.0}, "cd": {"k": K}}.items()
    )
    np.testing.assert_allclose(part.W, cd.W, rtol=1e-9)


def test_its_expectation_is_the_weighted_mean_over_the_steps():
    m, n, chains = 3, 2, 20011
    W = np.array([[2.0, -1.0], [-3.0, 1.0], [1.0, 2.0]])
    rbm = rbmbench.RBM(W[None], np.full((1, m), -0.5), np.full((1, n), 0.25))
    start = np.zeros((1, 2**m))
    start[0, -1] = 1.0  # all units on
    states = (np.arange(2**m)[:, None] >> np.arange(m - 1, -1, -1)) & 1
    weights = FADING ** np.arange(K - 1, -1, -1.0)
    means = [rbmbench.samplers.distribution_after(rbm, start, step)[0] @ states for step in range(1, K + 1)]
    expected = weights @ np.array(means) / weights.sum()

    estimator = rbmbench.estimators.create("part_name", k=K, fading=FADING)
    batch = np.ones((1, chains, m))
    estimate = estimator.estimate(rbm, batch, {}, rbmbench.Stream(1, [0]))
    mean = 1 - estimator.gradient(estimate).b[0]  # the data's mean less the gradient is the model's
    # The mean over a chain's steps lies in [0, 1], so its standard deviation is at most 1/2. Five standard errors in
    # each of three entries: wrong by chance with probability below 2e-6, and the seed is fixed.
    np.testing.assert_allclose(mean, expected, atol=5 * 0.5 / np.sqrt(chains))


@pytest.mark.parametrize("options", [{"k": 0}, {"fading": -0.1}, {"fading": True}, {"steps": 3}])
def test_options_that_are_not_allowed_are_refused(options):
    with pytest.raises(SettingsError, match=r"must be |unknown option"):
        rbmbench.estimators.create("part_name", **options)
