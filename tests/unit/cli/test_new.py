# SPDX-License-Identifier: BSD-3-Clause
"""Files to begin with work as they are, their tests can fail, and nothing is overwritten."""

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


def refused(capsys, *arguments: str) -> str:
    assert main(["new", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("rbmbench: error: ")
    return line.removeprefix("rbmbench: error: ")


FORMULAS = {"estimator": ("self.fading ** np", "0.6 ** np"), "dataset": ("[:, ::-1]", "")}


def test_parts_work_with_their_tests_which_notice_other_formulas(capsys, tmp_path):
    for what in FORMULAS:
        assert main(["new", what, f"my_{what}", "--folder", "parts"]) == 0
        printed = capsys.readouterr().out
        assert f"python -m pytest parts/test_my_{what}.py" in printed
        assert f"snakemake -c2 all --configfile parts/my_{what}.yaml" in printed
        text = (tmp_path / "parts" / f"my_{what}.py").read_text()
        assert f"class My{what.capitalize()}(" in text
        assert not {"part_name", "PartName", "plugin_folder"} & set(text.split())
    # The test of a paper is run beside them.
    assert main(["new", "paper", "my_own"]) == 0
    assert "snakemake -c2 paper_my_own claims report --configfile config/my_own.yaml" in capsys.readouterr().out
    files.check(Path("config/claims"), load(["config/my_own.yaml"]))
    done = pytest_of("parts", "config/test_my_own.py")
    assert done.returncode == 0, done.stdout
    for what, (right, wrong) in FORMULAS.items():
        file = tmp_path / "parts" / f"my_{what}.py"
        assert right in file.read_text()
        file.write_text(file.read_text().replace(right, wrong))
        assert main(["list", f"{what}s", "--plugin", f"parts/my_{what}.py"]) == 0
        assert f"  my_{what}  (parts/my_{what}.py)\n      My{what.capitalize()}: " in capsys.readouterr().out
    failed = re.findall(r"^FAILED parts/test_my_(\w+)\.py", pytest_of("parts").stdout, re.MULTILINE)
    assert set(failed) == set(FORMULAS)


@pytest.mark.parametrize("what", ["estimator", "dataset"])
def test_the_overlay_of_a_part_shows_it_beside_the_curves_of_a_paper_and_nothing_else(what, repository):
    assert main(["new", what, "my_own"]) == 0
    overlay_plan = plan(load([repository / "config" / "config.yaml", "plugins/my_own.yaml"]))
    assert (overlay_plan.scale, list(overlay_plan.outputs)) == ("my_own", ["popcd_figown"])
    runs = [run for run in overlay_plan.of_kind("train") if "my_own" in run]
    assert len(runs) == {"estimator": 1, "dataset": 3}[what]
    assert len(overlay_plan.of_kind("train")) == 3
    if what == "estimator":
        shown = overlay_plan.figures["popcd_figown"].spec.panels[0].runs[-1]
        assert (shown.label, shown.color, shown.dash) == ("my_own", "#8A3C00", "dotted")


@pytest.mark.parametrize("there", ["my_own.py", "test_my_own.py", "my_own.yaml"])
def test_nothing_is_overwritten(there, capsys, tmp_path):
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / there).write_text("kept")
    assert refused(capsys, "estimator", "my_own").startswith(f"plugins/{there}: exists already; choose ")
    assert [file.name for file in (tmp_path / "plugins").iterdir()] == [there]
    assert (tmp_path / "plugins" / there).read_text() == "kept"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["estimator", "pcd"], "name: must be a name that no estimator has (`rbmbench list estimators`), got 'pcd'"),
        (["dataset", "Mine"], "name: must be at most 59 small letters, digits and _, first a letter;"),
        (["paper", "a" * 60], "name: must be at most 59 small letters"),
        (["claim", "mine"], "argument what: invalid choice: 'claim'"),
    ],
)
def test_what_is_not_allowed_is_refused_in_one_line(arguments, message, capsys, tmp_path):
    assert refused(capsys, *arguments).startswith(message)
    assert list(tmp_path.iterdir()) == []
