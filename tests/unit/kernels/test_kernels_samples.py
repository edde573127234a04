# SPDX-License-Identifier: BSD-3-Clause
"""Kernels of all backends that unlearn samples and count distances, against the formulas."""

import numpy as np
import pytest
from backends import BACKENDS, DTYPES, HOST_BACKENDS
from core_helpers import binary_data

from rbmbench.base.streams import Stream
from rbmbench.kernels import numpy as numpy_kernels
from rbmbench.kernels.numpy.samples import Lazy

SIZES = pytest.mark.parametrize("sizes", [(1, 1, 1, 1), (3, 1, 67, 31), (2, 7, 5, 13), (2, 11, 131, 3)])


def parameters(replicas, m, n, dtype, seed):
    """Return normal W, b and c."""
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape).astype(dtype) for shape in ((replicas, m, n), (replicas, m), (replicas, n))]


def states(replicas, chains, units, dtype, seed):
    """Return binary states, whose first unit is off in all chains."""
    bits = np.stack([binary_data(chains, units, seed + r) for r in range(replicas)]).astype(dtype)
    bits[:, :, 0] = 0
    return bits


@BACKENDS
@DTYPES
@SIZES
def test_unlearn_samples_computes_the_formula(kernels, dtype, sizes):
    replicas, chains, m, n = sizes
    model, drift = parameters(replicas, m, n, dtype, 1), parameters(replicas, m, n, dtype, 2)
    visible, hidden = states(replicas, chains, m, dtype, 3), states(replicas, chains, n, dtype, 5)
    decay, rate = np.linspace(0.2, 1, replicas).astype(dtype), np.linspace(0.7, 0.1, replicas).astype(dtype)
    expected = []
    for r in range(replicas):
        x, h = visible[r].astype(np.float64), hidden[r].astype(np.float64)
        statistics = x.T @ h / chains, x.mean(axis=0), h.mean(axis=0)
        parts = zip(model, drift, statistics, strict=True)
        expected.append([float(decay[r]) * p[r].astype(float) + d[r] - float(rate[r]) * s for p, d, s in parts])
    kernels.unlearn_samples(*model, *drift, decay, rate, visible, hidden)
    for part, wanted in zip(model, zip(*expected, strict=True), strict=True):
        tolerance = 1e-6 if dtype == np.float32 else 1e-14
        np.testing.assert_allclose(part, np.stack(wanted), rtol=tolerance, atol=4 * tolerance)


@BACKENDS
@DTYPES
@pytest.mark.parametrize("sizes", [(1, 1, 1, 1), (2, 7, 13, 5), (3, 29, 101, 67), (1, 3, 1031, 131)])
def test_count_distances_counts_every_sample(kernels, dtype, sizes):
    replicas, rows, samples, m = sizes
    x, s = binary_data(rows, m, 1), np.stack([binary_data(samples, m, 7 + r) for r in range(replicas)])
    distance = (x[None, :, None] != s[:, None]).sum(axis=-1)
    expected = np.stack([[np.bincount(row, minlength=m + 1) for row in part] for part in distance]) + 3
    counts = np.full((replicas, rows, m + 1), 3, np.int64)
    kernels.count_distances(kernels.packed_rows(x), s.astype(dtype), counts)
    np.testing.assert_array_equal(counts, expected)


def lazy(replicas, m, n, dtype, decay, rate):
    """Return parameters that are multiples of 1/64, so that sums of them are exact, and their drift."""
    parts = *parameters(replicas, m, n, dtype, 1), *(0.1 * d for d in parameters(replicas, m, n, dtype, 2))
    parts = [np.round(64 * part).astype(dtype) / dtype(64) for part in parts]
    return Lazy.start(parts[:3], parts[3:], np.array(decay, dtype), np.array(rate, dtype))


@HOST_BACKENDS
@DTYPES
def test_unlearn_lazily_equals_unlearn_samples(kernels, dtype):
    # Decays that make W whole after 64 samples, after 7, and at every sample.
    replicas, m, n = 3, 13, 7
    lazy_model = lazy(replicas, m, n, dtype, (1, 0.6, 0), (0.3, 0.2, 0.1))
    expected, drift = ([part.astype(np.float64) for part in lazy_model[k : k + 3]] for k in (0, 3))
    for number in range(70):
        visible, hidden = states(replicas, 1, m, dtype, number), states(replicas, 1, n, dtype, 100 + number)
        kernels.unlearn_lazily(lazy_model, visible[:, 0], hidden[:, 0])
        decay, rate = lazy_model.decay.astype(float), lazy_model.rate.astype(float)
        numpy_kernels.unlearn_samples(*expected, *drift, decay, rate, visible, hidden)
        np.testing.assert_array_equal(lazy_model.W_transposed, lazy_model.W.swapaxes(-1, -2))
        tolerance = 1e-4 if dtype == np.float32 else 1e-12
        for part, wanted in zip((lazy_model.whole(), lazy_model.b, lazy_model.c), expected, strict=True):
            np.testing.assert_allclose(part, wanted, rtol=tolerance, atol=tolerance)
    assert lazy_model.factor.tolist() == [6, 0, 0]


@HOST_BACKENDS
@DTYPES
@pytest.mark.parametrize(("steps", "m", "n"), [(3, 1, 1), (1, 67, 31), (3, 13, 37)])
def test_lazy_chains_are_gibbs_chains_of_the_whole_weights(kernels, dtype, steps, m, n):
    replicas, count, stream = 2, 71, Stream(5, [3, 7])
    # Without decay every number is exact in float32, so that activations do not depend on the order of sums.
    lazy_model = lazy(replicas, m, n, dtype, (1, 1 if dtype == np.float32 else 0.5), (1 / 64, 1 / 32))
    model, drift = ([part.copy() for part in lazy_model[k : k + 3]] for k in (0, 3))
    hidden, samples = np.ones((replicas, n), dtype), np.empty((replicas, count, m), np.uint8)
    expected, draw = hidden.copy()[:, None], stream.take(2 * steps * count)
    for s in (slice(0, 5), slice(5, count)):  # the pieces continue
        piece_draw = draw._replace(number=np.uint64(2 * steps * s.start))
        kernels.draw_lazily(lazy_model, steps, hidden, piece_draw, samples[:, s])
    for s in range(count):
        W, b, c = model
        for step in range(steps):
            first = np.uint64(2 * (s * steps + step))
            visible = expected @ W.swapaxes(-1, -2)
            numpy_kernels.sample_bernoulli(visible, b, draw._replace(number=first))
            expected = visible @ W
            numpy_kernels.sample_bernoulli(expected, c, draw._replace(number=first + np.uint64(1)))
        np.testing.assert_array_equal(samples[:, s], visible[:, 0])
        numpy_kernels.unlearn_samples(*model, *drift, lazy_model.decay, lazy_model.rate, visible, expected)
    np.testing.assert_array_equal(hidden, expected[:, 0])
    tolerance = 1e-4 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(lazy_model.whole(), model[0], rtol=tolerance, atol=tolerance)


@HOST_BACKENDS
@DTYPES
def test_lazy_herding_ends_at_fixed_points_of_the_whole_weights(kernels, dtype):
    replicas, m, n, count = 2, 67, 31, 71
    lazy_model = lazy(replicas, m, n, dtype, (1, 1 if dtype == np.float32 else 0.5), (1 / 64, 1 / 32))
    hidden, samples = np.ones((replicas, n), dtype), np.empty((replicas, 1, m), np.uint8)
    means = np.empty(samples.shape, np.float32)
    different = set()
    for _ in range(count):
        W, b, c = lazy_model.whole(), lazy_model.b.copy(), lazy_model.c.copy()
        kernels.herd_lazily(lazy_model, 50, hidden, samples, means)
        visible = samples.astype(dtype)
        np.testing.assert_array_equal((visible @ W)[:, 0] + c > 0, hidden)
        np.testing.assert_array_equal((hidden[:, None] @ W.swapaxes(-1, -2))[:, 0] + b > 0, samples[:, 0])
        np.testing.assert_array_equal(means, samples)
        different.add(samples.tobytes())
    assert len(different) > count // 2


@HOST_BACKENDS
def test_means_do_not_change_lazy_chains(kernels):
    replicas, m, n, count, draw = 3, 37, 29, 11, Stream(5, [0, 3, 7]).take(66)
    with_means, without = (lazy(replicas, m, n, np.float32, (1, 0.9, 0), (0.01, 0.02, 0.03)) for _ in range(2))
    hidden, samples = np.ones((2, replicas, n), np.float32), np.empty((2, replicas, count, m), np.uint8)
    means = np.empty((replicas, count, m), np.float32)
    kernels.draw_lazily(with_means, 3, hidden[0], draw, samples[0], means)
    kernels.draw_lazily(without, 3, hidden[1], draw, samples[1])
    np.testing.assert_array_equal(samples[0], samples[1])
    for part, other in zip(with_means, without, strict=True):
        np.testing.assert_array_equal(part, other)
    assert ((means > 0) & (means < 1)).all()
    # The mean of a unit that was on is larger.
    assert means[samples[0] == 1].mean() > means[samples[0] == 0].mean()
