# SPDX-License-Identifier: BSD-3-Clause
"""Kernels of all backends against brute force in float64, on the same uniforms."""

import itertools
from typing import NamedTuple

import numpy as np
import pytest
from backends import BACKENDS, DTYPES
from core_helpers import all_states, expected_tosses, expected_uniforms, sigmoid
from scipy.stats import poisson

from rbmbench.base.streams import Stream
from rbmbench.kernels import backend_name, kernels_for

# One unit; primes; more than one block of 64; more than the 960 factors of 2 that float64 holds; longer than a tile.
SIZES = [(1, 1, 1), (3, 1009, 1), (2, 3, 5), (3, 131, 67), (2, 3, 1097), (2, 2, 9001)]
SHAPES = pytest.mark.parametrize("shape", SIZES)
# Every shape with values of all sizes, and all values in a short row and in one beyond the factors.
VALUES = pytest.mark.parametrize(
    ("shape", "values"),
    [(shape, "mixed") for shape in SIZES]
    + [(shape, values) for shape in (SIZES[2], SIZES[4]) for values in ("ordinary", "extreme", "zero", "equal")],
)


def activations(values, shape, dtype, seed=3):
    """Return activations and a bias with the named values."""
    rng = np.random.default_rng(seed)
    a, bias = rng.normal(0, 2, shape), rng.normal(0, 1, (shape[0], shape[2]))
    if values == "extreme":
        a = rng.choice([-200.0, 200.0], shape)
    if values == "mixed":
        a = np.where(rng.random(shape) < 0.5, a, rng.choice([-200.0, -90.0, -80.0, 80.0, 90.0, 200.0], shape))
    if values == "zero":
        a, bias = np.zeros(shape), np.zeros(bias.shape)
    if values == "equal":
        a, bias = np.full(shape, -1.75), np.full(bias.shape, 1.0)
    return a.astype(dtype), bias.astype(dtype)


def precise(a, bias):
    """Return a + bias, rounded as the kernels' type rounds it, in float64."""
    return (a + bias[:, None, :]).astype(np.float64)


def softplus(x):
    return np.logaddexp(0, x)


def draw_for(replicas, number=2**32 + 5):
    return Stream(2018, np.arange(3, 3 + replicas), purpose=2, number=number).next()


def assert_close_sums(sums, x, expected, dtype):
    """Check row sums of terms of size |x| to the precision of the type."""
    precision = 3e-6 if dtype == np.float32 else 1e-13
    np.testing.assert_allclose(sums, expected, rtol=0, atol=precision * (np.abs(x).sum(axis=-1) + x.shape[-1]).max())


def assert_close_means(means, x, dtype):
    """Check means to the documented relative error of exp(-x), 2.5e-7 + 8e-8 |x| in float32, and to rounding."""
    relative = 3e-7 + 1e-7 * np.abs(x) if dtype == np.float32 else 1e-15 * (3 + np.abs(x))
    # exp(-x) is clamped near 79 in float32: the error is below 1e-34.
    clamped = 1e-34 if dtype == np.float32 else 0
    assert (np.abs(means - sigmoid(x)) <= relative * sigmoid(x) + clamped).all()


def clear_cut(p, u, dtype):
    """Return where rounding of p cannot decide u < p; that must be nearly everywhere."""
    clear = np.abs(u - p) > (2e-6 if dtype == np.float32 else 1e-12)
    assert clear.mean() > 0.99
    return clear


def test_backend_of_numpy_arrays_is_numba_if_installed():
    pytest.importorskip("numba")
    assert backend_name(np.empty(3)) == "numba"
    assert kernels_for(np.empty(3)).__name__.endswith("kernels.numba")


@pytest.mark.parametrize("array", [[1.0], (1.0,), 3.0])
def test_arrays_of_unknown_type_have_no_kernels(array):
    with pytest.raises(TypeError, match=f"type {type(array).__name__}; allowed: numpy.ndarray, cupy.ndarray"):
        kernels_for(array)


@BACKENDS
@DTYPES
@VALUES
def test_bernoulli_mean(kernels, dtype, shape, values):
    a, bias = activations(values, shape, dtype)
    x = precise(a, bias)
    kernels.bernoulli_mean(a, bias)
    assert a.dtype == dtype
    assert_close_means(a, x, dtype)


@BACKENDS
@DTYPES
@VALUES
@pytest.mark.parametrize(("first", "second"), [(0.0, 1.0), (0.25, 0.25 + 2**-12)])
def test_softplus_differences_are_added(kernels, dtype, shape, values, first, second):
    a, bias = activations(values, shape, dtype)
    x, untouched = precise(a, bias), a.copy()
    difference = np.full(shape[:2], 17.0)
    kernels.softplus_difference(a, bias, first, second, difference)
    np.testing.assert_array_equal(a, untouched)
    assert_close_sums(difference - 17, x, (softplus(second * x) - softplus(first * x)).sum(axis=-1), dtype)


@BACKENDS
@DTYPES
@VALUES
def test_softplus_sums(kernels, dtype, shape, values):
    a, bias = activations(values, shape, dtype)
    x, untouched = precise(a, bias), a.copy()
    sums, sums_with_mean = np.full((2, *shape[:2]), np.nan)
    kernels.softplus_sum(a, bias, sums)
    np.testing.assert_array_equal(a, untouched)
    kernels.bernoulli_mean_and_softplus_sum(a, bias, sums_with_mean)
    for row_sums in (sums, sums_with_mean):
        assert_close_sums(row_sums, x, softplus(x).sum(axis=-1), dtype)
    assert_close_means(a, x, dtype)


@BACKENDS
@DTYPES
@VALUES
def test_samples_compare_the_documented_uniforms_with_the_mean(kernels, dtype, shape, values):
    a, bias = activations(values, shape, dtype)
    x, draw = precise(a, bias), draw_for(shape[0])
    u = expected_tosses(draw, shape[1] * shape[2]).reshape(shape)

    mean, out = sigmoid(x).astype(dtype), np.full(shape, np.nan, dtype)
    kernels.sample(mean, draw, out)
    np.testing.assert_array_equal(out, u < mean)

    scored, log_probability = a.copy(), np.full(shape[:2], np.nan)
    kernels.sample_bernoulli(a, bias, draw)
    kernels.sample_bernoulli_and_log_probability(scored, bias, draw, log_probability)
    clear = clear_cut(sigmoid(x), u, dtype)
    for state in (a, scored):
        assert set(np.unique(state)) <= {0.0, 1.0}
        np.testing.assert_array_equal(state[clear], (u < sigmoid(x))[clear])
    assert_close_sums(log_probability, x, (scored * x - softplus(x)).sum(axis=-1), dtype)


@BACKENDS
@DTYPES
@SHAPES
def test_sampling_at_an_inverse_temperature(kernels, dtype, shape):
    a, bias = activations("mixed", shape, dtype)
    draw, scale = draw_for(shape[0]), 0.375
    expected = (dtype(scale) * a).astype(dtype)
    kernels.sample_bernoulli(expected, bias, draw)
    kernels.sample_bernoulli(a, bias, draw, scale)
    # scale * a is rounded once more where it is not fused with the sum, which can flip one unit in 10^6.
    assert np.count_nonzero(a != expected) <= 1


@BACKENDS
@DTYPES
@pytest.mark.parametrize("shape", [(1, 7, 1), (3, 131, 67), (2, 3, 1097)])
def test_units_undecided_by_sixteen_bits_are_decided_by_further_bits(kernels, dtype, shape):
    # Every unit's p is put half way between the 16 bits of its own uniform and the next number.
    draw, levels = draw_for(shape[0]), 65536
    u = levels * expected_tosses(draw, shape[1] * shape[2]).reshape(shape)
    p = (np.floor(u) + 0.5) / levels
    a, bias, out = np.log(p / (1 - p)).astype(dtype), np.zeros((shape[0], shape[2]), dtype), np.empty(shape, dtype)
    kernels.sample(p.astype(dtype), draw, out)
    np.testing.assert_array_equal(out, u % 1 < 0.5)
    # Activations of float32 keep p to a few parts in 10^6, which is up to a quarter of the distance left.
    clear = np.abs(u % 1 - 0.5) > (0.3 if dtype == np.float32 else 1e-7)
    x, scored, log_probability = a.astype(np.float64), a.copy(), np.empty(shape[:2])
    kernels.sample_bernoulli(a, bias, draw)
    kernels.sample_bernoulli_and_log_probability(scored, bias, draw, log_probability)
    for state in (a, scored):
        np.testing.assert_array_equal(state[clear], (u % 1 < 0.5)[clear])
    # The activation of an undecided unit has an error of 2e-5 in float32.
    expected = (scored * x - softplus(x)).sum(axis=-1)
    tolerance = (3e-5 if dtype == np.float32 else 1e-12) * shape[2]
    np.testing.assert_allclose(log_probability, expected, rtol=0, atol=tolerance)


def with_score(a, bias, draw):
    kernels_for(a).sample_bernoulli_and_log_probability(a, bias, draw, np.empty(a.shape[:2]))


@DTYPES
@pytest.mark.parametrize("kernel", [lambda a, bias, draw: kernels_for(a).sample_bernoulli(a, bias, draw), with_score])
def test_counts_of_rare_states_are_poisson(dtype, kernel):
    # Error rate 1e-4: Poisson counts of states with p near e^-14, far below what 16 bits resolve, and of ones of e^-30,
    # of which 16 million have one with probability 2e-6.
    if backend_name(np.empty(0)) == "numpy":
        pytest.skip("16 million units take long without numba")
    for activation in (-14.0, 14.0, -30.0, 30.0):
        a, bias = np.full((31, 2**13, 64), activation, dtype), np.zeros((31, 64), dtype)
        expected, rare = a.size * sigmoid(-abs(activation)), activation < 0
        kernel(a, bias, draw_for(31))
        assert poisson.ppf(1.25e-5, expected) <= np.count_nonzero(a == rare) <= poisson.isf(1.25e-5, expected)


@BACKENDS
@DTYPES
def test_gather_rows(kernels, dtype):
    rng = np.random.default_rng(0)
    data, index = (rng.random((23, 11)) < 0.5).astype(np.uint8), rng.integers(0, 23, (3, 7))
    out = np.full((3, 7, 11), np.nan, dtype)
    kernels.gather_rows(data, index, out)
    for r, row in itertools.product(range(3), range(7)):
        np.testing.assert_array_equal(out[r, row], data[index[r, row]])


@BACKENDS
@DTYPES
@pytest.mark.parametrize("shape", [(1, 1), (2, 3, 5), (3, 67, 71)])
def test_ascend(kernels, dtype, shape):
    rng = np.random.default_rng(1)
    parameter, up, down = (rng.normal(size=shape).astype(dtype) for _ in range(3))
    expected = parameter.astype(float) + 0.375 * up.astype(float) - 0.03125 * down.astype(float)
    copies = up.copy(), down.copy()
    kernels.ascend(parameter, up, 0.375, down, 0.03125)
    np.testing.assert_allclose(parameter, expected, rtol=0, atol=1e-6 if dtype == np.float32 else 1e-15)
    np.testing.assert_array_equal([up, down], copies)


@BACKENDS
@DTYPES
@pytest.mark.parametrize("shape", [(1, 1), (2, 5), (3, 4099)])
@pytest.mark.parametrize("pair", [False, True])
def test_add_deviations(kernels, dtype, shape, pair):
    rng = np.random.default_rng(2)
    first, second = (rng.normal(size=shape).astype(dtype) for _ in range(2))
    offset, sums, squares = rng.normal(size=shape), rng.normal(size=shape), rng.random(shape[0])
    deviation = 0.3 * first.astype(float) - 0.7 * pair * second.astype(float) - offset
    expected_sums, expected_squares = sums + deviation, squares + (deviation**2).sum(axis=1)
    kernels.add_deviations(first, 0.3, second if pair else None, 0.7, offset, sums, squares)
    np.testing.assert_allclose(sums, expected_sums, rtol=0, atol=1e-14)
    np.testing.assert_allclose(squares, expected_squares, rtol=1e-13)


@BACKENDS
@DTYPES
def test_deviations_of_a_replica_do_not_depend_on_others(kernels, dtype):
    rng = np.random.default_rng(3)
    first, second, offset = (rng.normal(size=(5, 1031)) for _ in range(3))
    first, second = first.astype(dtype), second.astype(dtype)
    sums, squares = np.zeros((5, 1031)), np.zeros(5)
    kernels.add_deviations(first, 0.25, second, 0.5, offset, sums, squares)
    for r in range(5):
        replica, alone = np.s_[r : r + 1], (np.zeros((1, 1031)), np.zeros(1))
        kernels.add_deviations(first[replica], 0.25, second[replica], 0.5, offset[replica], *alone)
        np.testing.assert_array_equal(alone[0][0], sums[r])
        assert alone[1][0] == squares[r]


class Tempered(NamedTuple):
    """A case of tempered sweeps."""

    replicas: int
    sets: int
    chains: int
    m: int
    n: int
    sweeps: int
    scale: float
    seed: int

    def parameters(self, dtype):
        rng = np.random.default_rng(self.seed)
        shapes = ((self.replicas, self.m, self.n), (self.replicas, self.m), (self.replicas, self.n))
        return [rng.normal(0, self.scale, shape).astype(dtype) for shape in shapes]

    def start(self, dtype):
        rng = np.random.default_rng(self.seed + 1)
        return (rng.random((self.replicas, self.sets, self.chains, self.m)) < 0.5).astype(dtype)

    def betas(self, dtype):
        return np.linspace(0, 1, self.chains).astype(dtype)


TEMPERED = [
    Tempered(1, 1, 2, 1, 1, 5, 1.0, 0),
    Tempered(2, 3, 5, 7, 11, 13, 1.0, 6),
    Tempered(1, 2, 4, 67, 3, 7, 0.5, 2),
    Tempered(2, 1, 3, 3, 71, 7, 0.5, 3),
    Tempered(1, 2, 7, 5, 2, 11, 6.0, 4),
    # So many multiplications that no library computes the products.
    Tempered(1, 1, 101, 127, 83, 2, 0.2, 5),
]


def sweep_by_hand(case, dtype, draw, parameters, visible):
    """Return the samples of tempered sweeps, swap counts and the least distance of any uniform from its threshold."""
    W, b, c = (p.astype(np.float64) for p in parameters)
    beta, (m, n) = case.betas(dtype).astype(np.float64), (case.m, case.n)
    visible, margin, swaps = visible.astype(np.float64), [], 0
    samples = np.zeros((case.replicas, case.sets, case.sweeps, m))
    size = case.chains * (m + n + 1)
    for r, s, sweep in itertools.product(range(case.replicas), range(case.sets), range(case.sweeps)):
        number = draw._replace(number=np.uint64(int(draw.number) + sweep))
        u = expected_uniforms(number, case.sets * size, dtype)[r, s * size : (s + 1) * size]
        states = []
        for k in range(case.chains):
            v = visible[r, s, k]
            p, uh = sigmoid(beta[k] * (c[r] + v @ W[r])), u[k * n : (k + 1) * n]
            h = (uh < p).astype(np.float64)
            q, uv = sigmoid(beta[k] * (b[r] + W[r] @ h)), u[case.chains * n + k * m : case.chains * n + (k + 1) * m]
            v = (uv < q).astype(np.float64)
            margin += [np.abs(uh - p).min(), np.abs(uv - q).min()]
            states.append((v, -v @ W[r] @ h - b[r] @ v - c[r] @ h))
        for first in (0, 1):
            for k in range(first, case.chains - 1, 2):
                ratio = np.exp((beta[k] - beta[k + 1]) * (states[k][1] - states[k + 1][1]))
                chance = u[case.chains * (m + n) + k]
                margin.append(abs(chance - ratio))
                if chance < ratio:
                    states[k], states[k + 1] = states[k + 1], states[k]
                    swaps += 1
        visible[r, s] = [v for v, _ in states]
        samples[r, s, sweep] = states[-1][0]
    return visible, samples, swaps, min(margin)


@BACKENDS
@DTYPES
@pytest.mark.parametrize("case", TEMPERED)
def test_tempered_sweeps(kernels, dtype, case):
    parameters, visible = case.parameters(dtype), case.start(dtype)
    draw = draw_for(case.replicas)
    end, by_hand, swaps, margin = sweep_by_hand(case, dtype, draw, parameters, visible)
    # With these seeds rounding decides no state, and some swaps are rejected.
    assert margin > (2e-6 if dtype == np.float32 else 1e-11)
    pairs = case.replicas * case.sets * case.sweeps * (case.chains - 1)
    assert 0 < swaps < pairs
    samples = np.full(by_hand.shape, np.nan, dtype)
    kernels.tempered_sweeps(*parameters, case.betas(dtype), draw, visible, samples)
    np.testing.assert_array_equal(samples, by_hand)
    np.testing.assert_array_equal(visible, end)


@BACKENDS
def test_tempered_sweeps_may_be_split_into_calls(kernels):
    case = TEMPERED[1]
    parameters, whole, split = case.parameters(np.float32), case.start(np.float32), case.start(np.float32)
    stream, pieces = Stream(1, [0, 1]), []
    samples = np.empty((2, 3, 13, 7), np.float32)
    kernels.tempered_sweeps(*parameters, case.betas(np.float32), stream.next(), whole, samples)
    stream = Stream(1, [0, 1])
    for sweeps in (2, 1, 10):
        pieces.append(np.empty((2, 3, sweeps, 7), np.float32))
        kernels.tempered_sweeps(*parameters, case.betas(np.float32), stream.take(sweeps), split, pieces[-1])
    np.testing.assert_array_equal(np.concatenate(pieces, axis=2), samples)
    np.testing.assert_array_equal(split, whole)


def log_weights_by_hand(W, b, c):
    """Return log sum_v exp(-E(v, h)) for the hidden states in counting order, the first unit the slowest."""
    return np.array([c @ h + softplus(b + W @ h).sum() for h in all_states(len(c))])


# One, two, odd and even numbers of hidden units; so many factors that products are cut in groups; factors too large.
ENUMERATED = [*((*shape, 1.0) for shape in ((1, 1), (7, 1), (3, 2), (5, 7), (131, 6)))]
ENUMERATED += [(211, 8, 20.0), (13, 5, 400.0), (3, 11, 900.0)]


@BACKENDS
@pytest.mark.parametrize(("m", "n", "scale"), ENUMERATED)
def test_hidden_log_weights(kernels, m, n, scale):
    rng = np.random.default_rng(m + n)
    W, b, c = rng.normal(0, scale, (m, n)), rng.normal(0, scale, m), rng.normal(0, scale, n)
    log_weights = kernels.hidden_log_weights(W, b, c)
    assert log_weights.shape == (2**n,)
    np.testing.assert_allclose(log_weights, log_weights_by_hand(W, b, c), rtol=1e-12, atol=1e-12 * scale * m)


@BACKENDS
@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("parameter", ["weights", "visible bias"])
def test_hidden_log_weights_of_huge_parameters_of_one_sign(kernels, sign, parameter):
    W, b, c = np.ones((5, 4)), np.zeros(5), np.linspace(-1, 1, 4)
    {"weights": W, "visible bias": b}[parameter][...] = sign * 690.0
    log_weights = kernels.hidden_log_weights(W, b, c)
    np.testing.assert_allclose(log_weights, log_weights_by_hand(W, b, c), rtol=1e-13, atol=1e-12)


@BACKENDS
def test_hidden_log_weights_near_the_limit_of_float64(kernels):
    # Halves of the hidden units that cancel: each half's factor is near the limit, their product is not.
    rng = np.random.default_rng(0)
    W = np.concatenate([rng.uniform(200, 330, (7, 2)), -rng.uniform(200, 330, (7, 2))], axis=1)
    b, c = rng.normal(0, 5, 7), rng.normal(0, 5, 4)
    np.testing.assert_allclose(kernels.hidden_log_weights(W, b, c), log_weights_by_hand(W, b, c), rtol=1e-12)
