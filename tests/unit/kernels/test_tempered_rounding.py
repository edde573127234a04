# SPDX-License-Identifier: BSD-3-Clause
"""Many tempered sweeps in one call, with rounded weights, have the states of few sweeps per call, bit for bit."""

import numpy as np
import pytest
from core_helpers import binary_data, training_stream

from rbmbench import estimators
from rbmbench.kernels import chain_kernels, kernels_for
from rbmbench.model.rbm import RBM
from rbmbench.updates import REGISTRY

pytestmark = pytest.mark.skipif(chain_kernels(np.empty(0)) is None, reason="Numba is not installed")
# Sets, chains, visible and hidden units: as many multiplications as rounding needs, and fewer rows than tables take.
SIZES = [(1, 11, 331, 307), (2, 5, 1009, 101), (1, 10, 101, 997), (3, 3, 1201, 97)]
SWEEPS = 37


def normal_parameters(visible, hidden, width, bias=0.0, replicas=2):
    rng = np.random.default_rng(visible)
    shapes = (replicas, visible, hidden), (replicas, visible), (replicas, hidden)
    W, b, c = (rng.normal(0, width, shape).astype(np.float32) for shape in shapes)
    return W, b + np.float32(bias), c


def states_of_sweeps(parameters, sets, chains, sweeps_a_call):
    """Return the states after all sweeps, and those at inverse temperature 1 after each sweep."""
    W = parameters[0]
    replicas, m, _ = W.shape
    stream, betas = training_stream(replicas), np.linspace(0, 1, chains, dtype=np.float32)
    start = np.random.default_rng(7).random((replicas, sets, chains, m))
    visible, samples = (start < 0.3).astype(np.float32), np.empty((replicas, sets, SWEEPS, m), np.float32)
    for first in range(0, SWEEPS, sweeps_a_call):
        part = np.ascontiguousarray(samples[:, :, first : first + sweeps_a_call])
        kernels_for(W).tempered_sweeps(*parameters, betas, stream.take(part.shape[2]), visible, part)
        samples[:, :, first : first + sweeps_a_call] = part
    return visible, samples


def assert_equal_states(parameters, sets=1, chains=11):
    from rbmbench.kernels.numba.tempering import LEAST_SWEEPS

    assert LEAST_SWEEPS < SWEEPS
    visible, samples = states_of_sweeps(parameters, sets, chains, SWEEPS)
    few_visible, few_samples = states_of_sweeps(parameters, sets, chains, LEAST_SWEEPS - 1)
    assert visible.tobytes() == few_visible.tobytes()
    assert samples.tobytes() == few_samples.tobytes()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("width", [0.01, 0.2, 3.0])
def test_states_do_not_depend_on_sweeps_a_call(size, width):
    sets, chains, visible, hidden = size
    assert_equal_states(normal_parameters(visible, hidden, width), sets, chains)


@pytest.mark.parametrize("bias", [-5.0, 5.0])
def test_states_with_few_or_most_units_on_are_equal(bias):
    assert_equal_states(normal_parameters(331, 307, 0.05, bias))


@pytest.mark.parametrize("scale", [0.0, 1e-30, 30.0, 1e4, 1e30])
def test_states_of_extreme_weights_are_equal(scale):
    W, b, c = normal_parameters(331, 307, scale)
    W[0, 3], W[1, :, 5], b[1, 7], c[0, 2] = 0, 0, 200, -200
    assert_equal_states((W, b, c))


def test_states_of_trained_models_are_equal():
    data = binary_data(199, 331, seed=3).astype(np.float32)[None]
    rbm, stream = RBM(*normal_parameters(331, 307, 0.01, replicas=1)), training_stream(1)
    estimator, rule = estimators.create("cd", k=1), REGISTRY.create("sgd", {})
    for iteration in range(100):
        rule.step(rbm, estimator, data[:, iteration % 100 :][:, :97], {}, stream, 0.2, {})
    assert np.abs(rbm.W).mean() > 0.03
    assert_equal_states(tuple(rbm.parameters))
