# SPDX-License-Identifier: BSD-3-Clause
"""Files of arrays: .npy and .npz of models, ground truths, data sets, checkpoints and a user's matrix."""

import pickle
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from mutations import mutated, npy_files, npy_of, npz_files, small_arrays
from properties import holds_for_files, is_plain_matrix

from rbmbench import datasets
from rbmbench.base.errors import RbmbenchError
from rbmbench.datasets._downloads import File
from rbmbench.datasets._formats import grey_npz
from rbmbench.io import results
from rbmbench.io.arrays import npy_array
from rbmbench.io.guard import UnreadableError
from rbmbench.model.rbm import RBM
from rbmbench.training.checkpoint import load_checkpoint, save_checkpoint
from rbmbench.training.run import load_run

ROWS = np.random.default_rng(1).integers(0, 2, (7, 5), np.uint8)
NUMBERS = np.random.default_rng(2).normal(size=(2, 3, 5, 7)).astype(np.float32)
SNAPSHOTS = {"W": NUMBERS, "b": NUMBERS[..., 0], "c": NUMBERS[:, :, 0]}
MODEL = {name: part[0] for name, part in SNAPSHOTS.items()} | {"iteration": np.array(7), "seed": np.array(3)}
MODEL |= {f"snapshot_{name}": part for name, part in SNAPSHOTS.items()} | {"snapshot_iterations": np.array([0, 5])}
CHECKPOINT = {"parameters": {"W": NUMBERS[0]}, "visible": ROWS, "iteration": 5, "seconds": {"training": 0.5}}


@pytest.fixture(scope="module", autouse=True)
def valid(folder):
    """Return the arrays of a valid data set and of a valid checkpoint."""
    parts = {"train": ROWS, "test": ROWS, "arrays": {"a": ROWS}}
    made = datasets.build("made", "Made", **parts, source="", preprocessing="", options={})
    datasets.save(made, folder / "data set.npz")
    save_checkpoint(folder / "checkpoint.npz", CHECKPOINT, "mine")
    return {name: dict(np.load(folder / f"{name}.npz")) for name in ("data set", "checkpoint")}


def user_file(path):
    return datasets.load("user_file", path=str(path)).train


def all_finite(arrays):
    return all(np.isfinite(array).all() for array in arrays)


npy = npy_files() | mutated(npy_of(ROWS)) | small_arrays().map(npy_of)
GREY = np.zeros((2, 784), np.uint8)
# For every reader: the name of its file, inputs or the name of valid arrays, and a property of its output.
READERS = {
    "npy": ("", npy, lambda path: npy_array(path.read_bytes()), lambda array: array.dtype.kind in "buifU"),
    "a user's matrix": ("own.npy", npy, user_file, is_plain_matrix),
    "a user's archive": ("own.npz", npz_files({"train": ROWS, "test": ROWS}), user_file, is_plain_matrix),
    "model": (
        "model.npz",
        npz_files(MODEL),
        lambda path: results.read_model(path.parent),
        lambda model: all_finite([model["W"]]),
    ),
    "RBM.load": ("mine", npz_files(MODEL), RBM.load, lambda rbm: all_finite(rbm.parameters)),
    "snapshots": (
        "model.npz",
        npz_files(MODEL),
        lambda path: results.read_snapshots(path.parent),
        lambda arrays: arrays["snapshot_W"].shape[:3] == arrays["snapshot_b"].shape,
    ),
    "ground truth": (
        "ground_truth.npz",
        npz_files({"mean": NUMBERS[0, 0], "blocks": NUMBERS[0]}),
        lambda path: results.read_arrays(path, ("mean", "blocks")),
        lambda arrays: arrays.keys() >= {"mean", "blocks"},
    ),
    "data set": ("data.npz", "data set", datasets.read, lambda made: is_plain_matrix(made.train)),
    "data set without its provenance": (
        "data.npz",
        npz_files({"train": ROWS, "validation": ROWS[:0], "test": ROWS, "provenance": np.array("{}"), "a": ROWS}),
        datasets.read,
        lambda _: False,
    ),
    "checkpoint": (
        "run.npz",
        "checkpoint",
        lambda path: load_checkpoint(path, "mine"),
        lambda state: state["iteration"] == 5,
    ),
    "grey images": (
        "made.npz",
        npz_files({"train": GREY, "test": GREY}),
        lambda path: grey_npz(File("made", "made.npz", ()), path.read_bytes(), path.name),
        lambda parts: all(part.shape[1] == 784 for part in parts.values()),
    ),
}


@pytest.mark.parametrize("reader", READERS)
def test_invalid_arrays_are_read_or_raise_a_one_line_error(folder, valid, reader):
    name, inputs, read, holds_for = READERS[reader]
    inputs = npz_files(valid[inputs]) if isinstance(inputs, str) else inputs
    errors = RbmbenchError if name else UnreadableError
    holds_for_files(folder / (name or "npy"), inputs, read, holds_for, [name], errors)


def test_arrays_are_read_unchanged(folder):
    assert np.array_equal(npy_array(npy_of(ROWS)), ROWS)
    assert np.array_equal(npy_array(npy_of(np.asfortranarray(ROWS))), ROWS)
    buffer = BytesIO()
    np.savez(buffer, **MODEL)
    (folder / "model.npz").write_bytes(buffer.getvalue())
    whole, snapshots = results.read_model(folder), results.read_snapshots(folder)
    assert snapshots.keys() == {name for name in MODEL if name.startswith("snapshot_")}
    for name, array in MODEL.items():
        assert np.array_equal((whole | snapshots)[name], array)


class Payload:
    """Object that creates a file when it is unpickled."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return Path.touch, (self.marker,)


def test_objects_are_never_unpickled(tmp_path):
    marker = tmp_path / "marker"
    pickled = pickle.dumps(Payload(marker))
    objects = npy_of(np.array([Payload(marker)], object))
    buffer = BytesIO()
    np.savez(
        buffer, **{name: np.array([Payload(marker)], object) for name in (*MODEL, "train", "provenance", "header")}
    )
    for name, content in (("model.npz", buffer.getvalue()), ("own.npy", objects), ("run.npz", pickled)):
        (tmp_path / name).write_bytes(content)
    readers = (
        lambda: RBM.load(tmp_path / "model.npz"),
        lambda: load_run(tmp_path),
        lambda: results.read_model(tmp_path),
        lambda: datasets.read(tmp_path / "model.npz"),
        lambda: datasets.load("user_file", path=str(tmp_path / "model.npz")),
        lambda: datasets.load("user_file", path=str(tmp_path / "own.npy")),
        lambda: load_checkpoint(tmp_path / "model.npz", "mine"),
        lambda: load_checkpoint(tmp_path / "run.npz", "mine"),
        lambda: grey_npz(File("made", "made.npz", ()), buffer.getvalue(), "made.npz"),
    )
    for read in readers:
        with pytest.raises(RbmbenchError):
            read()
    assert not marker.exists()
    pickle.loads(pickled)
    assert marker.exists()


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("W", NUMBERS[0] * np.float32(np.nan), "not finite"),
        ("c", NUMBERS[0, :, 0].astype(np.float64), "one type for all"),
        ("b", NUMBERS[0, :, :, 0].astype(int), "one type for all"),
        ("b", NUMBERS[0, :, :4, 0], r"must be \(trials, m, n\)"),
        ("snapshot_c", NUMBERS[:, :, 0, :3], r"must be \(snapshots, trials, m, n\)"),
        ("snapshot_iterations", np.array([5, 0]), "must ascend"),
    ],
)
def test_inconsistent_models_raise(tmp_path, name, array, message):
    results.write_arrays(tmp_path / "model.npz", MODEL | {name: array})
    with pytest.raises(RbmbenchError, match=rf"model\.npz: .*{message}"):
        (results.read_snapshots if name.startswith("snapshot") else results.read_model)(tmp_path)
