# SPDX-License-Identifier: BSD-3-Clause
"""Blocks of trials in the workflow: planned, computed and joined to the results of whole jobs."""

import os
import shutil

from tiny_paper import FILES, add_annealed_paper, cut_into_blocks

from rbmbench.io.layout import CURVE, MODEL
from rbmbench.io.results import read_table

TRIALS = 3


def test_every_trial_is_a_block_and_the_results_are_those_of_whole_jobs(workspace):
    add_annealed_paper(workspace, TRIALS, ["cd_1", "pop_cd_1"])
    workspace.snakemake(*FILES, "--", "tiny_fig1")
    results, whole = workspace.folder / "results", workspace.folder / "whole"
    results.rename(whole)
    # Snakemake deletes what is older than what it was made of: the workflow sets the date back.
    data = shutil.copytree(whole / "tiny/datasets", results / "tiny/datasets") / "bars.npz"
    os.utime(data, (4e9, 4e9))
    cut_into_blocks(workspace)
    jobs = workspace.jobs(*FILES, "--", "tiny_fig1")
    assert {name: number for name, number in jobs.items() if name.startswith(("train", "evaluate"))} == {
        "train_run": 2,
        "train_run_block": 2 * TRIALS,
        "evaluate_run": 2,
        "evaluate_run_block": 2 * TRIALS,
    }
    output = workspace.snakemake(*FILES, "--", "tiny_fig1")
    assert "rbmbench: warning: results/tiny: 1 dates were in the future, set to now" in output
    for file in whole.glob(f"tiny/*/*/{CURVE}"):
        folder = file.parent
        assert read_table(results / folder.relative_to(whole), CURVE).equals(read_table(folder, CURVE))
    models = [file.relative_to(whole) for file in whole.glob(f"tiny/runs/*/{MODEL}")]
    assert len(models) == 2
    assert all((results / file).read_bytes() == (whole / file).read_bytes() for file in models)
    assert workspace.jobs(*FILES, "--", "tiny_fig1") == {}


def test_the_paper_scale_can_be_planned(workspace):
    jobs = workspace.jobs("--", "sdcp_fig5_small_batches")
    assert jobs["train_run_block"] > 0
    assert jobs["evaluate_run_block"] > 0
