# SPDX-License-Identifier: BSD-3-Clause
"""Readers of a user's own files: rows of 0 and 1 as text, libsvm, parquet, npy and npz, compressed by gzip or not."""

import os
import warnings
from collections.abc import Sequence
from contextlib import suppress
from io import BytesIO, StringIO
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from zipfile import ZipFile

import numpy as np
import pandas as pd

from rbmbench.base.errors import DataError, unknown_name
from rbmbench.io.arrays import npy_array, npz_arrays
from rbmbench.io.guard import UnreadableError, bounded_bytes, most_array_bytes, one_line
from rbmbench.io.tables import parquet_table, unpacked
from rbmbench.model.rows import binary_rows
from rbmbench.model.sparse_rows import SparseRows

if TYPE_CHECKING:
    from scipy.sparse import sparray

TEXT = (".csv", ".tsv", ".txt", ".dat", ".data", ".amat")
LIBSVM = (".libsvm", ".svmlight", ".svm")
ENDINGS = (*TEXT, *LIBSVM, ".parquet", ".npy", ".npz")
MOST_TEXT_BYTES = 2**27  # its numbers take four times the memory of its text
SEPARATORS = ",;\t"  # of columns; blanks otherwise
SPARSE = {"data", "indices", "indptr", "shape", "format"}
"""Arrays of a file that `scipy.sparse.save_npz` wrote."""


class Rows(NamedTuple):
    """A table or matrix, the line of the text that each row is read from, and whether its columns have names."""

    table: "pd.DataFrame | np.ndarray | sparray"
    lines: Sequence[int] | None = None
    named: bool = False

    def place(self, row: int) -> str:
        """Return the line of a row in the file, or its number."""
        return f"row {row + 1}" if self.lines is None else f"line {self.lines[row]}"


UTF_16 = (b"\xff\xfe", b"\xfe\xff")
MISSING = {"", "?", "na", "n/a", "nan", "null", "none"}
TRUTH_VALUES = {"true", "false"}


def ending(path: str | os.PathLike) -> str:
    """Return the ending of a file in small letters, without that of gzip."""
    name = Path(path)
    return Path(name.stem if name.suffix.lower() == ".gz" else name).suffix.lower()


def rows_of(content: bytes, path: Path, array: str | None, features: int | None = None) -> dict[str, Rows]:
    """Return the training rows of a file, and its validation and test rows if there are any; or an `UnreadableError`.

    ``array`` is the name of the training rows in an npz file: by default "train", or the only array. ``features`` is
    the number of features of a libsvm file: by default, the largest that occurs.
    """
    if path.suffix.lower() == ".gz":
        content = unpacked(content, most_array_bytes())
    kind = ending(path)
    if features is not None and kind not in LIBSVM:
        raise UnreadableError(f"features must be those of a .libsvm file, got {features}")
    if kind == ".npz":
        return {name: Rows(rows) for name, rows in _npz(content, array).items()}
    if array is not None:
        raise UnreadableError(f"key must be an array of an .npz file, got {array!r}")
    if kind in LIBSVM:
        return {"train": Rows(_libsvm(content, features))}
    if kind in TEXT:
        return {"train": _text(content)}
    if kind == ".parquet":
        return {"train": Rows(_parquet(content), named=True)}
    return {"train": Rows(npy_array(content))}


def read_content(path: Path) -> bytes:
    """Return the bytes of a file, which may have as many as its arrays may take, or `MOST_TEXT_BYTES` as text."""
    return bounded_bytes(path, MOST_TEXT_BYTES if ending(path) in (*TEXT, *LIBSVM) else most_array_bytes())


def chosen(rows: Rows, columns: Sequence[str]) -> Rows:
    """Return rows whose columns have names with these columns alone, in this order."""
    if missing := [name for name in columns if name not in rows.table.columns]:
        raise UnreadableError(f"must have the column {missing[0]!r} of the training rows, got none of this name")
    return rows._replace(table=rows.table[list(columns)])


def binary(
    rows: Rows, drop_columns: Sequence[str], threshold: float | None, keep_sparse: bool = False
) -> np.ndarray | SparseRows:
    """Return rows as 0 and 1, uint8; an `UnreadableError` names the place of the first other entry.

    Parameters
    ----------
    rows : Rows
    drop_columns : sequence of str
        Columns that are left out, by name, or by number from 1 where they have no names.
    threshold : float, optional
        Larger numbers are 1, others 0.
    keep_sparse : bool
        Whether those of a sparse matrix stay sparse.
    """
    table = rows.table
    if hasattr(table, "tocsr"):
        if (threshold or 0) >= 0:
            states = _sparse_states(table, drop_columns, threshold)
            return states if keep_sparse else _dense(states)
        table = _dense(table)
    if isinstance(table, np.ndarray):
        if not drop_columns and threshold is None:
            with suppress(DataError):
                return binary_rows(table)
        table = _frame(table)
    for name in drop_columns:
        if name not in table.columns:
            raise UnreadableError(f"drop_columns: {unknown_name('column', name, list(table.columns))}")
    kept = table.drop(columns=list(drop_columns))
    numbers = kept.apply(pd.to_numeric, errors="coerce").to_numpy(np.float64, na_value=np.nan)
    bad = np.isnan(numbers) if threshold is not None else (numbers != 0) & (numbers != 1)
    if bad.any():
        row, column = np.unravel_index(bad.argmax(), bad.shape)
        value, name = kept.iat[row, column], kept.columns[column]
        reason = "a missing value" if pd.isna(value) else repr(getattr(value, "item", lambda: value)())
        number = str(table.columns.get_loc(name) + 1)
        number = "" if name == number else f" ({number})"
        cure = "drop_columns leaves columns out"
        cure += "" if np.isnan(numbers[row, column]) else ", threshold turns numbers into 0 and 1"
        raise UnreadableError(f"{rows.place(row)}, column {name!r}{number}: must be 0 or 1, got {reason}; {cure}")
    return (numbers > (0 if threshold is None else threshold)).astype(np.uint8)


def _sparse_states(matrix: "sparray", drop_columns: Sequence[str], threshold: float | None) -> SparseRows:
    """Return a sparse matrix as rows of 0 and 1, see `binary`; other entries than those stored are 0."""
    _check_size(matrix, 1 / 8)  # as bits, in which rows are compared and hashed
    names = _numbered(matrix.shape[1])
    for name in drop_columns:
        if name not in names:
            raise UnreadableError(f"drop_columns: {unknown_name('column', name, names)}")
    kept = [number for number, name in enumerate(names) if name not in drop_columns]
    matrix = (matrix.tocsr()[:, kept] if drop_columns else matrix.tocsr()).copy()
    matrix.sum_duplicates()
    wrong = np.isnan(matrix.data) if threshold is not None else (matrix.data != 0) & (matrix.data != 1)
    if wrong.any():
        places = matrix.tocoo()
        first = wrong.argmax()
        cure = "drop_columns leaves columns out, threshold turns numbers into 0 and 1"
        where = f"row {places.row[first] + 1}, column {names[kept[places.col[first]]]!r}"
        raise UnreadableError(f"{where}: must be 0 or 1, got {matrix.data[first].item()!r}; {cure}")
    if threshold is not None:
        matrix.data = (matrix.data > threshold).astype(np.uint8)
    try:
        return SparseRows(matrix)
    except DataError as error:
        raise UnreadableError(str(error)) from None


def _frame(matrix: np.ndarray) -> pd.DataFrame:
    """Return a matrix as a table with numbered columns."""
    if matrix.ndim != 2 or matrix.dtype.kind not in "buif":
        raise UnreadableError(f"must be a matrix of numbers, got shape {matrix.shape} of {matrix.dtype}")
    return pd.DataFrame(matrix, columns=_numbered(matrix.shape[1]))


def _numbered(columns: int) -> list[str]:
    return [str(number) for number in range(1, columns + 1)]


@one_line
def _text(content: bytes) -> Rows:
    """Return the table of a text with or without a header; its first line that is not empty has the separator."""
    text = content.decode("utf-16" if content[:2] in UTF_16 else "utf-8-sig", errors="replace")
    first = next((line.strip() for line in StringIO(text, None) if line.strip()), "")
    if not first:
        raise UnreadableError("must have numbers, got none")
    separator = next((mark for mark in SEPARATORS if mark in first), r"\s+")
    cells = [cell.strip().strip("\"'") for cell in (first.split() if separator == r"\s+" else first.split(separator))]
    header = 0 if _are_names(cells) else None
    options = {"skipinitialspace": True, "na_values": ["?"], "low_memory": False, "index_col": False}
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            table = pd.read_csv(StringIO(text), sep=separator, header=header, **options)
        except pd.errors.ParserWarning:
            raise UnreadableError("its rows have more columns than its header") from None
    if header is None:
        table.columns = _numbered(table.shape[1])
    table.columns = table.columns.astype(str)
    if table.shape[1] > 1 and table.iloc[:, -1].isna().all() and not cells[-1]:
        table = table.iloc[:, :-1]  # lines that end with a separator
    lines = [number for number, line in enumerate(StringIO(text, None), 1) if line.strip()]
    has_lines = len(lines) == len(table) + (header is not None)  # quoted texts may have several
    return Rows(table, lines[-len(table) :] if has_lines else None, header is not None)


def _are_names(cells: list[str]) -> bool:
    """Return whether the cells of a first line are names of columns: one is no number, or they count from 0 or 1."""
    numbered = [str(number) for number in range(len(cells) + 1)]
    if len(cells) > 2 and cells in (numbered[:-1], numbered[1:]):
        return True
    return any(cell.lower() not in MISSING | TRUTH_VALUES and not _is_number(cell) for cell in cells)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _parquet(content: bytes) -> pd.DataFrame:
    table = parquet_table(BytesIO(content), truth_values=True).rename(columns=str)
    return table[[name for name in table if not name.startswith("__index_level_")]]  # the row labels of a pandas frame


@one_line
def _libsvm(content: bytes, features: int | None) -> "sparray":
    """Return the features of a libsvm file as a matrix; its labels are left out."""
    from sklearn.datasets import load_svmlight_file

    rows, _ = load_svmlight_file(BytesIO(content), dtype=np.float32)
    if features is not None:
        if rows.shape[1] > features:
            raise UnreadableError(f"must have at most {features} features, got {rows.shape[1]}")
        rows.resize(rows.shape[0], features)
    return rows


def _npz(content: bytes, array: str | None) -> dict[str, np.ndarray]:
    """Return arrays of an npz file, or the rows of a sparse matrix."""
    names = _names(content)
    if SPARSE - {"indptr", "indices"} <= names:
        return {"train": _sparse(content, names)}
    others = sorted(names - {"validation", "test"})
    if array is None:
        array = "train" if "train" in names or len(others) != 1 else others[0]
    if array not in names:
        raise UnreadableError(f"array {array!r}: {unknown_name('array', array, others)}")
    arrays = npz_arrays(BytesIO(content), {array, "validation", "test"})
    return {"train": arrays.pop(array)} | arrays


@one_line
def _names(content: bytes) -> set[str]:
    with ZipFile(BytesIO(content)) as archive:
        return {name.removesuffix(".npy") for name in archive.namelist()}


@one_line
def _sparse(content: bytes, names: set[str]) -> "sparray":
    """Return the matrix that `scipy.sparse.save_npz` wrote; an index outside its shape would read other memory."""
    from scipy import sparse

    npz_arrays(BytesIO(content), names - {"format"})  # checks the sizes
    matrix = sparse.load_npz(BytesIO(content))
    if hasattr(matrix, "check_format"):
        matrix.check_format(full_check=True)
    return matrix


def _dense(matrix: "sparray | SparseRows") -> np.ndarray:
    """Return a sparse matrix as an array."""
    _check_size(matrix, matrix.dtype.itemsize)
    return np.asarray(matrix) if isinstance(matrix, SparseRows) else matrix.toarray()


def _check_size(matrix: "sparray | SparseRows", each: float) -> None:
    """Raise an `UnreadableError` if entries of so many bytes would take more than may be read."""
    size, most = int(matrix.shape[0] * matrix.shape[1] * each), most_array_bytes()
    if size > most:
        raise UnreadableError(f"its shape {matrix.shape} takes {size} bytes; allowed: at most {most}")
