# SPDX-License-Identifier: BSD-3-Clause
"""Faults of a training process: one-line messages, and resumed runs that equal undisturbed ones."""

import json
import os
import platform
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from workspaces import run_cli, start_cli, wait_for

from rbmbench.cli import main
from rbmbench.io.locks import locked

STAGE = {"until": 60, "estimator": {"name": "pcd"}, "rate": 0.1}
VALUES = {"data": {"name": "bars_and_stripes"}, "hidden": 7, "batch": 11, "schedule": [STAGE], "trials": 3}
VALUES |= {"evaluate_every": 10}
OUTPUTS = ("curve.parquet", "model.npz", "meta.json")


@dataclass(frozen=True)
class Training:
    """A run in its own folder."""

    folder: Path
    data: Path

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoints" / "run.npz"

    def arguments(self, **changes) -> list[str]:
        settings = ["--settings", json.dumps(VALUES | changes), "--data", str(self.data), "--run-id", "run"]
        return ["train", *settings, "--out", str(self.folder / "run"), "--checkpoint", str(self.checkpoint)]

    def outputs(self) -> list[bytes]:
        """Return the reproducible files of the run."""
        return [(self.folder / "run" / name).read_bytes() for name in OUTPUTS[:2]]

    def files(self) -> list[str]:
        """Return the names of all files below the folder."""
        paths = (path for path in self.folder.rglob("*") if path.is_file())
        return sorted(str(path.relative_to(self.folder)) for path in paths)


FINISHED = sorted(f"run/{name}" for name in OUTPUTS)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Training:
    """An undisturbed run."""
    folder = tmp_path_factory.mktemp("whole")
    assert main(["data", "--name", "bars_and_stripes", "--out", str(folder / "bars.npz")]) == 0
    training = Training(folder / "results", folder / "bars.npz")
    assert main(training.arguments()) == 0
    assert training.files() == FINISHED
    return training


@pytest.fixture
def training(whole, tmp_path) -> Training:
    """The same run, not started."""
    return Training(tmp_path, whole.data)


@pytest.fixture(scope="module")
def killed(whole, tmp_path_factory) -> bytes:
    """The checkpoint of a run that was killed after iteration 20."""
    training = Training(tmp_path_factory.mktemp("killed"), whole.data)
    run_cli(training.arguments(), code=-signal.SIGKILL, fault="SIGKILL iteration 30")
    assert training.files() == ["checkpoints/run.npz", "checkpoints/run.npz.lock"]
    return training.checkpoint.read_bytes()


@pytest.fixture
def begun(training, killed) -> Training:
    """The same run, killed after iteration 20."""
    training.checkpoint.parent.mkdir()
    training.checkpoint.write_bytes(killed)
    return training


def assert_ends_as(training, whole) -> None:
    """Assert that the same command ends with the files of the undisturbed run."""
    assert main(training.arguments()) == 0
    assert training.outputs() == whole.outputs()
    assert training.files() == FINISHED


def only_line(text: str) -> str:
    """Return the only line of the program besides progress."""
    assert "Traceback" not in text
    lines = [line for line in text.splitlines() if line.startswith("rbmbench: ")]
    assert len(lines) == 1, text
    return lines[0]


def test_a_run_resumes_from_its_checkpoint(begun, whole, capsys):
    assert_ends_as(begun, whole)
    assert capsys.readouterr().err.splitlines()[0].startswith("run: 30 of 60")


def others(*values):
    """Return further parameters, for slow tests."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]


SIGNAL = pytest.mark.parametrize("name", ["SIGTERM", *others("SIGINT", "SIGHUP")])


@pytest.mark.parametrize("moment", ["run.npz 3", "model.npz 1", *others("curve.parquet 1", "meta.json 1")])
def test_a_run_killed_while_a_file_is_written_is_resumed(training, whole, moment):
    run_cli(training.arguments(), code=-signal.SIGKILL, fault=f"SIGKILL rename {moment}")
    left = training.files()
    # The half-written file has a temporary name, and existing files are whole.
    name = moment.split()[0]
    assert [file for file in left if f".{name}." in file]
    assert f"run/{name}" not in left
    assert "checkpoints/run.npz" in left
    assert_ends_as(training, whole)


@SIGNAL
def test_a_signal_stops_a_run_with_a_checkpoint_and_a_message(training, whole, name, monkeypatch):
    monkeypatch.setenv("RBMBENCH_CHECKPOINT_SECONDS", "1e9")
    number = getattr(signal, name)
    log = training.folder.parent / "run.log"
    output = run_cli([*training.arguments(), "--log", log], code=128 + number, fault=f"{name} iteration 30")
    assert log.read_text() == output
    assert output.splitlines() == [
        f"rbmbench: {name}: stopping in some seconds; a second SIGINT ends it at once",
        "rbmbench: run: stopped at iteration 30 of 60; run the same command again to resume from "
        f"{training.checkpoint}",
    ]
    assert training.files() == ["checkpoints/run.npz"]
    assert_ends_as(training, whole)


@SIGNAL
def test_a_signal_stops_a_starting_run_at_once(begun, whole, name):
    before, number = begun.checkpoint.read_bytes(), getattr(signal, name)
    output = run_cli(begun.arguments(), code=128 + number, fault=f"{name} warm_up 1")
    assert output.splitlines()[1:] == ["rbmbench: run: stopped while it was starting; run the same command again"]
    assert begun.files() == ["checkpoints/run.npz"]
    assert begun.checkpoint.read_bytes() == before
    assert_ends_as(begun, whole)


def test_a_signal_before_the_first_iteration_stops_a_run_at_once(training):
    # An iteration takes minutes, also the one before, which compiles the kernels.
    stage = STAGE | {"estimator": {"name": "pcd", "options": {"k": 10**6}}}
    process = start_cli(training.arguments(hidden=499, schedule=[stage]))
    wait_for(training.checkpoint.with_name("run.npz.lock").exists, process)
    time.sleep(2)
    process.terminate()
    try:
        output, _ = process.communicate(timeout=10)
    finally:
        process.kill()
    assert process.returncode == 128 + signal.SIGTERM, output
    assert output.splitlines()[-1] == "rbmbench: run: stopped while it was starting; run the same command again"
    assert training.files() == []


def test_a_signal_after_the_last_iteration_does_not_stop_a_run(training, whole):
    run_cli(training.arguments(), fault="SIGTERM iteration 60")
    assert training.outputs() == whole.outputs()
    assert training.files() == FINISHED


def test_a_signal_stops_a_run_with_a_closed_output(training, whole):
    # When a job on a cluster is stopped, so is the reader of its output.
    read, write = os.pipe()
    os.close(read)
    process = start_cli(training.arguments(), "SIGTERM iteration 30", output=write)
    os.close(write)
    assert process.wait(timeout=300) == 128 + signal.SIGTERM
    assert training.files() == ["checkpoints/run.npz"]
    assert_ends_as(training, whole)


def test_a_second_process_raises_while_the_first_runs(begun, whole, capsys):
    before = begun.checkpoint.read_bytes()
    with locked(begun.checkpoint):
        assert main(begun.arguments()) == 2
        assert begun.files() == ["checkpoints/run.npz", "checkpoints/run.npz.lock"]
    assert begun.checkpoint.read_bytes() == before
    assert only_line(capsys.readouterr().err) == (
        f"rbmbench: error: {begun.checkpoint}: in use by process {os.getpid()} on {platform.node()}, which computes "
        "the same; wait until it ends, or end it, and run the same command again"
    )
    assert_ends_as(begun, whole)


def test_a_damaged_checkpoint_is_reported_moved_and_not_used(begun, whole, capsys):
    damaged = begun.checkpoint.read_bytes()[:-100]
    begun.checkpoint.write_bytes(damaged)
    assert main(begun.arguments()) == 0
    line = only_line(capsys.readouterr().err)
    assert line.startswith(f"rbmbench: warning: {begun.checkpoint}: damaged checkpoint (")
    assert line.endswith("; moved to run.npz.unreadable, the run starts from the beginning")
    moved = begun.checkpoint.with_name("run.npz.unreadable")
    assert moved.read_bytes() == damaged
    moved.unlink()
    assert begun.outputs() == whole.outputs()
    assert begun.files() == FINISHED
