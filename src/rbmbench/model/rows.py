# SPDX-License-Identifier: BSD-3-Clause
"""Checks of data from users: rows of binary units, or of their means.

Other functions rely on them: compiled code assumes that entries are 0 or 1.
"""

from typing import Any, NoReturn

import numpy as np

from rbmbench.base.errors import DataError
from rbmbench.kernels import Array, contiguous, is_array, on_host

BLOCK_VALUES = 2**22
BINARY = "a matrix of 0 and 1, (rows, visible units), such as the part train of a data set"
MEANS = "numbers from 0 to 1, (..., rows, units)"


def binary_rows(values: Any, label: str = "data", units: int | None = None, *, may_be_empty: bool = False) -> Array:
    """Return rows of 0 and 1 as a contiguous uint8 array (rows, units).

    Parameters
    ----------
    values : array_like, shape (rows, units)
        Numbers or truth values of any type. Arrays on a device stay there, and `SparseRows` are returned unchanged.
    label : str
        Name of the values, for the message.
    units : int, optional
        The number of columns that they must have: the visible units of a model.
    may_be_empty : bool
        Whether there may be no rows or no columns.

    Raises
    ------
    DataError
        If they are no matrix of real numbers, are masked, have another number of columns, are empty, or if an entry is
        neither 0 nor 1.
    """
    if getattr(values, "is_checked", False):
        _check_width(values, label, units)
        return values
    rows = binary_states(values, label, 2, units)
    if 0 in rows.shape and not may_be_empty:
        _refuse(label, f"shape {rows.shape}", "at least one row and one column")
    return rows


def binary_states(values: object, label: str, axes: int | None = None, units: int | None = None) -> Array:
    """Return states of 0 and 1 as a contiguous uint8 array, with ``axes`` axes, the last one ``units`` long.

    For the errors see `binary_rows`.
    """
    states = real_array(values, label, BINARY)
    if not states.ndim or axes not in (None, states.ndim):
        shape = BINARY if axes in (2, None) else f"0 and 1 in {axes} axes, (replicas, rows, units)"
        _refuse(label, f"shape {states.shape} of {states.dtype}", shape)
    _check_width(states, label, units)
    if states.dtype == bool or (states.dtype == np.uint8 and (not states.size or int(states.max()) <= 1)):
        return contiguous(states, np.uint8)
    # In blocks, because the comparison takes as much memory as the states, or more.
    length = max(1, BLOCK_VALUES * len(states) // max(1, states.size))
    for first in range(0, len(states), length):
        block = states[first : first + length]
        wrong = (block != 0) & (block != 1)
        if bool(wrong.any()):
            _refuse(label, f"the value {on_host(block[wrong][:1])[0]}", "0 and 1")
    return contiguous(states, np.uint8)


def means(values: object, label: str, units: int, dtype) -> Array:
    """Return states or means of units, (..., units), as an array of this type; a `DataError` if not in [0, 1]."""
    array = real_array(values, label, MEANS)
    if array.ndim < 2:
        _refuse(label, f"shape {array.shape}", MEANS)
    _check_width(array, label, units)
    if array.size and not bool(((array >= 0) & (array <= 1)).all()):
        _refuse(label, "a number outside of that, or one that is not finite", MEANS)
    return array.astype(dtype, copy=False)


def states_or_missing(values: Any, label: str, units: int) -> np.ndarray:
    """Return states of 0, 1 and NaN for missing ones, (m,) or (rows, m), as float64.

    A `DataError` is raised for other entries, axes and widths.
    """
    allowed = "0, 1 and missing values (NaN), (units,) or (rows, units)"
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        _refuse(label, "masked entries", allowed)
    try:
        states = values.to_numpy(np.float64, na_value=np.nan) if hasattr(values, "isna") else np.asarray(values, float)
    except (TypeError, ValueError):
        _refuse(label, f"a {type(values).__name__}", allowed)
    if states.ndim not in (1, 2):
        _refuse(label, f"shape {states.shape}", allowed)
    _check_width(states, label, units)
    wrong = ~np.isnan(states) & (states != 0) & (states != 1)
    if wrong.any():
        _refuse(label, f"the value {states[wrong][0]}", allowed)
    return states


def real_array(values: object, label: str, allowed: str) -> Array:
    """Return values as an array; a `DataError`, with what is allowed, if they are masked, or no real numbers."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        _refuse(label, "masked entries", allowed)
    plain = _unpacked(values, label, allowed)
    try:
        array = plain if is_array(plain) else np.asarray(plain)
    except ValueError:
        _refuse(label, "rows of different lengths", allowed)
    if array.dtype.kind not in "buif":
        kind = type(plain).__name__
        _refuse(label, f"a {kind}" if array.dtype == object else f"{kind} of {array.dtype}", allowed)
    return np.asarray(array) if isinstance(array, np.ndarray) else array


def _unpacked(values: Any, label: str, allowed: str) -> Any:
    """Return a sparse matrix of SciPy, or a frame of pandas of any numeric types, as an array; others unchanged."""
    if hasattr(values, "tocsr"):
        return values.toarray()
    if not (hasattr(values, "columns") and hasattr(values, "isna")):
        return values
    if refused := [name for name, dtype in values.dtypes.items() if dtype.kind not in "buif"]:
        _refuse(label, f"column {refused[0]!r} of {values.dtypes[refused[0]]}", allowed)
    if bool(values.isna().to_numpy().any()):
        _refuse(label, "a missing value", allowed)
    is_of_one_type = len({*values.dtypes}) == 1 and isinstance(values.dtypes.iloc[0], np.dtype)
    return values if is_of_one_type else values.to_numpy(np.float64)


def _check_width(states: Array, label: str, units: int | None) -> None:
    if units is not None and states.shape[-1] != units:
        _refuse(label, f"{states.shape[-1]} columns", f"{units}, one for each unit of the layer")


def _refuse(label: str, value: str, allowed: str) -> NoReturn:
    raise DataError(f"{label}: must be {allowed}, got {value}") from None
