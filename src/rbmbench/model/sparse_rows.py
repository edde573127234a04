# SPDX-License-Identifier: BSD-3-Clause
"""Rows of 0 and 1 that are kept as a sparse matrix, of which only mini-batches become dense."""

from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import DTypeLike

from rbmbench.base.errors import DataError
from rbmbench.kernels import Array, kernels_for
from rbmbench.model.rows import BLOCK_VALUES, binary_rows

if TYPE_CHECKING:
    from scipy.sparse import sparray


class SparseRows:
    """A matrix (rows, m) of 0 and 1 with the parts of NumPy's interface that training uses.

    Indexing by a slice or by row numbers of any shape gives dense rows, uint8. A `DataError` is raised if an entry is
    neither 0 nor 1, or there are no rows or columns.
    """

    ndim, dtype, is_checked = 2, np.dtype(np.uint8), True

    def __init__(self, matrix: "sparray", label: str = "data"):
        if len(matrix.shape) != 2 or 0 in matrix.shape:
            raise DataError(f"{label}: must have at least one row and one column, got shape {matrix.shape}")
        matrix = matrix.tocsr(copy=True)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        if (wrong := matrix.data != 1).any():
            raise DataError(f"{label}: must be 0 or 1, got {matrix.data[wrong][0]}")
        self._matrix, self.shape = matrix.astype(np.uint8), matrix.shape

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: slice | np.ndarray) -> np.ndarray:
        if isinstance(index, slice):
            return self._matrix[index].toarray()
        index = np.asarray(index)
        return self._matrix[index.ravel()].toarray().reshape(*index.shape, self.shape[1])

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        return self._matrix.toarray().astype(dtype or self.dtype, copy=False)

    def astype(self, dtype: DTypeLike) -> np.ndarray:
        """Return all rows, dense."""
        return self.__array__(dtype)

    def sum(self, axis: int, dtype: DTypeLike = np.float64) -> np.ndarray:
        """Return the sums of the columns (axis 0), (m,)."""
        return np.bincount(self._matrix.indices, minlength=self.shape[1]).astype(dtype)

    def mean(self, axis: int, dtype: DTypeLike = np.float64) -> np.ndarray:
        """Return the means of the columns (axis 0), (m,)."""
        return self.sum(axis, dtype) / len(self)

    def take(self, index: np.ndarray, axis: int) -> "SparseRows":
        """Return some of the rows (axis 0), as a sparse matrix."""
        return SparseRows(self._matrix[index])

    def blocks(self) -> Iterator[np.ndarray]:
        """Yield all rows in dense blocks of bounded size."""
        length = max(1, BLOCK_VALUES // self.shape[1])
        for first in range(0, len(self), length):
            yield self[first : first + length]

    @property
    def content(self) -> dict[str, np.ndarray]:
        """The arrays of the matrix, by name."""
        return {"indices": self._matrix.indices, "indptr": self._matrix.indptr, "shape": np.array(self.shape)}


def training_rows(values: object, label: str = "data", units: int | None = None) -> Array | SparseRows:
    """Return rows as `binary_rows` does, but `SparseRows` for a sparse matrix of SciPy."""
    return binary_rows(SparseRows(values, label) if hasattr(values, "tocsr") else values, label, units)


def on_backend(data: Array | SparseRows, arrays: ModuleType) -> Array | SparseRows:
    """Return rows as arrays of a backend, dense unless it is NumPy."""
    return data if isinstance(data, SparseRows) and arrays is np else arrays.asarray(data)


def array_like(data: Array | SparseRows) -> Array:
    """Return an array of the backend that rows are on."""
    return np.empty(0) if isinstance(data, SparseRows) else data


def content(data: Array | SparseRows) -> dict[str, np.ndarray]:
    """Return the arrays of training rows, by name."""
    return data.content if isinstance(data, SparseRows) else {"train": data}


def gathered(data: Array | SparseRows, index: Array, out: Array) -> None:
    """Write rows ``index`` (replicas, rows) of data (any rows, m) to ``out`` (replicas, rows, m)."""
    if isinstance(data, SparseRows):
        out[...] = data[index]
    else:
        kernels_for(out).gather_rows(data, index, out)
