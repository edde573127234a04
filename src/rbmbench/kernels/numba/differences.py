# SPDX-License-Identifier: BSD-3-Clause
"""Products of binary states with matrices, faster than BLAS for few rows and for rows that differ in few units.

The product of a row of states is a sum of rows of the matrix; given the product of a similar row, only the units that
differ have to be added. BLAS multiplies by all units, and copies the whole matrix first however few rows there are.
"""

import numpy as np

from rbmbench.kernels import ways
from rbmbench.kernels.numba.compiling import compiled
from rbmbench.kernels.numba.elementary import FAST
from rbmbench.kernels.numba.products import add_one, multiply_within, takes_tables

FEW_ROWS = 8  # copying the matrix costs BLAS about as much as this many rows
FEW_DIFFERENCES = 0.2  # share of the units above which BLAS is faster
FEWER_DIFFERENCES, FEWER_ROWS = 0.05, 40  # share above which tables of many rows are faster; it doubles for few rows
WIDE = 128  # columns below which the search for differences costs more than BLAS


@compiled(fastmath=FAST, allocates=False)
def _add_four(a, b, c, d, s, out):
    """Add s[0] a + s[1] b + s[2] c + s[3] d to ``out`` in one pass."""
    for i in range(out.size):
        out[i] += s[0] * a[i] + s[1] * b[i] + s[2] * c[i] + s[3] * d[i]


@compiled(allocates=False)
def _differences(states, neighbours, unit, sign):
    """Write the indices of the units that differ and the differences; return their number."""
    count = 0
    for j in range(states.size):
        unit[count], sign[count] = j, neighbours[j] - states[j]
        count += sign[count] != 0
    return count


@compiled(allocates=False)
def _add_differing_rows(states, neighbours, matrix, unit, sign, out):
    """Add the product of (neighbours - states), one row each, with the matrix."""
    count = _differences(states, neighbours, unit, sign)
    fours = count // 4 * 4
    for k in range(0, fours, 4):
        a, b, c, d = matrix[unit[k]], matrix[unit[k + 1]], matrix[unit[k + 2]], matrix[unit[k + 3]]
        _add_four(a, b, c, d, sign[k : k + 4], out)
    for k in range(fours, count):
        add_one(matrix[unit[k]], sign[k], out)


@compiled(fastmath=FAST, allocates=False)
def _few_differ(states, neighbours, few):
    """Return whether few units differ, not more than are on."""
    count, on = 0.0, 0.0
    for row in range(states.shape[0]):
        row_count, row_on = states.dtype.type(0), states.dtype.type(0)
        for i in range(states.shape[1]):
            row_count += abs(states[row, i] - neighbours[row, i])
            row_on += neighbours[row, i]
        count += row_count
        on += row_on
    return count <= min(few * states.size, on)


@compiled()
def _multiply(way, states, matrix, zero, unit, sign, out):
    if states.shape[0] > FEW_ROWS:
        multiply_within(way, states, np.bool_(False), matrix, out)
    else:
        for row in range(states.shape[0]):
            out[row, :] = 0
            _add_differing_rows(zero, states[row], matrix, unit, sign, out[row])


@compiled()
def multiply_some_states(way, states, bounds, matrix, out):
    units = states.shape[1]
    unit, sign, zero = np.empty(units + 1, np.int64), np.empty(units + 1, states.dtype), np.zeros(units, states.dtype)
    for r in range(matrix.shape[0]):
        span = slice(bounds[r], bounds[r + 1])
        _multiply(way, states[span], matrix[r], zero, unit, sign, out[span])


@compiled()
def multiply_some_neighbours(way, states, product, neighbours, bounds, matrix, out):
    units = states.shape[1]
    unit, sign, zero = np.empty(units + 1, np.int64), np.empty(units + 1, states.dtype), np.zeros(units, states.dtype)
    for r in range(matrix.shape[0]):
        span = slice(bounds[r], bounds[r + 1])
        rows = bounds[r + 1] - bounds[r]
        few = FEW_DIFFERENCES
        if takes_tables(way, rows, units, matrix.shape[2]):
            few = FEWER_DIFFERENCES * (1 + FEWER_ROWS / max(1, rows))
        if (rows <= FEW_ROWS or matrix.shape[2] >= WIDE) and _few_differ(states[span], neighbours[span], few):
            for row in range(bounds[r], bounds[r + 1]):
                out[row, :] = product[row]
                _add_differing_rows(states[row], neighbours[row], matrix[r], unit, sign, out[row])
        else:
            _multiply(way, neighbours[span], matrix[r], zero, unit, sign, out[span])


def multiply_states(states, bounds, matrix, out):
    multiply_some_states(ways.number(), states, bounds, matrix, out)


def multiply_neighbours(states, product, neighbours, bounds, matrix, out):
    multiply_some_neighbours(ways.number(), states, product, neighbours, bounds, matrix, out)
