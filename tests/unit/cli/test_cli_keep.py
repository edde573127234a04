# SPDX-License-Identifier: BSD-3-Clause
"""`rbmbench keep`: figures, numbers, metadata of runs and verdicts."""

import gzip
import json

import pandas as pd
import pytest
import yaml
from matplotlib.figure import Figure
from reporting_results import DIFFERENCE, falling, figure, make_run, rising
from sample_results import isl_figure

from rbmbench import cli
from rbmbench.io.atomic import write_text
from rbmbench.io.layout import Layout
from rbmbench.io.meta import content_checksum
from rbmbench.io.results import read_kept_metas
from rbmbench.planning.specs import parse_spec
from rbmbench.reporting import charts, drawing
from rbmbench.reporting.claims.verdict import INCONCLUSIVE, read_verdicts, write_verdicts


def draw(scale, values):
    """Write the files of a figure without its pictures."""
    spec, layout = parse_spec(values, "test"), Layout(str(scale))
    files = {ending: layout.figure(spec.key, ending) for ending in ("json", "md")}
    charts.write_figure(spec, spec.read(), csv=layout.numbers(spec.key), **files)
    write_text(json.dumps(values), layout.spec(spec.key))


@pytest.fixture(autouse=True)
def _empty_pictures(monkeypatch):
    """Replace charts by an empty picture."""
    monkeypatch.setattr(drawing, "draw_chart", lambda *_: Figure((1, 1)))


@pytest.fixture
def made(tmp_path):
    scale = tmp_path / "results" / "tiny"
    curves = {"cd_1": falling(-9.0, -5.0), "pop_cd_1": rising(-4.0)}
    spec = figure(scale, {"a": {"curves": curves}})
    draw(scale, spec)
    other = DIFFERENCE | {"id": "popcd_9", "curve": "fig2.a.pop_cd_1", "against": "fig2.a.cd_1"}
    (tmp_path / "popcd.yaml").write_text(yaml.safe_dump({"claims": [DIFFERENCE, other], "needs": {"trials": 5}}))
    return scale


def keep(scale, *more):
    parts = "--folder", scale, "--out", scale / "kept", *(more or ["--figures", "popcd_fig1"])
    claims = scale.parents[1] / "popcd.yaml"
    return cli.main([str(part) for part in ("keep", "--scale", "tiny", *parts, "--claims", claims)])


def contents(folder):
    """Return the contents of all files below a folder by their paths."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_files_meta_and_verdicts_are_kept(made):
    assert keep(made) == 0
    kept = sorted(str(path.relative_to(made / "kept")) for path in (made / "kept").rglob("*") if path.is_file())
    pictures = [f"figures/popcd_fig1.{ending}" for ending in ("json", "md", "pdf", "png", "svg")]
    specs = ["meta/popcd_fig1.json", "specs/popcd_fig1.json"]
    assert kept == ["claims.csv", "claims.json", "data/popcd_fig1.csv.gz", *pictures, *specs]
    numbers = gzip.decompress((made / "kept" / "data" / "popcd_fig1.csv.gz").read_bytes())
    assert numbers == (made / "data" / "popcd_fig1.csv").read_bytes()
    metas = read_kept_metas(made / "kept" / "meta" / "popcd_fig1.json")
    assert set(metas) == {"popcd_fig1-a-cd_1", "popcd_fig1-a-pop_cd_1"}
    assert metas["popcd_fig1-a-cd_1"]["commit"] == "0123456789abcdef"
    # The claim on a figure that is not kept is left out.
    verdicts = pd.read_csv(made / "kept" / "claims.csv")
    assert verdicts[["claim", "verdict"]].to_numpy().tolist() == [["popcd_1.a", "reproduced"]]


def test_meta_of_samples_and_of_their_models_is_kept(made):
    values = {"gibbs": [[-40, -36, -32, -30.0]]}
    spec = isl_figure(made, {"a": {"values": values}})
    spec["panels"][0]["runs"][0]["folder"] = make_run(made / "runs" / "toy-3h-cd_1", rising(-4.0))
    draw(made, spec)
    assert keep(made, "--figures", "rates_fpcd_fig2") == 0
    metas = read_kept_metas(made / "kept" / "meta" / "rates_fpcd_fig2.json")
    assert set(metas) == {"toy-3h-cd_1", "rates_fpcd_fig2-a"}
    assert metas["rates_fpcd_fig2-a"]["grids"] == {"gibbs": [{"k": 1}, {"k": 5}]}


def test_earlier_verdicts_are_kept_in_the_order_of_the_claims(made):
    assert keep(made) == 0
    file = made / "kept" / "claims.csv"
    (record,) = read_verdicts(file.with_suffix(".json"))
    without_claim = record.model_copy(update={"claim": "popcd_0"})
    later = record.model_copy(update={"claim": "popcd_9", "measured": -2.0, "low": -3.0, "high": -1.0})
    write_verdicts([without_claim, later, record.model_copy(update={"verdict": INCONCLUSIVE})], file)
    assert keep(made) == 0
    expected = [["popcd_1.a", "reproduced"], ["popcd_9", "not reproduced"]]
    assert pd.read_csv(file)[["claim", "verdict"]].to_numpy().tolist() == expected


def test_earlier_verdicts_are_updated_by_changed_claims(made):
    assert keep(made) == 0
    measured = float(pd.read_csv(made / "kept" / "claims.csv").loc[0, "measured"])
    changed = DIFFERENCE | {"above": measured + 1, "text": "by one more", "class": "reading"}
    (made.parents[1] / "popcd.yaml").write_text(yaml.safe_dump({"claims": [changed], "needs": {"trials": 5}}))
    assert keep(made, "--runs") == 0
    line = pd.read_csv(made / "kept" / "claims.csv").loc[0]
    assert line[["measured", "above", "verdict"]].tolist() == [measured, measured + 1, "not reproduced"]
    assert line[["text", "class"]].tolist() == ["by one more", "reading"]
    assert f"should be above {measured + 1:.3g}" in line["note"]


def test_verdicts_of_other_papers_keep_their_order(made):
    assert keep(made) == 0
    file = made / "kept" / "claims.csv"
    (record,) = read_verdicts(file.with_suffix(".json"))
    names = ("ucd_2", "ucd_1", "sdcp_1")
    others = [record.model_copy(update={"claim": claim, "paper": claim[:-2]}) for claim in names]
    write_verdicts([*others[:2], record, others[2]], file)
    assert keep(made) == 0
    assert pd.read_csv(file)["claim"].tolist() == ["ucd_2", "ucd_1", "popcd_1.a", "sdcp_1"]
    write_verdicts(others[:1], file)
    assert keep(made) == 0
    assert pd.read_csv(file)["claim"].tolist() == ["ucd_2", "popcd_1.a"]


def test_keeping_only_runs_does_not_change_the_verdicts(made):
    assert keep(made) == 0
    verdicts = (made / "kept" / "claims.csv").read_bytes()
    run = made / "runs" / "popcd_fig1-a-cd_1"
    (run / "model.npz").write_text("large")
    assert keep(made, "--runs", run) == 0
    copy = made / "kept" / "runs" / run.name
    assert sorted(path.name for path in copy.iterdir()) == ["curve.parquet", "meta.json"]
    assert (copy / "curve.parquet").read_bytes() == (run / "curve.parquet").read_bytes()
    assert (made / "kept" / "claims.csv").read_bytes() == verdicts
    (made / "evaluations").mkdir()
    assert keep(made, "--runs", run.rename(made / "evaluations" / run.name)) == 0
    assert (made / "kept" / "evaluations" / run.name / "curve.parquet").is_file()


def test_keeping_a_missing_file_is_an_error(made, capsys):
    (made / "data" / "popcd_fig1.csv").unlink()
    assert keep(made) == 2
    assert capsys.readouterr().err.startswith(f"rbmbench: error: {made}/data/popcd_fig1.csv: is missing")


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("runs/popcd_fig1-a-pop_cd_1/meta.json", "{}"),
        ("runs/popcd_fig1-a-pop_cd_1/meta.json", "no JSON"),
        ("runs/popcd_fig1-a-cd_1/curve.parquet", "no table"),
        ("figures/popcd_fig1.json", "{}"),
        ("specs/popcd_fig1.json", "{}"),
        ("kept/claims.json", "no JSON"),
    ],
)
def test_a_damaged_file_changes_no_kept_file(made, capsys, file, content):
    assert keep(made) == 0
    for kept in (made / "kept").rglob("*.*"):  # other contents than those that keep would write
        if kept.parent != made / "kept":
            kept.write_text("kept before")
    (made / file).write_text(content)
    before = contents(made / "kept")
    assert keep(made, "--figures", "popcd_fig1", "--runs", made / "runs" / "popcd_fig1-a-cd_1") == 2
    assert f"{made / file}" in capsys.readouterr().err
    assert contents(made / "kept") == before


def test_meta_of_figures_on_the_same_runs_is_kept_once(made, tmp_path, capsys):
    file = made / "specs" / "popcd_fig1.json"
    draw(made, json.loads(file.read_text()) | {"key": "popcd_fig2"})
    assert keep(made, "--figures", "popcd_fig1", "popcd_fig2") == 0
    metas, reference = (read_kept_metas(made / "kept" / "meta" / f"popcd_fig{n}.json") for n in (1, 2))
    assert reference == {"same_as": "popcd_fig1", "content_sha256": content_checksum(metas)}
    shown = ["report", str(made / "kept"), "--config", "none.yaml", "--out", str(tmp_path / "report.html")]
    assert cli.main(shown) == 0
    # After a change of the first metadata, the reference of the second figure is an error.
    metas["popcd_fig1-a-cd_1"] |= {"commit": "fedcba9876543210"}
    metas["popcd_fig1-a-cd_1"]["content_sha256"] = content_checksum(metas["popcd_fig1-a-cd_1"])
    (made / "kept" / "meta" / "popcd_fig1.json").write_text(json.dumps(metas))
    capsys.readouterr()
    assert cli.main(shown) == 2
    assert "popcd_fig2.json: same_as: names 'popcd_fig1'" in capsys.readouterr().err
