# SPDX-License-Identifier: BSD-3-Clause
"""Reading a result with a changed byte raises or returns the same content."""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

from rbmbench import datasets, jobs
from rbmbench.base.errors import RbmbenchError, ResultsError
from rbmbench.io import results
from rbmbench.io.layout import META

FLIPS = 97  # a share of 10 % of unchecked bytes is missed with probability 4e-5
RNG = np.random.default_rng(11)
TRIALS, M, N = 3, 7, 5
W, b, c = (RNG.normal(size=shape).astype(np.float32) for shape in ((TRIALS, M, N), (TRIALS, M), (TRIALS, N)))
MODEL = {"W": W, "b": b, "c": c, "iteration": np.array(11), "seed": np.array(13)}
SNAPSHOTS = {"snapshot_iterations": np.array([0, 11])}
SNAPSHOTS |= {f"snapshot_{name}": np.stack([MODEL[name], 2 * MODEL[name]]) for name in ("W", "b", "c")}
LENGTH = 23
WORDS = np.resize(["log_likelihood", "log_partition", "b"], LENGTH)
COLUMN = {int: np.arange(LENGTH), float: RNG.normal(size=LENGTH), str: WORDS}
KINDS = results.COLUMNS.items()
TABLES = {file: pd.DataFrame({name: COLUMN[kind] for name, kind in columns.items()}) for file, columns in KINDS}
ARRAYS = {
    "model.npz": MODEL | SNAPSHOTS,
    "ground_truth.npz": {"mean": RNG.normal(size=(TRIALS, 47)), "blocks": RNG.normal(size=(2, TRIALS, 47))},
    "shown.npz": {"gibbs-0": RNG.integers(0, 256, (11, M), np.uint8)},
}
VALUES = {"settings": {"hidden": 5, "method": "exact"}, "wall": {"training_seconds": 1.25}, "commit": "é", "trials": 3}


class File(NamedTuple):
    """A file, its reader, and a comparison of two contents."""

    path: Path
    read: Callable[[], object]
    same: Callable[[object, object], bool]


def same_arrays(arrays: dict, other: dict) -> bool:
    return arrays.keys() == other.keys() and all(
        arrays[name].dtype == other[name].dtype and np.array_equal(arrays[name], other[name]) for name in arrays
    )


def same_data(data: datasets.Dataset, other: datasets.Dataset) -> bool:
    pairs = (data.train, other.train), (data.validation, other.validation), (data.test, other.test)
    return data.provenance == other.provenance and all(np.array_equal(*pair) for pair in pairs)


def write_job(folder: Path, kind: str, name: str) -> File:
    """Write all files of a kind of job, and return one."""
    files = jobs.of_name(kind).files
    for file in files:
        if file in TABLES:
            results.write_table(folder / file, TABLES[file])
        else:
            results.write_arrays(folder / file, ARRAYS[file])
    results.write_meta(folder, files, VALUES)
    if name in TABLES:
        return File(folder / name, lambda: results.read_table(folder, name), pd.DataFrame.equals)
    if name in ARRAYS:
        return File(folder / name, lambda: results.read_arrays(folder / name, ARRAYS[name]), same_arrays)
    return File(folder / name, lambda: results.read_meta(folder), lambda meta, other: meta == other)


def data_set(folder: Path) -> File:
    rows = np.random.default_rng(13).integers(0, 2, (29, M), np.uint8)
    data = datasets.build("made", "Made", train=rows, test=rows[:17], source="here", preprocessing="none", options={})
    datasets.save(data, folder / "made.npz")
    return File(folder / "made.npz", lambda: datasets.read(folder / "made.npz"), same_data)


def undetected_changes(file: File) -> list[int]:
    """Change single random bytes, and return their positions where other content is read."""
    whole, content = file.path.read_bytes(), file.read()
    rng = np.random.default_rng(17)
    positions = rng.integers(0, len(whole), FLIPS)
    changes = rng.integers(1, 256, FLIPS)
    misses = []
    for position, change in zip(positions.tolist(), changes.tolist(), strict=True):
        file.path.write_bytes(whole[:position] + bytes([whole[position] ^ change]) + whole[position + 1 :])
        with suppress(RbmbenchError):
            misses += [] if file.same(file.read(), content) else [position]
    return misses


@pytest.mark.parametrize(("kind", "name"), [(kind.name, name) for kind in jobs.kinds() for name in (*kind.files, META)])
def test_changed_bytes_of_a_job_are_detected(tmp_path, kind, name):
    file = write_job(tmp_path, kind, name)
    assert undetected_changes(file) == []


def test_changed_bytes_of_a_data_set_are_detected(tmp_path):
    assert undetected_changes(data_set(tmp_path)) == []


def test_a_file_of_another_run_raises(tmp_path):
    write_job(tmp_path, "train", "model.npz")
    results.write_arrays(tmp_path / "model.npz", MODEL | {"b": b + 1})
    with pytest.raises(ResultsError) as caught:
        results.read_model(tmp_path)
    message = r"model\.npz: was changed after it was written, or is of another run than meta\.json beside it: got "
    assert caught.match(rf"{message}checksum \w+\.\.\., meta\.json has \w+\.\.\.; remove it")


def test_meta_may_be_reformatted_or_without_checksums(tmp_path):
    write_job(tmp_path, "train", "meta.json")
    values = json.loads((tmp_path / "meta.json").read_text())
    (tmp_path / "meta.json").write_text(json.dumps(values, indent=7))
    assert results.read_meta(tmp_path) == values
    del values["sha256"], values["content_sha256"]
    (tmp_path / "meta.json").write_text(json.dumps(values | {"trials": 5}))
    (tmp_path / "curve.parquet").unlink()
    results.write_table(tmp_path / "curve.parquet", TABLES["curve.parquet"].iloc[:11])
    assert results.read_meta(tmp_path)["trials"] == 5
    assert len(results.read_table(tmp_path, "curve.parquet")) == 11
