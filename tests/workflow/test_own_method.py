# SPDX-License-Identifier: BSD-3-Clause
"""The steps of docs/arena.md: an own method in the arena, its certificates and the page."""

import re
import shutil

import pandas as pd
import pytest
import yaml

from rbmbench.cli import main
from rbmbench.reporting.claims.verdict import write_verdicts

OVERLAY = re.compile(r'^```yaml title="(config/mine\.yaml)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)
FIGURE = {"algorithms": ["cd_1", "mine"], "rates": [0.1], "contests": {"letters": None}}
SMALL = {"overrides": {"arena": {"defaults": {"trials": 5}, "figures": {"fig1": FIGURE}}}}


@pytest.mark.slow
def test_an_own_method_is_ranked_certified_and_on_the_page(repository, workspace, monkeypatch):
    [(name, text)] = OVERLAY.findall((repository / "docs/arena.md").read_text("utf-8"))
    (workspace.folder / name).write_text(text)
    (workspace.folder / "plugins").mkdir()
    shutil.copy(repository / "docs/examples/mean_field_cd.py", workspace.folder / "plugins")
    (workspace.folder / "config/small.yaml").write_text(yaml.safe_dump(SMALL))
    files = ("config/smoke.yaml", name, "config/small.yaml")
    workspace.snakemake("arena_fig2", "arena_table1", "--configfile", *files)
    results = workspace.folder / "results/smoke"
    ranks = pd.read_csv(results / "data/arena_fig2.csv").query("contest == 'bars_and_stripes' and cost == 'products'")
    assert sorted(ranks["algorithm"]) == ["cd_1", "mine"]
    assert ranks["rank"].sum() == pytest.approx(3.0)
    assert (ranks["examined"] == 2).all()
    table = (results / "tables/arena_table1.md").read_text("utf-8")
    assert re.search(r"^\| mine +\| 0\.1 ", table, re.MULTILINE)

    monkeypatch.chdir(workspace.folder)
    write_verdicts([], results / "claims.csv")
    specs = sorted(map(str, results.glob("specs/arena_*.json")))
    assert main(["report", str(results), "--specs", *specs, "--out", "report.html"]) == 0
    page = (workspace.folder / "report.html").read_text("utf-8")
    assert "plug-in mean_field_cd (mean_field_cd.py, sha256 " in page
    assert re.search(r"<td[^>]*>mine\s*<", page)
