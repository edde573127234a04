# SPDX-License-Identifier: BSD-3-Clause
"""Samples on device arrays, with CUDA kernels run on the CPU, against those on the host."""

import numpy as np
import pytest
from core_helpers import binary_data, random_rbm, training_stream

from rbmbench import samplers
from shim import NEEDS_COMPILER, DeviceArray, cuda_on_cpu

DATA, R, CHAINS, COUNT = binary_data(23, 7), 2, 3, 19


def drawn(name, rbm, data, samples, means):
    sampler, stream = samplers.create(name), training_stream(R)
    sampler.draw(rbm, sampler.start(rbm, data, CHAINS, stream), stream, samples, means)


@NEEDS_COMPILER
@pytest.mark.parametrize("name", samplers.REGISTRY.names())
def test_samples_equal_those_on_the_host(name):
    rbm, shape = random_rbm(7, 5, (R,), seed=4), (R, CHAINS, COUNT, 7)
    # In float64, with this seed, no uniform is between two roundings of a mean.
    host, device = np.empty(shape), np.empty(shape)
    means = None if name == "parallel_tempering" else np.empty(shape)
    drawn(name, rbm, DATA, host, means)
    with cuda_on_cpu():
        samples = DeviceArray(device)
        drawn(name, rbm.like(samples), DeviceArray(DATA), samples, None if means is None else DeviceArray(means))
    np.testing.assert_array_equal(device, host)


@NEEDS_COMPILER
def test_samples_of_a_model_equal_those_on_the_host():
    rbm = random_rbm(7, 5, (R,), seed=4)
    expected = rbm.sample(COUNT, seed=3, sweeps=5, temperatures=3)
    with cuda_on_cpu():
        samples = rbm.like(DeviceArray(np.empty(0))).sample(COUNT, seed=3, sweeps=5, temperatures=3)
    assert isinstance(samples, np.ndarray)
    np.testing.assert_array_equal(samples, expected)
