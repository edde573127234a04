# SPDX-License-Identifier: BSD-3-Clause
"""Jobs that are run again after changes, in workspaces marked as up to date by Snakemake's --touch."""

import fcntl
import shutil

import pytest
from workspaces import Workspace, new_workspace

SMOKE = ("--configfile", "config/smoke.yaml")
POPCD = ("config/smoke.yaml", "overrides", "popcd")


@pytest.fixture(scope="module")
def all_made(repository, tmp_path_factory, worker_id):
    """A workspace with one paper up to date at the smoke scale, shared by all workers."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "made"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            unfinished = folder.with_suffix(".new")
            unfinished.mkdir()
            workspace = new_workspace(repository, unfinished)
            workspace.keep_one_paper("popcd")
            workspace.mark_all_made(*SMOKE)
            unfinished.rename(folder)
    return Workspace(folder)


@pytest.fixture
def made(all_made, tmp_path):
    """A writable copy of that workspace."""
    shutil.copytree(all_made.folder, tmp_path / "copy")
    return Workspace(tmp_path / "copy")


def test_a_deleted_table_reruns_only_its_rendering(made):
    (made.folder / "results/smoke/tables/popcd_table1.csv").unlink()
    # The page has the table; the claims do not depend on it.
    assert made.jobs(*SMOKE) == {"render_table": 1, "write_report": 1}


@pytest.mark.slow
def test_a_deleted_curve_reruns_its_training_for_a_figure(made):
    next(made.folder.glob("results/smoke/runs/letters-16h-pt_10-0.01-*/curve.parquet")).unlink()
    assert made.jobs(*SMOKE, "--", "popcd_fig2") == {}
    (made.folder / "results/smoke/figures/popcd_fig2.png").unlink()
    assert made.jobs(*SMOKE, "--", "popcd_fig2") == {"bundle": 1, "render_figure": 1}
    assert made.jobs(*SMOKE, "--", "popcd_fig1", "popcd_table1") == {}


def test_a_changed_panel_reruns_its_runs(made):
    made.edit(*POPCD, "figures", "fig1", "panels", "a", "iterations", 123)
    expected = {"write_specs": 1, "bundle": 1, "render_figure": 1}
    assert made.jobs(*SMOKE) == expected | {"check_claims": 1, "write_report": 1, "tabulate_run_times": 1}


@pytest.mark.slow
def test_a_changed_ground_truth_reruns_no_training(made):
    made.edit(*POPCD, "tables", "table1", "ground_truth", "samples", 999)
    assert made.jobs(*SMOKE, "--", "popcd_table1") == {"bundle": 8, "render_table": 1}
    assert made.jobs(*SMOKE, "--", "all_figures") == {}


def test_a_changed_title_reruns_no_computation(made):
    made.edit(*POPCD, "figures", "fig2", "title", "Another title")
    expected = {"write_specs": 1, "render_figure": 1, "check_claims": 1, "write_report": 1}
    assert made.jobs(*SMOKE) == expected


def test_a_changed_notebook_reruns_its_rendering(made):
    with (made.folder / "notebooks/learning_curves.ipynb").open("a") as file:
        file.write("\n")
    assert made.jobs(*SMOKE, "--", "paper_popcd") == {"render_figure": 5}


def test_changed_options_of_data_rerun_preparation_and_training(made):
    made.edit(*POPCD, "data", "mnist", "options", "threshold", 5)
    counts = made.jobs(*SMOKE, "--", "all_figures")
    # All bundles with runs on these data or their annealing.
    assert counts == {"prepare_data": 1, "bundle": 6, "render_figure": 3}


def test_changed_annealing_reruns_no_training(made):
    # Annealings of panel c are no longer bundled with those of panel d.
    made.edit(*POPCD, "figures", "fig3", "panels", "c", "annealing", {"particles": 7})
    assert made.jobs(*SMOKE, "--", "all_figures") == {"evaluate_run": 4, "bundle": 1, "render_figure": 1}


def test_a_changed_claim_reruns_the_check_of_claims(made):
    with (made.folder / "config/claims/popcd.yaml").open("a") as file:
        file.write("\n# A remark.\n")
    assert made.jobs(*SMOKE) == {"check_claims": 1, "write_report": 1}


def test_folders_backend_comments_and_environment_rerun_nothing(made):
    made.edit("config/smoke.yaml", "data", {"mirror": "there", "cache": "here"})
    made.edit("config/smoke.yaml", "backend", "numpy")
    for file in ("config/smoke.yaml", "config/config.yaml", "config/papers/popcd.yaml", "environment.yml"):
        with (made.folder / file).open("a") as handle:
            handle.write("\n# A remark.\n")
    assert made.jobs(*SMOKE) == {}
