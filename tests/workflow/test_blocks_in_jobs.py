# SPDX-License-Identifier: BSD-3-Clause
"""Blocks of trials in the workflow: planned, computed and joined to the results of whole jobs."""

import copy

import pytest
from tiny_paper import FILES, PAPER, add_tiny_paper

from rbmbench.io.layout import CURVE, MODEL, TRUTH
from rbmbench.io.results import read_table

TRIALS = 3
TARGETS = "tiny_fig1", "tiny_table1"


@pytest.fixture
def annealed(workspace):
    """The tiny paper with two runs that are annealed, and a table of biases."""
    paper = copy.deepcopy(PAPER)
    paper["defaults"] |= {"trials": TRIALS, "annealing": {"particles": 7, "temperatures": 11}}
    paper["data"]["bars"] |= {"options": {"side": 6}, "rows": 128, "visible": 36}
    paper["figures"]["fig1"]["panels"]["a"] |= {"hidden": 29}
    paper["tables"]["table1"] |= {"models": TRIALS, "rows": {"bars_5": paper["tables"]["table1"]["rows"]["bars_5"]}}
    add_tiny_paper(workspace, paper)
    return workspace


def test_every_trial_is_a_block_and_the_results_are_those_of_whole_jobs(annealed):
    annealed.snakemake(*FILES, "--", *TARGETS)
    results, whole = annealed.folder / "results", annealed.folder / "whole"
    results.rename(whole)
    rules = annealed.folder / "workflow/rules/common.smk"
    before, line, after = rules.read_text().partition("BLOCKS_OF = ")
    short = "from rbmbench.planning import blocks\n\nblocks.LITTLE_SECONDS = blocks.MOST_SECONDS = 0\n"
    rules.write_text(before + short + line + after)
    jobs = annealed.jobs(*FILES, "--", *TARGETS)
    whole_jobs = {"train_run": 3, "evaluate_run": 2, "compute_ground_truth": 2, "measure_bias": 1}
    of_trials = {f"{rule}_block": TRIALS * number for rule, number in whole_jobs.items()}
    assert {name: number for name, number in jobs.items() if name in whole_jobs or name in of_trials} == (
        whole_jobs | of_trials
    )
    annealed.snakemake(*FILES, "--", *TARGETS)
    for file in whole.glob(f"tiny/*/*/{CURVE}"):
        folder = file.parent
        assert read_table(results / folder.relative_to(whole), CURVE).equals(read_table(folder, CURVE))
    models = [file.relative_to(whole) for file in whole.glob(f"tiny/runs/*/{MODEL}")]
    models += [file.relative_to(whole) for file in whole.glob(f"tiny/gradients/*/{TRUTH}")]
    assert len(models) == 5
    assert all((results / file).read_bytes() == (whole / file).read_bytes() for file in models)
    assert annealed.jobs(*FILES, "--", *TARGETS) == {}


def test_the_paper_scale_can_be_planned(workspace):
    jobs = workspace.jobs("--", "sdcp_fig5_small_batches")
    assert jobs["train_run_block"] > 0
    assert jobs["evaluate_run_block"] > 0
