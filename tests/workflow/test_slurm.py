# SPDX-License-Identifier: BSD-3-Clause
"""The workflow on a SLURM of one node: results, repeated jobs, and requests of jobs."""

import json
import os
import re
import shutil
import signal

import numpy as np
import pandas as pd
import psutil
import pytest
import slurm_cluster
from tiny_paper import FILES, PAPER, without_bundles
from workspaces import SLURM, Workspace, new_workspace, wait_for

from rbmbench.io.results import read_table

PATIENT = {"seconds": 600.0, "pause": 0.2}
SMOKE = ("--configfile", "config/smoke.yaml")
# Records the given GPUs, and computes on the CPU. Checkpoints are written at every evaluation, see workspaces.py.
EAGER = """
import os, pathlib, sys
from rbmbench import cli
pathlib.Path("gpus_seen.txt").write_text(os.environ.get("CUDA_VISIBLE_DEVICES", "none"))
os.environ["RBMBENCH_BACKEND"] = "numpy"
sys.exit(cli.main())
"""
MISSING = slurm_cluster.what_is_missing()
pytestmark = [pytest.mark.cluster, pytest.mark.skipif(MISSING is not None, reason=str(MISSING))]


@pytest.fixture
def cluster():
    """A SLURM started for one test, which takes a second."""
    with slurm_cluster.running_cluster() as running:
        yield running


@pytest.fixture
def eager(tiny) -> Workspace:
    """The tiny paper with checkpoints at all evaluations; short jobs share a job of SLURM, not a process."""
    (tiny.folder / "eager.py").write_text(EAGER)
    rules = tiny.folder / "workflow/rules/jobs.smk"
    text = rules.read_text()
    assert '"rbmbench job ' in text
    rules.write_text(text.replace('"rbmbench job ', '"python eager.py job '))
    without_bundles(tiny)
    return tiny


@pytest.fixture
def submit():
    """A function that starts Snakemake in a workspace; its processes are killed at the end."""
    started = []

    def start(workspace, *arguments):
        started.append(workspace.start(*SLURM, *arguments))
        return started[-1]

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
            process.communicate()


def contents(folder) -> dict[str, bytes | str]:
    """Return results without times and paths: models, curves, numbers of figures and tables, by name."""
    results = {}
    for pattern in ("runs/*/model.npz", "gradients/*/*.npz", "samples/*/shown.npz"):
        results |= {str(file.relative_to(folder)): file.read_bytes() for file in folder.glob(pattern)}
    for file in [*folder.glob("runs/*/curve.parquet"), *folder.glob("evaluations/*/curve.parquet")]:
        results[str(file.relative_to(folder))] = read_table(file.parent, "curve.parquet").to_csv()
    for file in [*folder.glob("data/*.csv"), *folder.glob("tables/*.csv")]:
        numbers = pd.read_csv(file)
        if not is_run_times(folder / f"specs/{file.stem}.json"):
            timed = [name for name in numbers if name.startswith("seconds")]
            results[str(file.relative_to(folder))] = numbers.drop(columns=timed).to_csv()
    return results


def is_run_times(spec) -> bool:
    """Return whether a spec is that of a table of run times, which are not reproducible."""
    return json.loads(spec.read_text())["kind"] == "run_times"


def trainings() -> list[psutil.Process]:
    """Return the training processes of the node, by their arguments."""
    processes = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if "eager.py" in words and "--run-id" in words:
            processes.append(process)
    return processes


def assert_equal_results(local: Workspace, remote: Workspace, scale: str) -> None:
    """Assert that two workspaces have the same results."""
    expected, files = (contents(each.folder / "results" / scale) for each in (local, remote))
    assert expected
    assert set(files) == set(expected)
    assert [name for name in expected if files[name] != expected[name]] == []


@pytest.mark.parametrize(
    "target",
    ["sdcp_fig2", pytest.param("popcd_table1", marks=pytest.mark.slow), pytest.param("all", marks=pytest.mark.slow)],
)
def test_results_equal_those_without_slurm(cluster, repository, workspace, tmp_path_factory, target):
    local = new_workspace(repository, tmp_path_factory.mktemp("local"))
    local.snakemake(*SMOKE, "--", target, seconds=3600)
    workspace.snakemake(*SLURM, *SMOKE, "--", target, seconds=3 * 3600)
    assert_equal_results(local, workspace, "smoke")
    assert workspace.jobs(*SMOKE, "--", target) == {}


@pytest.fixture
def two_long_runs(eager) -> tuple[Workspace, list[str]]:
    """A workspace with two runs of some seconds that share a job, and their models."""
    return eager, models_of(eager, iterations=50_000)


@pytest.fixture
def two_runs(eager) -> tuple[Workspace, list[str]]:
    """The same with a tenth of the iterations."""
    return eager, models_of(eager, iterations=5_000)


def models_of(workspace, iterations: int) -> list[str]:
    """Return the models of the two runs of Figure 1 with a number of iterations."""
    panel = PAPER["figures"]["fig1"]["panels"]["a"] | {"iterations": iterations, "evaluate_every": 250}
    workspace.edit("config/papers/tiny.yaml", "figures", "fig1", "panels", "a", panel)
    return [name for name in planned(workspace) if name.endswith("model.npz")]


def test_failed_jobs_are_repeated_and_resume_to_equal_results(cluster, submit, two_long_runs, tmp_path_factory):
    workspace, models = two_long_runs
    local = Workspace(shutil.copytree(workspace.folder, tmp_path_factory.mktemp("local") / "copy"))
    local.snakemake(*FILES, "--", *models)

    process = submit(workspace, *FILES, "--", *models)
    requested, reached, ended = [], [0], {}
    for attempt, kill in enumerate((cancel, overrun, kill_processes), start=1):
        job = wait_for(lambda attempt=attempt: job_of_attempt(cluster, "short_runs", attempt), process, **PATIENT)
        wait_for(lambda: progress(workspace) > reached[-1], process, **PATIENT)
        requested.append((cluster.show(job)["TimeLimit"], cluster.show(job)["MinMemoryNode"]))
        # There is no process between the two runs of a job.
        wait_for(trainings, process, **PATIENT)
        ended[job] = kill(cluster, job)
        reached.append(progress(workspace))
    output, _ = process.communicate(timeout=600)
    assert process.returncode == 0, output
    assert {job: cluster.show(job)["JobState"] for job in ended} == ended
    # Two runs of 20 minutes each, one after the other.
    assert requested == [("00:40:00", "1000M"), ("01:20:00", "2000M"), ("02:00:00", "3000M")]
    assert max(starts(workspace)) >= reached[-1]
    assert_equal_results(local, workspace, "tiny")
    assert not list(workspace.folder.glob("results/tiny/checkpoints/*"))


def job_of_attempt(cluster, comment, attempt) -> str | None:
    """Return the n-th job whose comment contains a text once it runs, else None."""
    jobs = cluster.jobs(comment)
    return jobs[attempt - 1] if len(jobs) == attempt and cluster.show(jobs[-1])["JobState"] == "RUNNING" else None


def progress(workspace) -> int:
    """Return the iteration of the checkpoint of the current run, 0 without a checkpoint."""
    iterations = [0]
    for file in workspace.folder.glob("results/tiny/checkpoints/[!.]*.npz"):
        with np.load(file, allow_pickle=False) as arrays:
            iterations.append(json.loads(str(arrays["header"]))["plain"].get("iteration", 0))
    return max(iterations)


def starts(workspace) -> list[int]:
    """Return the first iterations of the last attempts of all runs, from their logs."""
    logs = [file.read_text() for file in workspace.folder.glob("results/tiny/logs/train/*.log")]
    return [int(re.search(r": (\d+) of \d+", log)[1]) for log in logs]


def cancel(cluster, job) -> str:
    """Cancel a job; return its state."""
    cluster.command("scancel", job)
    return "CANCELLED"


def overrun(cluster, job) -> str:
    """Suspend a job with its time limit set to now, which SLURM checks every 30 seconds; return its state."""
    for process in trainings():
        process.suspend()
    cluster.command("scontrol", "update", f"job={job}", "EndTime=now")
    return "TIMEOUT"


def kill_processes(cluster, job) -> str:
    """Kill the processes of a job, as the kernel does if memory is short; return its state."""
    for process in trainings():
        os.kill(process.pid, signal.SIGKILL)
    return "FAILED"


@pytest.mark.parametrize(
    ("resources", "field"), [(["gpu_model=fake"], "TresPerJob"), (["gpu=0", "gres=gpu:fake:1"], "TresPerNode")]
)
def test_a_gpu_is_requested_and_used(cluster, eager, resources, field):
    eager.edit("config/tiny.yaml", "backend", "cupy")
    meta = next(name for name in planned(eager) if name.endswith("meta.json"))
    eager.snakemake(*SLURM, *FILES, "--set-resources", *(f"train_run:{each}" for each in resources), "--", meta)
    (job,) = cluster.jobs("train_run")
    assert "gres:gpu:fake:1" in cluster.show(job)[field]
    assert (eager.folder / "gpus_seen.txt").read_text() == "0"
    (data,) = cluster.jobs("prepare_data")
    assert "TresPerJob" not in cluster.show(data)


def planned(workspace) -> list[str]:
    """Return the files of the training runs of Figure 1."""
    return [name for name in workspace.planned(*FILES, "--", "tiny_fig1") if "/runs/" in name]


def requests(cluster, comment: str = "short_runs") -> list[tuple[str, str]]:
    """Return time and memory of all jobs whose comment contains a text."""
    jobs = [cluster.show(job) for job in cluster.jobs(comment)]
    return [(job["TimeLimit"], job["MinMemoryNode"]) for job in jobs]


def test_jobs_that_end_without_a_controller_are_not_repeated(cluster, submit, two_runs):
    workspace, models = two_runs
    process = submit(workspace, *FILES, "--", *models)
    wait_for(trainings, process, **PATIENT)
    cluster.stop_controller()
    # Meanwhile the jobs end, after more time than the plugin's attempts to query them, all within a second.
    wait_for(lambda: not trainings(), process, **PATIENT)
    cluster.start_controller()
    output, _ = process.communicate(timeout=600)
    assert process.returncode == 0, output
    assert requests(cluster) == [("00:40:00", "1000M")]


def test_jobs_wait_for_a_partition_that_accepts_none(cluster, submit, tiny):
    data = next(name for name in tiny.planned(*FILES, "--", "tiny_fig1") if "/datasets/" in name)
    cluster.command("scontrol", "update", "partition=main", "state=drain")
    process = submit(tiny, *FILES, "--", data)
    messages = []
    while len([line for line in messages if line.startswith("waiting: SLURM accepts no jobs")]) <= 4:  # the attempts
        assert process.poll() is None, messages
        messages.append(process.stdout.readline())
    assert cluster.jobs("") == []
    cluster.command("scontrol", "update", "partition=main", "state=up")
    output, _ = process.communicate(timeout=600)
    assert process.returncode == 0, output
    assert requests(cluster, "prepare_data") == [("00:30:00", "2000M")]


@pytest.mark.slow
@pytest.mark.parametrize(("partition", "submissions"), [("requeued", 1), ("cancelled", 2)])
def test_preempted_jobs_run_again_with_the_same_request(cluster, submit, two_long_runs, partition, submissions):
    workspace, models = two_long_runs
    process = submit(workspace, *FILES, "--default-resources", f"slurm_partition={partition}", "--", *models)
    wait_for(lambda: progress(workspace) > 0, process, **PATIENT)
    cluster.command("sbatch", "--partition=main", "--exclusive", "--time=1", "--output=/dev/null", "--wrap=sleep 5")
    output, _ = process.communicate(timeout=600)
    assert process.returncode == 0, output
    assert requests(cluster) == [("00:40:00", "1000M")] * submissions
    assert max(starts(workspace)) > 0
