# SPDX-License-Identifier: BSD-3-Clause
"""Jobs that are run again after changes of the code or of own data, without compiled kernels."""

import copy
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from tiny_paper import FILES, PAPER, add_tiny_paper
from workspaces import Workspace, new_workspace

WITHOUT_NUMBA = "import sys\n\nsys.modules['numba'] = None\n"


@pytest.fixture(scope="module")
def made(repository, tmp_path_factory) -> Path:
    """A folder with a copy of the package and a workspace where the tiny paper is up to date."""
    folder = tmp_path_factory.mktemp("other_code")
    shutil.copytree(repository / "src" / "rbmbench", folder / "src" / "rbmbench", ignore=_caches)
    (folder / "src" / "sitecustomize.py").write_text(WITHOUT_NUMBA)
    (folder / "work").mkdir()
    workspace = new_workspace(repository, folder / "work")
    add_tiny_paper(workspace, with_own_data(workspace))
    with using(folder):
        workspace.mark_all_made(*FILES)
    return folder


def _caches(_folder: str, names: list[str]) -> list[str]:
    return [name for name in names if name == "__pycache__"]


def with_own_data(workspace: Workspace) -> dict:
    """Write data of a user, and return the tiny paper with a panel on them."""
    np.save(workspace.folder / "own.npy", np.eye(7, 5, dtype=np.uint8))
    paper = copy.deepcopy(PAPER)
    paper["data"]["own"] = {"name": "user_file", "options": {"path": "own.npy"}, "rows": 7, "visible": 5, "batch": 7}
    paper["figures"]["fig1"]["panels"]["b"] = {"data": "own", "hidden": 3, "rate": 0.1, "iterations": 20}
    return paper


class using:
    """Context in which processes use the package in a folder, with its own cache of fingerprints."""

    def __init__(self, folder: Path):
        self._patch, self._folder = pytest.MonkeyPatch(), folder

    def __enter__(self):
        self._patch.setenv("PYTHONPATH", str(self._folder / "src"))
        self._patch.setenv("XDG_CACHE_HOME", str(self._folder / "cache"))

    def __exit__(self, *_):
        self._patch.undo()


@pytest.fixture
def copied(made, tmp_path):
    """A writable copy of this folder."""
    shutil.copytree(made, tmp_path / "copy")
    with using(tmp_path / "copy"):
        yield tmp_path / "copy"


def edit(folder: Path, module: str, old: str, new: str) -> None:
    file = folder / "src" / "rbmbench" / module
    source = file.read_text(encoding="utf-8")
    assert old in source
    file.write_text(source.replace(old, new), encoding="utf-8")


def jobs(folder: Path, *arguments: str) -> dict[str, int]:
    counts = Workspace(folder / "work").jobs(*FILES, *arguments)
    after = ("render_figure", "render_table", "check_claims", "write_report", "tabulate_run_times")
    return {name: number for name, number in counts.items() if name not in after}


def test_changed_formula_of_an_estimator_reruns_only_its_bundles(copied):
    edit(copied, "estimators/pop_cd.py", "-= log_proposal", "-= 1.01 * log_proposal")
    assert jobs(copied) == {"bundle": 1}


def test_changed_measurement_comments_and_names_rerun_no_training(copied):
    edit(copied, "estimators/pop_cd.py", "log_weights", "logarithms_of_weights")
    edit(copied, "estimators/cd.py", "class CD", "# A remark.\nclass CD")
    edit(copied, "measurements/gradient_bias.py", "debiased = raw - floor", "debiased = raw - 2 * floor")
    assert jobs(copied) == {"measure_bias": 1}


def test_changed_recipe_of_a_data_set_reruns_its_jobs(copied):
    edit(copied, "datasets/bars_and_stripes.py", "def load(", "unused = 1\n\n    def load(")
    assert jobs(copied) == {"prepare_data": 1, "bundle": 2, "train_run": 1, "measure_bias": 1}


def test_figure_reruns_after_its_run_failed_with_changed_code(copied):
    edit(copied, "estimators/pop_cd.py", "-= log_proposal", "-= 1.01 * log_proposal")
    customize = copied / "src" / "sitecustomize.py"
    customize.write_text(f"{WITHOUT_NUMBA}\nimport os\n\nif 'bundle' in sys.orig_argv:\n    os._exit(1)\n")
    Workspace(copied / "work").snakemake("-c1", "tiny_fig1", *FILES, code=1)
    customize.write_text(WITHOUT_NUMBA)
    assert jobs(copied, "--", "tiny_fig1") == {"bundle": 1}


def test_results_without_snakemake_metadata_are_not_rerun(copied):
    edit(copied, "estimators/pop_cd.py", "-= log_proposal", "-= 1.01 * log_proposal")
    shutil.rmtree(copied / "work" / ".snakemake")
    assert jobs(copied) == {}


def test_changed_own_data_rerun_their_jobs(copied):
    work, own = copied / "work", copied / "work" / "own.npy"
    np.save(work / "other.npy", np.ones((7, 5), np.uint8))
    os.utime(work / "other.npy", (1e9, 1e9))  # older than all results
    os.replace(work / "other.npy", own)
    assert jobs(copied) == {"prepare_data": 1, "bundle": 1}


def test_missing_own_data_raise_a_one_line_error(workspace):
    add_tiny_paper(workspace, with_own_data(workspace))
    (workspace.folder / "own.npy").unlink()
    output = workspace.plan("--dry-run", *FILES, code=2)
    (line,) = [line for line in output.splitlines() if "error" in line]
    assert line.startswith("rbmbench: error: config/papers/tiny.yaml: data.own.options.path: must ")
