# SPDX-License-Identifier: BSD-3-Clause
"""Plug-ins in the workflow: jobs, notebooks and page with plug-ins, and reruns after changes of code."""

import copy
import json

import pandas as pd
import pytest
from tiny_paper import FILES, PAPER, add_tiny_paper, without_bundles

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
KIND = """
from typing import Literal

import pandas as pd

from rbmbench.config.paper import KINDS
from rbmbench.io.results import read_meta
from rbmbench.planning.chart import Axis, Chart, ChartPanel, Series
from rbmbench.planning.jobs import Output
from rbmbench.planning.kinds import Kind
from rbmbench.planning.specs import FigureSpec


class SizeSpec(FigureSpec):
    kind: Literal["size"]
    folder: str

    def sources(self):
        return {self.folder: ("meta.json",)}

    def read(self):
        return read_meta(self.folder)

    def numbers(self, meta):
        return pd.DataFrame({"hidden": [meta["settings"]["hidden"]]})

    def chart(self, meta):
        line = Series(key="longer", label="longer", x=(0, 1), mean=2 * (meta["settings"]["hidden"],))
        axes = {"x": Axis(title="time"), "y": Axis(title="units")}
        return Chart(panels=(ChartPanel(name="a", title="Size", series=(line,), **axes),))

    def caption(self, meta):
        return "Hidden units."


@KINDS.register
class Size(Kind):
    kind: Literal["size"]
    panel: str

    SPEC = SizeSpec

    def plan(self, planner, key):
        _, panel = planner.paper.panels_of("learning_curves")[self.panel]
        run = planner.run(panel, "longer")
        spec = SizeSpec(**planner.heading(key, self), folder=planner.plan.folder(run))
        return Output(spec, (run.id,))
"""
FILES_OF = {"longer.py": ESTIMATOR, "_steps.py": "STEPS = 1\n", "slower.py": RULE, "squares.py": DATA}


@pytest.fixture
def extended(workspace):
    """The tiny paper with parts of a folder of plug-ins."""
    folder = workspace.folder / "plugins"
    folder.mkdir()
    for name, text in (FILES_OF | {"size.py": KIND}).items():
        (folder / name).write_text(text)
    paper = copy.deepcopy(PAPER)
    paper["data"]["squares"] = {"name": "squares", "rows": 7, "visible": 5, "batch": 7}
    paper["algorithms"]["longer"] = {"label": "longer", "estimator": "longer", "color": "#12AB3F", "dash": "dotted"}
    paper["algorithms"]["slower"] = {"label": "slower", "estimator": "cd", "update": {"name": "slower"}}
    shown = {"data": "squares", "hidden": 3, "rate": 0.1, "iterations": 20}
    curves = {"kind": "learning_curves", "title": "Plug-ins", "algorithms": ["cd_1", "longer", "slower"]}
    paper["figures"]["fig2"] = curves | {"panels": {"a": shown}}
    paper["figures"]["fig3"] = {"kind": "size", "title": "A kind of a plug-in", "panel": "fig2.a"}
    del paper["tables"]
    add_tiny_paper(workspace, paper)
    workspace.edit("config/tiny.yaml", "plugins", ["plugins"])
    return workspace


@pytest.mark.slow
def test_reruns_depend_on_the_code_of_plugins_not_on_their_folder(extended, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(extended.folder / "cache"))
    without_bundles(extended)
    extended.mark_all_made(*FILES)
    (extended.folder / "plugins").rename(extended.folder / "moved")
    extended.edit("config/tiny.yaml", "plugins", ["moved/size.py", "moved"])
    (extended.folder / "moved" / "longer.py").write_text(f"# A remark.\n{ESTIMATOR}")
    assert extended.jobs(*FILES) == {}
    (extended.folder / "moved" / "_steps.py").write_text("STEPS = 2\n")
    again = extended.jobs(*FILES)
    assert (again["train_run"], again["render_figure"]) == (1, 2)
    (extended.folder / "moved" / "squares.py").write_text(DATA.replace("eye(7, 5)", "eye(7, 5)[::-1]"))
    again = extended.jobs(*FILES)
    assert (again["prepare_data"], again["train_run"]) == (1, 3)


def test_error_of_an_invalid_plugin_names_it_and_the_configuration(extended):
    (extended.folder / "plugins" / "longer.py").write_text("import not_there\n")
    output = extended.plan("--dry-run", *FILES, code=2)
    (line,) = [line for line in output.splitlines() if "error" in line]
    place = "rbmbench: error: config/tiny.yaml: plugins: plug-in plugins/longer.py: cannot be imported"
    assert line.startswith(f"{place} (ModuleNotFoundError: No module named 'not_there', in line 1 of longer.py)")


@pytest.mark.slow
def test_jobs_notebooks_and_page_use_plugins(extended):
    extended.snakemake(*FILES)
    results = extended.folder / "results" / "tiny"
    metas = {file.parent.name: json.loads(file.read_text()) for file in results.glob("runs/*/meta.json")}
    named = {name.split("-")[2]: [plugin["name"] for plugin in meta["plugins"]] for name, meta in metas.items()}
    with_data = {name.split("-")[2] for name, meta in metas.items() if meta["data"].get("plugins")}
    assert {name: names for name, names in named.items() if names} == {"longer": ["longer"], "slower": ["slower"]}
    assert with_data == {"cd_1", "longer", "slower"}
    curves = pd.read_csv(results / "data" / "tiny_fig2.csv")
    assert set(curves["label"]) == {"CD-1", "longer", "slower"}
    svg = (results / "figures" / "tiny_fig2.svg").read_text().lower()
    assert "#12ab3f" in svg
    page = (results / "report" / "index.html").read_text()
    assert "plug-in longer (longer.py, sha256 " in page
    assert (results / "figures" / "tiny_fig3.png").is_file()
    assert "A kind of a plug-in" in page
