# SPDX-License-Identifier: BSD-3-Clause
"""Full and read-only disks: one-line errors, no half-written files, and resumed runs."""

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

# The layers are too large for enumeration: the run has snapshots, so that its checkpoint grows with evaluations.
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
    """The outputs of a run with enough space."""
    folder = tmp_path_factory.mktemp("whole")
    assert main(arguments(data, folder, folder / "run.npz")) == 0
    return outputs(folder)


def outputs(folder) -> list[bytes]:
    return [(folder / name).read_bytes() for name in ("curve.parquet", "model.npz")]


def error_line(capsys) -> str:
    """Return the last line of standard error, the only one with an error."""
    text = capsys.readouterr().err
    assert "Traceback" not in text
    assert "Exception ignored" not in text
    *before, last = text.splitlines()
    assert not [line for line in before if "error" in line]
    return last


FULL = r"rbmbench: error: {}: cannot be written \(no space left on device, \d+\.\d MB free; "
FULL += r"make room and run the same command again\)"


def test_a_run_is_resumed_after_its_disk_was_full(data, whole, tmp_path, capsys):
    # A checkpoint of 1.5 MB fits, but not the next one of 1.7 MB beside it.
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
def test_a_disk_too_full_for_outputs_keeps_the_checkpoint(data, whole, tmp_path, capsys, room):
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
        # Only the last stretch is trained again.
        assert capsys.readouterr().err.splitlines()[0].startswith("run: 12 of 12")
        assert outputs(disk.folder / "run") == whole


def test_a_full_disk_keeps_the_old_file(tmp_path):
    with small_disk(tmp_path / "disk", "64k") as disk:
        file = disk.folder / "numbers.npz"
        results.write_arrays(file, {"a": np.arange(3)})
        before = file.read_bytes()
        with pytest.raises(ResultsError, match=r"numbers\.npz: cannot be written \(no space left on device, 0\.\d MB"):
            results.write_arrays(file, {"a": np.random.default_rng(0).random(10**5)})
        assert os.listdir(disk.folder) == ["numbers.npz"]
        assert file.read_bytes() == before


def test_errors_of_flushing_raise_and_keep_the_old_file(tmp_path, monkeypatch):
    # On NFS and with some quotas, a full device raises when a file is flushed.

    def full(_descriptor):
        raise OSError(122, os.strerror(122))

    write_json(tmp_path / "values.json", 1)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ResultsError, match=r"values\.json: cannot be written \(disk quota exceeded, "):
        write_json(tmp_path / "values.json", 2)
    assert results.read_json(tmp_path / "values.json") == 1
    assert os.listdir(tmp_path) == ["values.json"]


# These files do not exist: a check of inputs before the output folder would name one of them.
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
    """A read-only folder, also for root."""
    with small_disk(tmp_path_factory.mktemp("disk"), "64k") as disk:
        disk.remount("ro")
        yield disk.folder


@pytest.mark.parametrize("step", STEPS)
def test_a_read_only_folder_raises_before_inputs_are_read(read_only, step, capsys):
    settings, inputs = STEPS[step]
    out = read_only / "runs" / "run"
    command = ["train"] if step == "train" else ["job", step]
    assert main([*command, "--settings", json.dumps(settings), "--out", str(out), *inputs]) == 2
    reason = f"{out}: cannot be written (read-only file system)"
    assert capsys.readouterr().err == f"rbmbench: error: {reason}\n"


def test_a_read_only_folder_raises_before_a_download(read_only, tmp_path, capsys):
    sources = ["--mirror", "http://127.0.0.1:9", "--cache", str(tmp_path)]
    assert main(["data", "--name", "usps", *sources, "--out", str(read_only / "data" / "usps.npz")]) == 2
    reason = f"{read_only}/data: cannot be written (read-only file system)"
    assert capsys.readouterr().err == f"rbmbench: error: {reason}\n"


def test_a_read_only_folder_of_checkpoints_raises_before_training(read_only, data, tmp_path, capsys):
    assert main(arguments(data, tmp_path / "run", read_only / "run.npz")) == 2
    reason = f"{read_only}/run.npz.lock: cannot be written (Read-only file system)"
    assert capsys.readouterr().err == f"rbmbench: error: {reason}\n"


@pytest.mark.parametrize("folder", ["results", "results/smoke/blocks"])
def test_the_workflow_raises_for_read_only_results_before_any_job(read_only, workspace, folder):
    link = workspace.folder / folder
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(read_only)
    output = workspace.plan("--configfile", "config/smoke.yaml", "--", "all", code=2)
    named = folder if "/" in folder else "results/smoke"
    reason = f"{named}: cannot be written (read-only file system)"
    lines = [line for line in output.splitlines() if line.startswith("rbmbench: ")]
    assert lines == [f"rbmbench: error: {reason}"]
    assert "Traceback" not in output
    assert "rule " not in output
