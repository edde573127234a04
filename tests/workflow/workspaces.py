"""A workspace with the workflow in it, and Snakemake to run there."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import yaml

PARTS = ("Snakefile", "workflow", "config", "notebooks", "benchmarks", "environment.yml")


@dataclass(frozen=True)
class Workspace:
    """A folder with a copy of the workflow, where it can be changed and run."""

    folder: Path

    def snakemake(self, *arguments: str, code: int = 0, seconds: float = 600) -> str:
        """Run Snakemake, check its exit code, and return all that it printed."""
        done = self.start(*arguments)
        output, _ = done.communicate(timeout=seconds)
        assert done.returncode == code, output
        return output

    def start(self, *arguments: str) -> subprocess.Popen:
        """Start Snakemake in a process group of its own."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "SNAKEMAKE"))}
        return subprocess.Popen(
            [sys.executable, "-m", "snakemake", "--cores", "2", "--nocolor", *arguments],
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def jobs(self, *arguments: str) -> Counter:
        """Return how many jobs of each rule would run, targets left out."""
        output = self.snakemake("--dry-run", "--quiet", "rules", "host", *arguments)
        table = output.partition("Job stats:")[2].partition("\n\n")[0]
        counts = Counter({name: int(number) for name, number in re.findall(r"^(\w+) +(\d+)$", table, re.MULTILINE)})
        targets = ("all", "claims", "report", "benchmarks", "total")
        for name in [name for name in counts if name in targets or re.match(r"all_|popcd_|tiny_|paper_", name)]:
            del counts[name]
        return counts

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
    """Return what a condition gives once it is true; fail if the process ends first."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := condition():
            return found
        assert process.poll() is None, process.communicate()[0]
        time.sleep(pause)
    raise AssertionError("waited in vain")
