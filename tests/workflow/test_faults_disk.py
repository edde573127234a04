# SPDX-License-Identifier: BSD-3-Clause
"""Faults of the disk: full, or read-only. One line, nothing half-written, and a run that goes on when it is mended."""

import json
import os
import re

import numpy as np
import pytest
from disks import small_disk

from rbmbench.base.errors import ResultsError
from rbmbench.cli import main
from rbmbench.io import results
from rbmbench.io.atomic import write_json

# Neither layer can be enumerated: the run keeps its parameters, so that its checkpoint grows with every evaluation.
STAGE = {"until": 12, "estimator": {"name": "cd"}, "rate": 0.1}
VALUES = {"data": {"name": "digits"}, "hidden": 101, "batch": 97, "schedule": [STAGE], "trials": 5, "evaluate_every": 1}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    file = tmp_path_factory.mktemp("data") / "digits.npz"
    assert main(["data", "--name", "digits", "--out", str(file)]) == 0
    return file


@pytest.fixture(autouse=True)
def _checkpoint_at_every_evaluation(monkeypatch):
    monkeypatch.setenv("RBMBENCH_CHECKPOINT_SECONDS", "0")


def arguments(data, out, checkpoint) -> list[str]:
    settings = ["--settings", json.dumps(VALUES), "--data", str(data), "--run-id", "run"]
    return ["train", *settings, "--out", str(out), "--checkpoint", str(checkpoint)]


@pytest.fixture(scope="module")
def whole(data, tmp_path_factory):
    """What a run leaves that had room enough."""
    folder = tmp_path_factory.mktemp("whole")
    assert main(arguments(data, folder, folder / "run.npz")) == 0
    return outputs(folder)


def outputs(folder) -> list[bytes]:
    return [(folder / name).read_bytes() for name in ("curve.parquet", "model.npz")]


def error_line(capsys) -> str:
    """Return the last line on standard error, the only one that tells an error."""
    text = capsys.readouterr().err
    assert "Traceback" not in text
    assert "Exception ignored" not in text
    *before, last = text.splitlines()
    assert not [line for line in before if "error" in line]
    return last


FULL = r"rbmbench: error: {}: cannot be written \(no space left on device, \d+\.\d MB free; "
FULL += r"make room and run the same command again\)"


def test_a_disk_that_fills_up_leaves_the_last_checkpoint_to_go_on_from(data, whole, tmp_path, capsys):
    # A checkpoint of 1.5 MB fits, and the next one, of 1.7 MB, does not fit beside it.
    with small_disk(tmp_path / "disk", "3m") as disk:
        checkpoint, out = disk.folder / "checkpoints/run.npz", disk.folder / "runs/run"
        assert main(arguments(data, out, checkpoint)) == 2
        assert re.fullmatch(FULL.format(re.escape(str(checkpoint))), error_line(capsys))
        assert os.listdir(checkpoint.parent) == ["run.npz"]
        assert not out.exists()
        with np.load(checkpoint) as file:
            iteration = json.loads(str(file["header"]))["plain"]["iteration"]
        disk.remount("size=64m")
        assert main(arguments(data, out, checkpoint)) == 0
        assert capsys.readouterr().err.startswith(f"run: {iteration + 1} of 12")
        assert outputs(out) == whole
        assert os.listdir(checkpoint.parent) == []


@pytest.mark.parametrize("room", [4, 40, 400])
def test_a_disk_without_room_for_the_outputs_costs_no_training(data, whole, tmp_path, capsys, room):
    checkpoint = tmp_path / "run.npz"
    with small_disk(tmp_path / "disk", f"{room}k") as disk:
        assert main(arguments(data, disk.folder / "run", checkpoint)) == 2
        line = error_line(capsys)
        assert re.fullmatch(FULL.format(re.escape(f"{disk.folder}/run/") + r"\w+\.\w+"), line)
        finished = os.listdir(disk.folder / "run")
        assert set(finished) <= {"curve.parquet", "model.npz"}
        for name in finished:
            assert (disk.folder / "run" / name).read_bytes() in whole
        disk.remount("size=64m")
        assert main(arguments(data, disk.folder / "run", checkpoint)) == 0
        # The last stretch alone was trained again.
        assert capsys.readouterr().err.splitlines()[0].startswith("run: 12 of 12")
        assert outputs(disk.folder / "run") == whole


def test_a_full_disk_leaves_the_old_file(tmp_path):
    with small_disk(tmp_path / "disk", "64k") as disk:
        file = disk.folder / "numbers.npz"
        results.write_arrays(file, {"a": np.arange(3)})
        before = file.read_bytes()
        with pytest.raises(ResultsError, match=r"numbers\.npz: cannot be written \(no space left on device, 0\.\d MB"):
            results.write_arrays(file, {"a": np.random.default_rng(0).random(10**5)})
        assert os.listdir(disk.folder) == ["numbers.npz"]
        assert file.read_bytes() == before


def test_what_a_file_system_tells_late_is_told_too(tmp_path, monkeypatch):
    """On NFS, and where a quota is counted late, a full device shows when a file is flushed."""

    def full(_descriptor):
        raise OSError(122, os.strerror(122))

    write_json(tmp_path / "values.json", 1)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ResultsError, match=r"values\.json: cannot be written \(disk quota exceeded, "):
        write_json(tmp_path / "values.json", 2)
    assert results.read_json(tmp_path / "values.json") == 1
    assert os.listdir(tmp_path) == ["values.json"]


# No file of these is there: who looks for them before the folder to write is looked at names another file.
INPUTS = ["--data", "no.npz", "--model", "no"]
STEPS = {
    "train": (VALUES, [*INPUTS[:2], "--run-id", "run"]),
    "evaluate": ({}, INPUTS),
    "ground_truth": ({"method": "exact"}, INPUTS),
    "estimate": ({"estimator": {"name": "cd"}, "batch": 7}, [*INPUTS, "--needs", "no"]),
    "sample": ({"samplers": {"gibbs": {"name": "gibbs"}}}, INPUTS),
    "couple": ({"visible": 5, "hidden": 3, "width": 0.1, "coupling": "rbm"}, []),
}


@pytest.fixture(scope="module")
def read_only(tmp_path_factory):
    """A folder that cannot be written, not even by root."""
    with small_disk(tmp_path_factory.mktemp("disk"), "64k") as disk:
        disk.remount("ro")
        yield disk.folder


@pytest.mark.parametrize("step", STEPS)
def test_a_read_only_folder_is_refused_before_anything_is_read(read_only, step, capsys):
    settings, inputs = STEPS[step]
    out = read_only / "runs" / "run"
    command = ["train"] if step == "train" else ["job", step]
    assert main([*command, "--settings", json.dumps(settings), "--out", str(out), *inputs]) == 2
    reason = f"{out}: cannot be written (read-only file system)"
    assert capsys.readouterr().err == f"rbmbench: error: {reason}\n"


def test_a_read_only_folder_is_refused_before_a_download(read_only, tmp_path, capsys):
    sources = ["--mirror", "http://127.0.0.1:9", "--cache", str(tmp_path)]
    assert main(["data", "--name", "usps", *sources, "--out", str(read_only / "data" / "usps.npz")]) == 2
    reason = f"{read_only}/data: cannot be written (read-only file system)"
    assert capsys.readouterr().err == f"rbmbench: error: {reason}\n"


def test_a_read_only_folder_of_checkpoints_is_refused_before_training(read_only, data, tmp_path, capsys):
    assert main(arguments(data, tmp_path / "run", read_only / "run.npz")) == 2
    reason = f"{read_only}/run.npz.lock: cannot be written (Read-only file system)"
    assert capsys.readouterr().err == f"rbmbench: error: {reason}\n"


@pytest.mark.parametrize("folder", ["results", "results/smoke/blocks"])
def test_the_workflow_refuses_read_only_results_before_any_work(read_only, workspace, folder):
    link = workspace.folder / folder
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(read_only)
    output = workspace.plan("--configfile", "config/smoke.yaml", "--", "all", code=2)
    refused = folder if "/" in folder else "results/smoke"
    reason = f"{refused}: cannot be written (read-only file system)"
    lines = [line for line in output.splitlines() if line.startswith("rbmbench: ")]
    assert lines == [f"rbmbench: error: {reason}"]
    assert "Traceback" not in output
    assert "rule " not in output
