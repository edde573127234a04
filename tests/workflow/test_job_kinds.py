# SPDX-License-Identifier: BSD-3-Clause
"""A kind of job added by two plug-ins: the kind of job, and a kind of figure that needs it."""

import copy
import json

from tiny_paper import FILES, PAPER, add_tiny_paper

JOB = """
import pandas as pd

from rbmbench.base.settings import Count, Settings
from rbmbench.jobs import REGISTRY, Measurement, Results
from rbmbench.model.work import Work


class NormSettings(Settings):
    power: Count = 2
    seed: int = 0


@REGISTRY.register
class NormJob(Measurement):
    Settings = NormSettings
    folder, files = "norms", ("norms.parquet",)
    rule, infix, title = "measure_norms", "norm", "norm"

    def measure(self, task, rbm, dataset, progress, checkpointer):
        norms = (rbm.W ** task.settings.power).sum((-2, -1))
        return Results({"norms.parquet": pd.DataFrame({"trial": range(len(norms)), "norm": norms})})

    def work(self, settings, sizes, pilot=False):
        return Work({"measuring": {"start": 1, "parameter": sizes.m * sizes.n * sizes.trials}}, {"process": 1})

    def probe(self, settings, visible, hidden, precision):
        return {"power": __import__("numpy").array([float(settings.power)])}
"""
KIND = """
from rbmbench.config.paper import KINDS
from rbmbench.io.results import read_table
from rbmbench.jobs import of_name
from rbmbench.planning.chart import Axis, Chart, ChartPanel, Series
from rbmbench.planning.jobs import Output
from rbmbench.planning.kinds import Kind
from rbmbench.planning.specs import FigureSpec


class NormsSpec(FigureSpec):
    folder: str

    def sources(self):
        return {self.folder: ("norms.parquet", "meta.json")}

    def read(self):
        return read_table(self.folder, "norms.parquet")

    def numbers(self, table):
        return table

    def chart(self, table):
        norms = Series(key="cd_1", label="CD-1", x=table["trial"], mean=table["norm"])
        axes = {"x": Axis(title="trial"), "y": Axis(title="norm")}
        return Chart(panels=(ChartPanel(name="a", title="Norms", series=(norms,), **axes),))

    def caption(self, table):
        return "Norms of the weights."


@KINDS.register
class Norms(Kind):
    panel: str

    SPEC = NormsSpec

    def plan(self, planner, key):
        _, panel = planner.paper.panels_of("learning_curves")[self.panel]
        run = planner.run(panel, "cd_1")
        settings = of_name("norm").Settings(power=2)
        norms = planner.measured("norm", f"{run.id.rpartition('-')[0]}-norm", run, settings)
        spec = NormsSpec(**planner.heading(key, self), folder=planner.plan.folder(norms))
        return Output(spec, (run.id, norms.id))
"""


def test_a_kind_of_job_of_a_plugin_is_planned_and_computed(workspace):
    folder = workspace.folder / "plugins"
    folder.mkdir()
    (folder / "norm.py").write_text(JOB)
    (folder / "norms.py").write_text(KIND)
    paper = copy.deepcopy(PAPER)
    paper["figures"]["fig2"] = {"kind": "norms", "title": "Norms", "panel": "fig1.a"}
    del paper["tables"]
    add_tiny_paper(workspace, paper)
    workspace.edit("config/tiny.yaml", "plugins", ["plugins/norm.py", "plugins/norms.py"])
    jobs = [file for file in workspace.planned(*FILES, "--", "tiny_fig2") if "/norms/" in file]
    workspace.snakemake(*FILES, "--", *jobs, "forecast")
    (made,) = (workspace.folder / "results/tiny").glob("norms/*/meta.json")
    meta = json.loads(made.read_text())
    assert (meta["job"], meta["settings"]) == ("norm", {"power": 2, "seed": 0})
    assert len(meta["code"]) == 10
    assert meta["sha256"].keys() == {"norms.parquet"}
    assert "tiny_fig2" in (workspace.folder / "results/tiny/forecast.csv").read_text()
