# SPDX-License-Identifier: BSD-3-Clause
"""RBMs: energies and conditionals against enumeration, replica axes, invalid parameters, initial parameters."""

import numpy as np
import pandas as pd
import pytest
from core_helpers import Enumerated, random_rbm, training_stream
from scipy.stats import kstest

from rbmbench.base.errors import DataError, SettingsError
from rbmbench.likelihood import ais_log_partition, log_likelihood
from rbmbench.model.rbm import RBM, Statistics, clipped_base_rate, initial_rbm

M, N = 5, 3


@pytest.fixture(scope="module")
def rbm():
    return random_rbm(M, N, seed=1)


@pytest.fixture(scope="module")
def table(rbm):
    return Enumerated.of(rbm)


def test_energy_is_the_double_sum(rbm, table):
    visible, hidden = np.repeat(table.visible, 2**N, axis=0), np.tile(table.hidden, (2**M, 1))
    np.testing.assert_allclose(rbm.energy(visible, hidden), table.energy.ravel(), rtol=0, atol=1e-13)


def test_energy_of_a_hand_set_rbm():
    rbm = RBM(np.array([[2.0, -3.0], [5.0, 7.0], [11.0, 13.0]]), np.array([17.0, 19.0, 23.0]), np.array([29.0, 31.0]))
    assert rbm.energy(np.array([[1.0, 0.0, 1.0]]), np.array([[0.0, 1.0]])).tolist() == [-(-3 + 13 + 17 + 23 + 31)]


def test_free_energy_is_minus_the_log_sum_over_hidden_states(rbm, table):
    expected = -np.logaddexp.reduce(-table.energy, axis=1)
    np.testing.assert_allclose(rbm.free_energy(table.visible), expected, rtol=0, atol=1e-12)


def test_free_energy_does_not_overflow():
    rbm = RBM(np.full((2, 3), 500.0), np.zeros(2), np.full(3, -2000.0))
    np.testing.assert_array_equal(rbm.free_energy(np.array([[1.0, 1.0], [0.0, 0.0]])), [0.0, 0.0])
    np.testing.assert_array_equal(RBM(-rbm.W, rbm.b, -rbm.c).free_energy(np.ones((1, 2))), [-3000.0])


@pytest.mark.parametrize("beta", [0.0, 0.3, 1.0, 2.0])
def test_conditional_means_are_those_of_the_tempered_table(rbm, beta):
    table = Enumerated.of(rbm, beta)
    hidden_mean = table.hidden_given_visible @ table.hidden
    visible_mean = table.visible_given_hidden @ table.visible
    np.testing.assert_allclose(rbm.hidden_mean(table.visible, beta), hidden_mean, rtol=1e-12)
    np.testing.assert_allclose(rbm.visible_mean(table.hidden, beta), visible_mean, rtol=1e-12)
    np.testing.assert_array_equal(rbm.hidden_mean(table.visible), rbm.hidden_mean(table.visible, 1.0))
    np.testing.assert_array_equal(rbm.visible_mean(table.hidden), rbm.visible_mean(table.hidden, 1.0))


def test_leading_axes_are_replicas():
    replicas = random_rbm(M, N, (2, 7), seed=2)
    rng = np.random.default_rng(0)
    visible, hidden = (rng.random((2, 7, 11, units)) < 0.5 for units in (M, N))
    visible, hidden = visible.astype(float), hidden.astype(float)
    for index in np.ndindex(2, 7):
        replica, v, h = replicas[index], visible[index], hidden[index]
        assert replica.W.shape == (M, N)
        np.testing.assert_allclose(replicas.energy(visible, hidden)[index], replica.energy(v, h), rtol=1e-12)
        np.testing.assert_allclose(replicas.free_energy(visible)[index], replica.free_energy(v), rtol=1e-12)
        np.testing.assert_allclose(replicas.hidden_mean(visible)[index], replica.hidden_mean(v), rtol=1e-12)
        np.testing.assert_allclose(replicas.visible_mean(hidden)[index], replica.visible_mean(h), rtol=1e-12)


def test_rows_without_a_replica_axis_are_shared_by_all_replicas(table):
    rbms = random_rbm(M, N, (7,), seed=2)
    assert rbms.free_energy(table.visible).shape == (7, 2**M)
    np.testing.assert_allclose(rbms.free_energy(table.visible)[3], rbms[3].free_energy(table.visible), rtol=1e-12)


def test_units_types_copies_and_names_of_parameters():
    rbm = random_rbm(M, N, dtype=np.float32)
    assert (rbm.visible_units, rbm.hidden_units) == (M, N)
    assert rbm.astype(np.float32).W is rbm.W
    double = rbm.astype(np.float64)
    assert {p.dtype for p in (double.W, double.b, double.c)} == {np.dtype(np.float64)}
    copy = rbm.copy()
    for name in ("W", "b", "c"):
        np.testing.assert_array_equal(getattr(copy, name), getattr(rbm, name))
        assert not np.shares_memory(getattr(copy, name), getattr(rbm, name))
    assert (rbm.W is rbm.weights, rbm.b is rbm.visible_bias, rbm.c is rbm.hidden_bias) == (True, True, True)
    assert all(p is getattr(rbm, name) for name, p in zip("Wbc", rbm.parameters, strict=True))


@pytest.mark.parametrize(
    ("W", "b", "c"),
    [
        ((5,), (5,), (5,)),
        ((5, 3), (3,), (5,)),
        ((5, 3), (5,), (3, 1)),
        ((2, 5, 3), (5,), (3,)),
        ((2, 5, 3), (2, 5), (3,)),
    ],
)
def test_incompatible_shapes_raise_a_one_line_error(W, b, c):
    with pytest.raises(SettingsError) as caught:
        RBM(np.zeros(W), np.zeros(b), np.zeros(c))
    message = str(caught.value)
    assert "\n" not in message
    assert all(str(shape) in message for shape in (W, b, c))
    assert message.endswith("must have shapes (..., m, n), (..., m), (..., n)")


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        ((np.float32,) * 3, np.float32),
        ((np.float16,) * 3, np.float32),
        ((np.float32, np.float32, np.int8), np.float32),
        ((np.float32, np.float16, bool), np.float32),
        ((np.float64, np.float32, np.float32), np.float64),
        ((np.float32, np.float32, np.int64), np.float64),
        ((np.longdouble,) * 3, np.float64),
        ((np.int64,) * 3, np.float64),
        ((bool,) * 3, np.float64),
        ((">f4",) * 3, np.float32),
        ((">f8", "<f4", ">i2"), np.float64),
    ],
)
def test_parameters_are_converted_to_one_native_type(types, expected):
    values = [np.arange(size).reshape(shape) % 2 for size, shape in ((15, (5, 3)), (5, 5), (3, 3))]
    rbm = RBM(*(value.astype(dtype) for value, dtype in zip(values, types, strict=True)))
    for parameter, value in zip(rbm.parameters, values, strict=True):
        assert parameter.dtype == expected
        assert parameter.dtype.isnative
        np.testing.assert_array_equal(parameter, value)


@pytest.mark.parametrize("dtype", [complex, "U3", object, "M8[s]"])
def test_parameters_that_are_not_real_numbers_raise(dtype):
    with pytest.raises(SettingsError, match=r"^RBM: types .*, float64, float64: must be real numbers$"):
        RBM(np.zeros((5, 3), dtype), np.zeros(5), np.zeros(3))


def test_contiguous_parameters_of_one_type_are_not_copied():
    parameters = [np.zeros(shape, np.float32) for shape in ((2, 5, 3), (2, 5), (2, 3))]
    rbm = RBM(*parameters)
    assert all(parameter is array for parameter, array in zip(rbm.parameters, parameters, strict=True))
    # Trials of a run are trained in place.
    for part in (rbm.replicas, rbm[1:], rbm[1]):
        part.W[...] = part.b[...] = part.c[...] = 7
        assert all((array[1] == 7).all() for array in parameters)
        parameters[0][...] = parameters[1][...] = parameters[2][...] = 0


@pytest.mark.parametrize("index", [slice(None, None, 2), slice(None, None, -1), (slice(None), 1), [2, 0]])
def test_strided_parts_are_copied_to_contiguous_arrays(index):
    replicas = random_rbm(M, N, (3, 2), seed=2)
    for part, whole in zip(replicas[index].parameters, replicas.parameters, strict=True):
        assert part.flags.c_contiguous
        np.testing.assert_array_equal(part, whole[index])


@pytest.mark.parametrize("name", ["W", "b", "c"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_parameters_that_are_not_finite_raise(name, value):
    rbm = random_rbm(M, N, (2,))
    parameters = rbm.copy().parameters
    getattr(parameters, name)[1, -1] = value
    with pytest.raises(SettingsError, match=r"^RBM: parameters must be finite"):
        RBM(*parameters)


@pytest.mark.parametrize(("dtype", "large"), [(np.float32, 1e38), (np.float64, 1e308)])
def test_parameters_whose_energies_overflow_raise(dtype, large):
    parameters = [np.full(shape, large, dtype) for shape in ((5, 3), (5,), (3,))]
    with pytest.raises(SettingsError, match=r"with absolute values up to .* for energies of this size in") as caught:
        RBM(*parameters)
    allowed = float(str(caught.value).split(" up to ")[1].split()[0])
    rbm = RBM(*(np.full_like(part, 0.9 * allowed) for part in parameters))
    ones = np.ones((1, 5)), np.ones((1, 3))
    np.testing.assert_allclose(rbm.energy(*ones), -23 * 0.9 * allowed, rtol=1e-6)
    np.testing.assert_allclose(rbm.free_energy(ones[0]), -23 * 0.9 * allowed, rtol=1e-6)
    estimate = ais_log_partition(rbm, 7, 11)
    assert np.isfinite(estimate.log_partition)
    if dtype == np.float64:
        with pytest.raises(SettingsError, match=r"with absolute values up to .* for energies of this size in float32"):
            rbm.astype(np.float32)


@pytest.mark.parametrize("shape", [(0, 3), (5, 0), (0, 5, 3)])
def test_empty_parameters_raise(shape):
    parameters = np.zeros(shape), np.zeros(shape[:-1]), np.zeros((*shape[:-2], shape[-1]))
    with pytest.raises(SettingsError, match="are empty; must have shapes"):
        RBM(*parameters)
    with pytest.raises(SettingsError, match="are empty; must have shapes"):
        random_rbm(M, N, (2,))[2:]


def test_incompatible_states_raise_a_one_line_error():
    rbm = random_rbm(M, N, (2,))
    with pytest.raises(DataError, match=r"^axes of visible and hidden states: must be .*, got \(7,\) and \(11,\)$"):
        rbm.energy(np.zeros((7, M)), np.zeros((11, N)))
    with pytest.raises(DataError, match=r"^leading axes of visible states and of the RBM: .*, got \(3,\) and \(2,\)$"):
        rbm.free_energy(np.zeros((3, 7, M)))


def test_statistics_subtract_and_flatten_in_the_documented_order():
    visible, hidden = np.arange(20.0, 24).reshape(2, 2), np.arange(30.0, 36).reshape(2, 3)
    a = Statistics(np.arange(12.0).reshape(2, 2, 3), visible, hidden)
    assert a.flat().tolist() == [[0, 1, 2, 3, 4, 5, 20, 21, 30, 31, 32], [6, 7, 8, 9, 10, 11, 22, 23, 33, 34, 35]]
    difference = a - Statistics(a.W / 2, a.b - 1, a.c * 0)
    expected = np.concatenate([a.flat()[:, :6] / 2, np.ones((2, 2)), a.c], axis=1)
    np.testing.assert_array_equal(difference.flat(), expected)


@pytest.mark.parametrize(("kind", "law"), [("uniform", ("uniform", (-0.3, 0.6))), ("normal", ("norm", (0, 0.3)))])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_initial_parameters_have_their_distribution(kind, law, dtype):
    # Error rate 3e-4: three Kolmogorov-Smirnov tests of 1e-4 each.
    rbm = initial_rbm(101, 61, training_stream(17), kind, 0.3, dtype)
    assert (rbm.W.shape, rbm.b.shape, rbm.c.shape) == ((17, 101, 61), (17, 101), (17, 61))
    for p in (rbm.W, rbm.b, rbm.c):
        assert p.dtype == dtype
        assert kstest(p.ravel().astype(float), law[0], args=law[1]).pvalue > 1e-4
        assert len(np.unique(p)) > 0.99 * p.size


def test_initial_parameters_of_a_trial_do_not_depend_on_the_others():
    batch = initial_rbm(M, N, training_stream(25))
    stream = training_stream(25)
    stream.trials = stream.trials[7:8]
    single = initial_rbm(M, N, stream)
    for name in ("W", "b", "c"):
        assert getattr(single, name).tobytes() == getattr(batch, name)[7:8].tobytes()
        assert not np.array_equal(getattr(batch, name)[6], getattr(batch, name)[7])
    assert stream.number == 3


def test_base_rate_is_the_logit_of_the_mean_clipped_by_half_a_row():
    data = np.array([[0, 1, 1, 0], [0, 1, 0, 0], [0, 1, 0, 1], [0, 1, 0, 1]], np.uint8)
    rates = np.array([0.125, 0.875, 0.25, 0.5])
    np.testing.assert_allclose(1 / (1 + np.exp(-clipped_base_rate(data))), rates, rtol=1e-14)


def test_base_rate_biases_leave_the_weights_unchanged():
    bias = np.linspace(-2, 2, M)
    rbm = initial_rbm(M, N, training_stream(3), "normal", 0.01, np.float32, "base_rate", bias)
    drawn = initial_rbm(M, N, training_stream(3), "normal", 0.01, np.float32)
    np.testing.assert_array_equal(rbm.W, drawn.W)
    np.testing.assert_array_equal(rbm.b, np.stack([bias.astype(np.float32)] * 3))
    np.testing.assert_array_equal(rbm.c, np.zeros((3, N)))


def test_rbms_are_compared_by_identity(rbm):
    assert rbm in [rbm.copy(), rbm]
    assert rbm != rbm.copy()
    assert len({rbm, rbm.copy()}) == 2


def test_a_series_is_no_matrix_of_rows(rbm):
    with pytest.raises(DataError, match=r"must be a matrix of 0 and 1.*, got shape \(5,\)"):
        log_likelihood(rbm, pd.Series([0, 1, 0, 1, 1], dtype=np.uint8), 0.0)


@pytest.mark.parametrize("options", [{"count": -1}, {"count": "a"}, {"sweeps": 0}, {"seed": -5}, {"temperatures": 1}])
@pytest.mark.parametrize("clamp", [None, np.zeros(M), [np.nan] * M])
def test_wrong_arguments_of_samples_are_one_line(rbm, options, clamp):
    with pytest.raises(SettingsError, match=rf"^option '{next(iter(options))}': must be an integer"):
        rbm.sample(**{"count": 3} | options, clamp=clamp)
