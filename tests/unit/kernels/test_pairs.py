# SPDX-License-Identifier: BSD-3-Clause
"""Pairs of coupled chains in compiled code, against the loop over steps in Python."""

import numpy as np
import pytest
from core_helpers import random_rbm, repeated, two_mode_rbm

from rbmbench import RBM
from rbmbench.base.streams import Stream
from rbmbench.model.gibbs import Buffers, Population, hidden_mean
from rbmbench.samplers._terms import TermSums
from rbmbench.samplers.coupled_gibbs import COUPLINGS, CoupledGibbs, Terms

pytest.importorskip("numba")

REPLICAS, CHAINS = 3, 53
SIZES = {"narrow": (13, 11), "wide": (7, 131), "tall": (137, 5)}


def model(m: int, n: int, dtype=np.float32) -> RBM:
    W, b, c = random_rbm(m, n, (REPLICAS,), seed=7).parameters
    return RBM(*(part.astype(dtype) for part in (4 / np.sqrt(m * n) * W, b, c)))


class SingleTerms(Terms):
    """Terms added one by one, by the loop in Python."""

    def __init__(self, sums):
        self.add, self.add_differences = sums.add, sums.add_differences


def estimate(rbm, chains, trials=range(REPLICAS), by_hand=False):
    """Return the meetings and the means of the terms."""
    m = rbm.W.shape[1]
    start = (np.random.default_rng(11).random((REPLICAS, CHAINS, m)) < 0.5).astype(rbm.W.dtype)[list(trials)]
    sums = TermSums()
    sums.clear(rbm, CHAINS)
    terms = SingleTerms(sums) if by_hand else sums
    met = chains.run(rbm, Population(start, hidden_mean(rbm, start, Buffers())), Stream(5, trials), terms)
    return met, [part.copy() for part in sums.mean()]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("coupling", COUPLINGS)
@pytest.mark.parametrize(
    ("k", "max_steps", "antithetic"), [(1, None, False), (1, 5, True), (2, 100, False), (3, 4, False)]
)
def test_compiled_pairs_are_those_of_the_loop_in_python(size, coupling, k, max_steps, antithetic):
    if coupling == "general" and max_steps is None:
        max_steps = 200
    rbm = model(*SIZES[size])
    options = {"coupling": coupling, "k": k, "max_steps": max_steps, "antithetic": antithetic}
    met, means = estimate(rbm, CoupledGibbs(**options))
    expected_met, expected = estimate(rbm, CoupledGibbs(**options), by_hand=True)
    assert expected_met.stopping_time.max() > k + 1 or max_steps == 4
    for field, wanted in zip(met, expected_met, strict=True):
        np.testing.assert_array_equal(field, wanted)
    for mean, wanted in zip(means, expected, strict=True):
        np.testing.assert_allclose(mean, wanted, rtol=0, atol=2e-5)


def test_more_terms_than_chains_are_all_added():
    rbm = repeated(two_mode_rbm(13, 11, coupling=11.0), REPLICAS)
    met, means = estimate(rbm, CoupledGibbs(max_steps=300))
    _, expected = estimate(rbm, CoupledGibbs(max_steps=300), by_hand=True)
    assert ((met.stopping_time - 2).sum(axis=1) > 3 * CHAINS).all()  # kept rows were flushed several times
    for mean, wanted in zip(means, expected, strict=True):
        np.testing.assert_allclose(mean, wanted, rtol=0, atol=1e-11)


def test_a_trial_does_not_depend_on_other_trials():
    rbm = model(13, 11)
    met, means = estimate(rbm, CoupledGibbs())
    alone, means_alone = estimate(rbm[1:2], CoupledGibbs(), trials=[1])
    for whole, part in zip((*met, *means), (*alone, *means_alone), strict=True):
        np.testing.assert_array_equal(whole[1:2], part)
