# SPDX-License-Identifier: BSD-3-Clause
"""Products of binary states with matrices, by the way that `rbmbench.kernels.ways` chooses for their shape."""

import numpy as np

from rbmbench.kernels import ways
from rbmbench.kernels.numba.compiling import compiled
from rbmbench.kernels.numba.tables import multiply_words, pack_columns, pack_rows, words_of
from rbmbench.kernels.numpy.products import PackedRows, rows_first

takes_tables = compiled()(ways.takes_tables)


@compiled()
def _multiply(states, across, matrix, transposed, out):
    """Write the products of replicas by tables; return which replicas are done, those with states 0 and 1 alone."""
    units, done = states.shape[1 if across else 2], np.empty(len(out), np.bool_)
    words = np.empty((words_of(units), out.shape[1]), np.uint64)
    for r in range(len(out)):
        done[r] = pack_columns(states[r], words) if across else pack_rows(states[r], words)
        if done[r]:
            multiply_words(words, units, matrix[r], transposed, out[r])
    return done


@compiled()
def multiply_rows(way, states, matrix, out):
    """Write the product of rows of one replica, within compiled code."""
    rows, units = states.shape
    if not takes_tables(way, rows, units, matrix.shape[1]):
        np.dot(states, matrix, out)
        return
    words = np.empty((words_of(units), rows), np.uint64)
    pack_rows(states, words)
    multiply_words(words, units, matrix, False, out)


@compiled()
def multiply_across(way, states, matrix, out):
    """Write the product of the transpose of states (units, rows) with a matrix, within compiled code."""
    units, rows = states.shape
    if not takes_tables(way, rows, units, matrix.shape[1]):
        np.dot(states.T, matrix, out)
        return
    words = np.empty((words_of(units), rows), np.uint64)
    pack_columns(states, words)
    multiply_words(words, units, matrix, False, out)


def multiply_binary(states, matrix, out):
    if not ways.takes_tables(ways.number(), *states.shape[1:], matrix.shape[2]):
        np.matmul(states, matrix, out=out)
        return
    done = _multiply(*rows_first(states), *rows_first(matrix), out)
    for r in np.flatnonzero(~done):
        np.matmul(states[r], matrix[r], out=out[r])


def packed_rows(states):
    states = np.ascontiguousarray(states)
    words = np.empty((words_of(states.shape[1]), len(states)), np.uint64)
    if not pack_rows(states, words):
        raise ValueError("states: found an entry that is neither 0 nor 1")
    return PackedRows(states, words)


def multiply_packed(packed, matrix, out):
    rows, units = packed.states.shape
    if ways.takes_tables(ways.number(), rows, units, matrix.shape[1]):
        multiply_words(packed.words, units, *rows_first(matrix), out)
    else:
        np.matmul(packed.states.astype(matrix.dtype, copy=False), matrix, out=out)
