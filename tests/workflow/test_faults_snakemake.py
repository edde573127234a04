# SPDX-License-Identifier: BSD-3-Clause
"""Faults under Snakemake: killed jobs, killed Snakemake, two Snakemakes in one folder, lost files of runs."""

import copy
import json
import os
import platform
import signal
from contextlib import suppress

import psutil
import pytest
import tiny_paper
from disks import small_disk
from workspaces import wait_for

from rbmbench.cli import main
from rbmbench.io.results import read_json

PAPER = copy.deepcopy(tiny_paper.PAPER) | {"defaults": {"trials": 3, "seed": 11, "evaluate_every": 10}, "tables": {}}
PAPER["data"]["bars"]["batch"] = 7
PAPER["algorithms"]["pcd_1"] = {"label": "PCD-1", "estimator": "pcd", "options": {"k": 1}}
PAPER["figures"]["fig1"]["algorithms"] = ["cd_1", "pcd_1"]
PAPER["figures"]["fig1"]["panels"]["a"]["iterations"] = 60
FILES = ("--configfile", "config/tiny.yaml", "--cores", "1")
OUTPUTS = ("curve.parquet", "model.npz", "meta.json")


@pytest.fixture
def tiny(workspace):
    """A workspace with a paper of two short runs, each in its own process."""
    tiny_paper.add_tiny_paper(workspace, PAPER, {"claims": []})
    tiny_paper.without_bundles(workspace)
    return workspace


def runs_of(workspace) -> list[str]:
    """Return the folders of the two runs, below results/tiny/runs."""
    names = workspace.planned(*FILES, "--", "tiny_fig1")
    return sorted({os.path.dirname(name) for name in names if "/runs/" in name})


def files_of(run: str) -> list[str]:
    return [f"{run}/{name}" for name in OUTPUTS]


def contents(workspace, run: str) -> list[bytes]:
    """Return the reproducible files of a run."""
    return [(workspace.folder / run / name).read_bytes() for name in OUTPUTS[:2]]


def assert_as_undisturbed(workspace, run: str, folder) -> None:
    """Assert that a run of Snakemake equals an undisturbed one of the command line."""
    settings = json.dumps(read_json(workspace.folder / run / "meta.json")["settings"])
    data = str(workspace.folder / "results/tiny/datasets/bars.npz")
    arguments = ["train", "--settings", settings, "--data", data, "--run-id", "whole", "--out", str(folder / "whole")]
    assert main(arguments) == 0
    assert contents(workspace, run) == [(folder / "whole" / name).read_bytes() for name in OUTPUTS[:2]]


def left_over(workspace) -> list[str]:
    """Return the names of checkpoints, locks and half-written files."""
    results = workspace.folder / "results"
    return [path.name for path in [*results.rglob(".*"), *results.glob("tiny/checkpoints/*")]]


def states(workspace, run: str) -> dict[str, tuple[bytes, int]]:
    """Return the contents and modification times of the files of a run."""
    files = [workspace.folder / file for file in files_of(run)]
    return {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in files}


@pytest.mark.slow
def test_a_killed_job_resumes_in_the_next_run(tiny, tmp_path):
    first, second = runs_of(tiny)
    name, targets = os.path.basename(second), ["--", *files_of(first), *files_of(second)]
    tiny.snakemake(*FILES, "--", *files_of(first))
    before = states(tiny, first)
    output = tiny.snakemake(*FILES, *targets, code=1, fault="SIGKILL iteration 40")
    assert "(rule train_run" in output
    assert not (tiny.folder / second).exists()
    assert left_over(tiny) == [f"{name}.npz", f"{name}.npz.lock"]
    tiny.snakemake(*FILES, *targets)
    log = (tiny.folder / f"results/tiny/logs/train/{name}.log").read_text()
    assert log.startswith(f"{name}: 40 of 60")
    assert_as_undisturbed(tiny, second, tmp_path)
    assert states(tiny, first) == before
    assert left_over(tiny) == []
    # Only a finished run that lost a file is computed again, with the same bytes.
    kept = states(tiny, second)
    (tiny.folder / first / "curve.parquet").unlink()
    assert tiny.jobs(*FILES, *targets) == {"train_run": 1}
    tiny.snakemake(*FILES, *targets)
    assert contents(tiny, first) == [before[name][0] for name in OUTPUTS[:2]]
    assert states(tiny, second) == kept


@pytest.mark.slow
def test_snakemake_continues_with_a_closed_output(tiny):
    run, _ = runs_of(tiny)
    process = tiny.start(*FILES, "--", *files_of(run))
    while "to run" not in process.stdout.readline():
        assert process.poll() is None
    process.stdout.close()
    assert process.wait(timeout=300) == 0
    assert left_over(tiny) == []
    assert tiny.jobs(*FILES, "--", *files_of(run)) == {}


@pytest.mark.slow
def test_runs_continue_without_space_for_logs(tiny, tmp_path):
    run, _ = runs_of(tiny)
    with small_disk(tmp_path / "disk", "64k") as disk:
        logs = tiny.folder / "results/tiny/logs"
        logs.parent.mkdir(parents=True)
        logs.symlink_to(disk.folder)
        for folder in ("data", "train"):
            (logs / folder).mkdir()
        assert "done" not in disk.run(f"cat /dev/zero > '{tmp_path}/disk/full'")
        output = tiny.snakemake(*FILES, "--", *files_of(run))
    assert output.count("No space left on device); the command goes on without this log") == 2
    assert left_over(tiny) == []


@pytest.mark.slow
def test_a_run_of_a_killed_snakemake_stays_locked_while_it_runs(tiny, tmp_path):
    run, _ = runs_of(tiny)
    target = ["--", *files_of(run)]
    checkpoint = tiny.folder / f"results/tiny/checkpoints/{os.path.basename(run)}.npz"
    killed = tiny.start(*FILES, *target, fault="SIGSTOP iteration 40")
    try:
        child = wait_for(lambda: stopped_training(killed), killed)
        before = checkpoint.read_bytes()
        # Snakemake's lock stops a second one.
        assert_locked(tiny, target)
        killed.kill()
        killed.wait(timeout=60)
        # Snakemake's lock and its child remain; after --unlock the child still has the lock of the run.
        assert_locked(tiny, target)
        tiny.snakemake(*FILES, "--unlock")
        output = tiny.snakemake(*FILES, "--rerun-incomplete", *target, code=1)
        assert checkpoint.read_bytes() == before
    finally:
        os.killpg(killed.pid, signal.SIGKILL)
    assert (
        f"rbmbench: error: results/tiny/checkpoints/{checkpoint.name}: in use by process {child.pid} on "
        f"{platform.node()}, which computes the same; wait until it ends, or end it, and run the same command again"
    ) in output
    tiny.snakemake(*FILES, "--rerun-incomplete", *target)
    assert_as_undisturbed(tiny, run, tmp_path)
    assert left_over(tiny) == []


@pytest.mark.slow
def test_lock_of_a_run_is_kept_while_snakemakes_of_other_targets_end(tiny, tmp_path):
    first, second = runs_of(tiny)
    tiny.snakemake(*FILES, "--", "results/tiny/datasets/bars.npz")
    target = ["--", *files_of(first)]
    checkpoint = tiny.folder / f"results/tiny/checkpoints/{os.path.basename(first)}.npz"
    stopped = tiny.start(*FILES, *target, fault="SIGSTOP iteration 40")
    try:
        child = wait_for(lambda: stopped_training(stopped), stopped)
        before = checkpoint.read_bytes()
        # Without shared targets, the first Snakemake that ends removes the locks of all.
        tiny.snakemake(*FILES, "--", *files_of(second))
        output = tiny.snakemake(*FILES, *target, code=1)
        assert f"{checkpoint.name}: in use by process {child.pid} on " in output
        assert checkpoint.read_bytes() == before
        child.send_signal(signal.SIGCONT)
        assert stopped.wait(timeout=300) == 0, stopped.communicate()[0]
    finally:
        with suppress(ProcessLookupError):
            os.killpg(stopped.pid, signal.SIGKILL)
    for run in (first, second):
        assert_as_undisturbed(tiny, run, tmp_path / os.path.basename(run))
    assert left_over(tiny) == []


def assert_locked(workspace, target) -> None:
    """Assert that Snakemake reports a locked folder and starts no job."""
    output = workspace.snakemake(*FILES, *target, code=1)
    assert "Error: Directory cannot be locked." in output
    assert "rule " not in output


def stopped_training(process) -> psutil.Process | None:
    """Return the suspended training process of a Snakemake, or None."""
    for child in psutil.Process(process.pid).children(recursive=True):
        with suppress(psutil.Error):
            if "--run-id" in child.cmdline() and child.status() == psutil.STATUS_STOPPED:
                return child
    return None
