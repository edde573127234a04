"""Coupled Gibbs chains on enumerable models: laws of a step, margins, and the estimate that has no bias."""

from itertools import pairwise

import numpy as np
import pytest
from core_helpers import (
    Enumerated,
    random_rbm,
    repeated,
    total_variation,
    total_variation_bound,
    training_stream,
    two_mode_rbm,
)
from scipy.stats import binom, norm

from rbmbench import estimators
from rbmbench.base.streams import RowKeys
from rbmbench.kernels import kernels_for
from rbmbench.model.gibbs import Buffers, hidden_mean
from rbmbench.samplers._pairs import Pairs
from rbmbench.samplers.coupled_gibbs import COUPLINGS as NAMES
from rbmbench.samplers.coupled_gibbs import CoupledGibbs, stopping_times

ERROR_RATE = 1e-5  # of every single comparison; there are about 400
COUPLINGS = pytest.mark.parametrize("coupling", NAMES)
M, N = 5, 3


def holds(numbers, probability):
    """Return whether independent samples may come from ``probability``."""
    return total_variation(numbers, probability) < total_variation_bound(probability, np.size(numbers), ERROR_RATE)


def one_step(rbm, h, h2, pairs, redraw_both):
    """Return coupled visible states of many pairs with hidden states h and h', and whether they met."""
    activation, other = (np.repeat((rbm.W @ hidden)[None], pairs, axis=0).astype(np.float32) for hidden in (h, h2))
    keys = RowKeys(np.zeros(pairs, np.int64), np.arange(pairs), np.zeros(pairs, np.uint8))
    met, rejections = np.empty(pairs, np.uint8), np.empty(pairs, np.int64)
    draw = training_stream(1, seed=11).branch().next()
    bias = rbm.b[None].astype(np.float32)
    kernels_for(activation).couple_visible(activation, other, bias, keys, draw, redraw_both, met, rejections)
    return activation, other, met, rejections


@COUPLINGS
def test_a_step_has_both_laws_and_meets_as_often_as_can_be(coupling):
    rbm, pairs = random_rbm(M, N, scale=1.2, seed=31), 40_009
    table = Enumerated.of(rbm)
    p = table.visible_given_hidden
    for first in range(2**N):
        for second in range(2**N):
            h, h2 = table.hidden[first], table.hidden[second]
            v, v2, met, _ = one_step(rbm, h, h2, pairs, coupling != "general")
            assert holds(table.numbers_of(v), p[first])
            assert holds(table.numbers_of(v2), p[second])
            overlap = np.minimum(p[first], p[second]).sum()
            assert met.all() if first == second else may_be(met.sum(), pairs, overlap)
            np.testing.assert_array_equal(met == 1, (v == v2).all(axis=1))


@COUPLINGS
def test_each_of_two_chains_stays_in_the_models_distribution(coupling, monkeypatch):
    rbm = two_mode_rbm(M, N, coupling=8.0)
    table, pairs = Enumerated.of(rbm), 100_003
    p_v = table.joint.sum(axis=1)
    start = table.visible[np.random.default_rng(3).choice(len(p_v), size=(1, pairs), p=p_v)].astype(np.float32)
    seen, step = [], Pairs.couple_visible

    def recording(self, rows, activation, other, redraw_both):
        found = step(self, rows, activation, other, redraw_both)
        seen.append((table.numbers_of(activation), table.numbers_of(other)))
        return found

    monkeypatch.setattr(Pairs, "couple_visible", recording)
    ours = rbm.replicas.astype(np.float32)
    # As long as t < k all pairs are kept, also those that have met.
    CoupledGibbs(coupling, k=17).run(ours, hidden_mean(ours, start, Buffers()), training_stream(1))
    for t in (1, 4, 16):
        for numbers in seen[t - 1]:
            assert holds(numbers, p_v)
    # They are coupled: most have met, and none has parted.
    together = [first == second for first, second in seen[:16]]
    assert together[-1].mean() > 0.9
    assert all((late | ~early).all() for early, late in pairwise(together))


def exact_difference(estimates, table):
    """Return how many standard errors the mean of estimates (count, P) is off, for every parameter."""
    error = estimates.std(axis=0, ddof=1) / np.sqrt(len(estimates))
    return np.abs(estimates.mean(axis=0) - table.expectation) / error


@pytest.mark.parametrize(
    ("coupling", "k", "antithetic"),
    [
        ("rbm", 1, False),
        ("general", 1, False),
        ("rbm", 3, False),
        ("general", 2, False),
        ("rbm", 1, True),
        ("both_layers", 1, False),
    ],
)
def test_a_million_estimates_have_no_bias(coupling, k, antithetic):
    rbm = two_mode_rbm(M, N, coupling=6.0)
    table, runs, chains = Enumerated.of(rbm), 200, 5003
    rows = np.zeros((runs, chains, M), np.float32)
    rows[:, :, 0] = 1
    model = repeated(rbm.astype(np.float32), runs)

    def estimates(name, **options):
        estimator = estimators.create(name, **options)
        estimate = estimator.estimate(model, rows, {}, training_stream(runs, seed=2020))
        sums = estimator.phase_sums(estimate)[1]
        found = np.concatenate([(sums.scale * part).reshape(runs, -1) for part in sums.sums], axis=1)
        return found.astype(np.float64), estimate.diagnostics

    found, diagnostics = estimates("ucd", coupling=coupling, k=k, max_steps=None, antithetic=antithetic)
    # 4 standard errors in each of 23 parameters: an error rate of 23 * 6.3e-5 = 1.5e-3 (Bonferroni).
    assert exact_difference(found, table).max() < 4
    assert diagnostics["forced_meetings"].max() == 0
    # The test has power: CD-1 from the same rows is many standard errors off.
    assert exact_difference(estimates("cd", k=1)[0], table).max() > 100


def chance_to_meet_at_once(table, row):
    """Return P(tau = 2): the overlap of p(v|h_1) and p(v|h_0), averaged over both hidden states."""
    h_0 = table.hidden_given_visible[int(table.numbers_of(row))]
    h_1 = table.visible_given_hidden @ table.hidden_given_visible  # given h_0
    overlap = np.minimum(table.visible_given_hidden[:, None], table.visible_given_hidden[None]).sum(axis=-1)
    return (h_0[:, None] * h_1 * overlap).sum()


def may_be(count, number, chance):
    """Return whether ``count`` of a number of trials may have succeeded."""
    low, high = binom.ppf([ERROR_RATE / 2, 1 - ERROR_RATE / 2], number, chance)
    return low <= count <= high


@COUPLINGS
def test_pairs_meet_at_once_as_often_as_enumerated(coupling):
    rbm, pairs = random_rbm(M, N, scale=0.8, seed=5), 200_003
    start = np.zeros((1, pairs, M))
    start[..., 1] = 1
    tau = stopping_times(rbm.replicas, start, coupling, 50, training_stream(1))
    assert tau.min() == 2
    assert may_be((tau == 2).sum(), pairs, chance_to_meet_at_once(Enumerated.of(rbm), start[0, 0]))


def from_common_uniforms(mean, other_mean, states):
    """Return P(x, x') of states drawn from one uniform a unit, (states, states), for the means of two rows."""
    both = np.minimum(mean, other_mean)
    of_unit = np.array([[1 - np.maximum(mean, other_mean), other_mean - both], [mean - both, both]])
    pairs = states.astype(int)[:, None, :], states.astype(int)[None, :, :]
    return of_unit[*pairs, np.arange(len(mean))].prod(axis=-1)


def apart(p, q, states, coupling):
    """Return P(x, x', not met) of coupled states with probabilities p and q, (states, states)."""
    rest, other_rest = p - np.minimum(p, q), q - np.minimum(p, q)
    chance = rest.sum()
    if chance < 1e-14:
        return np.zeros((len(p), len(p)))
    if coupling == "general":
        return np.outer(rest, other_rest) / chance
    means = (row @ states for row in (p, q))
    proposed = from_common_uniforms(*means, states)
    accepted, other_accepted = rest / p, other_rest / q
    same = proposed * accepted[:, None] * other_accepted
    # In the attempts after one is accepted, the other is drawn alone.
    first_alone = (proposed * accepted[:, None] * (1 - other_accepted)).sum(axis=1)
    other_alone = (proposed * (1 - accepted[:, None]) * other_accepted).sum(axis=0)
    one_by_one = np.outer(first_alone, other_rest / chance) + np.outer(rest / chance, other_alone)
    return chance * (same + one_by_one) / (2 * chance - same.sum())


def hidden_step(table, p, q, coupling):
    """Return P(h, h') of the hidden half step of a pair, (hidden states, hidden states)."""
    if coupling == "general":
        return np.outer(p, q)
    if coupling == "rbm":
        return from_common_uniforms(p @ table.hidden, q @ table.hidden, table.hidden)
    return np.diag(np.minimum(p, q)) + apart(p, q, table.hidden, coupling)


def survival(table, row, coupling, longest):
    """Return P(tau > t) for t = 2 to ``longest``, enumerated over the hidden states of both chains."""
    start = table.hidden_given_visible[int(table.numbers_of(row))]
    hidden = np.array(
        [[hidden_step(table, p, q, coupling) for q in table.hidden_given_visible] for p in table.hidden_given_visible]
    )
    visible = [
        [apart(p, q, table.visible, coupling) for q in table.visible_given_hidden] for p in table.visible_given_hidden
    ]
    step = np.einsum("hgvw,vwab->hgab", visible, hidden)
    pair = (table.visible_given_hidden @ table.hidden_given_visible).T * start  # (h_1, h_0)
    found = []
    for _ in range(2, longest + 1):
        pair = np.einsum("hg,hgab->ab", pair, step)
        found.append(pair.sum())
    return np.array(found)


@COUPLINGS
def test_stopping_times_have_the_enumerated_law(coupling):
    rbm, pairs, longest = two_mode_rbm(4, N, coupling=7.0), 100_003, 30
    start = np.zeros((1, pairs, 4))
    start[..., 1] = 1
    tau = stopping_times(rbm.replicas, start, coupling, longest + 1, training_stream(1))
    expected = survival(Enumerated.of(rbm), start[0, 0], coupling, longest)
    assert 0.01 < expected[8] < expected[0] < 0.9
    for t in (2, 3, 5, 9, 17, 30):
        assert may_be((tau > t).sum(), pairs, expected[t - 2])


def test_forced_meetings_are_told_and_bias_the_estimate():
    rbm, runs, chains = two_mode_rbm(M, N, coupling=8.0), 50, 2003
    rows, model = np.zeros((runs, chains, M), np.float32), repeated(rbm.astype(np.float32), runs)
    estimate = estimators.create("ucd", max_steps=2).estimate(model, rows, {}, training_stream(runs))
    assert (estimate.diagnostics["stopping_time"] == 2).all()
    forced = estimate.diagnostics["forced_meetings"].sum() * chains
    assert may_be(round(forced), runs * chains, 1 - chance_to_meet_at_once(Enumerated.of(rbm), rows[0, 0]))
    # Taken together at once, what is left is CD-1.
    cd = estimators.create("cd").estimate(model, rows, {}, training_stream(runs))
    difference = estimate.negative.b.mean(axis=0) - cd.negative.visible.mean(axis=(0, 1))
    assert np.abs(difference).max() < norm.isf(ERROR_RATE / M / 2) * np.sqrt(0.5 / (runs * chains))
