# SPDX-License-Identifier: BSD-3-Clause
"""Products with binary states, by all algorithms, against float64."""

import os
import platform
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from backends import DTYPES
from core_helpers import binary_data

from rbmbench.kernels import kernels_for, ways
from rbmbench.kernels import numpy as numpy_kernels
from rbmbench.kernels.threads import threads_of_rows
from shim import NEEDS_COMPILER, cuda_kernels

host_kernels = kernels_for(np.empty(0))
NEEDS_NUMBA = pytest.mark.skipif(host_kernels is numpy_kernels, reason="Numba is not installed")
WAYS = [
    pytest.param((numpy_kernels, "auto"), id="numpy"),
    pytest.param((host_kernels, "library"), id="library"),
    pytest.param((host_kernels, "tables"), marks=NEEDS_NUMBA, id="tables"),
    pytest.param((cuda_kernels, "auto"), marks=NEEDS_COMPILER, id="cupy"),
]
# Rows, units, columns: single ones; less and more than a group of 4, a word of 64, a line of columns, two lines, and
# the rows of a tile.
SHAPES = [(1, 1, 1), (7, 3, 1), (1, 131, 37), (67, 5, 31), (61, 61, 17), (29, 67, 97), (31, 257, 3), (1031, 79, 11)]


@pytest.fixture(params=WAYS)
def kernels(request):
    """Kernels of a backend, with one algorithm for all products."""
    backend, way = request.param
    with ways.by_hand(way):
        yield backend


def states_and_matrix(shape, dtype, replicas=3):
    rows, units, columns = shape
    states = np.stack([binary_data(rows, units, 5 + r) for r in range(replicas)]).astype(dtype)
    return states, np.random.default_rng(11).normal(size=(replicas, units, columns)).astype(dtype)


def column_major(array):
    """Return the same array with contiguous columns, as transposed parameters and states have."""
    return np.ascontiguousarray(array.swapaxes(-1, -2)).swapaxes(-1, -2)


def unaligned(array):
    """Return the same array, read-only, at an address aligned only to the size of its numbers."""
    raw = np.empty(array.nbytes + 3 * array.itemsize, np.uint8)
    start = array.itemsize + (-raw.ctypes.data % array.itemsize)
    copy = raw[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    copy.flags.writeable = False
    return copy


def product(kernels, states, matrix):
    out = np.full((len(matrix), states.shape[1], matrix.shape[2]), np.nan, matrix.dtype)
    kernels.multiply_binary(states, matrix, out)
    return out


def exact(states, matrix):
    return states.astype(np.float64) @ matrix.astype(np.float64)


def tolerance(matrix):
    """Return a bound of the rounding errors of sums of a column's entries in any order."""
    return np.finfo(matrix.dtype).eps * np.abs(matrix).sum(axis=1).max()


@DTYPES
@pytest.mark.parametrize("shape", SHAPES)
def test_products_are_those_of_float64(kernels, dtype, shape):
    states, matrix = states_and_matrix(shape, dtype)
    expected = exact(states, matrix)
    for left in (states, column_major(states)):
        for right in (matrix, column_major(matrix)):
            products = product(kernels, left, right)
            np.testing.assert_allclose(products, expected, rtol=0, atol=tolerance(matrix))


def states_of_many_densities(shape, dtype):
    """Return states whose rows have from none to all units on, in no order, and a matrix."""
    rows, units, _ = shape
    share = np.resize([0.4, 0, 0.02, 1, 1 / 16, 0.01, 1 / 17, 0.1], rows)
    states = np.random.default_rng(13).random((2, rows, units)) < share[:, None]
    return states.astype(dtype), states_and_matrix(shape, dtype, replicas=2)[1]


@DTYPES
@pytest.mark.parametrize("shape", [(131, 257, 37), (61, 499, 29), (1031, 67, 17), (29, 13, 3)])
def test_rows_may_have_any_number_of_units_on(kernels, dtype, shape):
    states, matrix = states_of_many_densities(shape, dtype)
    expected, bound = exact(states, matrix), 2 * tolerance(matrix)  # both are rounded
    for left in (states, column_major(states)):
        for right in (matrix, column_major(matrix)):
            products = product(kernels, left, right)
            np.testing.assert_allclose(products, expected, rtol=0, atol=bound)


@NEEDS_NUMBA
@DTYPES
def test_products_by_tables_do_not_depend_on_other_rows(dtype):
    states, matrix = states_of_many_densities((131, 257, 37), dtype)
    with ways.by_hand("tables"):
        together = product(host_kernels, states, matrix)
        for rows in (slice(1, 2), slice(3, 130, 2), slice(17, 29)):
            alone = product(host_kernels, states[:, rows], matrix)
            assert alone.tobytes() == together[:, rows].tobytes()
        for left in (states, column_major(states)):
            with ThreadPoolExecutor(3) as executor, threads_of_rows(executor, 3):
                assert product(host_kernels, left, matrix).tobytes() == together.tobytes()


@NEEDS_NUMBA
def test_threads_of_rows_multiply_means_too():
    states, matrix = states_and_matrix((131, 67, 37), np.float64)
    states[1, 127, 61], states[2, 3, 5] = 0.25, 0.75  # in the last and in the first part
    with ways.by_hand("tables"), ThreadPoolExecutor(3) as executor, threads_of_rows(executor, 3):
        np.testing.assert_allclose(product(host_kernels, states, matrix), exact(states, matrix), rtol=0, atol=1e-12)


@DTYPES
def test_states_may_be_all_equal(kernels, dtype):
    for value in (0, 1):
        states = np.full((2, 31, 131), value, dtype)
        matrix = np.random.default_rng(3).integers(-9, 9, (2, 131, 37)).astype(dtype)
        np.testing.assert_array_equal(product(kernels, states, matrix), exact(states, matrix))


@DTYPES
def test_input_may_be_unaligned_and_read_only(kernels, dtype):
    states, matrix = states_and_matrix((67, 131, 37), dtype)
    expected = product(kernels, states, matrix)
    np.testing.assert_array_equal(product(kernels, unaligned(states), unaligned(matrix)), expected)


def test_there_may_be_no_replicas_and_no_rows(kernels):
    assert product(kernels, np.zeros((0, 5, 7), np.float32), np.zeros((0, 7, 3), np.float32)).shape == (0, 5, 3)
    assert product(kernels, np.zeros((2, 0, 7), np.float32), np.zeros((2, 7, 3), np.float32)).shape == (2, 0, 3)


@DTYPES
def test_states_may_be_shared_by_all_replicas(kernels, dtype):
    states, matrix = states_and_matrix((67, 131, 37), dtype)
    shared = np.broadcast_to(states[0], states.shape)
    np.testing.assert_array_equal(product(kernels, shared, matrix), product(kernels, shared.copy(), matrix))


@DTYPES
def test_replicas_and_rows_do_not_depend_on_others(kernels, dtype):
    states, matrix = states_and_matrix((131, 67, 37), dtype, replicas=25)
    together = product(kernels, states, matrix)
    for r in (0, 7, 24):
        assert product(kernels, states[r : r + 1], matrix[r : r + 1]).tobytes() == together[r].tobytes()


@DTYPES
def test_packed_rows_are_used_in_several_products(kernels, dtype):
    states, matrix = states_and_matrix((67, 131, 37), dtype, replicas=1)
    packed = kernels.packed_rows(states[0].astype(np.uint8))
    out = np.empty((67, 37), dtype)
    for right in (matrix[0], column_major(matrix[0]), -matrix[0]):
        kernels.multiply_packed(packed, right, out)
        np.testing.assert_allclose(out, exact(states[0], right), rtol=0, atol=tolerance(matrix))


@DTYPES
@pytest.mark.parametrize("mean", [0.5, 1e-30, 2.0, -1.0])
@pytest.mark.parametrize("column", [0, 66])
def test_means_in_one_replica_do_not_change_products_of_others(kernels, dtype, mean, column):
    states, matrix = states_and_matrix((29, 67, 31), dtype)
    expected = product(kernels, states, matrix)
    states[1, 17, column] = mean
    for left in (states, column_major(states)):
        products = product(kernels, left, matrix)
        np.testing.assert_allclose(products[1], exact(states[1], matrix[1]), rtol=0, atol=tolerance(matrix))
        assert products[[0, 2]].tobytes() == expected[[0, 2]].tobytes()


@NEEDS_NUMBA
@pytest.mark.parametrize("fault", [2, 255])
@pytest.mark.parametrize("column", [0, 66])
def test_packing_rows_that_are_not_binary_raises(fault, column):
    rows = np.zeros((29, 67), np.uint8)
    rows[17, column] = fault
    with pytest.raises(ValueError, match="must be 0 or 1"):
        host_kernels.packed_rows(rows)


LARGE = (499, 503, 784), (784, 499, 503)


@NEEDS_NUMBA
@DTYPES
@pytest.mark.parametrize(
    "shape",
    [(97, 784, 101), (211, 784, 17), *(pytest.param(shape, marks=pytest.mark.slow) for shape in LARGE)],
)
def test_errors_are_within_four_times_those_of_the_library(dtype, shape):
    states, matrix = states_and_matrix(shape, dtype, replicas=1)
    precise = states.astype(np.longdouble) @ matrix.astype(np.longdouble)
    errors = {}
    for way in ("library", "tables"):
        with ways.by_hand(way):
            errors[way] = np.abs(product(host_kernels, states, matrix) - precise).max()
    assert 0 < errors["tables"] <= 4 * errors["library"]


SCRIPT = """
import numpy as np
from rbmbench.kernels import numba as kernels, ways
rng = np.random.default_rng(0)
states = (rng.random((2, 67, 131)) < 0.4).astype(np.float32)
matrix = rng.normal(size=(2, 131, 37)).astype(np.float32)
out = np.empty((2, 67, 37), np.float32)
with ways.by_hand("tables"):
    kernels.multiply_binary(states, matrix, out)
    np.testing.assert_allclose(out, states.astype(float) @ matrix, rtol=0, atol=1e-4)
    column_major = np.ascontiguousarray(matrix.swapaxes(1, 2)).swapaxes(1, 2)
    kernels.multiply_binary(states, column_major, out)
    np.testing.assert_allclose(out, states.astype(float) @ matrix, rtol=0, atol=1e-4)
counts = np.zeros((2, 67, 132), np.int64)
kernels.count_distances(kernels.packed_rows(states[0]), states, counts)
distance = (states[0][:, None] != states[:, None]).sum(axis=-1)
for row, count in zip(distance.reshape(-1, 67), counts.reshape(-1, 132)):
    np.testing.assert_array_equal(np.bincount(row, minlength=132), count)
"""


@NEEDS_NUMBA
@pytest.mark.slow
@pytest.mark.parametrize("processor", ["haswell", "znver2", "x86-64-v2"])
def test_code_for_other_processors_is_right(processor, tmp_path):
    if platform.machine() != "x86_64":
        pytest.skip("names of x86-64 processors")
    variables = {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", SCRIPT], check=True, env=os.environ | variables)
