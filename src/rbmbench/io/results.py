# SPDX-License-Identifier: BSD-3-Clause
"""Read and write the folders of results: plain files, checked when read, never a pickle.

`rbmbench.io.layout` documents the files of a folder. Equal arrays give equal bytes. ``meta.json`` holds the
checksums of the other files of its folder, which are compared whenever one is read. Every function raises a
`ResultsError` of one line if a file cannot be written, is missing or damaged, or has unexpected content.
"""

import hashlib
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rbmbench.base.errors import ResultsError
from rbmbench.io.arrays import npz_arrays
from rbmbench.io.atomic import replaced, write_json
from rbmbench.io.caches import why_not_writable
from rbmbench.io.guard import UnreadableError, bounded_bytes
from rbmbench.io.layout import BIAS, CERTIFICATE, CURVE, ISL, META, MODEL, STOPPING_TIMES, TIMES, Layout
from rbmbench.io.meta import CHECKSUMS, OWN_CHECKSUM, Meta, checked_meta, content_checksum
from rbmbench.io.tables import csv_table, parquet_table
from rbmbench.io.text import MOST_JSON_BYTES, plain_json

COLUMNS = {
    CURVE: {"trial": int, "iteration": int, "metric": str, "value": float},
    BIAS: {"trial": int, "ground_truth": str, "quantity": str, "value": float},
    STOPPING_TIMES: {"chain": int, "stopping_time": int},
    CERTIFICATE: {"trial": int, "quantity": str, "step": int, "value": float},
    TIMES: {"algorithm": str, "round": int, "iterations": int, "seconds_per_iteration": float},
    ISL: {"sampler": str, **dict.fromkeys(("setting", "trial", "samples"), int)}
    | dict.fromkeys(("validation", "test", "flip"), float),
}
"""By file: the columns of a table, and the kind of each."""
IS_KIND = {int: pd.api.types.is_integer_dtype, float: pd.api.types.is_float_dtype, str: pd.api.types.is_string_dtype}
MODEL_ARRAYS = ("W", "b", "c", "iteration", "seed")
CLOCK_SECONDS = 60.0
SNAPSHOT_ARRAYS = ("snapshot_iterations", "snapshot_W", "snapshot_b", "snapshot_c")

Location = str | PathLike


def check_writable(folder: Location) -> None:
    """Raise an error unless files can be written below ``folder``, which need not exist.

    If it is, or is below, a link to a folder that does not exist, that folder is made.
    """
    folder = Path(folder)
    for path in (folder.absolute(), *folder.absolute().parents):
        if path.is_symlink() and not path.exists():
            try:
                Path(os.path.realpath(path)).mkdir(parents=True, exist_ok=True)
            except OSError as error:
                target = f"link to {os.readlink(path)}, which cannot be made"
                raise ResultsError(f"{folder}: cannot be written ({path} is a {target}: {error.strerror})") from None
    if reason := why_not_writable(folder):
        raise ResultsError(f"{folder}: cannot be written ({reason})")


def date_back(folder: Location) -> int:
    """Set all dates below ``folder`` that are in the future to now, and return their number.

    Snakemake deletes the outputs of a job that are older than its inputs. Dates that are less than `CLOCK_SECONDS`
    ahead stay: the clock of a file server may be.
    """
    now, ahead = time.time(), {}
    for path in Path(folder).rglob("*"):
        with suppress(FileNotFoundError):
            if (date := path.stat().st_mtime) > now:
                ahead[path] = date
    if max(ahead.values(), default=now) < now + CLOCK_SECONDS:
        return 0
    for path in ahead:
        with suppress(FileNotFoundError):
            os.utime(path, (now, now))
    return len(ahead)


def read_json(path: Location) -> Any:
    """Return the plain data of a JSON file."""
    with reading(path) as file:
        return plain_json(bounded_bytes(file, MOST_JSON_BYTES))


def write_arrays(path: Location, arrays: Mapping[str, object]) -> None:
    """Write named arrays as a compressed npz file, without any time stamp in it."""
    with replaced(path) as temporary, temporary.open("wb") as handle:
        np.savez_compressed(handle, allow_pickle=False, **{name: np.asarray(arrays[name]) for name in sorted(arrays)})


def read_arrays(path: Location, names: Iterable[str], others: Iterable[str] | None = None) -> dict[str, np.ndarray]:
    """Return the arrays ``names`` of an npz file, which must hold them, and its ``others`` (default: all)."""
    names = list(names)
    with reading(path) as file:
        _check_sum(file)
        arrays = npz_arrays(file, None if others is None else [*names, *others])
    for name in names:
        if name not in arrays:
            raise ResultsError(f"{path}: array {name!r} is missing, got {', '.join(arrays) or 'nothing'}")
    return arrays


def write_table(path: Location, table: pd.DataFrame) -> None:
    """Write a tidy table as parquet."""
    with replaced(path) as temporary:
        table.to_parquet(temporary, index=False, compression="zstd", write_page_checksum=True)


def read_table(folder: Location, file: str) -> pd.DataFrame:
    """Return a tidy table of a result's folder, checked to have the columns that `COLUMNS` has for the file, if any."""
    with reading(Path(folder) / file) as path:
        _check_sum(path)
        table = parquet_table(path)
    columns = COLUMNS.get(file, {})
    _check_columns(path, table, columns)
    for name, kind in columns.items():
        if not IS_KIND[kind](table[name]):
            raise ResultsError(f"{path}: column {name!r}: must be {kind.__name__}, got {table[name].dtype}")
    return table


def read_csv(path: Location, columns: Iterable[str] = (), **options: object) -> pd.DataFrame:
    """Return the table of a csv file, which must have ``columns``; ``options`` are those of ``pandas.read_csv``."""
    with reading(path):
        table = csv_table(path, **options)
    _check_columns(path, table, columns)
    return table


def numbers_file(layout: Layout, key: str) -> Path:
    """Return the file of the numbers behind a figure, the compressed one where there is one; it need not exist."""
    packed = Path(layout.packed_numbers(key))
    return packed if packed.is_file() else Path(layout.numbers(key))


def _check_columns(path: Location, table: pd.DataFrame, columns: Iterable[str]) -> None:
    for name in columns:
        if name not in table.columns:
            names = ", ".join(map(str, table.columns)) or "nothing"
            raise ResultsError(f"{path}: column {name!r} is missing, got {names}")


def write_meta(folder: Location, files: Iterable[str], values: dict[str, object]) -> None:
    """Write ``meta.json`` of a job, with the checksums of its other files, which must exist, and its own."""
    values = values | {CHECKSUMS: {name: _sha256(Path(folder) / name) for name in files}}
    write_json(Path(folder) / META, values | {OWN_CHECKSUM: content_checksum(values)})


def read_meta(folder: Location) -> Meta:
    """Return the settings and provenance of a result's folder."""
    path = Path(folder) / META
    return checked_meta(read_json(path), str(path))


def read_kept_metas(path: Location) -> dict[str, Any]:
    """Return the metas of the results behind a figure or a table from a kept file, by name, as plain data.

    If they equal those of another figure or table, return its key, with the key `SAME_AS`.
    """
    values = read_json(path)
    if not isinstance(values, dict):
        raise ResultsError(f"{path}: must hold the meta of each result by its name")
    return values


def check_files(folder: Location) -> None:
    """Raise a `ResultsError` if a file of a result has another checksum than in its meta; deleted files are skipped."""
    for name in read_meta(folder).get(CHECKSUMS, {}):
        path = Path(folder) / name
        if path.is_file():
            _check_sum(path)


def _check_sum(path: Path) -> None:
    """Raise an error if the meta beside a file has another checksum of it; files without one are not checked."""
    if not (path.parent / META).is_file():
        return
    expected = read_meta(path.parent).get(CHECKSUMS, {}).get(path.name)
    if expected is not None and expected != (checksum := _sha256(path)):
        raise ResultsError(
            f"{path}: was changed after it was written, or is of another run than {META} beside it: got checksum "
            f"{checksum[:10]}..., {META} has {expected[:10]}...; remove it, so that it is made again"
        )


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_model(folder: Location, others: Iterable[str] = ()) -> dict[str, np.ndarray]:
    """Return the trained models of a run, and those of ``others`` that its file holds.

    They are W (trials, m, n), b (trials, m), c (trials, n), and the 0-d integers iteration and seed.
    """
    path = Path(folder) / MODEL
    arrays = read_arrays(path, MODEL_ARRAYS, others)
    _check_parameters(path, {name: arrays[name] for name in ("W", "b", "c")}, ("trials",))
    return arrays


def read_parameters(path: Location) -> dict[str, np.ndarray]:
    """Return W (..., m, n), b (..., m) and c (..., n), float32 or float64, of any npz file that holds them."""
    parameters = read_arrays(path, ("W", "b", "c"), ())
    _check_parameters(Path(path), parameters, None)
    return parameters


def read_snapshots(folder: Location) -> dict[str, np.ndarray]:
    """Return the parameters that a run has kept for a later evaluation.

    They are snapshot_iterations (snapshots,), and snapshot_W, _b and _c with leading axes (snapshots, trials).
    """
    path = Path(folder) / MODEL
    arrays = read_arrays(path, SNAPSHOT_ARRAYS, ())
    iterations, *parameters = SNAPSHOT_ARRAYS
    _check_parameters(path, {name: arrays[name] for name in parameters}, ("snapshots", "trials"))
    numbers = arrays[iterations]
    if numbers.dtype.kind not in "iu" or numbers.shape != arrays["snapshot_W"].shape[:1]:
        raise ResultsError(f"{path}: {iterations}: must be a number a snapshot, got {numbers.dtype} {numbers.shape}")
    if (numbers[1:] <= numbers[:-1]).any():
        raise ResultsError(f"{path}: {iterations}: must ascend")
    return arrays


def _check_parameters(path: Path, parameters: Mapping[str, np.ndarray], leading: tuple[str, ...] | None) -> None:
    """Refuse W, b and c of shapes that do not belong together, or of anything but finite floating-point numbers.

    ``leading`` names the leading axes; None allows any number of them.
    """
    W, b, c = parameters.values()
    axes = max(W.ndim, 2) if leading is None else len(leading) + 2
    if W.ndim != axes or 0 in W.shape or b.shape != W.shape[:-1] or c.shape != (*W.shape[:-2], W.shape[-1]):
        shapes = ", ".join(f"{name} {array.shape}" for name, array in parameters.items())
        first = "..." if leading is None else ", ".join(leading)
        raise ResultsError(f"{path}: must be ({first}, m, n), ({first}, m), ({first}, n), got {shapes}")
    for name, array in parameters.items():
        if array.dtype not in (np.float32, np.float64) or array.dtype != W.dtype:
            raise ResultsError(f"{path}: {name}: must be float32 or float64, one type for all, got {array.dtype}")
        if not np.isfinite(array).all():
            raise ResultsError(f"{path}: {name}: must be finite, got a number that is not finite")


@contextmanager
def reading(path: Location) -> Iterator[Path]:
    """Give the path of an existing file; raise the errors of its reader as a `ResultsError` of one line."""
    path = Path(path)
    try:
        yield path
    except FileNotFoundError:
        raise ResultsError(f"{path}: is missing") from None
    except (UnreadableError, OSError) as error:
        reason = " ".join(str(error).split())
        raise ResultsError(f"{path}: cannot be read, it may be damaged or cut short ({reason})") from None
