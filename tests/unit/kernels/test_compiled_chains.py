# SPDX-License-Identifier: BSD-3-Clause
"""Chains in one compiled loop have the states of the kernels of single half steps, bit for bit."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from core_helpers import binary_data, random_rbm, training_stream

from rbmbench import estimators
from rbmbench.kernels import chain_kernels, kernels_for, ways
from rbmbench.kernels.threads import threads_of_rows
from rbmbench.model.gibbs import Buffers, end_of_chain, hidden_mean, run_chain
from rbmbench.model.rbm import RBM
from rbmbench.updates import REGISTRY

pytestmark = pytest.mark.skipif(chain_kernels(np.empty(0)) is None, reason="Numba is not installed")
# Rows, visible and hidden units: below and above a group of 5, a line of 16, a word of 64, two words, four segments.
SIZES = [(1, 1, 1), (2, 7, 3), (3, 67, 5), (31, 17, 131), (61, 131, 97), (7, 293, 257), (523, 71, 11)]


@pytest.fixture(autouse=True)
def tables():
    with ways.by_hand("tables"):
        yield


def normal_rbm(visible, hidden, width, replicas=2, bias=0.0):
    rbm = random_rbm(visible, hidden, (replicas,), width, visible, np.float32)
    return RBM(rbm.W, rbm.b + np.float32(bias), rbm.c)


def states_of_half_steps(rbm, mean, half_steps, stream):
    """Return the states after half steps, each by the kernels of products and of samples."""
    kernels, states = kernels_for(mean), np.empty_like(mean)
    kernels.sample(mean, stream.next(), states)
    for step in range(half_steps):
        matrix, bias = (rbm.W, rbm.c) if step % 2 else (rbm.W.swapaxes(-1, -2), rbm.b)
        activation = np.empty((*states.shape[:2], bias.shape[-1]), np.float32)
        kernels.multiply_binary(states, matrix, activation)
        kernels.sample_bernoulli(activation, bias, stream.next())
        states = activation
    return states


def assert_equal_states(rbm, rows, k=3):
    replicas, n = rbm.c.shape
    mean = np.random.default_rng(5).random((replicas, rows, n)).astype(np.float32)
    for run, half_steps in ((run_chain, 2 * k - 2), (end_of_chain, 2 * k - 1)):
        stream, other_stream = training_stream(replicas), training_stream(replicas)
        expected = states_of_half_steps(rbm, mean, half_steps, other_stream)
        assert run(rbm, mean, k, stream, Buffers()).tobytes() == expected.tobytes()
        assert stream.number == other_stream.number


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("width", [0.01, 0.3, 3.0])
def test_states_are_those_of_single_half_steps(size, width):
    rows, visible, hidden = size
    assert_equal_states(normal_rbm(visible, hidden, width), rows)


@pytest.mark.parametrize("rows", [67, 97, 523])
@pytest.mark.parametrize("width", [0.1, 40.0])
def test_states_do_not_depend_on_the_threads_of_rows(rows, width):
    with ThreadPoolExecutor(5) as executor, threads_of_rows(executor, 5):
        assert_equal_states(normal_rbm(131, 67, width), rows)


@pytest.mark.parametrize("bias", [-3.0, 3.0])
def test_states_with_few_or_most_units_on_are_equal(bias):
    assert_equal_states(normal_rbm(293, 131, 0.1, bias=bias), 127)


@pytest.mark.parametrize("scale", [0.0, 1e-30, 30.0, 1e4])
def test_states_of_extreme_weights_are_equal(scale):
    rbm = normal_rbm(67, 61, scale)
    rbm.W[0, 3], rbm.W[1, :, 5], rbm.b[1, 7], rbm.c[0, 2] = 0, 0, 200, -200
    assert_equal_states(rbm, 37)


def test_replicas_with_wide_steps_are_computed_by_single_half_steps():
    narrow, wide = normal_rbm(131, 67, 0.1), normal_rbm(131, 67, 40.0)
    rbm = RBM(*(np.concatenate(pair) for pair in zip(narrow.parameters, wide.parameters, strict=True)))
    sizes = chain_kernels(rbm.W).memory_sizes(29, 131, 67)
    memory = tuple(np.empty(size, np.int16) for size in sizes)
    hidden, out = np.zeros((4, 29, 67), np.float32), np.empty((4, 29, 131), np.float32)
    done = chain_kernels(rbm.W).run(*rbm.parameters, training_stream(4).next(), 1, memory, (0, 29), hidden, out)
    np.testing.assert_array_equal(done, [True, True, False, False])
    assert_equal_states(rbm, 29)


def test_states_of_trained_models_are_equal():
    data = binary_data(199, 131, seed=3).astype(np.float32)[None]
    rbm, estimator, stream = normal_rbm(131, 67, 0.01, replicas=1), estimators.create("cd", k=2), training_stream(1)
    rule = REGISTRY.create("sgd", {})
    for iteration in range(300):
        rule.step(rbm, estimator, data[:, iteration % 100 :][:, :97], {}, stream, 0.2, {})
    assert np.abs(rbm.W).mean() > 0.1
    assert_equal_states(rbm, 97, k=4)
    mean = hidden_mean(rbm, data, Buffers())
    expected = states_of_half_steps(rbm, mean, 3, training_stream(1))
    assert end_of_chain(rbm, mean, 2, training_stream(1), Buffers()).tobytes() == expected.tobytes()
