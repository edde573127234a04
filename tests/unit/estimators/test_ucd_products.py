# SPDX-License-Identifier: BSD-3-Clause
"""Cost of unbiased CD: products of a row with W, counted in its formulas."""

import numpy as np
import pytest
from core_helpers import binary_data, random_rbm, sigmoid, training_stream

from rbmbench import estimators
from rbmbench.estimators.ucd import products_of_pair

M, N = 11, 7
LONGEST = 9


class Counted:
    """W, b and c of an RBM in plain NumPy, and the number of products of a row with W."""

    def __init__(self):
        rng = np.random.default_rng(5)
        self.W, self.b, self.c, self.products = rng.normal(0, 1, (M, N)), rng.normal(size=M), rng.normal(size=N), 0

    def visible_mean(self, h):
        self.products += 1
        return sigmoid(self.W @ h + self.b)

    def hidden_mean(self, v):
        self.products += 1
        return sigmoid(v @ self.W + self.c)

    def f(self, v, p):
        self.products += 1
        return np.outer(v, p)


def estimate(rbm, row, k, tau, rng):
    """Return f(v, p) - f(xi_k) - sum_{t=k+1}^{tau-1} (f(xi_t) - f(eta_{t-1})) of a row, for chains that meet at tau.

    Chains are coupled by equal uniforms; that they meet at tau and not before is forced, which costs no product.
    """

    def states(mean, uniforms):
        return (uniforms < mean).astype(float)

    p = rbm.hidden_mean(row)
    gradient = rbm.f(row, p)
    h = other = states(p, rng.random(N))
    t, met = 0, False
    while t < k or not met:
        t += 1
        u = rng.random(M)
        v = states(rbm.visible_mean(h), u)
        if t >= 2 and not met:
            v_other = states(rbm.visible_mean(other), u)
            met = t == tau
            if met:
                v_other = v
            elif (v_other == v).all():
                v_other = 1 - v
        if met and t > k:
            break
        u, p = rng.random(N), rbm.hidden_mean(v)
        h = states(p, u)
        if t >= 2 and not met:
            p_other = rbm.hidden_mean(v_other)
            other = states(p_other, u)
        if t == k:
            gradient -= rbm.f(v, p)
        if t > k:
            gradient -= rbm.f(v, p) - rbm.f(v_other, p_other)
    return gradient


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("tau", range(2, LONGEST + 1))
def test_products_of_a_pair_are_those_of_the_formulas(k, tau):
    rbm, rng = Counted(), np.random.default_rng(tau)
    estimate(rbm, rng.integers(0, 2, M).astype(float), k, tau, rng)
    assert 2 + products_of_pair(k, tau) == rbm.products


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_cost_of_an_estimate_is_that_of_its_pairs(monkeypatch, k):
    """Some pairs meet within the first k steps; their number does not follow from the mean of tau."""
    estimator, rbm = estimators.create("ucd", k=k), random_rbm(M, N, (2,), seed=3)
    batch = np.stack([binary_data(29, M, 1)] * 2).astype(rbm.W.dtype)
    run, times = estimator.coupled.run, []

    def recorded(*arguments):
        met = run(*arguments)
        times.append(met.stopping_time)
        return met

    monkeypatch.setattr(estimator.coupled, "run", recorded)
    diagnostics = estimator.estimate(rbm, batch, {}, training_stream(2)).diagnostics
    [times] = times
    assert (times.min(), k == 1 or (times <= k).any(), (times > k).any()) == (2, True, True)
    for replica in range(2):
        replica_diagnostics = {name: float(values[replica]) for name, values in diagnostics.items()}
        costs = []
        for tau in times[replica]:
            counted, rng = Counted(), np.random.default_rng(1)
            estimate(counted, batch[replica, 0].astype(float), k, tau, rng)
            costs.append(counted.products)
        assert estimator.products(29, M, N, replica_diagnostics) == pytest.approx(np.mean(costs))
