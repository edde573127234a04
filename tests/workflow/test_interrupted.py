# SPDX-License-Identifier: BSD-3-Clause
"""Signals that stop the workflow: SIGINT, SIGTERM and SIGHUP to the process group and to Snakemake."""

import os
import random
import signal
import subprocess
import time
from contextlib import suppress
from unittest import mock

import pytest
from tiny_paper import FILES, PAPER, add_tiny_paper
from workspaces import Workspace

LONGEST = 15.0
"""Seconds that all processes may take to end."""
TRIES = int(os.environ.get("RBMBENCH_INTERRUPTS", "2"))
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LONG = PAPER["figures"]["fig1"] | {"panels": {"a": PAPER["figures"]["fig1"]["panels"]["a"] | {"iterations": 10**6}}}
TARGET = "tiny_fig1"


@pytest.fixture
def long(workspace):
    """A workspace with two runs that do not end within the test."""
    defaults = PAPER["defaults"] | {"evaluate_every": 100_000}
    add_tiny_paper(workspace, PAPER | {"figures": {"fig1": LONG}, "tables": {}, "defaults": defaults}, {"claims": []})
    return workspace


def started(workspace, program: str):
    """Start Snakemake, directly or by make."""
    if program == "make":
        return workspace.start_make("figures", "CONFIGFILE=config/tiny.yaml", f"TARGETS={TARGET}", "CORES=2")
    return workspace.start(*FILES, "--", TARGET)


def seconds_to_end(process, number: int) -> float:
    """Send a signal to a process and its children; return the seconds until they end, at most twice `LONGEST`."""
    start = time.monotonic()
    os.killpg(process.pid, number)
    try:
        process.communicate(timeout=2 * LONGEST)
        while time.monotonic() < start + 2 * LONGEST:
            os.killpg(process.pid, 0)
            time.sleep(0.01)
    except ProcessLookupError:
        return time.monotonic() - start
    except subprocess.TimeoutExpired:
        pass
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    return 2 * LONGEST


def locks_of(workspace) -> list[str]:
    """Return Snakemake's locks of the folder."""
    return [path.name for path in workspace.folder.glob(".snakemake/locks/*")]


@pytest.mark.slow
@pytest.mark.parametrize("program", ["snakemake", "make"])
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_an_interrupted_workflow_ends_soon_and_can_be_resumed(long, program, number, record_property):
    moments, times = random.Random(f"{program} {number}"), []
    for _ in range(TRIES):
        process = started(long, program)
        time.sleep(moments.uniform(0.0, 14.0))
        assert process.poll() is None
        times.append(seconds_to_end(process, number))
        assert locks_of(long) == []
    record_property("seconds", times)
    print(f"{program} {number.name}: {[round(duration, 1) for duration in times]}")
    assert max(times) < LONGEST
    # The next call computes the missing files, without --unlock.
    jobs = long.jobs(*FILES, "--", TARGET)
    assert jobs["train_run"] == 2


JOBS = """
import os, signal
from rbmbench.cli import snakemake_scheduler
{more}
snakemake_scheduler.install()
rule all:
    input: expand("{{number}}.txt", number=range(3))
rule one:
    output: "{{number}}.txt"
    shell: "{shell}"
"""
QUICK = "echo > {output}"
# While it selects jobs, the scheduler has its lock; make and clusters send a signal twice.
IN_SELECTION = """
from snakemake.scheduling.greedy import Scheduler
def select(self, *arguments, of=Scheduler.select_jobs):
    for _ in range(2):
        os.kill(os.getpid(), signal.{name})
    return of(self, *arguments)
Scheduler.select_jobs = select
"""
# The folder is locked before there is a scheduler to handle signals.
BEFORE_SCHEDULER = """
from snakemake.dag import DAG
async def postprocess(self, *arguments, of=DAG.postprocess, check_initial=False, **options):
    if check_initial:
        assert list(os.scandir(".snakemake/locks"))
        os.kill(os.getpid(), signal.{name})
    await of(self, *arguments, check_initial=check_initial, **options)
DAG.postprocess = postprocess
"""
# Jobs are selected, but not yet started.
BEFORE_START = """
from snakemake.executors.local import Executor
def run_jobs(self, jobs, of=Executor.run_jobs):
    os.kill(os.getpid(), signal.{name})
    of(self, jobs)
Executor.run_jobs = run_jobs
"""


@pytest.fixture
def jobs(tmp_path):
    """Return a function that runs a workflow of three jobs with further lines and returns exit code and output."""

    def run(more: str = "", *options: str, shell: str = QUICK, seconds: float = 60.0) -> tuple[int, str]:
        (tmp_path / "Snakefile").write_text(JOBS.format(more=more, shell=shell))
        return Workspace(tmp_path).run_loaded("--scheduler", "greedy", *options, seconds=seconds)

    run.workspace = Workspace(tmp_path)
    return run


@pytest.mark.parametrize(
    ("moment", "number"),
    [
        (IN_SELECTION, signal.SIGTERM),
        pytest.param(IN_SELECTION, signal.SIGINT, marks=pytest.mark.slow),
        pytest.param(BEFORE_SCHEDULER, signal.SIGTERM, marks=pytest.mark.slow),
        (BEFORE_SCHEDULER, signal.SIGHUP),
    ],
    ids=["SIGTERM in selection", "SIGINT in selection", "SIGTERM before", "SIGHUP before"],
)
def test_snakemake_unlocks_its_folder_after_a_signal_at_any_moment(jobs, moment, number):
    code, output = jobs(moment.format(name=number.name))
    assert code in (1, 128 + number), output
    assert "Traceback" not in output
    assert locks_of(jobs.workspace) == []
    assert not list(jobs.workspace.folder.glob("*.txt"))
    assert jobs() == (0, mock.ANY)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_jobs_that_were_about_to_start_are_stopped(jobs, number):
    code, output = jobs(BEFORE_START.format(name=number.name), shell="sleep 999")
    assert code == 1, output
    assert locks_of(jobs.workspace) == []


@pytest.mark.parametrize(
    "number",
    [signal.SIGTERM, *(pytest.param(signum, marks=pytest.mark.slow) for signum in (signal.SIGINT, signal.SIGHUP))],
    ids=lambda number: number.name,
)
def test_a_signal_to_snakemake_alone_stops_its_jobs(jobs, number):
    # The shell waits for its program, and would continue with the next one.
    timer = f"import threading\nthreading.Timer(2.0, os.kill, (os.getpid(), signal.{number.name})).start()"
    start = time.monotonic()
    code, output = jobs(timer, "--cores", "2", shell="touch begun.{wildcards.number}; sleep 999; echo on > {output}")
    assert code == 1, output
    assert time.monotonic() - start < 2 * LONGEST
    assert list(jobs.workspace.folder.glob("begun.*"))
    assert not list(jobs.workspace.folder.glob("?.txt"))
    assert locks_of(jobs.workspace) == []


def test_snakemake_ends_with_its_last_job(jobs):
    jobs("", "--max-jobs-per-timespan", "100/1h")
    assert len(list(jobs.workspace.folder.glob("*.txt"))) == 3


def test_snakemake_waits_at_a_limit_of_job_starts(jobs):
    code, output = jobs("", "--max-jobs-per-timespan", "1/1s")
    assert code == 0
    assert "Job rate limit reached" in output


def test_an_unknown_scheduler_is_reported_and_not_changed(jobs):
    other = "JobScheduler.exit_gracefully = lambda self, *_: self.stop()"
    code, output = jobs(f"from snakemake.workflow import JobScheduler\n{other}")
    assert code == 0, output
    lines = [line for line in output.splitlines() if "another scheduler" in line]
    assert len(lines) == 1
    assert lines[0].startswith("rbmbench: warning: Snakemake ")
    assert "(exit_gracefully)" in lines[0]
