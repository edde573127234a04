# SPDX-License-Identifier: BSD-3-Clause
"""Gradient estimators: populations, weights, gradients, persistent chains and invalid options."""

import re

import numpy as np
import pytest
from core_helpers import Enumerated, binary_data, expected_tosses, random_rbm, repeated, sigmoid, training_stream

from rbmbench import estimators
from rbmbench.base.errors import DataError, SettingsError
from rbmbench.base.streams import Stream
from rbmbench.estimators.pop_cd import effective_sample_size, normalised_weights
from rbmbench.estimators.pop_cd_leave_one_out import leave_one_out_weights
from rbmbench.likelihood import exact_gradient, exact_model_statistics
from rbmbench.model.gibbs import Buffers, Population, population_statistics
from rbmbench.model.rbm import RBM
from rbmbench.samplers import ParallelTemperingSampler

R, ROWS, M, N = 2, 12, 5, 3
CHAINS_FROM_THE_BATCH = ["cd", "pop_cd", "pop_cd_joint", "pop_cd_leave_one_out", "pop_cd_mixture"]
WEIGHTED = CHAINS_FROM_THE_BATCH[1:]
RETURN_STATISTICS = {"exact", "ucd"}  # instead of a population


@pytest.fixture(scope="module")
def rbm():
    return random_rbm(M, N, (R,), seed=4)


@pytest.fixture(scope="module")
def batch():
    return np.stack([binary_data(ROWS, M, seed) for seed in range(R)]).astype(float)


def estimate(name, rbm, batch, stream=None, **options):
    estimator = estimators.create(name, **options)
    stream = stream or training_stream(len(batch))
    state = estimator.start(rbm, batch[0].astype(np.uint8), batch.shape[1], stream)
    return estimator.estimate(rbm, batch, state, stream)


def chain_by_hand(rbm, batch, k, stream):
    """Return v^(k-1), h^(k-1) and v^(k) of Gibbs chains from the batch, one draw per half step."""

    def sampled(mean):
        return (expected_tosses(stream.next(), mean[0].size).reshape(mean.shape) < mean).astype(float)

    before, visible = None, batch
    for _ in range(k):
        before = visible
        hidden = sampled(sigmoid(before @ rbm.W + rbm.c[:, None]))
        visible = sampled(sigmoid(hidden @ rbm.W.swapaxes(1, 2) + rbm.b[:, None]))
    return before, hidden, visible


def log_weights_by_hand(name, table, before, hidden, visible, tau):
    """Return the log weights of one replica's rows, from the tables of its RBM."""
    v, u = table.numbers_of(visible), table.numbers_of(before)
    h = (hidden @ 2.0 ** np.arange(N - 1, -1, -1)).astype(int)
    if name == "pop_cd_joint":
        marginal = np.logaddexp.reduce(-table.energy, axis=0)
        return marginal[h] - np.log(table.hidden_given_visible[u, h])
    marginal = np.logaddexp.reduce(-table.energy, axis=1)
    proposal = table.visible_given_hidden[h[:, None], v[None, :]]  # of component j for row i
    if name != "pop_cd_mixture":
        return marginal[v] - np.log(np.diag(proposal))
    groups = np.arange(len(v)) // tau
    mixture = [proposal[groups == group, i].mean() for i, group in enumerate(groups)]
    return marginal[v] - np.log(mixture)


def weights_by_hand(name, log_weights):
    w = np.exp(log_weights)
    if name == "pop_cd_leave_one_out":
        return np.array([(len(w) - 1) / len(w) * w[i] / np.delete(w, i).sum() for i in range(len(w))])
    return w / w.sum()


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("name", CHAINS_FROM_THE_BATCH)
def test_populations_are_the_ends_of_chains_from_the_batch(name, k, rbm, batch):
    _, _, visible = chain_by_hand(rbm, batch, k, training_stream(R))
    stream = training_stream(R)
    phases = estimate(name, rbm, batch, stream, k=k)
    assert stream.number == 2 * k
    np.testing.assert_array_equal(phases.negative.visible, visible)
    np.testing.assert_allclose(phases.negative.hidden, sigmoid(visible @ rbm.W + rbm.c[:, None]), rtol=1e-12)
    np.testing.assert_array_equal(phases.positive.visible, batch)
    np.testing.assert_allclose(phases.positive.hidden, sigmoid(batch @ rbm.W + rbm.c[:, None]), rtol=1e-12)
    assert phases.positive.weights is None
    assert (phases.negative.weights is None) == (name == "cd")


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize(
    ("name", "tau"), [(name, 2) for name in WEIGHTED] + [("pop_cd_mixture", t) for t in (1, 3, 12)]
)
def test_weights_are_those_of_enumeration(name, tau, k, rbm, batch):
    before, hidden, visible = chain_by_hand(rbm, batch, k, training_stream(R))
    phases = estimate(name, rbm, batch, k=k, **({"tau": tau} if name == "pop_cd_mixture" else {}))
    for r in range(R):
        table = Enumerated.of(rbm[r])
        log_weights = log_weights_by_hand(name, table, before[r], hidden[r], visible[r], tau)
        expected = weights_by_hand(name, log_weights)
        np.testing.assert_allclose(phases.negative.weights[r], expected, rtol=1e-11)
        size = expected.sum() ** 2 / (expected**2).sum()
        np.testing.assert_allclose(phases.diagnostics["effective_sample_size"][r], size, rtol=1e-10)
        if name == "pop_cd_leave_one_out":
            np.testing.assert_allclose(phases.diagnostics["largest_weight_sum"][r], expected.sum(), rtol=1e-10)


@pytest.mark.parametrize("name", CHAINS_FROM_THE_BATCH)
def test_single_precision_gives_the_same_population(name, rbm, batch):
    precise = estimate(name, rbm.astype(np.float32).astype(np.float64), batch, k=2)
    single = estimate(name, rbm.astype(np.float32), batch.astype(np.float32), k=2)
    assert single.negative.visible.dtype == single.negative.hidden.dtype == np.float32
    # Both types use the upper bits of the same words: no uniform of this seed lies between two roundings of a mean.
    np.testing.assert_array_equal(single.negative.visible, precise.negative.visible)
    if name != "cd":
        assert single.negative.weights.dtype == np.float32
        np.testing.assert_allclose(single.negative.weights, precise.negative.weights, rtol=3e-6)


@pytest.mark.parametrize("name", ["pop_cd", "pop_cd_joint", "pop_cd_mixture"])
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pop_cd_with_one_row_is_cd(name, k, dtype, rbm, batch):
    # Rows are equal bit for bit; hidden means come from two kernels, which may round apart in the last place.
    rbm, rows = rbm.astype(dtype), batch.astype(dtype)
    options = {"tau": 1} if name == "pop_cd_mixture" else {}
    for row in range(7):
        single_row = np.ascontiguousarray(rows[:, row : row + 1])
        estimator, cd = estimators.create(name, k=k, **options), estimators.create("cd", k=k)
        phases = estimator.estimate(rbm, single_row, {}, training_stream(R, seed=row))
        expected = cd.estimate(rbm, single_row, {}, training_stream(R, seed=row))
        assert phases.negative.visible.tobytes() == expected.negative.visible.tobytes()
        assert phases.negative.weights.tolist() == [[1.0]] * R
        gradients = estimator.gradient(phases).flat(), cd.gradient(expected).flat()
        np.testing.assert_allclose(*gradients, atol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("name", WEIGHTED)
def test_rows_have_equal_weights_if_w_is_zero(name, rbm, batch):
    free = RBM(np.zeros_like(rbm.W), rbm.b, rbm.c)
    estimator, cd = estimators.create(name, k=2), estimators.create("cd", k=2)
    phases = estimator.estimate(free, batch, {}, training_stream(R))
    np.testing.assert_allclose(phases.negative.weights, 1 / ROWS, rtol=1e-12)
    np.testing.assert_allclose(phases.diagnostics["effective_sample_size"], ROWS, rtol=1e-12)
    expected = cd.gradient(cd.estimate(free, batch, {}, training_stream(R))).flat()
    np.testing.assert_allclose(estimator.gradient(phases).flat(), expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("name", sorted({*estimators.REGISTRY.names()} - RETURN_STATISTICS))
def test_gradient_is_positive_less_negative_statistics(name, rbm, batch):
    estimator, stream = estimators.create(name), training_stream(R)
    state = estimator.start(rbm, batch[0].astype(np.uint8), ROWS, stream)
    phases = estimator.estimate(rbm, batch, state, stream)
    h = sigmoid(batch @ rbm.W + rbm.c[:, None])
    negative = population_statistics(phases.negative, Buffers(), "by hand")
    gradient = estimator.gradient(phases)
    np.testing.assert_allclose(gradient.W, np.einsum("rim,rin->rmn", batch, h) / ROWS - negative.W, atol=1e-14)
    np.testing.assert_allclose(gradient.b, batch.mean(axis=1) - negative.b, atol=1e-14)
    np.testing.assert_allclose(gradient.c, h.mean(axis=1) - negative.c, atol=1e-14)


@pytest.mark.parametrize("trials", [[0], [0, 1, 2]])
@pytest.mark.parametrize("name", sorted({*estimators.REGISTRY.names()} - {"exact", "expected_cd"}))
def test_a_stream_must_have_a_trial_for_each_model(name, trials, rbm, batch):
    with pytest.raises(SettingsError, match=f"stream: must have {R} trials, one for each model, got {len(trials)}"):
        estimate(name, rbm, batch, Stream(5, trials))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exact_gradient_of_a_batch(dtype, rbm, batch):
    estimator, rbm = estimators.create("exact"), rbm.astype(dtype)
    gradient = estimator.gradient(estimator.estimate(rbm, batch.astype(dtype), {}, training_stream(R)))
    expected = np.stack([exact_gradient(rbm[r], batch[r]).flat() for r in range(R)])
    np.testing.assert_allclose(gradient.flat(), expected, atol=1e-6 if dtype == np.float32 else 1e-13)


def test_exact_negative_phase_is_the_model_expectation(rbm, batch):
    statistics = estimate("exact", rbm, batch).negative
    for part, expected in zip(statistics, exact_model_statistics(rbm), strict=True):
        np.testing.assert_array_equal(part, expected)
    single = estimate("exact", rbm.astype(np.float32), batch.astype(np.float32)).negative
    assert {part.dtype for part in single} == {np.dtype(np.float32)}


@pytest.mark.parametrize("k", [1, 2, 5])
def test_calls_of_pcd_continue_the_chains(k, rbm, batch):
    # k calls of PCD-1 use the draws of one call of PCD-k.
    step_by_step, at_once = estimators.create("pcd", k=1), estimators.create("pcd", k=k)
    data = binary_data(23, M)
    stream, other = training_stream(R), training_stream(R)
    state, other_state = step_by_step.start(rbm, data, ROWS, stream), at_once.start(rbm, data, ROWS, other)
    start = state["visible"].copy()
    for _ in range(k):
        phases = step_by_step.estimate(rbm, batch, state, stream)
        state = phases.state
        np.testing.assert_array_equal(state["visible"], phases.negative.visible)
    other_phases = at_once.estimate(rbm, batch, other_state, other)
    np.testing.assert_array_equal(other_phases.negative.visible, phases.negative.visible)
    np.testing.assert_array_equal(other_phases.state["visible"], state["visible"])
    assert not np.array_equal(start, state["visible"])


def test_persistent_chains_start_at_the_state_not_at_the_batch(rbm, batch):
    pcd, cd = estimators.create("pcd", k=2), estimators.create("cd", k=2)
    state = {"visible": batch.copy()}
    from_state = pcd.estimate(rbm, 1 - batch, state, training_stream(R)).negative
    np.testing.assert_array_equal(from_state.visible, cd.estimate(rbm, batch, {}, training_stream(R)).negative.visible)


@pytest.mark.parametrize(("name", "options"), [("pcd", {}), ("parallel_tempering", {"temperatures": 4, "sets": 3})])
def test_chains_start_at_random_training_rows(name, options, rbm):
    # Error rate 1e-3: bound on Pearson's statistic with 22 degrees of freedom.
    data = np.array([[int(bit) for bit in f"{row:05b}"] for row in range(23)], np.uint8)
    many = repeated(rbm[0], 997).astype(np.float32)
    state = estimators.create(name, **options).start(many, data, ROWS, training_stream(997))["visible"]
    assert state.dtype == np.float32
    numbers = (state @ 2.0 ** np.arange(4, -1, -1)).astype(int)
    counts = np.bincount(numbers.ravel(), minlength=23)
    assert len(counts) == 23
    expected = counts.sum() / 23
    assert ((counts - expected) ** 2 / expected).sum() < 48.3
    assert not np.array_equal(numbers[0], numbers[1])


def test_tempered_temperatures_are_evenly_spaced():
    assert ParallelTemperingSampler(5).inverse_temperatures.tolist() == [0, 0.25, 0.5, 0.75, 1]


def test_two_tempered_estimates_are_one_of_twice_the_rows(rbm, batch):
    # One draw per sweep: two estimates of 6 rows are one of 12.
    halves, whole = (estimators.create("parallel_tempering", temperatures=3) for _ in range(2))
    data, stream, other = binary_data(23, M), training_stream(R), training_stream(R)
    state, at_once = halves.start(rbm, data, 6, stream), whole.start(rbm, data, 12, other)
    assert state["visible"].shape == (R, 1, 3, M)
    parts = []
    for half in (batch[:, :6], batch[:, 6:]):
        phases = halves.estimate(rbm, half, state, stream)
        state = phases.state
        parts.append(phases.negative.visible.copy())
        np.testing.assert_array_equal(phases.negative.visible[:, -1], state["visible"][:, 0, -1])
    together = whole.estimate(rbm, batch, at_once, other)
    np.testing.assert_array_equal(np.concatenate(parts, axis=1), together.negative.visible)
    np.testing.assert_array_equal(together.state["visible"], state["visible"])
    expected = sigmoid(together.negative.visible @ rbm.W + rbm.c[:, None])
    np.testing.assert_allclose(together.negative.hidden, expected, rtol=1e-12)


def test_sets_of_tempered_chains_share_the_rows(rbm, batch):
    estimator, stream = estimators.create("parallel_tempering", temperatures=4, sets=3), training_stream(R)
    state = estimator.start(rbm, binary_data(23, M), ROWS, stream)
    assert state["visible"].shape == (R, 3, 4, M)
    chains, again = state["visible"].copy(), training_stream(R)
    again.next()
    samples = np.empty((R, 3, 4, M))
    ParallelTemperingSampler(4).sweep(rbm, chains, again, samples)
    phases = estimator.estimate(rbm, batch, state, stream)
    assert stream.number == again.number == 5
    np.testing.assert_array_equal(phases.negative.visible, samples.reshape(R, ROWS, M))
    np.testing.assert_array_equal(phases.state["visible"], chains)


STEPS_AND_CHAINS = [*((name, "k") for name in [*WEIGHTED, "cd", "pcd"]), ("cd", "chains"), ("pcd", "chains")]


@pytest.mark.parametrize(("name", "option"), STEPS_AND_CHAINS)
@pytest.mark.parametrize("value", [0, -1, 1.5, 1.0, True, "1"])
def test_steps_and_chains_must_be_positive_integers(name, option, value):
    with pytest.raises(SettingsError, match=rf"^option {option!r}: must be an integer >= 1, got {value!r}\Z"):
        estimators.create(name, **{option: value})


@pytest.mark.parametrize(
    ("name", "options", "line"),
    [
        ("cd", {"k": None}, "option 'k': must be an integer >= 1, got None"),
        ("pop_cd_mixture", {"tau": 0}, "option 'tau': must be an integer >= 1, got 0"),
        ("parallel_tempering", {"sets": 0}, "option 'sets': must be an integer >= 1, got 0"),
        ("parallel_tempering", {"temperatures": 1}, "option 'temperatures': must be an integer >= 2, got 1"),
        ("parallel_tempering", {"temperatures": True}, "option 'temperatures': must be an integer >= 2, got True"),
        ("parallel_tempering", {"temperatures": 4.0}, "option 'temperatures': must be an integer >= 2, got 4.0"),
        ("cd", {"kk": 1}, "estimator 'cd': unknown option 'kk'; nearest: 'k'; allowed: chains, k, variance"),
        (
            "pop_cd_mixture",
            {"tua": 1},
            "estimator 'pop_cd_mixture': unknown option 'tua'; nearest: 'tau'; allowed: k, tau",
        ),
        ("exact", {"k": 1}, "estimator 'exact': unknown option 'k'; allowed: none"),
    ],
)
def test_invalid_options_raise_one_line(name, options, line):
    with pytest.raises(SettingsError, match=rf"^{re.escape(line)}\Z"):
        estimators.create(name, **options)


def test_invalid_batch_sizes_raise_one_line(rbm, batch):
    with pytest.raises(SettingsError, match=r"^estimator 'pop_cd_mixture': tau: must be a divisor of batch 12, got 5"):
        estimate("pop_cd_mixture", rbm, batch, tau=5)
    with pytest.raises(SettingsError, match=r"^estimator 'parallel_tempering': sets: must be a divisor of 12, got 5"):
        estimate("parallel_tempering", rbm, batch, sets=5)
    with pytest.raises(SettingsError, match=r"^estimator 'pop_cd_leave_one_out': batch: must be at least 2, got 1"):
        estimate("pop_cd_leave_one_out", rbm, batch[:, :1])


def test_weights_of_any_size_are_normalised_without_overflow():
    log_weights = np.array([[-1e4, -1e4, -1e4 - np.log(2)], [1e4, -1e4, 0], [3.0, 3.0, 3.0]])
    weights = normalised_weights(log_weights)
    np.testing.assert_allclose(weights, [[0.4, 0.4, 0.2], [1, 0, 0], [1 / 3, 1 / 3, 1 / 3]], rtol=1e-11)
    np.testing.assert_allclose(effective_sample_size(weights), [1 / 0.36, 1, 3], rtol=1e-11)


def test_leave_one_out_weights_do_not_cancel():
    # One weight is 1e20 times the others, and must not cancel their sum.
    small = np.log([[1.0, 2.0, 4.0, 1e20]])
    expected = 0.75 * np.array([[1 / 1e20, 2 / 1e20, 4 / 1e20, 1e20 / 7]])
    np.testing.assert_allclose(leave_one_out_weights(small + 5000), expected, rtol=1e-11)


@pytest.mark.filterwarnings("error")
def test_a_single_heavy_row_leaves_diagnostics_finite():
    # Log weights differ by hundreds of nats: weights vary widely, but the effective sample size is 1.
    heavy = leave_one_out_weights(np.array([[0.0, -500.0, -501.0]]))
    assert np.isfinite(heavy).all()
    np.testing.assert_allclose(effective_sample_size(heavy), 1)


@pytest.mark.parametrize(
    ("visible", "hidden", "weights"),
    [
        (np.s_[:, :, 1:], np.s_[:], None),
        (np.s_[:1], np.s_[:1], None),
        (np.s_[:, :7], np.s_[:], None),
        (np.s_[:], np.s_[:, :, 1:], None),
        (np.s_[:], np.s_[:], np.ones((R, 3))),
    ],
)
def test_a_negative_phase_of_wrong_shapes_raises(visible, hidden, weights, rbm, batch):
    class Own(estimators.Estimator):
        def negative_phase(self, rbm, positive, state, stream):
            return Population(positive.visible[visible], positive.hidden[hidden], weights), state, {}

    with pytest.raises(SettingsError, match=r"negative_phase of Own: shapes must be \[\(2, .*\], got \["):
        Own().estimate(rbm, batch, {}, training_stream(R))


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (lambda phase: None, "must return a Population .*, got NoneType$"),
        (lambda phase: phase[:2], "must return a Population .*, got Population, dict$"),
        (lambda phase: (*phase, None), "must return a Population .*, got Population, dict, NoneType$"),
        (lambda phase: (*phase, {"a": 1.0}), r"diagnostics must be {'a': \(2,\)}, got {'a': <class 'float'>}"),
        (lambda phase: (*phase, {"a": [1.0] * R}), r"diagnostics must be {'a': \(2,\)}, got {'a': <class 'list'>}"),
        (lambda phase: (*phase, {"a": np.ones((R, 1))}), r"diagnostics must be {'a': \(2,\)}, got {'a': \(2, 1\)}"),
    ],
)
def test_a_negative_phase_of_other_parts_raises(returned, message, rbm, batch):
    class Own(estimators.Estimator):
        def negative_phase(self, rbm, positive, state, stream):
            return returned((positive, state))

    with pytest.raises(SettingsError, match=f"^negative_phase of Own: {message}"):
        Own().estimate(rbm, batch, {}, training_stream(R))


def test_diagnostics_have_the_same_names_in_all_iterations(rbm, batch):
    class Own(estimators.Estimator):
        def negative_phase(self, rbm, positive, state, stream):
            return positive, state, {"a": np.ones(R)} if stream.next().number else {}

    own, stream = Own(), training_stream(R)
    own.estimate(rbm, batch, {}, stream)
    with pytest.raises(SettingsError, match=r"diagnostics must be {}, got {'a': \(2,\)}"):
        own.estimate(rbm, batch, {}, stream)


@pytest.mark.parametrize("part", [np.s_[:, :, 1:], np.s_[:1], np.s_[0], np.s_[:, :0]])
def test_a_batch_of_another_shape_raises(part, rbm, batch):
    with pytest.raises(DataError, match=r"mini-batch: must be of shape \(2, rows, \d+\), with rows, got \("):
        estimators.create("cd").estimate(rbm, batch[part], {}, training_stream(R))
