# SPDX-License-Identifier: BSD-3-Clause
"""Blocks of trials in the workflow, joined to the results of undivided jobs."""

import os
import shlex
import shutil

from tiny_paper import FILES, add_annealed_paper, cut_into_blocks

from rbmbench.cli import main
from rbmbench.io.layout import CURVE, MODEL
from rbmbench.io.results import read_table

TRIALS = 2


def test_results_of_blocks_equal_those_of_undivided_jobs(workspace, monkeypatch):
    add_annealed_paper(workspace, TRIALS, ["cd_1"])
    targets = [name for name in workspace.planned(*FILES, "--", "tiny_fig1") if name.endswith((CURVE, MODEL))]
    monkeypatch.chdir(workspace.folder)
    for line in workspace.plan(*FILES, "-np", "--logger-rbmbench-all-messages", "--", *targets).splitlines():
        if line.startswith("Shell command: rbmbench "):
            assert main(shlex.split(line)[3:]) == 0
    results, whole = workspace.folder / "results", workspace.folder / "whole"
    results.rename(whole)
    # Snakemake deletes files older than their inputs: the workflow resets dates in the future.
    data = shutil.copytree(whole / "tiny/datasets", results / "tiny/datasets") / "bars.npz"
    os.utime(data, (4e9, 4e9))
    cut_into_blocks(workspace)
    jobs = workspace.jobs(*FILES, "--", *targets)
    whole_jobs = {"train_run": 1, "evaluate_run": 1}
    assert jobs == whole_jobs | {f"{rule}_block": TRIALS * number for rule, number in whole_jobs.items()}
    output = workspace.snakemake(*FILES, "--", *targets)
    assert "rbmbench: warning: results/tiny: 1 dates were in the future, set to now" in output
    for file in whole.glob(f"tiny/*/*/{CURVE}"):
        folder = file.parent
        assert read_table(results / folder.relative_to(whole), CURVE).equals(read_table(folder, CURVE))
    (model,) = (file.relative_to(whole) for file in whole.glob(f"tiny/*/*/{MODEL}"))
    assert (results / model).read_bytes() == (whole / model).read_bytes()
    assert workspace.jobs(*FILES, "--", *targets) == {}
