# SPDX-License-Identifier: BSD-3-Clause
"""The smoke scale and blocks of trials killed at random moments, and disks that are full at random moments.

Takes an hour. Run it by::

    RBMBENCH_KILLS=100 RBMBENCH_FULL_DISKS=30 python -m pytest -m slow -s tests/workflow/test_thorough.py

The variables are numbers of repetitions, by default 2. RBMBENCH_UNDISTURBED names a folder results/smoke
of the same code on the same machine, which is computed first if it is not given.
"""

import os
import random
import shutil
import signal
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pandas as pd
import psutil
import pytest
from disks import small_disk
from tiny_paper import FILES, add_annealed_paper, add_tiny_paper, cut_into_blocks
from workspaces import new_workspace

from rbmbench import jobs
from rbmbench.io.layout import BIAS, META, TIMES

KILLS = int(os.environ.get("RBMBENCH_KILLS", "2"))
FULL_DISKS = int(os.environ.get("RBMBENCH_FULL_DISKS", "2"))
LONGEST = 15.0
"""Seconds that all processes may take to end."""
WAIT_FOR_JOBS = 120.0
"""Seconds that Snakemake may take to end the other job after one was killed."""
SMOKE = ("figures", "CONFIGFILE=config/smoke.yaml", "CORES=2")
BLOCKS = ("figures", "CONFIGFILE=config/tiny.yaml", "TARGETS=tiny_fig1", "CORES=2")
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL)
WAYS = [(target, number) for target in ("worker", "make") for number in (signal.SIGTERM, signal.SIGKILL)]
WAYS += [(target, number) for target in ("Snakemake", "group") for number in SIGNALS]
pytestmark = pytest.mark.slow


def contents(results: Path) -> dict[str, object]:
    """Return the outputs of all jobs by file, without times."""
    files: dict[str, object] = {}
    for kind in jobs.kinds():
        for path in (path for name in kind.files for path in results.glob(f"**/{kind.folder}/**/{name}")):
            name = str(path.relative_to(results))
            if path.name == BIAS:
                table = pd.read_parquet(path)
                files[name] = table[table["quantity"] != "seconds_per_estimate"].to_csv()
            elif path.name == TIMES:
                files[name] = pd.read_parquet(path)[["algorithm", "round"]].to_csv()
            else:
                files[name] = path.read_bytes()
    return files


@pytest.fixture(params=[SMOKE, BLOCKS], ids=["smoke", "blocks"])
def scale(request, repository, tmp_path_factory, workspace):
    """A workspace, arguments of make, and the outputs of an undisturbed run."""
    undisturbed = new_workspace(repository, tmp_path_factory.mktemp("undisturbed"))
    for working_copy in (workspace, undisturbed):
        if request.param == BLOCKS:
            add_annealed_paper(working_copy, 2, ["cd_1"], iterations=400)
            cut_into_blocks(working_copy)
    folder = os.environ.get("RBMBENCH_UNDISTURBED")
    if folder and request.param == SMOKE:
        return workspace, SMOKE, contents(Path(folder))
    make(undisturbed, *request.param)
    return workspace, request.param, contents(results_of(undisturbed, request.param))


def results_of(workspace, arguments) -> Path:
    """Return the folder of results of arguments of make."""
    return workspace.folder / "results" / Path(arguments[1]).stem


def make(workspace, *arguments: str) -> None:
    """Run make."""
    process = workspace.start_make(*arguments)
    output, _ = process.communicate()
    assert process.returncode == 0, output


def group_of(process) -> list[psutil.Process]:
    """Return the processes of a session."""
    members = []
    for candidate in psutil.process_iter():
        with suppress(psutil.Error, ProcessLookupError):
            if os.getsid(candidate.pid) == process.pid and candidate.status() != psutil.STATUS_ZOMBIE:
                members.append(candidate)
    return members


def named(process, word: str) -> list[psutil.Process]:
    """Return the processes of a session with a word in the name of their program."""
    matches = []
    for member in group_of(process):
        with suppress(psutil.Error):
            if any(word in part for part in member.cmdline()[:3]):
                matches.append(member)
    return matches


def kill(process, target: str, number: int, choose: random.Random) -> bool:
    """Send a signal to a part of a workflow; return whether the part exists."""
    if target == "group":
        os.killpg(process.pid, number)
        return True
    parts = {"make": [psutil.Process(process.pid)], "Snakemake": named(process, "snakemake")[:1]}
    victims = parts[target] if target in parts else named(process, "rbmbench")
    if not victims:
        return False
    with suppress(psutil.NoSuchProcess):
        choose.choice(victims).send_signal(number)
    return True


def seconds_to_end(process, longest: float) -> float:
    """Return the seconds until a session ends, at most ``longest``, when it is killed."""
    start = time.monotonic()
    while time.monotonic() < start + longest:
        process.poll()
        if not group_of(process):
            return time.monotonic() - start
        time.sleep(0.05)
    for member in group_of(process):
        with suppress(psutil.Error):
            member.kill()
    return longest


def end(process, target: str, number: int) -> float:
    """Wait for the end of all processes after a kill; return the seconds of those that received a signal to end."""
    if target == "worker":
        # The other job ends first, then Snakemake reports the failed one.
        return LONGEST if seconds_to_end(process, WAIT_FOR_JOBS) == WAIT_FOR_JOBS else 0.0
    if number == signal.SIGKILL and target != "group":
        # The remaining processes are terminated, as documented.
        time.sleep(1.0)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
    return seconds_to_end(process, LONGEST)


def test_results_after_kills_equal_undisturbed_ones(scale, capsys):
    workspace, arguments, undisturbed = scale
    moments, counts, times, rounds = random.Random(2026), Counter(), [], 0
    results = results_of(workspace, arguments)
    for number_of_kill in range(KILLS):
        target, number = WAYS[number_of_kill % len(WAYS)]
        process = workspace.start_make(*arguments)
        until, killed = time.monotonic() + moments.uniform(1.0, 18.0), False
        while process.poll() is None and not killed:
            time.sleep(0.05)
            killed = time.monotonic() > until and kill(process, target, number, moments)
        if not killed:
            assert process.wait() == 0, process.communicate()[0]
            assert contents(results) == undisturbed
            rounds += 1
            shutil.rmtree(results)
            continue
        seconds = end(process, target, number)
        process.communicate()
        counts[f"{target} {number.name}"] += 1
        times.append(seconds)
        assert seconds < LONGEST, (target, number)
        if list(workspace.folder.glob(".snakemake/locks/*")):
            assert (target, number) in (("Snakemake", signal.SIGKILL), ("group", signal.SIGKILL))
            make(workspace, "unlock", *arguments[1:])
    make(workspace, *arguments)
    assert contents(results) == undisturbed
    with capsys.disabled():
        print(f"\n{sum(counts.values())} kills: {dict(counts)}")
        print(f"longest end {max(times):.1f} s, {rounds + 1} whole results with the same bytes")


def complete(results: Path) -> dict[str, bytes]:
    """Return the files of all finished jobs, which have a meta.json."""
    folders = [meta.parent for kind in jobs.kinds() for meta in results.glob(f"{kind.folder}/*/{META}")]
    return {str(file.relative_to(results)): file.read_bytes() for folder in folders for file in folder.iterdir()}


@pytest.mark.parametrize("place", ["results", "logs", "temporary"])
def test_results_of_finished_jobs_are_kept_when_a_disk_is_full(workspace, tmp_path_factory, place, capsys, monkeypatch):
    add_tiny_paper(workspace)
    moments, results, failed = random.Random(place), workspace.folder / "results/tiny", 0
    workspace.snakemake(*FILES, "--", "tiny_table1")
    expected = contents(results)
    for _ in range(FULL_DISKS):
        shutil.rmtree(results, ignore_errors=True)
        own = tmp_path_factory.mktemp("disk")
        with small_disk(own, "64m") as disk:
            folder = {"results": results, "logs": results / "logs"}.get(place)
            if folder:
                folder.parent.mkdir(parents=True, exist_ok=True)
                folder.symlink_to(disk.folder)
            else:
                monkeypatch.setenv("TMPDIR", str(own))
            process = workspace.start(*FILES, "--", "tiny_table1", within=() if folder else disk.within)
            until = time.monotonic() + moments.uniform(0.0, 14.0)
            while process.poll() is None and time.monotonic() < until:
                time.sleep(0.05)
            before = complete(results)
            with suppress(OSError), open(disk.folder / "filler", "wb") as filler:
                while True:
                    filler.write(bytes(2**16))
            process.communicate(timeout=300)
            failed += process.returncode != 0
            after = complete(results)
            assert {name: after.get(name) for name in before} == before
            (disk.folder / "filler").unlink()
            monkeypatch.delenv("TMPDIR", raising=False)
            workspace.snakemake(*FILES, "--rerun-incomplete", "--", "tiny_table1")
            assert contents(results) == expected
            kept = complete(results)
            assert {name: kept.get(name) for name in after} == after
            if folder:
                folder.unlink()
    with capsys.disabled():
        print(f"\n{place}: {FULL_DISKS} full disks, {failed} ended Snakemake with an error; nothing finished was lost")
