# SPDX-License-Identifier: BSD-3-Clause
"""Commit and hardware in ``meta.json``."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rbmbench.io import provenance

PACKAGE = Path(provenance.__file__).parents[1]
NOBODY = {f"GIT_{who}_{what}": "nobody" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def git(folder: Path, *command: str) -> str:
    done = subprocess.run(["git", *command], cwd=folder, env=os.environ | NOBODY, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def copied_package(folder: Path) -> Path:
    """Copy the modules that find the commit to a package in ``folder``."""
    base_modules = ("errors", "machine", "plugins", "sources")
    parts = ("__init__.py", "base/__init__.py", *(f"base/{name}.py" for name in base_modules))
    for part in (*parts, "io/__init__.py", "io/provenance.py"):
        (folder / "rbmbench" / part).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(PACKAGE / part, folder / "rbmbench" / part)
    return folder / "rbmbench"


def commit_of(package: Path, **variables: str) -> str:
    """Return the commit that a package finds, in another process."""
    done = subprocess.run(
        [sys.executable, "-c", "from rbmbench.io import provenance; print(provenance.commit())"],
        env=os.environ | {"PYTHONPATH": str(package.parent)} | variables,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path) -> Path:
    """A repository with the package in src/, committed, and another file beside it."""
    package = copied_package(tmp_path / "checkout" / "src")
    folder = tmp_path / "checkout"
    (folder / "README").write_text("read me")
    (folder / ".gitignore").write_text("__pycache__/\n")
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "all")
    assert commit_of(package) == git(folder, "rev-parse", "HEAD")
    return folder


@pytest.mark.parametrize(
    ("files", "suffix"),
    [(["src/rbmbench/a/new.py"], "+changes"), (["src/rbmbench/io/__init__.py"], "+changes"), (["README", "notes"], "")],
    ids=["new", "edited", "beside the package"],
)
def test_new_and_edited_files_of_the_package_are_changes(checkout, files, suffix):
    for name in files:
        (checkout / name).parent.mkdir(exist_ok=True)
        (checkout / name).write_text("# edited\n")
    assert commit_of(checkout / "src" / "rbmbench") == git(checkout, "rev-parse", "HEAD") + suffix


def test_a_file_that_is_edited_and_committed_after_its_import_is_a_change(checkout):
    code = "import os, sys, rbmbench.io.provenance as provenance; os.system(sys.argv[1]); print(provenance.commit())"
    edit = f"cd {checkout} && echo '# edited' >> src/rbmbench/io/__init__.py && git commit --quiet --all --message edit"
    own = os.environ | NOBODY | {"PYTHONPATH": str(checkout / "src")}
    done = subprocess.run([sys.executable, "-c", code, edit], env=own, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == git(checkout, "rev-parse", "HEAD") + "+changes"


def test_a_package_in_the_checkout_of_another_project_has_no_commit(checkout):
    installed = copied_package(checkout / ".venv" / "lib")
    assert commit_of(installed) == "None"


def test_git_dir_of_another_repository_is_ignored(checkout, tmp_path):
    git(tmp_path, "init", "--quiet", "other")
    commit = commit_of(checkout / "src" / "rbmbench", GIT_DIR=str(tmp_path / "other" / ".git"))
    assert commit == git(checkout, "rev-parse", "HEAD")


@pytest.mark.parametrize(
    ("script", "expected"),
    [("echo NVIDIA H100; echo NVIDIA H100; echo Tesla T4", "NVIDIA H100, Tesla T4"), ("echo None; exit 6", None)],
)
def test_hardware_names_the_gpus(tmp_path, monkeypatch, script, expected):
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert provenance.hardware()["gpu"] == expected


def test_seconds_since_the_start_of_a_process():
    code = "import time; time.sleep(0.3); from rbmbench.io import provenance; print(provenance.seconds_since_start())"
    start = time.monotonic()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0.3 <= float(done.stdout) <= time.monotonic() - start + 0.02  # the kernel counts in steps of 0.01 s


def test_peak_memory_of_a_process_is_not_that_of_its_parent():
    large = bytearray(b"x") * 2**28
    own = provenance.peak_memory_mb()
    assert own > 256
    code = "from rbmbench.io import provenance; print(provenance.peak_memory_mb())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert len(large) == 2**28
    assert 1 < float(done.stdout) < own - 128
