# SPDX-License-Identifier: BSD-3-Clause
"""Faults of jobs other than training: kills, signals to stop, and second processes."""

import json
import platform
import signal
from dataclasses import dataclass
from pathlib import Path

import pytest
from core_helpers import binary_data
from workspaces import run_cli

from rbmbench import datasets, jobs
from rbmbench.cli import main
from rbmbench.io import provenance, results
from rbmbench.io.layout import META
from rbmbench.io.locks import locked
from rbmbench.training.checkpoint import Checkpointer

RUN = {"data": {"name": "made"}, "hidden": 5, "batch": 6, "trials": 2, "evaluate_every": 3}
RUN |= {"schedule": [{"until": 3, "estimator": {"name": "cd"}, "rate": 0.1}]}
EXACT = {"method": "exact"}
COUPLING = {"visible": 13, "hidden": 7, "coupling": "rbm", "replications": 1009}
SAMPLING = {"samplers": {"a": {"name": "gibbs"}, "b": {"name": "herding"}}, "samples": 37, "points": 5, "shown": 11}
SETTINGS = {
    "ground_truth": {"method": "parallel_tempering", "chains": 3, "burn_in": 13, "samples": 101},
    "estimate": {"estimator": {"name": "pcd"}, "batch": 4, "estimates": 31},
    "couple": COUPLING,
    "sample": SAMPLING,
}
KINDS = pytest.mark.parametrize("kind", sorted(SETTINGS))


@dataclass(frozen=True)
class Job:
    """A job of a kind in its own folder, on a model in another one."""

    kind: str
    folder: Path
    model: Path

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoints" / "state.npz"

    def arguments(self) -> list[str]:
        inputs = ["--data", str(self.model / "data.npz"), "--model", str(self.model / "run")]
        truth = ["--needs", str(self.model / "truth")]
        more = {"couple": [], "estimate": inputs + truth}.get(self.kind, inputs)
        files = ["--checkpoint", str(self.checkpoint), "--out", str(self.folder / "out")]
        return ["job", self.kind, "--settings", json.dumps(SETTINGS[self.kind]), *more, *files]

    def outputs(self) -> list:
        """Return the reproducible outputs, without times."""
        out = self.folder / "out"
        if self.kind == "estimate":
            table = results.read_table(out, "bias.parquet")
            return table[table["quantity"] != "seconds_per_estimate"].to_numpy().tolist()
        return [(out / name).read_bytes() for name in jobs.of_name(self.kind).files]

    def files(self) -> list[str]:
        paths = (path for path in self.folder.rglob("*") if path.is_file())
        return sorted(str(path.relative_to(self.folder)) for path in paths)

    def finished(self) -> list[str]:
        return sorted(f"out/{name}" for name in (*jobs.of_name(self.kind).files, META))


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    """A data set, a trained model and its exact expectations."""
    folder = tmp_path_factory.mktemp("model")
    parts = {name: binary_data(rows, 7, rows) for name, rows in (("train", 29), ("validation", 17), ("test", 23))}
    made = datasets.build("made", "Made", **parts, source="made", preprocessing="none", options={})
    datasets.save(made, folder / "data.npz")
    data = ["--data", str(folder / "data.npz")]
    assert main(["train", "--settings", json.dumps(RUN), *data, "--run-id", "run", "--out", str(folder / "run")]) == 0
    files = ["--model", str(folder / "run"), "--out", str(folder / "truth")]
    assert main(["job", "ground_truth", "--settings", json.dumps(EXACT), *data, *files]) == 0
    return folder


@pytest.fixture(scope="module")
def undisturbed(model, tmp_path_factory):
    """Return a function that returns the outputs of an undisturbed job of a kind."""

    def outputs(kind: str) -> list:
        job = Job(kind, tmp_path_factory.mktemp("whole"), model)
        assert main(job.arguments()) == 0
        assert job.files() == job.finished()
        return job.outputs()

    return outputs


def assert_ends_as(expected: list, job: Job, monkeypatch) -> None:
    """Assert that the same command resumes from its checkpoint, with the outputs of an undisturbed job."""
    resume, calls = Checkpointer.resume, []

    def recorded(checkpointer, identity):
        calls.append((checkpointer, resume(checkpointer, identity)))
        return calls[-1][1]

    monkeypatch.setattr(Checkpointer, "resume", recorded)
    monkeypatch.setattr(provenance, "seconds_since_start", lambda: 0.0)
    assert main(job.arguments()) == 0
    checkpointer, state = calls[0]
    assert state is not None
    assert results.read_meta(job.folder / "out")["wall"]["total_seconds"] == checkpointer.earlier > 0
    assert job.outputs() == expected
    assert job.files() == job.finished()


# Contents of checkpoints are tested in tests/unit/measurements/test_resuming.py.
@pytest.mark.parametrize(
    "kind", ["estimate", "sample", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("couple", "ground_truth"))]
)
def test_a_killed_job_resumes_and_removes_its_files(kind, model, undisturbed, tmp_path, monkeypatch):
    job = Job(kind, tmp_path, model)
    run_cli(job.arguments(), code=-signal.SIGKILL, fault="SIGKILL rename state.npz 3")
    assert [name for name in job.files() if ".state.npz." in name]
    assert "checkpoints/state.npz" in job.files()
    assert not (tmp_path / "out").exists()
    assert_ends_as(undisturbed(kind), job, monkeypatch)


def test_a_job_stopped_by_a_signal_writes_a_checkpoint(model, undisturbed, tmp_path, monkeypatch):
    job = Job("estimate", tmp_path, model)
    output = run_cli(job.arguments(), code=128 + signal.SIGTERM, fault="SIGTERM rename state.npz 5")
    assert output.splitlines()[-1] == (
        f"rbmbench: out: stopped at part 6 of 31; run the same command again to resume from {job.checkpoint}"
    )
    assert job.files() == ["checkpoints/state.npz"]
    assert_ends_as(undisturbed("estimate"), job, monkeypatch)


def check_locked(arguments: list[str], file: Path, capsys) -> None:
    """Assert that a command raises while a file is locked, names the process with the lock, and writes nothing."""
    with locked(file):
        assert main(arguments) == 2
        assert [path.name for path in file.parent.iterdir()] == [f"{file.name}.lock"]
    assert f"rbmbench: error: {file}: in use by process " in (error := capsys.readouterr().err)
    assert f"on {platform.node()}, which computes the same" in error


@KINDS
def test_a_second_process_of_a_job_raises(kind, model, tmp_path, capsys):
    job = Job(kind, tmp_path, model)
    check_locked(job.arguments(), job.checkpoint, capsys)
    assert not (tmp_path / "out").exists()


def test_a_second_process_of_a_data_set_or_a_notebook_raises(repository, tmp_path, capsys):
    file = tmp_path / "bars" / "bars.npz"
    check_locked(["data", "--name", "bars_and_stripes", "--out", str(file)], file, capsys)
    notebook = tmp_path / "notebooks" / "a.ipynb"
    template = ["--template", str(repository / "notebooks" / "figure.ipynb"), "--set", "spec=none"]
    files = ["--notebook", str(notebook), "--page", str(tmp_path / "a.html"), "--log", str(tmp_path / "log.ipynb")]
    check_locked(["render", *template, *files], notebook, capsys)
