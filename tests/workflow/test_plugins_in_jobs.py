# SPDX-License-Identifier: BSD-3-Clause
"""Plug-ins in the workflow: data sets, estimators and update rules in its jobs."""

import copy
import json

import pytest
from tiny_paper import FILES, PAPER, add_tiny_paper

ESTIMATOR = """
from rbmbench.estimators import REGISTRY
from rbmbench.estimators.cd import CD

from ._steps import STEPS


@REGISTRY.register
class Longer(CD):
    def __init__(self, k: int = 1):
        super().__init__(k + STEPS)
"""
RULE = """
from rbmbench.updates import REGISTRY
from rbmbench.updates.sgd import SGD


@REGISTRY.register
class Slower(SGD):
    def step(self, rbm, estimator, batch, state, stream, rate, memory):
        return super().step(rbm, estimator, batch, state, stream, rate / 2, memory)
"""
DATA = """
from dataclasses import dataclass

import numpy as np

from rbmbench.datasets import REGISTRY
from rbmbench.datasets._recipe import Recipe


@REGISTRY.register
@dataclass(frozen=True)
class Squares(Recipe):
    def load(self, _sources=None):
        return self.build("Squares", train=np.eye(7, 5), preprocessing="none")
"""
FILES_OF = {"longer.py": ESTIMATOR, "_steps.py": "STEPS = 1\n", "slower.py": RULE, "squares.py": DATA}


@pytest.mark.slow
def test_jobs_use_and_record_plugins(workspace):
    folder = workspace.folder / "plugins"
    folder.mkdir()
    for name, text in FILES_OF.items():
        (folder / name).write_text(text)
    paper = copy.deepcopy(PAPER)
    paper["data"]["squares"] = {"name": "squares", "rows": 7, "visible": 5, "batch": 7}
    paper["algorithms"]["longer"] = {"label": "longer", "estimator": "longer"}
    paper["algorithms"]["slower"] = {"label": "slower", "estimator": "cd", "update": {"name": "slower"}}
    shown = {"data": "squares", "hidden": 3, "rate": 0.1, "iterations": 20}
    curves = {"kind": "learning_curves", "title": "Plug-ins", "algorithms": ["cd_1", "longer", "slower"]}
    paper["figures"] = {"fig2": curves | {"panels": {"a": shown}}}
    del paper["tables"]
    add_tiny_paper(workspace, paper, {"claims": []})
    workspace.edit("config/tiny.yaml", "plugins", ["plugins"])
    models = [name for name in workspace.planned(*FILES, "--", "tiny_fig2") if name.endswith("model.npz")]
    workspace.snakemake(*FILES, "--", *models)
    files = workspace.folder.glob("results/tiny/runs/*/meta.json")
    metas = {file.parent.name.split("-")[2]: json.loads(file.read_text()) for file in files}
    named = {name: [plugin["name"] for plugin in meta["plugins"]] for name, meta in metas.items()}
    assert named == {"cd_1": [], "longer": ["longer"], "slower": ["slower"]}
    assert all(meta["data"]["plugins"] for meta in metas.values())
