# SPDX-License-Identifier: BSD-3-Clause
"""Total variation between samples of `RBM.sample` and the enumerated distribution."""

import numpy as np
import pytest
from core_helpers import Enumerated, holds, random_rbm, two_mode_rbm

from rbmbench.model.rbm import RBM

M, N, SAMPLES = 5, 3, 3_001


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_samples_have_the_distribution_of_each_model(dtype):
    models = random_rbm(M, N, scale=1.5, seed=31), two_mode_rbm(M, N, coupling=12.0)
    rbm = RBM(*(np.stack(parts).astype(dtype) for parts in zip(*(model.parameters for model in models), strict=True)))
    for model, samples in zip(models, rbm.sample(SAMPLES, seed=7), strict=True):
        table = Enumerated.of(model)
        probability = table.joint.sum(axis=1)
        assert holds(table.numbers_of(samples), probability)


def test_samples_of_too_few_sweeps_have_another_distribution():
    table = Enumerated.of(model := two_mode_rbm(M, N, coupling=12.0))
    probability = table.joint.sum(axis=1)
    samples = model.sample(SAMPLES, seed=7, sweeps=1, temperatures=2)
    assert not holds(table.numbers_of(samples), probability)


@pytest.mark.parametrize("clamp", [[np.nan, 1, np.nan, 0, np.nan], [1, np.nan, np.nan, np.nan, np.nan]])
def test_free_units_have_their_conditional_distribution(clamp):
    rbm, clamp = random_rbm(M, N, (2,), scale=1.5, seed=31), np.array(clamp)
    samples = rbm.sample(SAMPLES, seed=7, clamp=clamp)
    fits = ((samples == clamp) | np.isnan(clamp)).all()
    assert fits
    for model, drawn in zip([rbm[0], rbm[1]], samples, strict=True):
        table = Enumerated.of(model)
        possible = ((table.visible == clamp) | np.isnan(clamp)).all(axis=1)
        probability = np.where(possible, table.joint.sum(axis=1), 0)
        probability /= probability.sum()
        assert holds(table.numbers_of(drawn), probability)
        unconditional = np.where(possible, 0.5 ** np.isnan(clamp).sum(), 0)
        assert not holds(table.numbers_of(drawn), unconditional)
