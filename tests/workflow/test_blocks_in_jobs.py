# SPDX-License-Identifier: BSD-3-Clause
"""Blocks of trials in the workflow: planned, computed and joined to the results of whole jobs."""

import copy

import pytest
from tiny_paper import FILES, PAPER, add_tiny_paper

from rbmbench.io.layout import CURVE, MODEL
from rbmbench.io.results import read_table

TRIALS = 3


@pytest.fixture
def annealed(workspace):
    """The tiny paper with two runs that are annealed."""
    paper = copy.deepcopy(PAPER)
    paper["defaults"] |= {"trials": TRIALS, "annealing": {"particles": 7, "temperatures": 11}}
    paper["data"]["bars"] |= {"options": {"side": 6}, "rows": 128, "visible": 36}
    paper["figures"]["fig1"]["panels"]["a"] |= {"hidden": 29}
    del paper["tables"]
    add_tiny_paper(workspace, paper)
    return workspace


def test_every_trial_is_a_block_and_the_results_are_those_of_whole_jobs(annealed):
    annealed.snakemake(*FILES, "--", "tiny_fig1")
    results, whole = annealed.folder / "results", annealed.folder / "whole"
    results.rename(whole)
    rules = annealed.folder / "workflow/rules/common.smk"
    before, line, after = rules.read_text().partition("BLOCKS_OF = ")
    short = "from rbmbench.planning import blocks\n\nblocks.LITTLE_SECONDS = blocks.MOST_SECONDS = 0\n"
    rules.write_text(before + short + line + after)
    jobs = annealed.jobs(*FILES, "--", "tiny_fig1")
    assert {name: number for name, number in jobs.items() if name.startswith(("train", "evaluate"))} == {
        "train_run": 2,
        "train_run_block": 2 * TRIALS,
        "evaluate_run": 2,
        "evaluate_run_block": 2 * TRIALS,
    }
    annealed.snakemake(*FILES, "--", "tiny_fig1")
    for file in whole.glob(f"tiny/*/*/{CURVE}"):
        folder = file.parent
        assert read_table(results / folder.relative_to(whole), CURVE).equals(read_table(folder, CURVE))
    models = [file.relative_to(whole) for file in whole.glob(f"tiny/runs/*/{MODEL}")]
    assert len(models) == 2
    assert all((results / file).read_bytes() == (whole / file).read_bytes() for file in models)
    assert annealed.jobs(*FILES, "--", "tiny_fig1") == {}


def test_the_paper_scale_can_be_planned(workspace):
    jobs = workspace.jobs("--", "sdcp_fig5_small_batches")
    assert jobs["train_run_block"] > 0
    assert jobs["evaluate_run_block"] > 0
