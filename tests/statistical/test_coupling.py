# SPDX-License-Identifier: BSD-3-Clause
"""Coupled Gibbs chains of enumerated models: distributions of steps, stopping times, unbiased estimates."""

from itertools import pairwise

import numpy as np
import pytest
from core_helpers import Enumerated, holds, random_rbm, repeated, sigmoid, training_stream, two_mode_rbm
from scipy.stats import binom, norm

from rbmbench import estimators
from rbmbench.base.streams import RowKeys
from rbmbench.kernels import kernels_for
from rbmbench.model.gibbs import Buffers, Population, hidden_mean
from rbmbench.samplers._pairs import Pairs
from rbmbench.samplers.coupled_gibbs import COUPLINGS as NAMES
from rbmbench.samplers.coupled_gibbs import CoupledGibbs, Terms, stopping_times

ERROR_RATE = 1e-5  # of every single comparison; there are about 400
COUPLINGS = pytest.mark.parametrize("coupling", NAMES)
M, N = 5, 3


def begin(rbm, visible):
    """Return visible states and their hidden means."""
    return Population(visible, hidden_mean(rbm, visible, Buffers()))


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
def test_a_step_has_both_marginals_and_the_largest_meeting_rate(coupling):
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
def test_both_chains_keep_the_distribution_of_the_model(coupling, monkeypatch):
    rbm = two_mode_rbm(M, N, coupling=8.0)
    table, pairs = Enumerated.of(rbm), 40_009
    p_v = table.joint.sum(axis=1)
    start = table.visible[np.random.default_rng(3).choice(len(p_v), size=(1, pairs), p=p_v)].astype(np.float32)
    states, step = [], Pairs.couple_visible

    def recording(self, rows, activation, other, redraw_both):
        outcome = step(self, rows, activation, other, redraw_both)
        states.append((table.numbers_of(activation), table.numbers_of(other)))
        return outcome

    monkeypatch.setattr(Pairs, "couple_visible", recording)
    model = rbm.replicas.astype(np.float32)
    # While t < k all pairs are continued, also those that have met.
    CoupledGibbs(coupling, k=17).run(model, begin(model, start), training_stream(1))
    for t in (1, 4, 16):
        for numbers in states[t - 1]:
            assert holds(numbers, p_v)
    # Most pairs have met, and none has separated.
    together = [first == second for first, second in states[:16]]
    assert together[-1].mean() > 0.9
    assert all((late | ~early).all() for early, late in pairwise(together))


def difference_in_errors(estimates, table):
    """Return the errors of the mean of estimates (count, P) in standard errors, for every parameter."""
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
        ("from_start", 1, False),
        ("from_start", 2, True),
    ],
)
def test_estimates_are_unbiased(coupling, k, antithetic):
    rbm = two_mode_rbm(M, N, coupling=6.0)
    table, runs, chains = Enumerated.of(rbm), 200, 1009
    rows = np.zeros((runs, chains, M), np.float32)
    rows[:, :, 0] = 1
    model = repeated(rbm.astype(np.float32), runs)

    def estimates(name, **options):
        estimator = estimators.create(name, **options)
        estimate = estimator.estimate(model, rows, {}, training_stream(runs, seed=2020))
        sums = estimator.phase_sums(estimate)[1]
        statistics = np.concatenate([(sums.scale * part).reshape(runs, -1) for part in sums.sums], axis=1)
        return statistics.astype(np.float64), estimate.diagnostics

    statistics, diagnostics = estimates("ucd", coupling=coupling, k=k, max_steps=None, antithetic=antithetic)
    # 4 standard errors in each of 23 parameters: an error rate of 23 * 6.3e-5 = 1.5e-3 (Bonferroni).
    assert difference_in_errors(statistics, table).max() < 4
    assert diagnostics["forced_meetings"].max() == 0
    # The test has power: the bias of CD-1 from the same rows is many standard errors.
    assert difference_in_errors(estimates("cd", k=1)[0], table).max() > 50


def first_meeting_probability(table, row, coupling):
    """Return P(tau = 2): the overlap of p(v|h_1) and p(v|h'_0), averaged over both hidden states."""
    overlap = np.minimum(table.visible_given_hidden[:, None], table.visible_given_hidden[None]).sum(axis=-1)
    return (first_pair(table, row[None], coupling) * overlap).sum()


def may_be(count, number, chance):
    """Return whether ``count`` successes in a number of trials agree with the probability ``chance``."""
    low, high = binom.ppf([ERROR_RATE / 2, 1 - ERROR_RATE / 2], number, chance)
    return low <= count <= high


@COUPLINGS
def test_rate_of_meetings_in_the_first_step_is_the_enumerated_one(coupling):
    rbm, pairs = random_rbm(M, N, scale=0.8, seed=5), 200_003
    start = np.zeros((1, pairs, M))
    start[..., 1] = 1
    tau = stopping_times(rbm.replicas, start, coupling, 50, training_stream(1))
    assert tau.min() == 2
    assert may_be((tau == 2).sum(), pairs, first_meeting_probability(Enumerated.of(rbm), start[0, 0], coupling))


def from_common_uniforms(mean, other_mean, states):
    """Return P(x, x') of states drawn from one uniform per unit, (states, states), for the means of two rows."""
    overlap = np.minimum(mean, other_mean)
    of_unit = np.array([[1 - np.maximum(mean, other_mean), other_mean - overlap], [mean - overlap, overlap]])
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
    # After one state is accepted, the other is drawn independently.
    only_first = (proposed * accepted[:, None] * (1 - other_accepted)).sum(axis=1)
    only_other = (proposed * (1 - accepted[:, None]) * other_accepted).sum(axis=0)
    one_by_one = np.outer(only_first, other_rest / chance) + np.outer(rest / chance, only_other)
    return chance * (same + one_by_one) / (2 * chance - same.sum())


def hidden_step(table, p, q, coupling):
    """Return P(h, h') of the hidden half step of a pair, (hidden states, hidden states)."""
    if coupling == "general":
        return np.outer(p, q)
    if coupling == "rbm":
        return from_common_uniforms(p @ table.hidden, q @ table.hidden, table.hidden)
    return np.diag(np.minimum(p, q)) + apart(p, q, table.hidden, coupling)


def step_apart(table, coupling):
    """Return P(h_t = a, h'_t = b, v_t != v'_t) of pairs with hidden states h, g before the step, (h, g, a, b)."""
    laws, visible_laws = table.hidden_given_visible, table.visible_given_hidden
    hidden = np.array([[hidden_step(table, p, q, coupling) for q in laws] for p in laws])
    visible = [[apart(p, q, table.visible, coupling) for q in visible_laws] for p in visible_laws]
    return np.einsum("hgvw,vwab->hgab", visible, hidden)


def first_pair(table, rows, coupling):
    """Return the distribution of (h_1, h'_0) of pairs started at one of the rows, (hidden states, hidden states)."""
    starts = table.hidden_given_visible[table.numbers_of(rows)]
    if coupling != "from_start":
        return (table.visible_given_hidden @ table.hidden_given_visible).T * starts.mean(axis=0)
    laws = [
        probability * hidden_step(table, p, start, coupling)
        for start in starts
        for probability, p in zip(start @ table.visible_given_hidden, table.hidden_given_visible, strict=True)
    ]
    return np.sum(laws, axis=0) / len(starts)


def test_coupled_first_hidden_states_have_the_enumerated_distribution(monkeypatch):
    rbm, pairs = random_rbm(M, N, scale=1.2, seed=5), 200_003
    table, couple = Enumerated.of(rbm), Pairs.couple_hidden
    start = np.zeros((1, pairs, M))
    start[..., 1] = 1
    drawn = []

    def recording(self, *arguments):
        *states, rejections = couple(self, *arguments)
        drawn.append([state.astype(int) @ 2 ** np.arange(N)[::-1] for state in states])
        return *states, rejections

    monkeypatch.setattr(Pairs, "couple_hidden", recording)
    stopping_times(rbm.replicas, start, "from_start", 2, training_stream(1))
    (h_1, other_h_0), law = drawn[0], first_pair(table, start[0, :1], "from_start")
    assert holds(h_1 * 2**N + other_h_0, law.ravel())
    # Both marginals are those of Gibbs chains, and the rate of equal states is maximal.
    p, h_0 = table.hidden_given_visible, table.hidden_given_visible[int(table.numbers_of(start[0, 0]))]
    v_1 = h_0 @ table.visible_given_hidden
    np.testing.assert_allclose(law.sum(axis=0), h_0)
    np.testing.assert_allclose(law.sum(axis=1), v_1 @ p)
    assert np.trace(law) == pytest.approx(v_1 @ np.minimum(p, h_0).sum(axis=1))


def survival(table, row, coupling, longest):
    """Return P(tau > t) for t = 2 to ``longest``, enumerated over the hidden states of both chains."""
    step, pair = step_apart(table, coupling), first_pair(table, row[None], coupling)
    probabilities = []
    for _ in range(2, longest + 1):
        pair = np.einsum("hg,hgab->ab", pair, step)
        probabilities.append(pair.sum())
    return np.array(probabilities)


@COUPLINGS
def test_stopping_times_have_the_enumerated_distribution(coupling):
    rbm, pairs, longest = two_mode_rbm(4, N, coupling=7.0), 100_003, 30
    start = np.zeros((1, pairs, 4))
    start[..., 1] = 1
    tau = stopping_times(rbm.replicas, start, coupling, longest + 1, training_stream(1))
    expected = survival(Enumerated.of(rbm), start[0, 0], coupling, longest)
    assert 0.01 < expected[8] < expected[0] < 0.9
    for t in (2, 3, 5, 9, 17, 30):
        assert may_be((tau > t).sum(), pairs, expected[t - 2])


def test_forced_meetings_are_reported_and_bias_the_estimate():
    rbm, runs, chains = two_mode_rbm(M, N, coupling=8.0), 50, 2003
    rows, model = np.zeros((runs, chains, M), np.float32), repeated(rbm.astype(np.float32), runs)
    estimate = estimators.create("ucd", max_steps=2).estimate(model, rows, {}, training_stream(runs))
    assert (estimate.diagnostics["stopping_time"] == 2).all()
    forced = estimate.diagnostics["forced_meetings"].sum() * chains
    assert may_be(round(forced), runs * chains, 1 - first_meeting_probability(Enumerated.of(rbm), rows[0, 0], "rbm"))
    # With all meetings forced in the first step, the estimate is that of CD-1.
    cd = estimators.create("cd").estimate(model, rows, {}, training_stream(runs))
    difference = estimate.negative.b.mean(axis=0) - cd.negative.visible.mean(axis=(0, 1))
    assert np.abs(difference).max() < norm.isf(ERROR_RATE / M / 2) * np.sqrt(0.5 / (runs * chains))


def papers_f(table):
    """Return the parts g h', g and h of f(v, h), g = sigma(W h + b), for every hidden state: (hidden states, entries).

    Source: Qiu, Zhang, Wang 2020, section 4.
    """
    g = sigmoid(table.hidden @ table.W.T + table.b)
    return {"W": (g[:, :, None] * table.hidden[:, None]).reshape(len(g), -1), "b": g, "c": table.hidden}


def moments_of_one_term(table, f, start, k):
    """Return E F and E || F ||^2 for F = f(v_k, h_k) of a chain that starts at h_0 with distribution ``start``."""
    law = start @ np.linalg.matrix_power(table.visible_given_hidden @ table.hidden_given_visible, k)
    return law @ f, law @ (f**2).sum(axis=1)


def moments_of_pairs(table, f, rows, coupling):
    """Return E F and E || F ||^2 for F of UCD with k = 1, enumerated over the hidden states of both chains.

    F = f(h_1) + R_1, with R_t = sum_{s > t} d_s, d_s = f(h_s) - f(h'_s) until the pair meets. With K the steps of pairs
    that stay apart,  E R = K (d + E R),  E || R ||^2 = K (|| d ||^2 + 2 d'E R + E || R ||^2)  for each pair of states.
    """
    first = first_pair(table, rows, coupling).ravel()
    step = step_apart(table, coupling).reshape(len(first), -1)
    d = (f[:, None] - f[None]).reshape(len(first), -1)
    to_end = np.linalg.solve(np.eye(len(step)) - step, step)
    rest = to_end @ d
    square = to_end @ (d**2 + 2 * d * rest).sum(axis=1)
    f_1 = np.repeat(f, len(f), axis=0)
    return first @ (f_1 + rest), first @ ((f_1**2 + 2 * f_1 * rest).sum(axis=1) + square)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("cd", {}),
        ("cd", {"k": 2}),
        ("pcd", {}),
        ("pcd", {"k": 2}),
        *(("ucd", {"coupling": coupling, "max_steps": None}) for coupling in NAMES),
        # Pairs joined after step k have only the term of CD-k.
        ("ucd", {"max_steps": 2}),
        ("ucd", {"k": 2, "max_steps": 3}),
    ],
)
def test_variances_of_the_second_term_are_the_enumerated_ones(name, options):
    # Parameters so large that the product of independent g and h has a variance 14 % larger than that of g h'.
    rbm, runs, chains = random_rbm(M, N, scale=3.0, seed=7), 2003, 13
    table, model = Enumerated.of(rbm), repeated(rbm.astype(np.float32), runs)
    rows = (np.random.default_rng(1).random((7, M)) < 0.5).astype(np.float32)
    estimator, stream = estimators.create(name, chains=chains, variance=True, **options), training_stream(runs)
    state = estimator.start(model, rows.astype(np.uint8), chains, stream)
    reported = estimator.estimate(model, np.repeat(rows[None], runs, axis=0), state, stream).diagnostics
    # Chains start at rows drawn with replacement, so that they are independent.
    start = table.hidden_given_visible[table.numbers_of(rows)].mean(axis=0)
    for part, f in papers_f(table).items():
        if options.get("max_steps", 0) is None:
            mean, square = moments_of_pairs(table, f, rows, options["coupling"])
            np.testing.assert_allclose(mean, table.joint.sum(axis=0) @ f, rtol=1e-9)
        else:
            mean, square = moments_of_one_term(table, f, start, options.get("k", 1))
        values = reported[f"gradient_variance_{part}"]
        error = values.std(ddof=1) / np.sqrt(runs)
        assert values.shape == (runs,)
        # CD's f(v) has four times the variance in b, and a third in c.
        assert error < 0.05 * values.mean()
        assert abs(values.mean() - (square - mean @ mean)) < norm.isf(ERROR_RATE / 2) * error


class WholeTerms(Terms):
    """F of every chain, (replicas, chains, entries), from hidden states only."""

    def __init__(self, table, replicas, chains):
        self.table, self.f = table, np.concatenate(list(papers_f(table).values()), axis=1)
        self.F = np.zeros((replicas, chains, self.f.shape[1]))

    def add_states(self, rows, hidden, activation, sign=1):
        np.testing.assert_allclose(activation, hidden @ self.table.W.T, rtol=1e-4, atol=1e-5)
        number = hidden.astype(int) @ 2 ** np.arange(hidden.shape[1])[::-1]
        self.F[rows.replica, rows.chain] += sign * self.f[number]

    def add_state_differences(self, rows, hidden, activation, other_hidden, other_activation):
        self.add_states(rows, hidden, activation)
        self.add_states(rows, other_hidden, other_activation, -1)


@pytest.mark.parametrize(
    ("coupling", "k"),
    [("rbm", 1), ("rbm", 3), ("general", 2), ("both_layers", 1), ("both_layers", 3), ("from_start", 2)],
)
def test_terms_with_reported_variances_are_unbiased(coupling, k):
    rbm, runs, chains = two_mode_rbm(M, N, coupling=6.0), 3, 20_011
    table, model = Enumerated.of(rbm), repeated(rbm.astype(np.float32), runs)
    rows = np.zeros((runs, chains, M), np.float32)
    rows[:, :, 0] = 1
    options, whole = {"coupling": coupling, "k": k, "max_steps": None}, WholeTerms(table, runs, chains)
    CoupledGibbs(**options).run(model, begin(model, rows), training_stream(runs), whole)
    error = np.abs(whole.F.mean(axis=(0, 1)) - table.joint.sum(axis=0) @ whole.f)
    # 5 standard errors in each of 23 parameters: an error rate of 23 * 5.7e-7 = 1.3e-5 (Bonferroni).
    assert (error < 5 * whole.F.std(axis=(0, 1)) / np.sqrt(runs * chains)).all()
    # The estimator uses the same draws.
    estimate = estimators.create("ucd", variance=True, **options).estimate(model, rows, {}, training_stream(runs))
    parts = np.split(whole.F.var(axis=1, ddof=1), [M * N, M * N + M], axis=1)
    for part, variances in zip("Wbc", parts, strict=True):
        reported = estimate.diagnostics[f"gradient_variance_{part}"]
        np.testing.assert_allclose(reported, variances.sum(axis=1), rtol=1e-4)
