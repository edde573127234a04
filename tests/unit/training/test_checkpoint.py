# SPDX-License-Identifier: BSD-3-Clause
"""Checkpoints: saving and loading, errors of damaged files and of other runs, removal."""

import io
import zipfile

import numpy as np
import pytest
from core_helpers import binary_data

from rbmbench.base import pace
from rbmbench.base.errors import CheckpointError, DamagedCheckpointError, StoppedError
from rbmbench.base.parsing import parse
from rbmbench.base.settings import RunSettings
from rbmbench.training import trainer
from rbmbench.training.checkpoint import load_checkpoint, owned, resumed, save_checkpoint

DATA = binary_data(23, 7)


def example():
    rng = np.random.default_rng(0)
    shapes = {"W": (2, 5, 3), "b": (2, 5)}
    return {
        "parameters": {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()},
        "state": {"visible": rng.integers(0, 2, (2, 7, 5)).astype(np.float32), "name.with.dots": np.arange(3)},
        "memory": {},
        "curve": {"trial": np.arange(4), "metric": np.array(["log_likelihood"] * 4), "value": rng.normal(size=4)},
        "alone": rng.normal(size=(2, 5)),
        "iteration": 17,
        "draw": 2**40 + 1,
        "seconds": {"training_seconds": 1.25, "each": [0.5, None]},
    }


GROUPS = ("parameters", "state", "memory", "curve")


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "folder" / "run.npz"
    save_checkpoint(path, example(), "mine")
    return path


def assert_is_the_example(checkpoint):
    expected = example()
    assert expected.keys() == checkpoint.keys()
    for group in GROUPS:
        assert list(expected[group]) == list(checkpoint[group])
    arrays = [(expected[group][name], checkpoint[group][name]) for group in GROUPS for name in expected[group]]
    for array, loaded in [*arrays, (expected["alone"], checkpoint["alone"])]:
        assert array.dtype == loaded.dtype
        np.testing.assert_array_equal(array, loaded)
    assert all(checkpoint[name] == expected[name] for name in ("iteration", "draw", "seconds"))


def error_of(path, identity="mine", kind=CheckpointError):
    with pytest.raises(CheckpointError) as caught:
        load_checkpoint(path, identity)
    assert type(caught.value) is kind
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message


def assert_damaged(path):
    assert "damaged checkpoint (" in error_of(path, kind=DamagedCheckpointError)


def test_a_saved_checkpoint_is_loaded(saved):
    assert_is_the_example(load_checkpoint(saved, "mine"))
    assert [path.name for path in saved.parent.iterdir()] == ["run.npz"]


def test_a_missing_file_is_loaded_as_none(tmp_path):
    assert load_checkpoint(tmp_path / "run.npz", "mine") is None


def test_error_of_a_checkpoint_of_another_run_names_both(saved):
    message = error_of(saved, "another")
    assert message.endswith("data and models, 'another', got 'mine'; delete it to restart the run")


def test_truncated_checkpoints_are_damaged(saved):
    whole = saved.read_bytes()
    for size in {0, 1, 4, 30, len(whole) // 2, len(whole) - 1}:
        saved.write_bytes(whole[:size])
        assert_damaged(saved)


def outcome(path):
    """Return the outcome of loading: "whole", "refused", "other content", or the name of another error."""
    try:
        assert_is_the_example(load_checkpoint(path, "mine"))
    except DamagedCheckpointError as error:
        return "refused" if "\n" not in str(error) else "more than one line"
    except AssertionError:
        return "other content"
    except Exception as error:
        return type(error).__name__
    return "whole"


def flipped(saved, positions):
    whole, outcomes = saved.read_bytes(), set()
    for position in positions:
        damaged = bytearray(whole)
        damaged[position] ^= 1 << position % 8
        saved.write_bytes(damaged)
        outcomes.add(outcome(saved))
    return outcomes


def test_checkpoints_with_a_flipped_bit_are_damaged_or_unchanged(saved):
    # Some bits, of time stamps for example, are not read.
    assert flipped(saved, range(0, len(saved.read_bytes()), 5)) == {"refused", "whole"}


@pytest.mark.parametrize("group", ["parameters", "state", "curve", "alone"])
def test_a_checkpoint_without_an_array_is_damaged(saved, group):
    with np.load(saved) as file:
        arrays = {name: file[name] for name in file.files}
    arrays.pop(next(name for name in arrays if name.startswith(group)))
    saved.write_bytes(npz_of(**arrays))
    assert_damaged(saved)


def npz_of(**arrays):
    content = io.BytesIO()
    np.savez(content, **arrays)
    return content.getvalue()


def npy_of(array):
    content = io.BytesIO()
    np.save(content, array, allow_pickle=True)
    return content.getvalue()


def zip_of(name, content):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, content)
    return file.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        b"not an archive",
        npy_of(np.arange(3)),
        npy_of(np.array([{}], dtype=object)),
        npz_of(a=np.arange(3)),
        npz_of(header=np.array("{}")),
        npz_of(header=np.array("[1]")),
        npz_of(header=np.array('"text"')),
        npz_of(header=np.array("not json")),
        npz_of(header=np.array('{"identity": "mine", "arrays": [], "groups": []}')),
        npz_of(header=np.array('{"identity": "mine", "arrays": [], "groups": [], "plain": 3}')),
        npz_of(header=np.array('{"identity": "mine", "arrays": [], "groups": [], "plain": {}}'), other=np.arange(3)),
        npz_of(header=np.array([{"iteration": 3}], dtype=object)),
        zip_of("header.npy", b"not an array"),
        zip_of("header.txt", b"text"),
    ],
)
def test_files_of_another_kind_are_damaged_checkpoints(tmp_path, content):
    path = tmp_path / "run.npz"
    path.write_bytes(content)
    assert_damaged(path)


def test_a_folder_in_place_of_a_checkpoint_raises_and_is_kept(tmp_path):
    message = error_of(tmp_path)
    assert "cannot be written (is no regular file;" in message
    assert message.endswith("fix that, or delete it to restart the run")
    with pytest.raises(CheckpointError):
        resumed(tmp_path, "mine")
    assert tmp_path.is_dir()


# Checkpoints in the training loop.


def settings_for(**changes):
    stage = {"until": 20, "estimator": {"name": "pcd"}, "rate": 0.1}
    values = {"data": {"name": "made"}, "hidden": 5, "batch": 6, "trials": 2, "evaluate_every": 5, "schedule": [stage]}
    return parse(RunSettings, values | changes, "test")


@pytest.fixture
def interrupted(tmp_path, monkeypatch):
    """A checkpoint at iteration 9 of a run of `settings_for()` on `DATA`, which pauses after every iteration."""
    monkeypatch.setattr("rbmbench.training.checkpoint.CHECKPOINT_SECONDS", -1.0)
    monkeypatch.setattr(pace, "PAUSE_SECONDS", 0.0)

    def progress(iteration, iterations, value):
        if iteration == 10:
            raise KeyboardInterrupt

    path = tmp_path / "run.npz"
    with pytest.raises(KeyboardInterrupt):
        trainer.run(DATA, settings_for(), checkpoint=path, progress=progress)
    return path


OTHER_ROWS = DATA.copy()
OTHER_ROWS[3, 4] ^= 1
CHANGES = [{"seed": 1}, {"trials": 3}, {"first_trial": 2}, {"precision": "float64"}, {"batch": 7}, {"hidden": 4}]
OTHER_RUNS = [(OTHER_ROWS, {}), (DATA[:22], {}), (DATA.reshape(7, 23), {}), *((DATA, change) for change in CHANGES)]


def test_a_checkpoint_with_other_test_rows_raises(tmp_path):
    path, settings = tmp_path / "run.npz", settings_for(test_likelihood=True)
    with pytest.raises(StoppedError):
        trainer.run(DATA, settings, test=DATA[:5], checkpoint=path, stopping=iter([None, 15]).__next__)
    with pytest.raises(CheckpointError, match="checkpoint must be of these settings, data and models"):
        trainer.run(DATA, settings, test=DATA[:7], checkpoint=path)


@pytest.mark.parametrize(("data", "changes"), OTHER_RUNS)
def test_a_checkpoint_of_other_settings_or_data_raises_and_is_kept(interrupted, data, changes):
    before = interrupted.read_bytes()
    with pytest.raises(CheckpointError, match="checkpoint must be of these settings, data and models"):
        trainer.run(data, settings_for(**changes), checkpoint=interrupted)
    assert interrupted.read_bytes() == before


# Removal.


def test_an_owned_checkpoint_is_removed_only_without_an_exception(saved):
    with pytest.raises(ValueError, match="stop"), owned(saved):
        raise ValueError("stop")
    assert [path.name for path in saved.parent.iterdir()] == ["run.npz"]
    with owned(saved):
        assert saved.exists()
    assert list(saved.parent.iterdir()) == []


def test_owned_removes_only_half_written_files_of_its_paths(saved, tmp_path):
    names = (".run.npz.a1b2c3d_.npz", ".run.npz.a1b2c3d4.txt", ".other.npz.a1b2c3d4.npz", ".run.npz.npz", "run.npz.npz")
    for name in names:
        (saved.parent / name).write_text("half")
    output = tmp_path / "out" / "curve.parquet"
    output.parent.mkdir()
    (output.parent / ".curve.parquet.a1b2c3d4.parquet").write_text("half")
    with owned(saved, [output]):
        assert {path.name for path in saved.parent.iterdir()} == {*names[1:], "run.npz", "run.npz.lock"}
        assert list(output.parent.iterdir()) == []
