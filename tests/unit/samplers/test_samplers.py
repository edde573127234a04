# SPDX-License-Identifier: BSD-3-Clause
"""Samplers: properties common to all, and samples and parameters of each of them."""

from itertools import pairwise

import numpy as np
import pytest
from core_helpers import binary_data, expected_tosses, random_rbm, repeated, sigmoid, training_stream

from rbmbench import estimators, samplers
from rbmbench.base.errors import RbmbenchError, SettingsError
from rbmbench.base.settings import EstimateSettings, GroundTruthSettings
from rbmbench.base.streams import Stream
from rbmbench.measurements.gradient_bias import ground_truth, measure
from rbmbench.model.enumeration import distribution_after, transition_matrix
from rbmbench.model.gibbs import Population
from rbmbench.model.minibatches import random_rows
from rbmbench.model.rbm import RBM
from rbmbench.samplers.coupled_gibbs import stopping_times
from rbmbench.samplers.exact import exact_samples

R, CHAINS, COUNT, M, N = 2, 3, 17, 7, 5
DATA = binary_data(23, M)
ALL = samplers.REGISTRY.names()
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@pytest.fixture(scope="module")
def rbm():
    return random_rbm(M, N, (R,), seed=4)


def drawn(name, rbm, count=COUNT, chains=CHAINS, seed=5, cuts=(), data=DATA, means=False, **options):
    """Return samples (replicas, chains, count, m) drawn in pieces, the last state, and the means on request."""
    sampler, stream = samplers.create(name, **options), training_stream(len(rbm.W), seed=seed)
    state = sampler.start(rbm, data, chains, stream)
    shape = (len(rbm.W), chains, count, rbm.visible_units)
    samples, mean_values = np.empty(shape, np.uint8), np.empty(shape, np.float32) if means else None
    ends = [0, *cuts, count]
    for first, last in pairwise(ends):
        sampler.draw(rbm, state, stream, samples[:, :, first:last], mean_values[:, :, first:last] if means else None)
    return (samples, state, mean_values) if means else (samples, state)


@DTYPES
@pytest.mark.parametrize("name", ALL)
def test_samples_are_bits_and_do_not_depend_on_pieces(name, dtype, rbm):
    rbm = rbm.astype(dtype)
    whole, _ = drawn(name, rbm)
    in_pieces, _ = drawn(name, rbm, cuts=(1, 4, 4, 11))
    assert set(np.unique(whole)) <= {0, 1}
    np.testing.assert_array_equal(in_pieces, whole)


@pytest.mark.parametrize("name", ALL)
def test_samples_of_a_replica_do_not_depend_on_the_others(name, rbm):
    samples, _ = drawn(name, rbm)
    single, _ = drawn(name, rbm[:1])
    np.testing.assert_array_equal(samples[:1], single)


@pytest.mark.parametrize("name", ALL)
def test_drawing_does_not_change_the_model(name, rbm):
    before = rbm.copy()
    drawn(name, rbm)
    for part in ("W", "b", "c"):
        assert getattr(rbm, part).tobytes() == getattr(before, part).tobytes()


@DTYPES
@pytest.mark.parametrize("decay", [1.0, 0.95, 0.0])
@pytest.mark.parametrize(("k", "chains"), [(1, 1), (3, 1), (1, 3)])
def test_rates_fpcd_with_rate_0_equals_gibbs(rbm, dtype, decay, k, chains):
    rbm = rbm.astype(dtype)
    gibbs, _ = drawn("gibbs", rbm, 211, chains, k=k)
    rates, state = drawn("rates_fpcd", rbm, 211, chains, k=k, fast_rate=0.0, decay=decay)
    np.testing.assert_array_equal(rates, gibbs)
    for part in ("W", "b", "c"):
        assert state[part].tobytes() == getattr(rbm, part).tobytes()


@DTYPES
def test_sample_penalization_equals_rates_fpcd_with_zero_statistics(rbm, dtype):
    # Rows of zeros, and hidden units that are always 0: all statistics of the data are 0.
    rbm = RBM(rbm.W, rbm.b, np.full_like(rbm.c, -200.0)).astype(dtype)
    zeros = np.zeros((3, M), np.uint8)
    options = {"fast_rate": [0.3, 0.02], "decay": [0.9, 0.97], "data": zeros, "count": 101}
    rates, state = drawn("rates_fpcd", rbm, **options)
    penalized, other = drawn("sample_penalization", rbm, **options)
    np.testing.assert_array_equal(rates, penalized)
    assert state["W"].tobytes() == other["W"].tobytes()
    # With other rows the samplers differ.
    samples, other = (drawn(name, random_rbm(M, N, (R,)))[0] for name in ("rates_fpcd", "sample_penalization"))
    assert (samples != other).any()


def rates_by_hand(rbm, data):
    """Return the means over the rows of (x p(h|x)', x, p(h|x)) of one RBM."""
    mean = sigmoid(data @ rbm.W + rbm.c)
    return data.T @ mean / len(data), data.mean(axis=0), mean.mean(axis=0)


def rates_fpcd_by_hand(rbm, r, count, fast_rate, decay, k, penalize, chains):
    """Yield samples and means of one replica's chains from the formulas, with theta_F separate from theta."""
    stream = training_stream(R)
    start = random_rows(DATA, chains, np.zeros((R, M, N)), stream)[r]
    hidden = (tosses(stream, (chains, N))[r] < sigmoid(start @ rbm.W + rbm.c)).astype(float)
    rates = [0 * part if penalize else part for part in rates_by_hand(rbm, DATA)]
    fast = [np.zeros_like(part) for part in (rbm.W, rbm.b, rbm.c)]
    for _ in range(count):
        W, b, c = (part + other for part, other in zip((rbm.W, rbm.b, rbm.c), fast, strict=True))
        for _ in range(k):
            visible = (tosses(stream, (chains, M))[r] < sigmoid(hidden @ W.T + b)).astype(float)
            hidden = (tosses(stream, (chains, N))[r] < sigmoid(visible @ W + c)).astype(float)
        yield visible, sigmoid(hidden @ W.T + b)
        sample = visible.T @ hidden / chains, visible.mean(axis=0), hidden.mean(axis=0)
        fast = [decay * f + fast_rate * (u - s) for f, u, s in zip(fast, rates, sample, strict=True)]


def tosses(stream, shape):
    return expected_tosses(stream.next(), int(np.prod(shape))).reshape(R, *shape)


@pytest.mark.parametrize(("name", "penalize"), [("rates_fpcd", False), ("sample_penalization", True)])
@pytest.mark.parametrize(("chains", "decays", "k"), [(3, [0.9, 1.0], 2), (1, [0.9, 1.0], 1), (1, [0.0, 0.3], 2)])
def test_fast_parameters_follow_their_recursion(rbm, name, penalize, k, chains, decays):
    # For a single chain, decay and drift are delayed by less than 131 samples.
    rates, count = [0.3, 1.1], 131 if chains == 1 else 29
    samples, _, means = drawn(name, rbm, count, chains, means=True, fast_rate=rates, decay=decays, k=k)
    for r in range(R):
        by_hand = rates_fpcd_by_hand(rbm[r], r, count, rates[r], decays[r], k, penalize, chains)
        for number, (visible, mean) in enumerate(by_hand):
            np.testing.assert_array_equal(samples[r, :, number], visible)
            np.testing.assert_allclose(means[r, :, number], mean, rtol=1e-5)


def test_samples_of_a_grid_equal_those_of_single_settings():
    rbm = repeated(random_rbm(M, N, seed=8), 3)
    rates, decays = [0.1, 0.7, 0.0], [1.0, 0.9, 0.5]
    samples, _ = drawn("rates_fpcd", rbm, fast_rate=rates, decay=decays)
    for r in range(3):
        # Random numbers depend on the index of the replica.
        single, _ = drawn("rates_fpcd", rbm, fast_rate=rates[r], decay=decays[r])
        np.testing.assert_array_equal(samples[r], single[r])


@pytest.mark.parametrize("chains", [1, 5])
def test_means_of_rates_fpcd_samples_converge_to_the_rates(chains):
    # With alpha = 1, theta_F = eps_F sum over the samples of (R - statistics): averages differ from R by
    # theta_F / (eps_F T), to rounding, and theta_F stays bounded.
    rbm = random_rbm(M, N, (R,), seed=12)
    errors = []
    for count in (2_000, 8_000):
        samples, state = drawn("rates_fpcd", rbm, count=count, chains=chains, fast_rate=0.05)
        means = samples.mean(axis=(1, 2))
        np.testing.assert_allclose(DATA.mean(axis=0) - means, (state["b"] - rbm.b) / (0.05 * count), atol=1e-9)
        errors.append(np.abs(DATA.mean(axis=0) - means).max())
        assert np.abs(samplers.create("rates_fpcd").whole(state).W - rbm.W).max() < 5
    # Four times the samples quarter the error, which would be halved for independent ones.
    assert errors[1] < 0.4 * errors[0]
    # Means of Gibbs samples are those of the model.
    gibbs = drawn("gibbs", rbm, count=8_000)[0].mean(axis=(1, 2))
    assert np.abs(DATA.mean(axis=0) - gibbs).max() > 10 * errors[1]


@pytest.mark.parametrize("name", ["herding", "rates_herding"])
def test_herding_is_deterministic_with_bounded_parameters(name, rbm):
    samples, state = drawn(name, rbm, count=400, seed=5)
    sampler, stream = samplers.create(name), training_stream(R, seed=5)
    restarted = sampler.start(rbm, DATA, CHAINS, stream)
    drawn_before = stream.number
    other = np.empty_like(samples)
    sampler.draw(rbm, restarted, stream, other)
    assert stream.number == drawn_before
    np.testing.assert_array_equal(samples, other)
    # Sublinear growth: after 16 times the samples, parameters are at most twice as far away.
    early = max(np.abs(state[part] - getattr(rbm, part)).max() for part in ("W", "b", "c"))
    late = drawn(name, rbm, count=6_400)[1]
    assert max(np.abs(late[part] - getattr(rbm, part)).max() for part in ("W", "b", "c")) < 2 * early
    # Hence means of the samples are those of the data.
    np.testing.assert_allclose(samples.mean(axis=(1, 2)), np.tile(DATA.mean(axis=0), (R, 1)), atol=0.03)


def test_herding_states_are_fixed_points(rbm):
    samples, state, means = drawn("rates_herding", rbm, count=1, means=True, fast_rate=0.0)
    hidden = state["hidden"]
    np.testing.assert_array_equal(samples[:, :, 0], (hidden @ rbm.W.swapaxes(1, 2) + rbm.b[:, None]) > 0)
    np.testing.assert_array_equal(hidden, (samples[:, :, 0] @ rbm.W + rbm.c[:, None]) > 0)
    np.testing.assert_array_equal(means[:, :, 0], samples[:, :, 0])


def test_herding_ends_after_most_steps(rbm):
    samples, _, _ = drawn("rates_herding", rbm, count=1, fast_rate=0.0, most_steps=1, means=True)
    sampler, stream = samplers.create("rates_herding"), training_stream(R)
    hidden = sampler.start(rbm, DATA, CHAINS, stream)["hidden"]
    np.testing.assert_array_equal(samples[:, :, 0], (hidden @ rbm.W.swapaxes(1, 2) + rbm.b[:, None]) > 0)


def test_herding_uses_the_blocks_of_the_data_in_turn(rbm):
    # 23 rows are two blocks of 11, and one unused row.
    _, state = drawn("herding", rbm, count=3, batch=11)
    assert state["block"].tolist() == [1]
    visible = drawn("herding", rbm, count=3, batch=11)[0].astype(float).mean(axis=1)
    blocks = [DATA[:11].mean(axis=0), DATA[11:22].mean(axis=0), DATA[:11].mean(axis=0)]
    expected = rbm.b + sum(blocks) - visible.sum(axis=1)
    np.testing.assert_allclose(state["b"], expected, rtol=1e-9, atol=1e-12)


def test_parallel_tempering_returns_every_kth_sweep(rbm):
    every, _ = drawn("parallel_tempering", rbm, count=12, temperatures=4)
    third, _ = drawn("parallel_tempering", rbm, count=4, temperatures=4, k=3)
    np.testing.assert_array_equal(third, every[:, :, 2::3])
    with pytest.raises(SettingsError, match="means: must be none"):
        drawn("parallel_tempering", rbm, means=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fast_rate": -1}, "option 'fast_rate': must be a number from 0 to 1000, or one per replica, got -1"),
        ({"decay": [0.5, 1.5]}, "option 'decay': must be"),
        ({"decay": True}, "option 'decay': must "),
        ({"decay": "a"}, "option 'decay': must "),
        ({"fast_rate": []}, "option 'fast_rate': must be"),
        ({"fast_rate": float("nan")}, "option 'fast_rate': must "),
        ({"k": 0}, "option 'k': must be an integer >= 1, got 0"),
    ],
)
def test_invalid_options_raise_a_one_line_error(options, message):
    with pytest.raises(SettingsError, match=message):
        samplers.create("rates_fpcd", **options)


def test_a_wrong_number_of_rates_raises(rbm):
    with pytest.raises(SettingsError, match="option 'fast_rate': must be one, or one per replica, 2, got 3 numbers"):
        drawn("rates_fpcd", rbm, fast_rate=[0.1, 0.2, 0.3])


@pytest.mark.parametrize("trials", [[0], [0, 1, 2]])
@pytest.mark.parametrize("name", ALL)
def test_a_wrong_number_of_trials_of_the_stream_raises(name, trials, rbm):
    def draw():
        sampler, stream = samplers.create(name), Stream(5, trials)
        state = sampler.start(rbm, DATA, CHAINS, stream)
        sampler.draw(rbm, state, stream, np.empty((R, CHAINS, COUNT, M), np.uint8))

    with pytest.raises(SettingsError, match=f"stream: must have {R} trials, one for each model, got {len(trials)}"):
        draw()


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("shape", [(R, 1, COUNT, M), (R, 2, COUNT, M), (1, CHAINS, COUNT, M), (R, CHAINS, COUNT, 3)])
def test_arrays_of_samples_of_a_wrong_shape_raise(name, shape, rbm):
    sampler, stream = samplers.create(name), training_stream(R)
    state = sampler.start(rbm, DATA, CHAINS, stream)
    with pytest.raises(SettingsError, match=rf"^samples: must have shape \({R}, {CHAINS}, samples, {M}\), got"):
        sampler.draw(rbm, state, stream, np.empty(shape, np.uint8))


@pytest.mark.parametrize("shape", [(R, CHAINS, 3, M), (R, CHAINS, M), (R, CHAINS, 4, M + 1), (1, CHAINS, 4, M)])
def test_tempered_chains_of_a_wrong_shape_raise(shape, rbm):
    sampler, samples = samplers.ParallelTemperingSampler(4), np.empty((R, CHAINS, COUNT, M))
    with pytest.raises(SettingsError, match=rf"^visible: must have shape \({R}, sets, 4, {M}\), got"):
        sampler.sweep(rbm, np.zeros(shape), training_stream(R), samples)


@pytest.mark.parametrize("chains", [0, -1, 1.5])
@pytest.mark.parametrize("name", [*ALL, "ladder"])
def test_a_number_of_chains_below_1_raises(name, chains, rbm):
    ladder = samplers.TrajectoryTempering(rbm)
    with pytest.raises(SettingsError, match=r"^option '(chains|rows)': must be an integer >= 1, got"):
        ladder.start(chains, training_stream(R)) if name == "ladder" else drawn(name, rbm, chains=chains)


@pytest.mark.parametrize("shape", [(R, CHAINS, M + 1), (R + 1, CHAINS, M), (R, CHAINS + 1, M), (CHAINS, M)])
def test_starts_of_pairs_of_a_wrong_shape_raise(shape, rbm):
    start = Population(np.zeros(shape), np.zeros((R, CHAINS, N)))
    with pytest.raises(SettingsError, match=r"^start\.(visible|hidden): must have shape \(2, "):
        samplers.CoupledGibbs().run(rbm, start, training_stream(R))
    if shape[1:] != (CHAINS + 1, M):
        with pytest.raises(RbmbenchError, match=r"^start: must (be|have)"):
            stopping_times(rbm, np.zeros(shape), "rbm", 5, training_stream(R))


@pytest.mark.parametrize("shape", [(R, 2**M - 1), (2**M,), (1, 2**M)])
def test_distributions_of_a_wrong_shape_raise(shape, rbm):
    with pytest.raises(SettingsError, match=r"^start: must have shape \(2, 128\), got"):
        distribution_after(rbm, np.full(shape, 0.5**M), 1)


def test_functions_of_replicas_refuse_a_single_rbm():
    rbm, stream = random_rbm(M, N, seed=4), training_stream(1)
    start = np.zeros((1, CHAINS, M))
    calls = (
        lambda: exact_samples(rbm, 3, stream),
        lambda: transition_matrix(rbm),
        lambda: distribution_after(rbm, np.full((1, 2**M), 0.5**M), 1),
        lambda: stopping_times(rbm, start, "rbm", 5, stream),
        lambda: estimators.create("cd").estimate(rbm, start, {}, stream),
        lambda: samplers.CoupledGibbs().run(rbm, Population(start, start), stream),
        lambda: ground_truth(rbm, DATA, GroundTruthSettings(method="exact")),
        lambda: measure(rbm, DATA, EstimateSettings(estimator={"name": "cd"}, batch=5), {}),
    )
    for call in calls:
        with pytest.raises(SettingsError, match=r"^RBM: must have one leading axis, .*, got W of shape \(7, 5\)"):
            call()


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"chains": 0}, "option 'chains': must be an integer >= 1, got 0"),
        ({"rounds": 1.5}, "option 'rounds': must be an integer >= 0, got 1.5"),
        ({"target": 7}, "option 'target': must be a number from 0 to 1, got 7"),
    ],
)
def test_wrong_arguments_of_a_ladder_are_one_line(options, line):
    with pytest.raises(SettingsError, match=f"^{line}"):
        samplers.choose_ladder(random_rbm(M, N, (R,)), **options)
