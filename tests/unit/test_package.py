# SPDX-License-Identifier: BSD-3-Clause
"""Public names, version and types of the package."""

import subprocess
import sys
from importlib import metadata

import pytest

import rbmbench
from rbmbench.cli import main


def test_dir_lists_public_names_before_they_are_imported():
    code = "import rbmbench; print(*dir(rbmbench))"
    names = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {*rbmbench.__all__, "__version__"} <= set(names)
    for name in rbmbench.__all__:
        assert getattr(rbmbench, name) is not None


def test_training_imports_no_plots_scikit_learn_or_cupy():
    code = "import sys, rbmbench; rbmbench.train, rbmbench.load_run, rbmbench.RBM"
    code += "; print([name for name in ('matplotlib', 'seaborn', 'sklearn', 'cupy') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_version_is_that_of_the_installed_package(capsys, monkeypatch):
    monkeypatch.setattr(metadata, "version", {"rbmbench": "7.11.13"}.__getitem__)
    assert rbmbench.__version__ == "7.11.13"
    with pytest.raises(SystemExit) as exited:
        main(["--version"])
    assert exited.value.code == 0
    assert capsys.readouterr().out == "rbmbench 7.11.13\n"


def test_version_of_a_package_that_is_not_installed_is_unknown(monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    assert rbmbench.__version__ == "unknown"
