# SPDX-License-Identifier: BSD-3-Clause
"""Samplers draw the same on device arrays as on the host's: the CUDA kernels, run on the CPU."""

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
def test_samples_are_those_of_the_host(name):
    rbm, shape = random_rbm(7, 5, (R,), seed=4), (R, CHAINS, COUNT, 7)
    # float64: with this seed no uniform lies between two roundings of a mean.
    ours, theirs = np.empty(shape), np.empty(shape)
    grey = None if name == "parallel_tempering" else np.empty(shape)
    drawn(name, rbm, DATA, ours, grey)
    with cuda_on_cpu():
        on_device = DeviceArray(theirs)
        drawn(name, rbm.like(on_device), DeviceArray(DATA), on_device, None if grey is None else DeviceArray(grey))
    np.testing.assert_array_equal(theirs, ours)


@NEEDS_COMPILER
def test_samples_of_a_model_are_those_of_the_host():
    rbm = random_rbm(7, 5, (R,), seed=4)
    expected = rbm.sample(COUNT, seed=3, sweeps=5, temperatures=3)
    with cuda_on_cpu():
        samples = rbm.like(DeviceArray(np.empty(0))).sample(COUNT, seed=3, sweeps=5, temperatures=3)
    assert isinstance(samples, np.ndarray)
    np.testing.assert_array_equal(samples, expected)
