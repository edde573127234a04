# SPDX-License-Identifier: BSD-3-Clause
"""Files of arrays: .npy and .npz of models, ground truths, samples, data sets, checkpoints and a user's own matrix."""

import pickle
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from fuzz_record import is_plain_matrix, read_or_refused
from hypothesis import given
from mutations import mutated, npy_files, npy_of, npz_files, small_arrays

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
MODEL = {
    "W": NUMBERS[0, :],
    "b": NUMBERS[0, :, :, 0],
    "c": NUMBERS[0, :, 0],
    "iteration": np.array(7),
    "seed": np.array(3),
    "snapshot_iterations": np.array([0, 5]),
    "snapshot_W": NUMBERS,
    "snapshot_b": NUMBERS[..., 0],
    "snapshot_c": NUMBERS[:, :, 0],
}


def held(path) -> dict:
    """Return the arrays of an archive that is right."""
    with np.load(path) as archive:
        return dict(archive)


def as_base(folder, name, save) -> dict:
    save(folder / name)
    return held(folder / name)


@pytest.fixture(scope="module")
def data_set(folder):
    made = datasets.build(
        "made", "Made", train=ROWS, test=ROWS, source="", preprocessing="", options={}, arrays={"a": ROWS}
    )
    return as_base(folder, "right.npz", lambda path: datasets.save(made, path))


@pytest.fixture(scope="module")
def checkpoint(folder):
    state = {"parameters": {"W": NUMBERS[0]}, "visible": ROWS, "iteration": 5, "seconds": {"training": 0.5}}
    return as_base(folder, "right.npz", lambda path: save_checkpoint(path, state, "mine"))


@given(npy_files() | mutated(npy_of(ROWS)) | small_arrays().map(npy_of))
def test_npy_files(content):
    found = read_or_refused("npy", lambda: npy_array(content), errors=UnreadableError)
    assert found is None or found.dtype.kind in "buifU"


@given(npy_files() | mutated(npy_of(ROWS)) | small_arrays().map(npy_of))
def test_a_matrix_of_the_users_own(folder, content):
    (folder / "own.npy").write_bytes(content)
    path = str(folder / "own.npy")
    found = read_or_refused("user's npy", lambda: datasets.load("user_file", path=path))
    assert found is None or is_plain_matrix(found.train)


@given(npz_files({"train": ROWS, "test": ROWS}))
def test_an_archive_of_the_users_own(folder, content):
    (folder / "own.npz").write_bytes(content)
    path = str(folder / "own.npz")
    found = read_or_refused("user's npz", lambda: datasets.load("user_file", path=path))
    assert found is None or is_plain_matrix(found.train)


@given(npz_files(MODEL))
def test_models(folder, content):
    (folder / "model.npz").write_bytes(content)
    found = read_or_refused("model.npz", lambda: results.read_model(folder), "model.npz")
    assert found is None or np.isfinite(found["W"]).all()


@given(npz_files(MODEL))
def test_models_of_any_file(folder, content):
    (folder / "mine").write_bytes(content)
    found = read_or_refused("RBM.load", lambda: RBM.load(folder / "mine"), "mine")
    assert found is None or all(np.isfinite(part).all() for part in found.parameters)


@given(npz_files(MODEL))
def test_snapshots(folder, content):
    (folder / "model.npz").write_bytes(content)
    found = read_or_refused("snapshots", lambda: results.read_snapshots(folder), "model.npz")
    assert found is None or found["snapshot_W"].shape[:3] == found["snapshot_b"].shape


@given(npz_files({"mean": NUMBERS[0, 0], "blocks": NUMBERS[0]}))
def test_ground_truths_and_samples_shown(folder, content):
    path = folder / "ground_truth.npz"
    path.write_bytes(content)
    read_or_refused("ground_truth.npz, shown.npz", lambda: results.read_arrays(path, ("mean", "blocks")), path.name)


# A fixture cannot be a part of a strategy, so what is drawn is how to make one.


@given(data=npz_files({"train": ROWS, "validation": ROWS[:0], "test": ROWS, "provenance": np.array("{}"), "a": ROWS}))
def test_data_sets_without_their_provenance(folder, data):
    (folder / "data.npz").write_bytes(data)
    assert read_or_refused("data set", lambda: datasets.read(folder / "data.npz"), "data.npz") is None


def test_data_sets(folder, data_set):
    @given(npz_files(data_set))
    def holds(content):
        (folder / "data.npz").write_bytes(content)
        found = read_or_refused("data set", lambda: datasets.read(folder / "data.npz"), "data.npz")
        assert found is None or is_plain_matrix(found.train)

    holds()


def test_checkpoints(folder, checkpoint):
    @given(npz_files(checkpoint))
    def holds(content):
        (folder / "run.npz").write_bytes(content)
        found = read_or_refused("checkpoint", lambda: load_checkpoint(folder / "run.npz", "mine"), "run.npz")
        assert found is None or found["iteration"] == 5

    holds()


@given(npz_files({"train": np.zeros((2, 784), np.uint8), "test": np.zeros((2, 784), np.uint8)}))
def test_grey_images(content):
    file = File("made", "made.npz", ())
    found = read_or_refused("grey npz", lambda: grey_npz(file, content, "made.npz"), "made.npz")
    assert found is None or all(part.shape[1] == 784 for part in found.values())


def test_what_is_right_is_read(folder, data_set, checkpoint):
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
    """What runs code when it is unpickled: it makes a file."""

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
    ("name", "wrong", "told"),
    [
        ("W", NUMBERS[0] * np.float32(np.nan), "not finite"),
        ("c", NUMBERS[0, :, 0].astype(np.float64), "one type for all"),
        ("b", NUMBERS[0, :, :, 0].astype(int), "one type for all"),
        ("b", NUMBERS[0, :, :4, 0], r"must be \(trials, m, n\)"),
        ("snapshot_c", NUMBERS[:, :, 0, :3], r"must be \(snapshots, trials, m, n\)"),
        ("snapshot_iterations", np.array([5, 0]), "must ascend"),
    ],
)
def test_models_that_cannot_be(tmp_path, name, wrong, told):
    results.write_arrays(tmp_path / "model.npz", MODEL | {name: wrong})
    with pytest.raises(RbmbenchError, match=rf"model\.npz: .*{told}"):
        (results.read_snapshots if name.startswith("snapshot") else results.read_model)(tmp_path)
