# SPDX-License-Identifier: BSD-3-Clause
"""Update rules S-DCP, centered gradient, CS-DCP and spectral descent, against references and enumeration."""

from itertools import product

import numpy as np
import pytest
from core_helpers import Enumerated, binary_data, expected_tosses, random_rbm, sigmoid, training_stream

from rbmbench import estimators, updates
from rbmbench.base.errors import SettingsError
from rbmbench.base.parsing import parse
from rbmbench.base.settings import RunSettings
from rbmbench.estimators._base import Estimate
from rbmbench.kernels import numba
from rbmbench.model.gibbs import Population
from rbmbench.model.rbm import RBM
from rbmbench.training import trainer
from rbmbench.updates.ssd import spectral_step

R, ROWS, M, N, BATCH = 2, 23, 7, 5, 11
DATA = binary_data(ROWS, M)
RATE = 0.375
OFFSETS = ("visible_offset", "hidden_offset")


def trained(update, estimator="cd", k=3, iterations=13, precision="float32", **options):
    chains = {"name": estimator, "options": {} if k is None else {"k": k}}
    stage = {"until": iterations, "estimator": chains, "update": {"name": update, "options": options}, "rate": 0.25}
    values = {"data": {"name": "made"}, "hidden": N, "batch": BATCH, "trials": 2, "precision": precision}
    return trainer.run(DATA, parse(RunSettings, values | {"schedule": [stage]}, "test")).rbm


def parameters(rbm):
    return rbm.W, rbm.b, rbm.c


def assert_equal(rbm, other):
    for parameter, expected in zip(parameters(rbm), parameters(other), strict=True):
        np.testing.assert_array_equal(parameter, expected)


# Reference implementation of algorithms 3 and 4.


class Reference:
    """Algorithm 4 with W, b and c of the centered energy; with offsets of zero, algorithm 3."""

    def __init__(self, rbm, mu, lam, nu, accumulates=False):
        W, b, c = parameters(rbm)
        self.accumulates = accumulates
        self.W, self.mu, self.lam, self.nu = W.copy(), mu.copy(), lam.copy(), nu
        self.b, self.c = b + self.times_W(lam), c + self.W_times(mu)

    def times_W(self, hidden):
        return np.einsum("rmn,r...n->r...m", self.W, hidden)

    def W_times(self, visible):
        return np.einsum("rmn,r...m->r...n", self.W, visible)

    def hidden_mean(self, v):
        return sigmoid(self.W_times(v - self.mu[:, None]) + self.c[:, None])

    def visible_mean(self, h):
        return sigmoid(self.times_W(h - self.lam[:, None]) + self.b[:, None])

    def outer(self, v, h):
        return np.einsum("rim,rin->rmn", v - self.mu[:, None], h - self.lam[:, None]) / v.shape[1]

    def update(self, batch, stream, rate, d, k):
        first, chain, steps = self.hidden_mean(batch), batch, ()
        mu_batch, lam_batch = batch.mean(axis=1), first.mean(axis=1)
        for inner in range(d):
            for _ in range(k):
                p = self.hidden_mean(chain)
                h = (expected_tosses(stream.next(), p[0].size).reshape(p.shape) < p).astype(float)
                q = self.visible_mean(h)
                chain = (expected_tosses(stream.next(), q[0].size).reshape(q.shape) < q).astype(float)
            last = self.hidden_mean(chain)
            self.b += self.nu * self.times_W(lam_batch - self.lam)
            self.c += self.nu * self.W_times(mu_batch - self.mu)
            self.mu = (1 - self.nu) * self.mu + self.nu * mu_batch
            self.lam = (1 - self.nu) * self.lam + self.nu * lam_batch
            if inner == 0:
                gradient = self.outer(batch, first)
            new = gradient - self.outer(chain, last), (batch - chain).mean(axis=1), (first - last).mean(axis=1)
            steps = [a + b for a, b in zip(steps, new, strict=True)] if self.accumulates and inner else new
            for parameter, step in zip((self.W, self.b, self.c), steps, strict=True):
                parameter += rate * step

    @property
    def ordinary(self):
        return RBM(self.W, self.b - self.times_W(self.lam), self.c - self.W_times(self.mu))


CASES = [("centered", {}, 1), *((name, {"inner_steps": 4}, 4) for name in ("cs_dcp", "sdcp", "sdcp_accumulated"))]


@pytest.mark.parametrize(("name", "options", "d"), CASES)
def test_three_iterations_equal_the_reference(name, options, d):
    rbm, k, nu = random_rbm(M, N, (R,), scale=0.5, seed=3), 3, 0.125
    rule = updates.create(name, **options, **({} if name.startswith("sdcp") else {"sliding": nu}))
    memory = rule.start(rbm, DATA)
    offsets = [memory[key] for key in OFFSETS] if memory else [np.zeros((R, M)), np.zeros((R, N))]
    reference = Reference(rbm, *offsets, nu if memory else 0.0, accumulates=name == "sdcp_accumulated")
    stream, other = training_stream(R), training_stream(R)
    estimator = estimators.create("cd", k=k)
    for iteration in range(3):
        batch = np.stack([binary_data(BATCH, M, seed=10 * iteration + r) for r in range(R)]).astype(float)
        rule.step(rbm, estimator, batch, {}, stream, RATE, memory)
        reference.update(batch, other, RATE, d, k)
        for parameter, expected in zip(parameters(rbm), parameters(reference.ordinary), strict=True):
            np.testing.assert_allclose(parameter, expected, rtol=0, atol=1e-13)
    assert stream.number == other.number == 3 * d * 2 * k
    if memory:
        np.testing.assert_allclose(memory["visible_offset"], reference.mu, rtol=0, atol=1e-15)
        np.testing.assert_allclose(memory["hidden_offset"], reference.lam, rtol=0, atol=1e-15)


def test_sliding_without_a_rate_changes_only_the_offsets():
    rbm, rule = random_rbm(M, N, (R,), seed=3), updates.create("centered", sliding=0.5)
    before, memory = rbm.copy(), rule.start(rbm, DATA)
    offset = memory["hidden_offset"].copy()
    batch = np.stack([DATA[:BATCH]] * R).astype(float)
    rule.step(rbm, estimators.create("cd"), batch, {}, training_stream(R), 0.0, memory)
    assert_equal(rbm, before)
    assert (memory["hidden_offset"] != offset).all()


def test_initial_offsets_are_the_mean_of_the_rows_and_one_half():
    memory = updates.create("cs_dcp").start(random_rbm(M, N, (R,), dtype=np.float32), DATA)
    assert {key: value.dtype for key, value in memory.items()} == dict.fromkeys(OFFSETS, np.float32)
    np.testing.assert_array_equal(memory["visible_offset"], np.stack([DATA.mean(axis=0)] * R).astype(np.float32))
    np.testing.assert_array_equal(memory["hidden_offset"], np.full((R, N), 0.5))


# Special cases.


PLAIN = [*(("sdcp", estimator, "sgd") for estimator in ("cd", "pcd", "pop_cd")), ("cs_dcp", "cd", "centered")]


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize(("rule", "estimator", "plain"), PLAIN)
def test_rules_of_one_inner_step_equal_those_without(rule, estimator, plain, precision):
    rbm = trained(rule, estimator, inner_steps=1, precision=precision)
    assert_equal(rbm, trained(plain, estimator, precision=precision))


@pytest.mark.parametrize(("rule", "options"), [("centered", {}), ("cs_dcp", {"inner_steps": 3})])
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_rules_with_offsets_of_zero_equal_those_without(rule, options, precision, monkeypatch):
    def zero(rbm, data):
        return {"visible_offset": np.zeros_like(rbm.b), "hidden_offset": np.zeros_like(rbm.c)}

    updates.REGISTRY.get("centered")
    monkeypatch.setattr("rbmbench.updates.centered.first_offsets", zero)
    rbm = trained(rule, precision=precision, sliding=0, **options)
    name = "sgd" if rule == "centered" else "sdcp"
    assert_equal(rbm, trained(name, precision=precision, **options))


@pytest.mark.parametrize("name", ["cd", "pop_cd", "pop_cd_joint", "pop_cd_mixture", "pop_cd_leave_one_out"])
def test_continued_chains_start_at_their_last_states(name):
    rbm = random_rbm(M, N, (R,), scale=0.5, seed=3)
    estimator, batch = estimators.create(name), np.stack([DATA[:10]] * R).astype(float)
    stream = training_stream(R)
    first = estimator.estimate(rbm, batch, {}, stream)
    ends = first.negative.visible.copy()
    np.add(rbm.W, 0.25, out=rbm.W)
    again = estimator.continue_chains(rbm, first, stream)
    separate, other = estimators.create(name), training_stream(R)
    other.number = stream.number // 2
    expected = separate.estimate(rbm, ends, {}, other).negative
    for array, expected_array in zip(again.negative, expected, strict=True):
        np.testing.assert_array_equal(array, expected_array)
    np.testing.assert_array_equal(again.positive.visible, batch)


def test_exact_inner_steps_increase_the_concave_function():
    # theta' grad g(theta_t) - log Z(theta), with the data term g, increases with small exact steps.
    rbm = random_rbm(M, N, (1,), scale=0.5, seed=3)
    table = Enumerated.of(rbm[0])
    data_mean = table.f[table.numbers_of(DATA)].mean(axis=0)

    def value():
        return data_mean @ np.concatenate([p[0].ravel() for p in parameters(rbm)]) - Enumerated.of(rbm[0]).log_partition

    start, values = rbm.copy(), []
    for steps in (1, 2, 3, 5, 8):
        for parameter, initial in zip(parameters(rbm), parameters(start), strict=True):
            parameter[...] = initial
        rule = updates.create("sdcp", inner_steps=steps)
        rule.step(rbm, estimators.create("exact"), DATA[None].astype(float), {}, training_stream(1), 0.25, {})
        values.append(value())
    assert (np.diff(values) > 0).all()


# Spectral descent.


@pytest.mark.parametrize("shape", [(7, 5), (3, 11), (1, 2), (31, 53), (53, 29)])
def test_the_spectral_step_maximises_the_linear_model(shape):
    rng = np.random.default_rng(2)
    G = rng.normal(size=(R, *shape))

    def model(step):
        linear = (G * step).sum(axis=(-2, -1))
        return linear - np.linalg.norm(step, ord=2, axis=(-2, -1)) ** 2 / (2 * RATE)

    best = spectral_step(G, RATE)
    nuclear = np.linalg.norm(G, ord="nuc", axis=(-2, -1))
    np.testing.assert_allclose(model(best), RATE / 2 * nuclear**2, rtol=1e-12)
    for size in (1e-3, 0.1, 1.0):
        for _ in range(200):
            assert (model(best + size * rng.normal(size=best.shape)) < model(best)).all()


def test_ssd_steps_are_spectral_for_weights_and_plain_for_biases():
    rbm = random_rbm(M, N, (R,), scale=0.5, seed=3)
    before, batch = rbm.copy(), np.stack([DATA] * R).astype(float)
    updates.create("ssd").step(rbm, estimators.create("exact"), batch, {}, training_stream(R), RATE, {})
    for r in range(R):
        table = Enumerated.of(before[r])
        gradient = table.f[table.numbers_of(DATA)].mean(axis=0) - table.expectation
        W = gradient[: M * N].reshape(M, N)
        U, s, V = np.linalg.svd(W, full_matrices=False)
        np.testing.assert_allclose(rbm.W[r] - before.W[r], RATE * s.sum() * U @ V, rtol=0, atol=1e-12)
        change = np.concatenate([rbm.b[r] - before.b[r], rbm.c[r] - before.c[r]])
        np.testing.assert_allclose(change, RATE * gradient[M * N :], rtol=0, atol=1e-13)


@pytest.mark.parametrize("shape", [(7, 5), (31, 53)])
def test_spectral_step_of_a_nonfinite_gradient_is_nan_for_its_trial(shape):
    G = np.random.default_rng(2).normal(size=(3, *shape))
    G[1, 2, 3] = np.inf
    step = spectral_step(G, RATE)
    assert np.isnan(step[1]).all()
    np.testing.assert_array_equal(step[[0, 2]], spectral_step(G[[0, 2]], RATE))


def of_rank(rank, shape, condition, rng):
    """Return a matrix of this rank with singular values in a geometric series, and its U V'."""
    U, V = (np.linalg.qr(rng.normal(size=(side, rank)))[0] for side in shape)
    return (U * np.geomspace(1, 1 / condition, rank)) @ V.T, U @ V.T


def spectral_error(matrix, expected):
    return np.linalg.norm(matrix.astype(float) - expected, ord=2)


@pytest.mark.parametrize("shape", [(101, 67), (67, 101), (53, 53)])
@pytest.mark.parametrize("condition", [1e1, 1e2, 1e3, 1e4, 1e5, 1e6])
def test_the_spectral_step_is_as_exact_as_a_gradient_in_float32(shape, condition):
    exact, direction = of_rank(min(shape), shape, condition, np.random.default_rng(3))
    G = exact.astype(np.float32)
    U, s, V = np.linalg.svd(G.astype(float), full_matrices=False)
    step = spectral_step(G[None], RATE)
    assert step.dtype == np.float32
    # Rounding of the gradient, and of the entries of the step, whose columns have length 1.
    allowed = spectral_error(U @ V, direction) + np.sqrt(min(shape)) * 2.0**-24
    assert spectral_error(step[0] / np.float64(RATE * s.sum()), U @ V) <= allowed


@pytest.mark.parametrize("shape", [(101, 67), (67, 101)])
@pytest.mark.parametrize("rank", [1, 13, 66])
def test_the_spectral_step_is_zero_on_the_null_space_of_a_large_gradient(shape, rank):
    G, direction = of_rank(rank, shape, 10.0, np.random.default_rng(5))
    step = spectral_step(G[None], RATE)[0] / (RATE * np.linalg.norm(G, ord="nuc"))
    assert spectral_error(step, direction) < 1e-11


def test_the_spectral_step_of_few_rows_has_their_rank():
    states = [binary_data(3, units, seed=units)[None].astype(np.float32) for units in (53, 37, 59, 41)]
    phases = Population(states[0], states[1]), Population(states[2][..., :53], states[3][..., :37])
    gradient = estimators.create("cd").gradient(Estimate(*phases, {}))
    assert np.linalg.matrix_rank(spectral_step(gradient.W, RATE)) == 6


def test_the_spectral_step_of_a_small_gradient_has_full_rank():
    G, _ = of_rank(2, (7, 5), 10.0, np.random.default_rng(5))
    step = spectral_step(G[None], 1.0)[0]
    np.testing.assert_allclose(np.linalg.svd(step, compute_uv=False), np.linalg.norm(G, ord="nuc"), rtol=1e-12)


@pytest.mark.parametrize("shape", [(7, 5), (53, 31)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_spectral_steps_of_trials_are_independent(shape, dtype):
    rng = np.random.default_rng(7)
    G = np.stack([of_rank(rank, shape, 10.0, rng)[0] for rank in (5, 2, 3)] + [np.zeros(shape)]).astype(dtype)
    steps = spectral_step(G, RATE)
    assert not steps[3].any()
    for number in range(len(G)):
        np.testing.assert_array_equal(steps[number], spectral_step(G[[number]], RATE)[0])


# Invalid settings.


@pytest.mark.parametrize("name", ["sdcp", "cs_dcp"])
@pytest.mark.parametrize(("estimator", "options"), [("ucd", {}), ("expected_cd", {}), ("cd", {"chains": 7})])
def test_rules_with_inner_steps_raise_for_chains_that_cannot_continue(name, estimator, options):
    update = {"name": name}
    stage = {"until": 3, "estimator": {"name": estimator, "options": options}, "update": update, "rate": 0.1}
    settings = parse(RunSettings, {"data": {"name": "x"}, "hidden": N, "batch": 5, "schedule": [stage]}, "test")
    message = rf"\Aupdate rule {name!r}: the estimator must have one chain from each row[^\n]*\Z"
    with pytest.raises(SettingsError, match=message):
        trainer.run(DATA, settings)


@pytest.mark.parametrize(
    ("names", "option", "values", "allowed"),
    [
        (("centered", "cs_dcp"), "sliding", (-0.1, 1.5, float("nan"), "0.1", True), "a number from 0 to 1"),
        (("sdcp", "cs_dcp"), "inner_steps", (0, 1.5, "2", True), "an integer >= 1"),
        (("momentum",), "momentum", (-0.1, 1, float("nan"), "0.1", True), "a number >= 0 and < 1"),
        (("weight_decay",), "decay", (-0.1, 1, float("nan"), "0.1", True), "a number >= 0 and < 1"),
    ],
)
def test_invalid_options_raise(names, option, values, allowed):
    for name, value in product(names, values):
        with pytest.raises(SettingsError, match=rf"^option {option!r}: must be {allowed}, got .*"):
            updates.create(name, **{option: value})


# Costs.


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("update", ["sgd", "centered", "sdcp", "cs_dcp"])
@pytest.mark.parametrize(
    ("name", "options"), [("cd", {}), ("pcd", {}), ("fpcd", {}), ("pop_cd", {}), ("cd", {"chains": 13})]
)
def test_products_are_those_counted_in_an_iteration(monkeypatch, name, options, k, update):
    if options and update in ("sdcp", "cs_dcp"):
        pytest.skip("their chains cannot continue")
    estimator, rule = estimators.create(name, k=k, **options), updates.create(update)
    rbm, products = random_rbm(M, N, (R,)), []
    multiply = numba.multiply_binary

    def counted(states, matrix, out):
        products.append(states.size * out.shape[-1])
        multiply(states, matrix, out)

    stream, batch = training_stream(R), np.stack([DATA[:BATCH]] * R).astype(rbm.W.dtype)
    state, memory = estimator.start(rbm, DATA, BATCH, stream), rule.start(rbm, DATA)
    monkeypatch.setattr(numba, "multiply_binary", counted)
    rule.step(rbm, estimator, batch, state, stream, RATE, memory)
    assert sum(products) / (R * BATCH * M * N) == pytest.approx(rule.products(estimator, BATCH, M, N))


@pytest.mark.parametrize(
    ("name", "options", "diagnostics", "expected"),
    [
        ("parallel_tempering", {"temperatures": 7}, {}, 2 + 7 * 2 + 2),
        ("ucd", {}, {}, 2 + 3 + 2),  # pairs that meet at once: f(xi_1), and the proposals of both chains
        ("ucd", {}, {"stopping_time": 3.5}, 7 + 1.5 * 6),
        ("ucd", {"k": 2, "chains": 22}, {"pair_products": 9.5}, 2 + 2 * 9.5),
        ("exact", {}, {}, 2 + 2 * 2**N / BATCH),
        ("expected_cd", {"k": 3}, {}, 2 + (6 * 2 ** (M + N) / (M * N) + 2 * 2**M) / BATCH),
    ],
)
def test_products_of_other_estimators(name, options, diagnostics, expected):
    assert estimators.create(name, **options).products(BATCH, M, N, diagnostics) == pytest.approx(expected)


def test_products_of_ssd_include_the_singular_value_decomposition():
    operations = 14 * M * N**2 + 8 * N**3 + 2 * M * N**2
    expected = 5 + operations / (2 * BATCH * M * N)
    assert updates.create("ssd").products(estimators.create("cd"), BATCH, M, N) == pytest.approx(expected)


@pytest.mark.parametrize("rule", ["centered", "cs_dcp"])
def test_centered_rules_require_weights_that_sum_to_one(rule):
    with pytest.raises(
        SettingsError, match=rf"^update rule '{rule}': the estimator must have .*, got 'pop_cd_leave_one_out'"
    ):
        updates.create(rule).check(estimators.create("pop_cd_leave_one_out"))
    updates.create("centered").check(estimators.create("pop_cd"))
