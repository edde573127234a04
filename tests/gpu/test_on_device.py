# SPDX-License-Identifier: BSD-3-Clause
"""CUDA kernels and runs on a GPU, against the CPU on the same random numbers."""

import numpy as np
import pytest
from core_helpers import (
    Enumerated,
    all_states,
    binary_data,
    expected_tosses,
    random_rbm,
    repeated,
    sigmoid,
    total_variation,
    total_variation_bound,
    training_stream,
)

from rbmbench import estimators, samplers
from rbmbench.kernels import backend_name, backends, on_host
from rbmbench.kernels import numpy as numpy_kernels
from rbmbench.kernels.cupy import _device, tempering
from rbmbench.likelihood import exact_gradient, exact_log_partition, log_likelihood
from rbmbench.model.gibbs import Buffers, sample_hidden, sample_visible
from rbmbench.training import trainer

MISSING = backends.gpu_obstacle()
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(MISSING is not None, reason=str(MISSING))]
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])
SHAPES = pytest.mark.parametrize("shape", [(1, 1, 1), (3, 1009, 1), (3, 131, 67), (2, 3, 1097), (2, 2, 9001)])
OPTIONS = {"parallel_tempering": {"temperatures": 4}, "pop_cd_mixture": {"tau": 3}}


@pytest.fixture(scope="module")
def cupy():
    """CuPy."""
    return backends.namespace("cupy")


@pytest.fixture(scope="module")
def kernels(cupy):
    """The kernels of device arrays."""
    from rbmbench.kernels import kernels_for

    return kernels_for(cupy.empty(0))


def activations(shape, dtype):
    rng = np.random.default_rng(3)
    ordinary = rng.normal(0, 2, shape)
    extreme = rng.choice([-200.0, -90.0, -80.0, 80.0, 90.0, 200.0], shape)
    a = np.where(rng.random(shape) < 0.75, ordinary, extreme)
    return a.astype(dtype), rng.normal(0, 1, (shape[0], shape[2])).astype(dtype)


def test_backend_of_device_arrays_is_cupy(cupy):
    assert backend_name(cupy.empty(3)) == "cupy"


@pytest.mark.parametrize("transposed", [False, True])
def test_products_with_binary_states_have_the_precision_of_float32(cupy, kernels, transposed):
    rng = np.random.default_rng(7)
    states, matrix = (rng.random((3, 67, 131)) < 0.4).astype(np.float32), rng.normal(size=(3, 131, 37))
    a, b = cupy.asarray(states), cupy.asarray(matrix.astype(np.float32))
    if transposed:
        a, b = (cupy.ascontiguousarray(part.swapaxes(1, 2)).swapaxes(1, 2) for part in (a, b))
    out = cupy.empty((3, 67, 37), np.float32)
    kernels.multiply_binary(a, b, out)
    expected = states.astype(np.float64) @ matrix.astype(np.float32)
    np.testing.assert_allclose(out.get(), expected, rtol=0, atol=3e-5)


@DTYPES
@SHAPES
def test_samples_equal_those_of_the_uniforms(cupy, kernels, dtype, shape):
    a, bias = activations(shape, dtype)
    x = (a + bias[:, None, :]).astype(np.float64)
    draw = training_stream(shape[0]).next()
    u = expected_tosses(draw, shape[1] * shape[2]).reshape(shape)
    mean = sigmoid(x).astype(dtype)
    out, on_device, scored = cupy.empty(shape, dtype), cupy.asarray(a), cupy.asarray(a)
    score = cupy.empty(shape[:2])
    kernels.sample(cupy.asarray(mean), draw, out)
    kernels.sample_bernoulli(on_device, cupy.asarray(bias), draw)
    kernels.sample_bernoulli_and_log_probability(scored, cupy.asarray(bias), draw, score)
    np.testing.assert_array_equal(on_host(out), u < mean)
    # States that do not depend on rounding of the mean.
    clear = np.abs(u - sigmoid(x)) > (2e-6 if dtype == np.float32 else 1e-12)
    assert clear.mean() > 0.99
    for state in (on_host(on_device), on_host(scored)):
        np.testing.assert_array_equal(state[clear], (u < sigmoid(x))[clear])
    expected = (on_host(scored) * x - np.logaddexp(0, x)).sum(axis=-1)
    check_sums(on_host(score), expected, x, dtype)


def check_sums(sums, expected, x, dtype):
    precision = 3e-6 if dtype == np.float32 else 1e-13
    np.testing.assert_allclose(sums, expected, rtol=0, atol=precision * (np.abs(x).sum(axis=-1) + x.shape[-1]).max())


@DTYPES
@SHAPES
def test_sums_and_means_equal_those_in_float64(cupy, kernels, dtype, shape):
    a, bias = activations(shape, dtype)
    x = (a + bias[:, None, :]).astype(np.float64)
    on_device, device_bias, sums = cupy.asarray(a), cupy.asarray(bias), cupy.empty(shape[:2])
    difference = cupy.full(shape[:2], 17.0)
    kernels.softplus_difference(on_device, device_bias, 0.25, 0.5, difference)
    kernels.bernoulli_mean_and_softplus_sum(on_device, device_bias, sums)
    check_sums(on_host(sums), np.logaddexp(0, x).sum(axis=-1), x, dtype)
    check_sums(on_host(difference) - 17, (np.logaddexp(0, x / 2) - np.logaddexp(0, x / 4)).sum(axis=-1), x, dtype)
    relative = 3e-7 + 1e-7 * np.abs(x) if dtype == np.float32 else 1e-15 * (3 + np.abs(x))
    assert (np.abs(on_host(on_device) - sigmoid(x)) <= relative * sigmoid(x) + 1e-34).all()


@DTYPES
def test_uniforms_equal_those_of_the_reference(kernels, dtype):
    draw = training_stream(3).next()
    np.testing.assert_array_equal(
        on_host(kernels.uniforms(draw, 7001, dtype)), numpy_kernels.uniforms(draw, 7001, dtype)
    )


@pytest.mark.parametrize("shape", [(7, 5), (5, 7), (211, 8)])
def test_exact_likelihoods_and_gradients_equal_those_on_the_host(cupy, shape):
    m, n = shape
    host, rows = random_rbm(m, n, (2,)), binary_data(11, m)
    on_device = host.like(cupy.empty(0))
    log_partition = exact_log_partition(on_device)
    np.testing.assert_allclose(log_partition, exact_log_partition(host), rtol=1e-12)
    likelihoods = log_likelihood(on_device, rows, log_partition)
    np.testing.assert_allclose(likelihoods, log_likelihood(host, rows, log_partition), rtol=1e-12)
    for part, expected in zip(exact_gradient(on_device, rows), exact_gradient(host, rows), strict=True):
        np.testing.assert_allclose(on_host(part), expected, rtol=0, atol=1e-11)


@DTYPES
@pytest.mark.parametrize("chains", [5, 47])
def test_tempered_chains_in_shared_and_in_global_memory(cupy, dtype, chains):
    rbm = random_rbm(211, 103, (2,), scale=0.1, dtype=dtype)
    size = tempering._workspace_bytes(chains, 211, 103, rbm.W.itemsize)
    assert (size > _device.SHARED_BYTES) == (chains == 47)
    start = binary_data(2 * chains, 211).reshape(2, 1, chains, 211).astype(dtype)
    ends = []
    for array in (np.empty(0), cupy.empty(0)):
        visible = np.array(start, like=array)
        samples = np.empty_like(visible, shape=(2, 1, 2, 211))
        samplers.ParallelTemperingSampler(chains).sweep(rbm.like(array), visible, training_stream(2), samples)
        ends.append((on_host(visible), on_host(samples)))
    for host, device in zip(*ends, strict=True):
        # Rounding may change one unit in 10^6; a changed swap of chains would change dozens.
        assert np.count_nonzero(host != device) <= (3 if dtype == np.float32 else 0)


@pytest.mark.parametrize("steps", [1, 4, 16])
def test_gibbs_steps_leave_the_distribution_of_the_model_unchanged(cupy, steps):
    # Error rate 1e-6: independent chains that start in the distribution of the model.
    rbm, chains = random_rbm(5, 3, scale=1.0), 200_003
    table = Enumerated.of(rbm)
    probability = table.joint.sum(axis=1)
    on_device, stream, buffers = repeated(rbm, 1).astype(np.float32).like(cupy.empty(0)), training_stream(1), Buffers()
    start = np.random.default_rng(1).choice(len(probability), chains, p=probability)
    visible = cupy.asarray(all_states(5)[start][None].astype(np.float32))
    for _ in range(steps):
        visible = sample_visible(on_device, sample_hidden(on_device, visible, stream, buffers), stream, buffers)
    distance = total_variation(table.numbers_of(on_host(visible)), probability)
    assert distance < total_variation_bound(probability, chains, 1e-6)


def test_tempered_sweeps_leave_the_distribution_unchanged(cupy):
    # Error rate 1e-6: independent sets that start in the tempered distributions.
    rbm, sets, chains = random_rbm(5, 3, scale=1.0), 50_021, 3
    sampler, rng, states = samplers.ParallelTemperingSampler(chains), np.random.default_rng(2), all_states(5)
    margins = [Enumerated.of(rbm, beta).joint.sum(axis=1) for beta in sampler.inverse_temperatures]
    start = np.stack([states[rng.choice(len(p), sets, p=p)] for p in margins], axis=1)[None]
    visible, samples = cupy.asarray(start, np.float32), cupy.empty((1, sets, 4, 5), np.float32)
    sampler.sweep(repeated(rbm, 1).astype(np.float32).like(visible), visible, training_stream(1), samples)
    table = Enumerated.of(rbm)
    distance = total_variation(table.numbers_of(on_host(samples)[0, :, -1]), margins[-1])
    assert distance < total_variation_bound(margins[-1], sets, 1e-6)


@pytest.mark.parametrize("name", estimators.REGISTRY.names())
def test_a_run_equals_that_on_the_host(cupy, name):
    # In float64, with these seeds, no uniform is between two roundings of a mean, so that all states are equal.
    values = {"batch": 6, "iterations": 37, "trials": 3, "seed": 2, "precision": "float64", "evaluate_every": 10}
    results = [
        trainer.train(
            binary_data(23, 7), hidden=5, estimator=name, options=OPTIONS.get(name, {}), backend=backend, **values
        )
        for backend in ("cupy", "numpy")
    ]
    result, expected = results
    assert result.backend["backend"] == "cupy"
    np.testing.assert_allclose(result.rbm.W, expected.rbm.W, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(result.curve.value, expected.curve.value, rtol=1e-8, atol=1e-10)


def test_repeated_runs_are_equal(cupy):
    values = {"hidden": 11, "estimator": "pop_cd", "batch": 50, "iterations": 23, "trials": 5, "backend": "cupy"}
    first, second = (trainer.train(binary_data(211, 101), evaluate_every=23, **values).rbm for _ in range(2))
    np.testing.assert_array_equal(first.W, second.W)
