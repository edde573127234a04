# SPDX-License-Identifier: BSD-3-Clause
"""Workspaces with a copy of the workflow, and processes of Snakemake in them."""

import multiprocessing
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import yaml

# A process that has imported Snakemake and modules of the workflow, forked for calls that compute nothing.
LOADED = multiprocessing.get_context("forkserver")
LOADED.set_forkserver_preload(["snakemake.cli", "rbmbench.planning.plan", "rbmbench.reporting.claims.files"])
# States of jobs are queried more often than on a shared cluster; the profile's minutes are seconds.
SLURM = ("--workflow-profile", "workflow/profiles/slurm", "--cores", "1", "--latency-wait", "10")
SLURM += ("--slurm-init-seconds-before-status-checks", "1", "--max-status-checks-per-second", "10")
SLURM += ("--max-jobs-per-timespan", "100/1s")
PYTHONPATH = os.environ.get("PYTHONPATH")
PARTS = ("Snakefile", "Makefile", "profiles", "workflow", "config", "notebooks", "benchmarks", "environment.yml")


@dataclass(frozen=True)
class Workspace:
    """A folder with a copy of the workflow that can be changed and run."""

    folder: Path

    def snakemake(self, *arguments: str, code: int = 0, seconds: float = 600, fault: str = "") -> str:
        """Run Snakemake, check its exit code, and return its output."""
        done = self.start(*arguments, fault=fault)
        output, _ = done.communicate(timeout=seconds)
        assert done.returncode == code, output
        return output

    def plan(self, *arguments: str, code: int = 0) -> str:
        """Like `snakemake`, for calls that compute nothing, without the two seconds of Snakemake's imports."""
        if os.environ.get("PYTHONPATH") != PYTHONPATH:  # another package than the imported one
            return self.snakemake(*arguments, code=code)
        exit_code, text = self.run_loaded(*arguments)
        assert exit_code == code, text
        return text

    def run_loaded(self, *arguments: str, seconds: float = 600) -> tuple[int | None, str]:
        """Run Snakemake in a process that has imported it; return its exit code and output."""
        with tempfile.NamedTemporaryFile() as output:
            values = self.folder, _environment(""), output.name
            process = LOADED.Process(target=_run_snakemake, args=(_with_options(arguments), *values))
            process.start()
            process.join(seconds)
            process.kill()
            return process.exitcode, output.read().decode()

    def start(self, *arguments: str, fault: str = "", within: Sequence[str] = ()) -> subprocess.Popen:
        """Start Snakemake in a new process group; its jobs have the fault, see faulty/sitecustomize.py.

        ``within`` is a command in which it is run, see `disks.Disk`.
        """
        prefix = [*within, "env", "-C", str(self.folder)] if within else []
        command = [*prefix, sys.executable, "-m", "snakemake", *_with_options(arguments)]
        return _started(command, fault, cwd=self.folder, start_new_session=True)

    def start_make(self, *arguments: str) -> subprocess.Popen:
        """Start make in a new process group, with the programs of this environment as its virtual environment."""
        for name in ("requirements.lock", "pyproject.toml"):
            (self.folder / name).touch()
        (self.folder / ".venv").mkdir(exist_ok=True)
        with suppress(FileExistsError):
            (self.folder / ".venv/bin").symlink_to(Path(sys.executable).parent)
        (self.folder / ".venv/.installed").touch()
        return _started(["make", *arguments], cwd=self.folder, start_new_session=True)

    def mark_all_made(self, *files: str) -> None:
        """Create all files of these configurations, recorded as up to date by Snakemake."""
        for name in self.planned(*files, "--", "all"):
            file = self.folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(name)
        self.plan("--touch", "--forceall", "--quiet", "all", *files)

    def planned(self, *arguments: str) -> list[str]:
        """Return the files below results/ that targets need, existing or not."""
        lines = self.plan("--summary", *arguments).splitlines()
        return [name for line in lines if (name := line.split("\t")[0]).startswith("results/")]

    def jobs(self, *arguments: str) -> Counter:
        """Return the numbers of jobs that would run by rule, with all bundles together and without targets."""
        output = self.plan("--dry-run", "--quiet", "rules", "host", *arguments)
        table = output.partition("Job stats:")[2].partition("\n\n")[0]
        counts = Counter()
        for name, number in re.findall(r"^(bundle(?=_)|\w+)\S* +(\d+)$", table, re.MULTILINE):
            counts[name] += int(number)
        targets = ("all", "claims", "report", "benchmarks", "total")
        for name in [name for name in counts if name in targets or re.match(r"all_|popcd_|tiny_|paper_", name)]:
            del counts[name]
        return counts

    def keep_one_paper(self, key: str) -> None:
        """Leave the other papers out of the smoke scale, which is faster."""
        file = self.folder / "config/smoke.yaml"
        values = yaml.safe_load(file.read_text(encoding="utf-8"))
        values |= {"papers": [key], "overrides": {key: values["overrides"][key]}}
        file.write_text(yaml.safe_dump(values, sort_keys=False), encoding="utf-8")

    def edit(self, file: str, *keys_and_value) -> None:
        """Set one value in a YAML file."""
        *keys, last, value = keys_and_value
        path = self.folder / file
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
        inner = values
        for key in keys:
            inner = inner.setdefault(key, {})
        inner[last] = value
        path.write_text(yaml.safe_dump(values, sort_keys=False), encoding="utf-8")


def new_workspace(repository: Path, folder: Path) -> Workspace:
    """Copy the workflow of the checkout into a folder."""
    for part in PARTS:
        source = repository / part
        copy = shutil.copytree if source.is_dir() else shutil.copyfile
        copy(source, folder / part)
    return Workspace(folder)


def wait_for(condition, process, seconds: float = 120.0, pause: float = 0.01):
    """Return the value of a condition once it is true; fail if the process ends first."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if outcome := condition():
            return outcome
        assert process.poll() is None, process.communicate()[0]
        time.sleep(pause)
    raise AssertionError("waited in vain")


def start_cli(arguments, fault: str = "", output: int = subprocess.PIPE) -> subprocess.Popen:
    """Start a command of rbmbench in a new process, with a fault if given, see faulty/sitecustomize.py."""
    return _started([sys.executable, "-m", "rbmbench", *map(str, arguments)], fault, stdout=output)


def run_cli(arguments, code: int = 0, fault: str = "") -> str:
    """Run a command of rbmbench, check its exit code, and return its output."""
    process = start_cli(arguments, fault)
    output, _ = process.communicate(timeout=300)
    assert process.returncode == code, output
    return output


def _started(command: list[str], fault: str = "", **options) -> subprocess.Popen:
    options = {"stdout": subprocess.PIPE} | options
    return subprocess.Popen(command, env=_environment(fault), stderr=subprocess.STDOUT, text=True, **options)


def _with_options(arguments: Sequence[str]) -> list[str]:
    return ["--cores", "2", "--nocolor", *arguments]


def _run_snakemake(arguments: list[str], folder: Path, variables: dict[str, str], output: str) -> None:
    """Run Snakemake in this process, with its output in a file."""
    from snakemake.cli import main

    with open(output, "wb") as file:
        for descriptor in (1, 2):
            os.dup2(file.fileno(), descriptor)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    sys.argv = ["snakemake", *arguments]
    main(arguments)


def _environment(fault: str) -> dict[str, str]:
    """Return the environment of a process, with a checkpoint at every evaluation by default, and the fault if given."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "SNAKEMAKE"))}
    path = [str(Path(__file__).parent / "faulty"), *filter(None, [variables.get("PYTHONPATH")])]
    faulty = {"PYTHONPATH": os.pathsep.join(path), "RBMBENCH_TEST_FAULT": fault} if fault else {}
    return {"RBMBENCH_CHECKPOINT_SECONDS": "0"} | variables | faulty
