# SPDX-License-Identifier: BSD-3-Clause
"""A paper of a few short runs, for tests of the workflow."""

import copy
from collections.abc import Sequence

import yaml
from workspaces import Workspace

TINY = {"scale": "tiny", "papers": ["tiny"]}
FILES = ("--configfile", "config/tiny.yaml")
TRAINED = {"data": "bars", "hidden": 5, "rate": 0.1, "iterations": 20}
CURVES = {"kind": "learning_curves", "title": "Curves", "algorithms": ["cd_1", "pop_cd_1"], "panels": {"a": TRAINED}}
BIAS = {"kind": "bias_variance", "title": "Bias", "trained_with": "cd_1", "estimators": ["cd_1"], "models": 1}
BIAS |= {"estimates": 40, "ground_truth": {"chains": 5, "burn_in": 10, "samples": 50}, "rows": {"bars_5": {**TRAINED}}}
PAPER = {"key": "tiny", "title": "A tiny paper", "citation": "nobody"} | {
    "defaults": {"trials": 2, "seed": 11, "evaluate_every": 5},
    "data": {"bars": {"name": "bars_and_stripes", "options": {"side": 3}, "rows": 16, "visible": 9, "batch": 8}},
    "algorithms": {
        "cd_1": {"label": "CD-1", "estimator": "cd", "options": {"k": 1}},
        "pop_cd_1": {"label": "pop-CD-1", "estimator": "pop_cd", "options": {"k": 1}},
        "staged": {"label": "CD, then pop-CD", "schedule": [{"estimator": "cd", "until": 7}, {"estimator": "pop_cd"}]},
    },
    "figures": {"fig1": CURVES},
    "tables": {"table1": BIAS},
}
CLAIM = {"id": "tiny_1", "where": "Figure 1", "text": "pop-CD-1 ends above CD-1", "kind": "final_difference"}
CLAIM |= {"curve": "fig1.a.pop_cd_1", "against": "fig1.a.cd_1", "above": 0.0}
CLAIMS = {"claims": [CLAIM]}


def add_tiny_paper(workspace: Workspace, paper: dict = PAPER, claims: dict = CLAIMS) -> None:
    """Write a paper with the key "tiny", its scale and its claims into a workspace."""
    for name, values in {"tiny.yaml": TINY, "papers/tiny.yaml": paper, "claims/tiny.yaml": claims}.items():
        (workspace.folder / "config" / name).write_text(yaml.safe_dump(values, sort_keys=False))


def add_annealed_paper(workspace: Workspace, trials: int, algorithms: Sequence[str], iterations: int = 20) -> None:
    """Write a paper of runs whose layers are too large for enumeration, so that they are annealed."""
    paper = copy.deepcopy(PAPER)
    paper["defaults"] |= {"trials": trials, "annealing": {"particles": 7, "temperatures": 11}}
    paper["data"]["bars"] |= {"options": {"side": 6}, "rows": 128, "visible": 36}
    paper["figures"]["fig1"]["panels"]["a"] |= {"hidden": 29, "iterations": iterations}
    paper["figures"]["fig1"]["algorithms"] = list(algorithms)
    del paper["tables"]
    add_tiny_paper(workspace, paper, {"claims": []})


def without_bundles(workspace: Workspace) -> None:
    """Run each short job in its own process."""
    rules = workspace.folder / "workflow/rules/common.smk"
    before, line, after = rules.read_text().partition("BUNDLES = bundles_of(PLAN)")
    assert line
    rules.write_text(f"{before}BUNDLES = []{after}")


def cut_into_blocks(workspace: Workspace) -> None:
    """Divide all jobs into blocks of one trial."""
    rules = workspace.folder / "workflow/rules/common.smk"
    before, line, after = rules.read_text().partition("BLOCKS_OF = ")
    short = "from rbmbench.planning import blocks\n\nblocks.MOST_SECONDS = 0\n"
    rules.write_text(before + short + line + after)
