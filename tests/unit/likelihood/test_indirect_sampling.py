# SPDX-License-Identifier: BSD-3-Clause
"""Indirect sampling likelihood against its formula."""

import numpy as np
import pytest
from core_helpers import binary_data

from rbmbench.base.errors import SettingsError
from rbmbench.likelihood import IndirectSampling, indirect_sampling
from shim import NEEDS_COMPILER, DeviceArray, cuda_on_cpu

ROWS, SAMPLES, R = 29, 101, 2


def by_formula(rows, samples, flip):
    """Return the mean over rows of log (1/T) sum_t prod_i Bernoulli(x_i), from the formula alone."""
    mean = np.where(samples == 1, 1 - flip, flip)
    log_terms = np.array([np.where(x == 1, np.log(mean), np.log(1 - mean)).sum(axis=1) for x in rows])
    return (np.logaddexp.reduce(log_terms, axis=1) - np.log(len(samples))).mean()


def streams(m, seed=7):
    return np.stack([binary_data(SAMPLES, m, seed + r) for r in range(R)])


# One unit; fewer than are summed together; more; so many that powers of a small flip underflow in float64.
@pytest.mark.parametrize("m", [1, 13, 67, 2003])
def test_log_likelihood_is_that_of_the_formula_after_every_addition(m):
    rows, samples = binary_data(ROWS, m, 1), streams(m)
    sampling, flips = IndirectSampling(rows, R), np.array([0.002, 0.07, 0.31, 0.5])
    last = 0
    for count in (1, 2, 50, SAMPLES):
        sampling.add(samples[:, last:count])
        last = count
        expected = [[by_formula(rows, samples[r, :count], flip) for flip in flips] for r in range(R)]
        np.testing.assert_allclose(sampling.log_likelihood(flips), expected, rtol=1e-11)
    assert sampling.samples == SAMPLES
    assert (sampling.counts.sum(axis=-1) == SAMPLES).all()


@pytest.mark.parametrize("flips", [[1e-9, 0.1], [1e-12, 0.1], [1e-300]])
def test_flips_near_0_do_not_underflow(flips):
    rows, samples = binary_data(ROWS, 67, 1), streams(67)
    sampling = IndirectSampling(rows, R)
    sampling.add(samples)
    distances = (rows[:, None] != samples[:, None]).sum(axis=-1)[..., None]  # (replicas, rows, samples, 1)
    log_terms = distances * np.log(flips) + (67 - distances) * np.log1p(-np.array(flips))
    expected = np.logaddexp.reduce(log_terms, axis=2).mean(axis=1) - np.log(SAMPLES)
    np.testing.assert_allclose(sampling.log_likelihood(flips), expected, rtol=1e-13)


def test_replicas_may_have_different_flips():
    rows, samples = binary_data(ROWS, 13, 1), streams(13)
    sampling = IndirectSampling(rows, R)
    sampling.add(samples)
    shared = sampling.log_likelihood([0.1, 0.3])
    own = sampling.log_likelihood([[0.1], [0.3]])
    np.testing.assert_allclose(own[:, 0], [shared[0, 0], shared[1, 1]], rtol=1e-12)


def test_best_flip_maximises_the_log_likelihood():
    rows, samples = binary_data(ROWS, 67, 1), streams(67)
    sampling = IndirectSampling(rows, R)
    for part in np.array_split(samples, 5, axis=1):
        sampling.add(part)
        log_likelihoods = sampling.log_likelihood(indirect_sampling.FLIPS)
        np.testing.assert_array_equal(sampling.best_flips(), indirect_sampling.FLIPS[log_likelihoods.argmax(axis=1)])


@pytest.mark.parametrize("shape", [(1, 5, 13), (2, 5, 12), (5, 13)])
def test_samples_of_another_shape_raise(shape):
    with pytest.raises(SettingsError, match=r"samples: must have shape \(2, samples, 13\), got .*"):
        IndirectSampling(binary_data(ROWS, 13), R).add(np.zeros(shape, np.uint8))


def test_flips_out_of_range_and_no_samples_raise():
    sampling = IndirectSampling(binary_data(ROWS, 13), R)
    with pytest.raises(SettingsError, match="got no samples"):
        sampling.log_likelihood(0.1)
    sampling.add(streams(13))
    for flip in (0.0, 0.51):
        with pytest.raises(SettingsError, match="must be flips above 0, at most 0"):
            sampling.log_likelihood(flip)


@NEEDS_COMPILER
def test_counts_on_a_device_are_those_on_the_host():
    rows, samples = binary_data(ROWS, 13, 1), streams(13)
    host = IndirectSampling(rows, R)
    host.add(samples)
    with cuda_on_cpu():
        device = IndirectSampling(DeviceArray(rows), R)
        device.add(DeviceArray(samples))
        np.testing.assert_allclose(device.log_likelihood([0.1, 0.4]), host.log_likelihood([0.1, 0.4]), rtol=1e-13)
