# SPDX-License-Identifier: BSD-3-Clause
"""Reference kernels for products of binary states with matrices, and for distances between binary states."""

from typing import NamedTuple

import numpy as np

from rbmbench.kernels import Array


class PackedRows(NamedTuple):
    """Rows of states (rows, units), and on a processor with tables their bits, uint64 (words, rows), or None.

    Bit i of word w is unit 64 w + i.
    """

    states: Array
    words: Array | None


def rows_first(array) -> tuple[Array, bool]:
    """Return the array or a copy with contiguous rows, and whether its last two axes were exchanged for that."""
    if array.flags.c_contiguous:
        return array, False
    turned = array.swapaxes(-1, -2)
    return (turned, True) if turned.flags.c_contiguous else (array.copy(), False)


def multiply_binary(states, matrix, out) -> None:
    """Write the matrix product of binary states with a matrix for every replica, of the type of the matrix.

    States may be means instead, as in mean-field estimators, but take no advantage of the entries then.

    Parameters
    ----------
    states : array, shape (replicas, rows, units), entries 0 or 1, or means
        Also a transposed view, as in the statistics v'p(h|v), or a view of the states of one replica for all.
    matrix : array, shape (replicas, units, columns)
        Also a transposed view, as in W h.
    out : array, shape (replicas, rows, columns), contiguous
    """
    np.matmul(states, matrix, out=out)


def sum_rows(weights, rows, out) -> None:
    """Write the sums of rows (replicas, rows, units) with weights (replicas, rows) to ``out`` (replicas, 1, units)."""
    np.matmul(weights[:, None, :], rows, out=out)


def packed_rows(states) -> PackedRows:
    """Return rows of states (rows, units), entries 0 or 1 of any type, packed once for many products.

    Backends that pack raise a `ValueError` if there is another entry.
    """
    return PackedRows(states, None)


def multiply_packed(packed: PackedRows, matrix, out) -> None:
    """Write the product of packed rows (rows, units) with a matrix (units, columns), like `multiply_binary`."""
    np.matmul(packed.states.astype(matrix.dtype, copy=False), matrix, out=out)


def count_distances(packed: PackedRows, samples, counts) -> None:
    """Count the samples s at each Hamming distance |x| + |s| - 2 x's from each row x.

    Parameters
    ----------
    packed : PackedRows
        The rows x, (rows, m), see `packed_rows`.
    samples : array, shape (replicas, samples, m), entries 0 or 1 of any type
    counts : array, shape (replicas, rows, m + 1), int64
        Entry d is increased by the number of samples at distance d.
    """
    lengths = counts.shape[-1]
    x, s = (states.astype(np.float32) for states in (packed.states, samples))
    distance = (x.sum(-1)[:, None] + s.sum(-1)[:, None, :] - 2 * (x @ s.swapaxes(-1, -2))).astype(np.int64)
    index = distance + lengths * np.arange(counts[..., 0].size).reshape(*distance.shape[:2], 1)
    counts += np.bincount(index.ravel(), minlength=counts.size).reshape(counts.shape)
