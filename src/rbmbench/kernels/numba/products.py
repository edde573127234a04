# SPDX-License-Identifier: BSD-3-Clause
"""Products of binary states with matrices, by the way that `rbmbench.kernels.ways` chooses for their shape.

Where tables are the way, a row with few units on is the sum of these units' rows of the matrix instead. That takes as
many additions as there are such units, where tables take a quarter of all units. Hamming distances between packed
states are counted by exclusive or and population count.
"""

import numpy as np

from rbmbench.kernels import ways
from rbmbench.kernels.numba.compiling import compiled
from rbmbench.kernels.numba.elementary import FAST
from rbmbench.kernels.numba.intrinsics import bits_on, lowest_bit
from rbmbench.kernels.numba.tables import WORD, multiply_words, pack_columns, pack_rows, transposed_copy, words_of
from rbmbench.kernels.numpy.products import PackedRows, rows_first, sum_rows  # noqa: F401 - sums by the library
from rbmbench.kernels.threads import divide_rows

FEW_ON = 16  # a row is summed if at most one unit in 16 is on; sums then take half of the time of tables
BLOCK = 1024  # samples that stay in the first-level cache while all rows pass

takes_tables = compiled()(ways.takes_tables)


@compiled(fastmath=FAST, allocates=False)
def add_one(a, s, out):
    """Add s a to ``out``."""
    for i in range(out.size):
        out[i] += s * a[i]


@compiled(fastmath=FAST)
def add_rows(rows, count, matrix, share, out):
    """Add share times ``count`` rows of the matrix to ``out``, eight rows per pass."""
    units = np.uint64(out.size)
    for k in range(0, count - 7, 8):
        a, b, c, d = np.uint64(rows[k]), np.uint64(rows[k + 1]), np.uint64(rows[k + 2]), np.uint64(rows[k + 3])
        e, f, g, h = np.uint64(rows[k + 4]), np.uint64(rows[k + 5]), np.uint64(rows[k + 6]), np.uint64(rows[k + 7])
        for i in range(units):
            first, second = matrix[a, i] + matrix[b, i], matrix[c, i] + matrix[d, i]
            third, fourth = matrix[e, i] + matrix[f, i], matrix[g, i] + matrix[h, i]
            out[i] += share * ((first + second) + (third + fourth))
    for k in range(count // 8 * 8, count):
        add_one(matrix[rows[k]], share, out)


@compiled()
def _units_on(words, row, units):
    """List the units that are on in a packed row; return their number."""
    count = 0
    for w in range(len(words)):
        word = words[w, row]
        while word:
            units[count] = w * WORD + lowest_bit(word)
            word &= word - np.uint64(1)
            count += 1
    return count


@compiled()
def _rows_by_units_on(words, most):
    """Return the rows with at most ``most`` units on, and the others."""
    rows = words.shape[1]
    few, many, count = np.empty(rows, np.int64), np.empty(rows, np.int64), 0
    for row in range(rows):
        on = 0
        for w in range(len(words)):
            on += bits_on(words[w, row])
        few[count], many[row - count] = row, row
        count += on <= most
    return few[:count], many[: rows - count]


@compiled()
def _multiply_words(words, units, matrix, transposed, out):
    """Write the product of packed states, by tables or, for rows with few units on, as sums of rows of the matrix."""
    few, many = _rows_by_units_on(words, units // FEW_ON)
    if 2 * len(few) <= len(out):  # the products of rows with few units on are overwritten
        multiply_words(words, units, matrix, transposed, out)
    elif len(many):
        product = np.empty((len(many), out.shape[1]), out.dtype)
        multiply_words(words[:, many], units, matrix, transposed, product)
        out[many] = product
    if not len(few):
        return
    summed = transposed_copy(matrix) if transposed else matrix
    on = np.empty(units // FEW_ON + 1, np.int64)
    for row in few:
        out[row] = 0
        add_rows(on, _units_on(words, row, on), summed, matrix.dtype.type(1), out[row])


@compiled()
def _multiply(states, across, matrix, transposed, begin, end, out, done):
    """Write rows of the products of the replicas whose states there are all 0 or 1; return whether all are.

    The others are marked by False in ``done``, which parts of the rows share. It is an argument: Numba takes 5
    microseconds to return an array, as it reads its type from a pickle.
    """
    units = states.shape[1 if across else 2]
    words, all_done = np.empty((words_of(units), end - begin), np.uint64), True
    for r in range(len(out)):
        if pack_columns(states[r][:, begin:end], words) if across else pack_rows(states[r, begin:end], words):
            _multiply_words(words, units, matrix[r], transposed, out[r, begin:end])
        else:
            done[r] = all_done = False
    return all_done


@compiled()
def multiply_within(way, states, across, matrix, out):
    """Write the product of states (rows, units), or (units, rows) ``across``, of one replica, within compiled code."""
    rows, units = len(out), len(matrix)
    if takes_tables(way, rows, units, out.shape[1]):
        words = np.empty((words_of(units), rows), np.uint64)
        if across:
            pack_columns(states, words)
        else:
            pack_rows(states, words)
        _multiply_words(words, units, matrix, np.bool_(False), out)
    elif across:
        np.dot(states.T, matrix, out)
    else:
        np.dot(states, matrix, out)


def multiply_binary(states, matrix, out):
    if not ways.takes_tables(ways.number(), *states.shape[1:], matrix.shape[2]):
        np.matmul(states, matrix, out=out)
        return
    rows, across = rows_first(states)
    rows = rows.view()
    rows.flags.writeable = False  # writeability is part of the type, for which Numba compiles anew
    operand, done = _operand(matrix), np.ones(len(out), np.bool_)
    if not all(divide_rows(lambda _, *part: _multiply(rows, across, *operand, *part, out, done), out.shape[1])):
        for r in np.flatnonzero(~done):
            np.matmul(states[r], matrix[r], out=out[r])


def _operand(matrix):
    return rows_first(matrix if matrix.flags.writeable else matrix.copy())


def packed_rows(states):
    states = np.ascontiguousarray(states)
    words = np.empty((words_of(states.shape[1]), len(states)), np.uint64)
    if not pack_rows(states, words):
        raise ValueError("states: must be 0 or 1")
    return PackedRows(states, words)


def multiply_packed(packed, matrix, out):
    rows, units = packed.states.shape
    if ways.takes_tables(ways.number(), rows, units, matrix.shape[1]):
        _multiply_words(packed.words, units, *_operand(matrix), out)
    else:
        np.matmul(packed.states.astype(matrix.dtype, copy=False), matrix, out=out)


@compiled()
def _add_distances(word, words, distance):
    for s in range(distance.size):
        distance[s] += np.int32(bits_on(word ^ words[s]))


@compiled()
def _count(rows, samples, counts):
    distance = np.empty(BLOCK, np.int32)
    for first in range(0, samples.shape[1], BLOCK):
        last = min(samples.shape[1], first + BLOCK)
        distances = distance[: last - first]
        for row in range(rows.shape[1]):
            distances[:] = 0
            for w in range(len(rows)):
                _add_distances(rows[w, row], samples[w, first:last], distances)
            count = counts[row]
            for s in range(distances.size):
                count[distances[s]] += 1


def count_distances(packed, samples, counts):
    for of_replica, count in zip(samples, counts, strict=True):
        _count(packed.words, packed_rows(of_replica).words, count)
