# SPDX-License-Identifier: BSD-3-Clause
"""The kernels that unlearn samples and count distances, in every backend, against the formulas."""

import numpy as np
import pytest
from backends import BACKENDS, DTYPES
from core_helpers import binary_data

from rbmbench.base.streams import Stream
from rbmbench.kernels import numpy as numpy_kernels

SIZES = pytest.mark.parametrize("sizes", [(1, 1, 1, 1), (3, 1, 67, 31), (2, 7, 5, 13), (2, 11, 131, 3)])


def parameters(replicas, m, n, dtype, seed):
    """Return W, b, c, normal."""
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape).astype(dtype) for shape in ((replicas, m, n), (replicas, m), (replicas, n))]


def states(replicas, chains, units, dtype, seed):
    """Return states of 0 and 1; a unit that is off in all chains is among them."""
    found = np.stack([binary_data(chains, units, seed + r) for r in range(replicas)]).astype(dtype)
    found[:, :, 0] = 0
    return found


@BACKENDS
@DTYPES
@SIZES
def test_samples_are_unlearned_as_the_formula_says(kernels, dtype, sizes):
    replicas, chains, m, n = sizes
    ours, drift = parameters(replicas, m, n, dtype, 1), parameters(replicas, m, n, dtype, 2)
    visible, hidden = states(replicas, chains, m, dtype, 3), states(replicas, chains, n, dtype, 5)
    decay, rate = np.linspace(0.2, 1, replicas).astype(dtype), np.linspace(0.7, 0.1, replicas).astype(dtype)
    expected = []
    for r in range(replicas):
        x, h = visible[r].astype(np.float64), hidden[r].astype(np.float64)
        statistics = x.T @ h / chains, x.mean(axis=0), h.mean(axis=0)
        parts = zip(ours, drift, statistics, strict=True)
        expected.append([float(decay[r]) * p[r].astype(float) + d[r] - float(rate[r]) * s for p, d, s in parts])
    kernels.unlearn_samples(*ours, *drift, decay, rate, visible, hidden)
    for part, wanted in zip(ours, zip(*expected, strict=True), strict=True):
        tolerance = 1e-6 if dtype == np.float32 else 1e-14
        np.testing.assert_allclose(part, np.stack(wanted), rtol=tolerance, atol=4 * tolerance)


@BACKENDS
@DTYPES
@pytest.mark.parametrize("sizes", [(1, 1, 1, 1), (2, 7, 13, 5), (3, 29, 101, 67), (1, 3, 1031, 131)])
def test_every_sample_is_counted_at_its_distance(kernels, dtype, sizes):
    replicas, rows, samples, m = sizes
    x, s = binary_data(rows, m, 1), np.stack([binary_data(samples, m, 7 + r) for r in range(replicas)])
    distance = (x[None, :, None] != s[:, None]).sum(axis=-1)
    expected = np.stack([[np.bincount(row, minlength=m + 1) for row in part] for part in distance]) + 3
    counts = np.full((replicas, rows, m + 1), 3, np.int64)
    kernels.count_distances(kernels.packed_rows(x), s.astype(dtype), counts)
    np.testing.assert_array_equal(counts, expected)


@BACKENDS
@DTYPES
@pytest.mark.parametrize("chains", [1, 5])
def test_decay_and_drift_may_be_lazy(kernels, dtype, chains):
    # Decays that make W whole after 64 samples, after 7, and at every sample.
    replicas, m, n, decay, rate = 3, 13, 7, np.array([1, 0.6, 0], dtype), np.array([0.3, 0.2, 0.1], dtype)
    ours, drift = parameters(replicas, m, n, dtype, 1), [0.1 * d for d in parameters(replicas, m, n, dtype, 2)]
    expected = [part.astype(np.float64) for part in ours]
    (W, b, c), (drift_W, drift_b, drift_c) = ours, drift
    turned, drift_turned = W.swapaxes(-1, -2).copy(), drift_W.swapaxes(-1, -2).copy()
    scale, factor = np.ones(replicas), np.zeros(replicas)
    for number in range(70):
        visible, hidden = states(replicas, chains, m, dtype, number), states(replicas, chains, n, dtype, 100 + number)
        weights, drifts = (W, turned, b, c), (drift_W, drift_turned, drift_b, drift_c)
        kernels.unlearn_lazily(*weights, *drifts, decay, rate, scale, factor, visible, hidden)
        numpy_kernels.unlearn_samples(
            *expected, *(d.astype(float) for d in drift), decay.astype(float), rate.astype(float), visible, hidden
        )
        np.testing.assert_array_equal(turned, W.swapaxes(-1, -2))
        whole = scale[:, None, None] * W + factor[:, None, None] * drift_W
        tolerance = 1e-4 if dtype == np.float32 else 1e-12
        for part, wanted in zip((whole, b, c), expected, strict=True):
            np.testing.assert_allclose(part, wanted, rtol=tolerance, atol=tolerance)
    assert factor.tolist() == [6, 0, 0]


@BACKENDS
@DTYPES
@SIZES
def test_states_are_multiplied_by_lazy_weights(kernels, dtype, sizes):
    replicas, chains, m, n = sizes
    visible, (matrix, _, _) = states(replicas, chains, m, dtype, 3), parameters(replicas, m, n, dtype, 1)
    drift = parameters(replicas, m, n, dtype, 2)[0]
    scale, factor = np.linspace(1, 0.2, replicas), np.linspace(0, 3, replicas)
    expected = visible.astype(float) @ (scale[:, None, None] * matrix + factor[:, None, None] * drift)
    found = np.full((replicas, chains, n), 7, dtype)
    kernels.multiply_lazily(visible, scale, matrix, factor, drift, found)
    tolerance = 1e-5 if dtype == np.float32 else 1e-13
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=10 * tolerance)


@BACKENDS
@DTYPES
def test_lazy_samples_are_those_of_two_kernels(kernels, dtype):
    replicas, chains, m, n = 3, 2, 67, 131
    visible, (matrix, _, bias) = states(replicas, chains, m, dtype, 3), parameters(replicas, m, n, dtype, 1)
    terms = np.linspace(1, 0.2, replicas), matrix, np.linspace(0, 0.5, replicas), 0.1 * matrix[::-1].copy()
    draw, (activation, both) = Stream(5, [0, 3, 7]).next(), np.empty((2, replicas, chains, n), dtype)
    kernels.multiply_lazily(visible, *terms, activation)
    kernels.sample_bernoulli(activation, bias, draw)
    kernels.sample_lazily(visible, *terms, bias, draw, both)
    np.testing.assert_array_equal(both, activation)
    assert 0 < both.mean() < 1
