# SPDX-License-Identifier: BSD-3-Clause
"""exp(-a) of the compiled kernels against NumPy in extended precision."""

import numpy as np
import pytest

pytest.importorskip("numba")

from numba import njit

from rbmbench.kernels.numba.elementary import exp_minus

BOUNDS = {np.float32: (79, 2.5e-7, 8e-8), np.float64: (700, 5e-16, 0)}
DTYPES = pytest.mark.parametrize("dtype", BOUNDS)


@njit
def exp_minus_of_all(a, out):
    for i in range(a.size):
        out[i] = exp_minus(a[i])


def computed(a):
    out = np.empty_like(a)
    exp_minus_of_all(a, out)
    return out


@DTYPES
def test_relative_error_is_as_documented(dtype):
    largest, error, error_per_size = BOUNDS[dtype]
    rng = np.random.default_rng(5)
    halves = np.log(2) * np.arange(-101, 102) / 2  # ends of the range of the polynomial
    near_halves = (halves[:, None] + rng.normal(0, 1e-6, 31)).ravel()
    a = np.concatenate([rng.uniform(-largest, largest, 100003), rng.normal(0, 1, 10007), near_halves, [0, 1e-30]])
    a = a.astype(dtype)
    expected = np.exp(-a.astype(np.longdouble))
    assert (np.abs(computed(a) - expected) <= (error + error_per_size * np.abs(a)) * expected).all()


@DTYPES
def test_extreme_arguments_do_not_overflow(dtype):
    exponentials = computed(np.array([-1e30, -np.inf, 1e30, np.inf], dtype))
    assert np.isfinite(exponentials).all()
    assert (exponentials[:2] > 1e34).all()
    assert (exponentials[2:] < 1e-34).all()
    assert (exponentials[2:] > 0).all()
