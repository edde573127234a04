# SPDX-License-Identifier: BSD-3-Clause
"""Compiled kernels and downloads on machines without a folder for caches."""

import os
import shutil
import subprocess
import sys

import pytest

from rbmbench.base.errors import RbmbenchWarning
from rbmbench.io import caches

IMPORTS_KERNELS = "import rbmbench.kernels.numba, sys; print(rbmbench.__file__)"
FETCHES = """
import sys
from rbmbench.cli import main
sys.exit(main(["data", "--name", "mnist", "--out", sys.argv[1]]))
"""
NO_HOME = """
import os, pwd
def no_entry(number):
    raise KeyError(f"getpwuid(): uid not found: {number}")
pwd.getpwuid = no_entry
os.environ.pop("HOME", None)
"""
"""A user without an entry in the password database, as in some containers."""


def run(code: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
    """Run code in a process with no other cache folders in its environment than those given."""
    left_out = ("NUMBA_CACHE_DIR", "RBMBENCH_DATA_CACHE", "RBMBENCH_DATA_MIRROR", "XDG_CACHE_HOME")
    others = {name: value for name, value in os.environ.items() if name not in left_out}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, env=others | environment, capture_output=True, text=True, check=False)


@pytest.fixture
def no_home(tmp_path):
    """A home directory that can be neither read nor made, even by root."""
    (tmp_path / "file").write_text("")
    return str(tmp_path / "file" / "home")


@pytest.fixture
def read_only_package(repository, tmp_path):
    """A copy of the package in which compiled kernels cannot be stored, even by root."""
    pytest.importorskip("numba")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(repository / "src" / "rbmbench", tmp_path / "src" / "rbmbench", ignore=ignored)
    (tmp_path / "src" / "rbmbench" / "kernels" / "numba" / "__pycache__").write_text("")
    return str(tmp_path / "src")


@pytest.mark.parametrize("home", [NO_HOME, ""], ids=["no home", "a home that is not there"])
def test_kernels_are_compiled_without_a_writable_cache(read_only_package, no_home, home):
    done = run(home + IMPORTS_KERNELS, HOME=no_home, PYTHONPATH=read_only_package)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(read_only_package)
    assert done.stderr.count("compiled kernels cannot be kept") == 1
    assert "set NUMBA_CACHE_DIR" in done.stderr


def test_numba_cache_dir_is_used_or_named_in_the_warning(read_only_package, no_home, tmp_path):
    done = run(IMPORTS_KERNELS, HOME=no_home, PYTHONPATH=read_only_package, NUMBA_CACHE_DIR=str(tmp_path / "new"))
    assert (done.returncode, done.stderr) == (0, "")
    done = run(IMPORTS_KERNELS, HOME=str(tmp_path), PYTHONPATH=read_only_package, NUMBA_CACHE_DIR=no_home)
    assert done.returncode == 0, done.stderr
    assert no_home in done.stderr


@pytest.mark.parametrize("home", [NO_HOME, ""], ids=["no home", "a home that is not there"])
def test_error_of_a_download_without_a_cache_names_the_setting(tmp_path, no_home, home):
    done = run(home + FETCHES, str(tmp_path / "out.npz"), HOME=no_home)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("rbmbench: error: data cache: ")
    assert "set RBMBENCH_DATA_CACHE" in line


def test_why_not_writable_makes_no_folder(tmp_path):
    assert caches.why_not_writable(tmp_path / "a" / "b") is None
    assert os.listdir(tmp_path) == []
    (tmp_path / "file").write_text("")
    assert caches.why_not_writable(tmp_path / "file" / "b") == "not a directory"


def test_a_cache_that_cannot_be_written_later_is_a_warning(tmp_path):
    kernels = pytest.importorskip("rbmbench.kernels.numba")
    (tmp_path / "file").write_text("")
    file = kernels.LockedCacheFile(str(tmp_path / "file"), "function-7.py311", "stamp")
    with pytest.warns(RbmbenchWarning, match=r"cannot be kept \(.*set NUMBA_CACHE_DIR"):
        file.save("float32", b"code")
