# SPDX-License-Identifier: BSD-3-Clause
"""The class of data sets, and their files."""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rbmbench.base.errors import DataError
from rbmbench.io.arrays import npz_arrays
from rbmbench.io.atomic import replaced
from rbmbench.io.guard import UnreadableError
from rbmbench.io.text import plain_json
from rbmbench.model.rows import binary_rows
from rbmbench.model.sparse_rows import SparseRows

PARTS = ("train", "validation", "test")


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows of visible units and their provenance.

    Attributes
    ----------
    name : str
        Name of the data set in the registry.
    title : str
        Name for figures and tables; names the data set that this one stands in for, if any.
    train, validation, test : numpy.ndarray
        uint8 arrays (rows, m) of 0 and 1; validation and test may have no rows.
    provenance : dict
        Plain data for JSON: name, title, source, files (name, sha256, from), preprocessing, rows, visible,
        stand_in_for, options, content_sha256 (of the parts), arrays (of each its shape, dtype and sha256); of files
        whose columns have names, columns.
    arrays : dict
        Further arrays by name, for example the parameters that the rows were drawn from.
    """

    name: str
    title: str
    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray
    provenance: dict
    arrays: dict[str, np.ndarray] = field(default_factory=dict)


def build(
    name: str,
    title: str,
    *,
    train: np.ndarray,
    validation: np.ndarray | None = None,
    test: np.ndarray | None = None,
    source: str,
    preprocessing: str,
    files: Sequence[Mapping[str, str]] = (),
    stand_in_for: str | None = None,
    options: Mapping[str, object],
    arrays: Mapping[str, np.ndarray] | None = None,
    columns: Sequence[str] | None = None,
) -> Dataset:
    """Return a checked data set with its provenance; see `Dataset` for the arguments that it has.

    Parameters
    ----------
    train, validation, test : numpy.ndarray
        Arrays (rows, m) of 0 and 1, of any numeric or boolean dtype; parts that are not given have no rows.
    source, preprocessing : str
        Where the data come from, with their licence; and how the rows were computed from that.
    files : sequence of mapping
        Each file read: its name, its sha256, and its origin.
    stand_in_for : str, optional
        The data set that this one stands in for, named in the title.
    columns : sequence of str, optional
        Names of the visible units, kept in the provenance.

    Raises
    ------
    DataError
        If a part is not a matrix of 0 and 1, the parts differ in width, the training part has no rows or columns, or a
        further array has the name of a part or does not hold numbers.
    """
    train = binary_rows(train, f"{name}: train")
    parts = {"train": train}
    for name_of_part, rows in (("validation", validation), ("test", test)):
        chosen = train[:0] if rows is None else rows
        parts[name_of_part] = binary_rows(chosen, f"{name}: {name_of_part}", train.shape[1], may_be_empty=True)
    arrays = {key: _numbers(array, key, f"{name}: {key}") for key, array in (arrays or {}).items()}
    title = f"{title} (stand-in for {stand_in_for})" if stand_in_for else title
    provenance = {
        "name": name,
        "title": title,
        "source": source,
        "files": [dict(file) for file in files],
        "preprocessing": preprocessing,
        "rows": {name_of_part: len(rows) for name_of_part, rows in parts.items()},
        "visible": train.shape[1],
        "stand_in_for": stand_in_for,
        "options": dict(options),
        "content_sha256": _content_sha256(parts),
        "arrays": {key: _described(array) for key, array in arrays.items()},
        **({"columns": list(columns)} if columns else {}),
    }
    return Dataset(name, title, **parts, provenance=provenance, arrays=arrays)


def save(dataset: Dataset, path: str | os.PathLike) -> None:
    """Write a data set to an .npz file: parts, further arrays, and the provenance as JSON.

    Equal data sets give equal bytes. A ResultsError is raised if the file cannot be written.
    """
    arrays = {name: getattr(dataset, name) for name in PARTS} | dataset.arrays
    arrays["provenance"] = np.array(json.dumps(dataset.provenance, sort_keys=True))
    # An open file, because savez adds .npz to a name that lacks it.
    with replaced(path) as temporary, open(temporary, "wb") as file:
        np.savez_compressed(file, **arrays)


def was_saved(path: str | os.PathLike) -> bool:
    """Return whether a file has a provenance, as those that ``save`` writes, or cannot be read as an .npz file."""
    try:
        return "provenance" in npz_arrays(path, ["provenance"])
    except (OSError, UnreadableError):
        return True


def read(path: str | os.PathLike) -> Dataset:
    """Return the data set that ``save`` wrote; raise a DataError if it is missing, damaged or not a data set."""
    try:
        held = npz_arrays(path)
        parts = {name: binary_rows(held[name], f"{path}: {name}", may_be_empty=True) for name in PARTS}
        provenance = plain_json(str(held["provenance"]))
        declared = provenance.get("arrays", {})
        arrays = {key: held[key] for key in declared}
        dataset = Dataset(provenance["name"], provenance["title"], **parts, provenance=provenance, arrays=arrays)
        intact = _content_sha256(parts) == provenance["content_sha256"]
        changed = [key for key, array in arrays.items() if _described(array) != declared[key]]
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path}: not a data set, or damaged ({type(error).__name__}: {error})") from error
    if not intact:
        raise DataError(f"{path}: damaged: the rows do not have the sha256 that its provenance states")
    if changed:
        raise DataError(f"{path}: damaged: array {changed[0]!r} is not as its provenance states")
    return dataset


def _numbers(array: np.ndarray, name: str, where: str) -> np.ndarray:
    """Return a contiguous array of numbers; refuse other dtypes and the names of parts."""
    array = np.asarray(array)
    if name in (*PARTS, "provenance"):
        raise DataError(f"{where}: must have another name, got one of the file itself")
    if array.dtype.kind not in "buif":
        raise DataError(f"{where}: must be numbers, got {array.dtype}")
    return np.array(array, order="C")  # ascontiguousarray would give a number an axis


def _described(array: np.ndarray) -> dict:
    sha256 = hashlib.sha256(array.tobytes()).hexdigest()
    return {"shape": list(array.shape), "dtype": str(array.dtype), "sha256": sha256}


def _content_sha256(parts: Mapping[str, np.ndarray]) -> str:
    digest = hashlib.sha256()
    for name in PARTS:
        digest.update(repr((name, *parts[name].shape)).encode())
        rows = parts[name]
        for block in rows.blocks() if isinstance(rows, SparseRows) else (rows,):
            digest.update(np.packbits(block, axis=1).tobytes())
    return digest.hexdigest()
