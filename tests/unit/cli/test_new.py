# SPDX-License-Identifier: BSD-3-Clause
"""`rbmbench new`: templates pass their tests, and no file is overwritten."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from rbmbench.cli import main
from rbmbench.config.loading import load
from rbmbench.planning.plan import plan
from rbmbench.reporting.claims import files

pytestmark = pytest.mark.usefixtures("no_plugins")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def pytest_of(*names: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *names]
    return subprocess.run(command, capture_output=True, text=True)


def error_of(capsys, *arguments: str) -> str:
    assert main(["new", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("rbmbench: error: ")
    return line.removeprefix("rbmbench: error: ")


FORMULAS = {"estimator": ("self.fading ** np", "0.6 ** np"), "dataset": ("[:, ::-1]", "")}


def test_new_parts_pass_their_tests_and_wrong_formulas_fail_them(capsys, tmp_path):
    for part in FORMULAS:
        assert main(["new", part, f"my_{part}", "--folder", "parts"]) == 0
        printed = capsys.readouterr().out
        assert f"python -m pytest parts/test_my_{part}.py" in printed
        assert f"snakemake -c2 all --configfile parts/my_{part}.yaml" in printed
        text = (tmp_path / "parts" / f"my_{part}.py").read_text()
        assert f"class My{part.capitalize()}(" in text
        assert not {"part_name", "PartName", "plugin_folder"} & set(text.split())
    # The test of a paper is run with them.
    assert main(["new", "paper", "my_own"]) == 0
    assert "snakemake -c2 paper_my_own claims report --configfile config/my_own.yaml" in capsys.readouterr().out
    files.check(Path("config/claims"), load(["config/my_own.yaml"]))
    done = pytest_of("parts", "config/test_my_own.py")
    assert done.returncode == 0, done.stdout
    for part, (right, wrong) in FORMULAS.items():
        file = tmp_path / "parts" / f"my_{part}.py"
        assert right in file.read_text()
        file.write_text(file.read_text().replace(right, wrong))
        assert main(["list", f"{part}s", "--plugin", f"parts/my_{part}.py"]) == 0
        assert f"  my_{part}  (parts/my_{part}.py)\n      My{part.capitalize()}: " in capsys.readouterr().out
    failed = re.findall(r"^FAILED parts/test_my_(\w+)\.py", pytest_of("parts").stdout, re.MULTILINE)
    assert set(failed) == set(FORMULAS)


@pytest.mark.parametrize("part", ["estimator", "dataset"])
def test_overlay_of_a_part_plans_only_one_figure_with_the_part(part, repository):
    assert main(["new", part, "my_own"]) == 0
    overlay_plan = plan(load([repository / "config" / "config.yaml", "plugins/my_own.yaml"]))
    assert (overlay_plan.scale, list(overlay_plan.outputs)) == ("my_own", ["popcd_figown"])
    runs = [run for run in overlay_plan.of_kind("train") if "my_own" in run]
    assert len(runs) == {"estimator": 1, "dataset": 3}[part]
    assert len(overlay_plan.of_kind("train")) == 3
    if part == "estimator":
        shown = overlay_plan.figures["popcd_figown"].spec.panels[0].runs[-1]
        assert (shown.label, shown.color, shown.dash) == ("my_own", "#8A3C00", "dotted")


@pytest.mark.parametrize("name", ["my_own.py", "test_my_own.py", "my_own.yaml"])
def test_no_file_is_overwritten(name, capsys, tmp_path):
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / name).write_text("kept")
    assert error_of(capsys, "estimator", "my_own").startswith(f"plugins/{name}: exists already; choose ")
    assert [file.name for file in (tmp_path / "plugins").iterdir()] == [name]
    assert (tmp_path / "plugins" / name).read_text() == "kept"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["estimator", "pcd"], "name: must be a name that no estimator has (`rbmbench list estimators`), got 'pcd'"),
        (["dataset", "Mine"], "name: must be at most 59 small letters, digits and _, first a letter;"),
        (["paper", "a" * 60], "name: must be at most 59 small letters"),
        (["paper", "report"], "name: must be without _fig and _table, and none of all, "),
        (["paper", "a_fig"], "name: must be without _fig and _table, and none of all, "),
        (["claim", "mine"], "argument what: invalid choice: 'claim'"),
    ],
)
def test_errors_of_invalid_arguments_are_one_line(arguments, message, capsys, tmp_path):
    assert error_of(capsys, *arguments).startswith(message)
    assert list(tmp_path.iterdir()) == []
