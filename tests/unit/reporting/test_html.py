# SPDX-License-Identifier: BSD-3-Clause
"""The page of results: its contents, block of data, escapes and errors."""

import hashlib
import json
import math
import re
import shutil
from html import unescape
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import pandas as pd
import pytest
from browser_page import block_of
from PIL import Image
from reporting_results import CLAIM, DIFFERENCE, figure, numbers, rising, stand_in, table

from rbmbench.base.errors import ResultsError, SettingsError
from rbmbench.base.parsing import parse
from rbmbench.base.settings import RunSettings
from rbmbench.io.layout import TABLE_ENDINGS, Layout
from rbmbench.io.meta import content_checksum
from rbmbench.jobs.fingerprints import fingerprint
from rbmbench.kinds import parse_spec
from rbmbench.planning.chart import Chart, Line
from rbmbench.reporting import charts, style, text_tables
from rbmbench.reporting.claims import judge, verdict
from rbmbench.reporting.claims.files import ClaimFile
from rbmbench.reporting.claims.verdict import Verdict
from rbmbench.reporting.drawing import draw_chart
from rbmbench.reporting.page.html import chart_theme, claims_table, rendered, write_report
from rbmbench.reporting.page.model import Report
from rbmbench.reporting.page.reader import Folder
from rbmbench.reporting.style import look_of
from unit.kinds.test_coupling_times import coupling_figure
from unit.kinds.test_run_times import times_table

VOID = {"meta", "img", "br", "col", "input"}
UPLOT = {
    "uplot.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
    "uplot.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
    "uplot.LICENSE": "8f989229699b4fe2f1a0432d0e9edc338a8a911e250e2d1b01ecd770a5f5b1bd",
}
"""SHA-256 of the files of uPlot 1.6.32 on npm: dist/uPlot.iife.min.js, dist/uPlot.min.css and LICENSE."""


class Balance(HTMLParser):
    """Parser that checks that elements are closed in order; the ends of rows and cells are optional in HTML."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        self._end({"td": ("td", "th"), "tr": ("td", "th", "tr")}.get(tag, ()))
        self.open += [] if tag in VOID else [tag]

    def _end(self, tags):
        while self.open[-1:] and self.open[-1] in tags:
            self.open.pop()

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        self._end({"tr": ("td", "th"), "tbody": ("td", "th", "tr")}.get(tag, ()))
        assert self.open.pop() == tag


def write_output(layout, values):
    """Write a figure or a table, with its spec, as its notebook does; return the spec."""
    spec = parse_spec(values, "test")
    results = spec.read()
    text_tables.write_text(spec.model_dump_json(), layout.spec(spec.key))
    if "_fig" in spec.key:
        files = {ending: layout.figure(spec.key, ending) for ending in ("json", "md")}
        charts.write_figure(spec, results, csv=layout.numbers(spec.key), **files)
        Image.new("RGB", (3, 2)).save(layout.figure(spec.key, "png"))
    else:
        files = {ending: layout.table(spec.key, ending) for ending in TABLE_ENDINGS}
        charts.write_table(spec, spec.numbers(results), **files)
    return spec


@pytest.fixture
def layout(tmp_path):
    return Layout(str(tmp_path / "tiny"))


@pytest.fixture
def outputs(tmp_path, layout):
    return outputs_in(tmp_path, layout)


def outputs_in(tmp_path, layout):
    """Write a figure, a table and two verdicts; return the specs of figure and table."""
    drawn = figure(tmp_path, {"a": {"curves": {"cd_1": rising(-5.0)}, "meta": stand_in("mnist")}})
    shown = table(tmp_path, {"toy_3": {"cd_1": [numbers(1e-4, 2e-2, 1e-3)]}})
    claim = {"claim": "popcd_1.a", "standing": "check", "where": "Figure 1a", "text": "A <b>claim</b>"}
    claim |= {"published": "higher", "measured": 1.25, "low": 1.0, "high": 1.5, "above": 0.0, "below": math.inf}
    claim |= {"what": "why & how", "shown": "popcd_fig1"}
    other = {"claim": "popcd_6.b", "standing": "published", "where": "Table 1", "text": "other", "published": 0.0242761}
    other |= {"what": "not run", "reason": "not run", "shown": "popcd_table1"}
    verdict.write_verdicts([Verdict(paper="popcd", **values).decided() for values in (claim, other)], layout.claims)
    return [write_output(layout, drawn), write_output(layout, shown)]


def written(layout, page=None, **options):
    """Return the page of a folder, after a check of its elements."""
    page = Path(page or layout.report)
    write_report([layout.root], page, config="none.yaml", **options)
    text = page.read_text()
    balance = Balance()
    balance.feed(text)
    assert balance.open == []
    return text


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The page of these outputs; read only."""
    folder = tmp_path_factory.mktemp("page")
    layout = Layout(str(folder / "tiny"))
    outputs_in(folder, layout)
    return written(layout)


def test_page_of_a_folder_without_verdicts_has_its_figures(outputs, layout):
    Path(layout.verdicts).unlink()
    (results,) = block(written(layout)).results
    assert (results.claims, {item.key for item in results.shown}) == ((), {spec.key for spec in outputs})


def block(page):
    """Return the validated block of data of a page."""
    return Report.model_validate_json(block_of(page))


def test_vendored_files_are_those_of_their_release():
    folder = files("rbmbench.reporting.page") / "assets"
    assert {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in UPLOT} == UPLOT
    assert b"v1.6.32" in (folder / "uplot.js").read_bytes()


def test_page_is_self_contained(page):
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    policy = unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1])
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert len(scripts) == policy.count("sha256-") == 6
    html = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert re.findall(r'(?:src|href)="(?!data:|#|\.\./)([^"]*)', html) == []
    assert 'src="data:image/avif;base64,' in html


def test_page_has_verdicts_intervals_and_power(page):
    check, power = "<small>popcd, tiny, <b>check</b></small>", "would not be reproduced: below -0.25"
    for words in ('<td class="yes">✓ reproduced', check, power, "1.00 to 1.50", "0.0242761"):
        assert words in page


def test_page_escapes_text(page):
    assert "A &lt;b&gt;claim&lt;/b&gt;" in page
    assert "<b>claim" not in page
    assert "why &amp; how" in page


def test_page_names_stand_in_data_and_provenance(page):
    provenance = "a processor, 2 cores, 4 GB memory", "numpy 2.0, rbmbench 0.1.0, commit 0123456789ab"
    for words in ("Stand-in data: Digits 8x8 in place of MNIST.", *provenance, "popcd_fig1-a-cd_1"):
        assert words in page


def test_claims_link_to_their_figure_and_cards_have_commands(page):
    assert 'id="tiny/popcd_1.a"' in page
    assert '<a href="#tiny/popcd_fig1">Figure 1a</a>' in page
    card = page[page.index('id="tiny/popcd_fig1"') :].partition("</article>")[0]
    assert 'href="#tiny/popcd_1.a"' in card
    assert "<code>snakemake -c2 popcd_fig1</code>" in card


def test_targets_of_all_links_exist(page):
    html = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    targets = {link for link in re.findall(r'href="#([^"]*)"', html) if not link.startswith("claims?")}
    assert targets - set(re.findall(r'id="([^"]*)"', html)) == set()


def test_block_has_curves_to_five_digits(layout, outputs):
    (results,) = block(written(layout)).results
    csv = pd.read_csv(layout.numbers("popcd_fig1"))
    (panel,) = results.shown[0].panels
    assert panel.x == tuple(csv["iteration"])
    assert panel.series[0].mean == tuple(float(f"{value:.5g}") for value in csv["mean"])
    assert panel.rows == csv["rows"].iloc[0]


def test_block_escapes_ends_of_scripts():
    text = "</script><script>alert(1)</script><!--"
    claim = CLAIM | {"standing": "ours", "text": text, "verdict": verdict.REPRODUCED}
    results = {"name": "x", "judges": True, "claims": [claim], "shown": []}
    report = Report(title="t", papers=(), results=[results], looks={}, theme=chart_theme())
    page = rendered(report)
    assert page.count("</script>") == 7
    assert "<!--" not in page
    assert block(page) == report


def test_verdicts_of_the_smoke_scale_are_inconclusive(tmp_path, outputs, layout, monkeypatch):
    Path(layout.root).rename(tmp_path / "smoke")
    page = written(Layout(str(tmp_path / "smoke")))
    monkeypatch.chdir(tmp_path / "smoke")
    assert block(written(Layout("."), tmp_path / "page.html")).results[0].name == "smoke"
    assert "nothing is judged at this scale" in page
    assert {claim.verdict for claim in block(page).results[0].claims} == {verdict.INCONCLUSIVE}
    assert 'id="findings"' not in page


def test_pages_of_equal_results_are_equal(layout, outputs):
    assert written(layout, Path(layout.root) / "report" / "again.html") == written(layout)


def test_cards_of_two_scales_have_different_ids(layout, outputs, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(layout.root, other)
    for file in (other / "specs").iterdir():
        file.write_text(file.read_text().replace('"scale":"tiny"', '"scale":"other"'))
    page = tmp_path / "both.html"
    write_report([layout.root, other], page, config="none.yaml")
    cards = re.findall(r'<article class="card" id="([^"]+)"', page.read_text())
    assert sorted(cards) == sorted(f"{name}/{spec.key}" for name in ("tiny", "other") for spec in outputs)
    with pytest.raises(SettingsError, match=r"folders of results must differ in their names, got 'tiny' twice"):
        write_report([layout.root, layout.root], page, config="none.yaml")


def test_page_of_a_scale_without_claims_is_written(layout, outputs):
    verdict.write_verdicts([], layout.claims)
    assert block(written(layout)).results[0].claims == ()


def test_pages_of_kept_results_equal_those_of_the_workflow(layout, outputs, tmp_path):
    page = written(layout)
    kept = Layout(str(tmp_path / "kept" / "tiny"))
    for spec in outputs:
        metas = {Path(folder).name: json.loads((Path(folder) / "meta.json").read_text()) for folder in spec.folders()}
        text_tables.write_text(json.dumps(metas), f"{kept.root}/meta/{spec.key}.json")
    for file in (layout.verdicts, layout.table("popcd_table1", "json")):
        target = Path(kept.root) / Path(file).relative_to(layout.root)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(Path(file).read_bytes())
    (Path(kept.root) / "data").mkdir()
    shutil.copytree(Path(layout.root) / "figures", Path(kept.root) / "figures")
    for folder in map(Path, outputs[0].folders()):
        shutil.copytree(folder, kept.job("runs", folder.name))
    pd.read_csv(layout.numbers("popcd_fig1")).to_csv(f"{kept.numbers('popcd_fig1')}.gz", index=False)
    kept_results, workflow_results = (block(text).results[0] for text in (written(kept), page))
    assert kept_results.claims == workflow_results.claims
    assert kept_results.versions == workflow_results.versions
    assert [shown.panels for shown in kept_results.shown] == [shown.panels for shown in workflow_results.shown]
    (series,) = kept_results.shown[0].panels[0].series
    assert (series.run, len(series.singles)) == ("popcd_fig1-a-cd_1", series.trials)
    assert [shown.caption for shown in kept_results.shown] == [shown.caption for shown in workflow_results.shown]


STAGE = {"until": 40, "estimator": {"name": "cd"}, "rate": 0.1}
RUN = RunSettings.model_validate({"data": {"name": "toy"}, "hidden": 3, "batch": 7, "schedule": [STAGE]})


@pytest.fixture
def page_of_code(layout, outputs, tmp_path):
    """Return a function that returns the page of a run with a recorded fingerprint."""

    def with_code(code: str) -> str:
        (folder,) = outputs[0].folders()
        meta = json.loads((Path(folder) / "meta.json").read_text())
        meta |= {"settings": RUN.model_dump(mode="json"), "code": code}
        (Path(folder) / "meta.json").write_text(json.dumps(meta))
        page = written(layout, tmp_path / "index.html", configfiles=["config/smoke.yaml", "a b.yaml"])
        return re.sub(r"\s+", " ", unescape(page)).replace(f"{folder}/meta.json", "FILE")

    return with_code


def test_results_of_other_code_are_marked_with_a_command_to_rerun(page_of_code):
    page = page_of_code("0123456789")
    assert page.count("Made with other code: 1 of 1 results.") == 1
    assert "snakemake -c2 all --forcerun FILE --configfile config/smoke.yaml 'a b.yaml'" in page


def test_results_of_the_present_code_are_not_marked(page_of_code):
    page = page_of_code(fingerprint(RUN, visible=5))
    assert "other code" not in page
    assert "--forcerun" not in page
    # The two results of the table have no fingerprint.
    assert "Made with code that computes the same numbers as the present code: 1 of 3 results." in page
    assert "Without a fingerprint of their code: 2 results." in page


def test_page_has_tables_of_times_and_figures_of_couplings(layout, outputs, tmp_path):
    write_output(layout, times_table(tmp_path))
    write_output(layout, coupling_figure(tmp_path, rbm=[1, 2, 29]))
    page = written(layout, tmp_path / "index.html").replace("\N{NO-BREAK SPACE}", " ")
    for part in ("Figure 5: ", "met within 10 steps", "Table 1: ", "CD-1 with log-likelihoods", "Timed on:"):
        assert part in page
    assert page.count("How sure the biases are") == 1
    assert block(page).results[0].shown[-2].panels[0].x_title == "Gibbs steps"


def test_histograms_are_stepped_series_with_colours_of_their_entries(layout, outputs, tmp_path):
    write_output(layout, coupling_figure(tmp_path, general=[3, 29, 5], rbm=[1, 2, 2]))
    report = block(written(layout))
    (shown,) = (item for item in report.results[0].shown if item.key == "ucd_fig5")
    chart = charts.read(Chart, layout.figure(shown.key, "json"))
    histogram, met = shown.panels
    assert histogram.stepped
    assert met.stepped
    for series, bars in zip(histogram.series, chart.panels[0].bars, strict=True):
        assert series.mean == tuple(charts.numbers([*bars.heights, bars.heights[-1]], 5))
    looks = {entry.key: look_of(entry.key, entry.color, entry.dash) for entry in chart.legend.entries if entry.color}
    assert looks
    assert {key: report.looks[key].colour for key in looks} == {key: look["color"] for key, look in looks.items()}


def test_changed_looks_are_those_of_pictures_and_page(layout, outputs, monkeypatch):
    monkeypatch.setitem(style.LOOK, "xtick.labelsize", 11)
    monkeypatch.setitem(style.LOOK, "font.family", "DejaVu Serif")
    line = style.LOOKS["maximum"] | {"linewidth": 1.7, "linestyle": (0, (3, 5))}
    monkeypatch.setitem(style.LOOKS, "maximum", line)
    monkeypatch.setitem(style.LOOKS, "band", style.LOOKS["band"] | {"alpha": 0.31})
    chart = charts.read(Chart, layout.figure("popcd_fig1", "json"))
    panel = chart.panels[0].model_copy(update={"lines": (Line(title="maximum", value=-3.0),)})
    ax, *_ = draw_chart(chart.model_copy(update={"panels": (panel,)})).axes
    shaded = chart.model_copy(update={"layout": chart.layout.model_copy(update={"shade": 0.17})})
    charts.write(shaded, layout.figure("popcd_fig1", "json"))
    report = block(written(layout))
    theme, shades = report.theme, {item.key: item.shade for item in report.results[0].shown}
    assert shades == {"popcd_fig1": 0.17, "popcd_table1": None}
    assert {band.get_alpha() for band in draw_chart(shaded).axes[0].collections} == {0.17}
    assert {(text.get_fontsize(), *text.get_fontfamily()) for text in ax.get_xticklabels()} == {(11, "DejaVu Serif")}
    assert theme.fonts["tick"] == f'{11 * style.PIXELS}px "DejaVu Serif", system-ui'
    assert 1.7 in [drawn.get_linewidth() for drawn in ax.lines]
    width = 1.7 * style.PIXELS
    assert (theme.looks["maximum"].width, theme.looks["maximum"].dash) == (width, (3 * width, 5 * width))
    assert {band.get_alpha() for band in ax.collections} == {0.31} == {theme.looks["band"].alpha}


def test_missing_picture_raises_a_one_line_error(layout, outputs):
    Path(layout.figure("popcd_fig1", "png")).unlink()
    with pytest.raises(ResultsError, match=r"popcd_fig1\.png: cannot be read \(No such file or directory\)"):
        written(layout)


def test_damaged_chart_raises_a_one_line_error(layout, outputs):
    Path(layout.figure("popcd_fig1", "json")).write_text('{"version": 2, "panels": 3}')
    with pytest.raises(SettingsError, match=r"popcd_fig1\.json: panels: "):
        written(layout)


def test_meta_without_settings_raises_a_one_line_error(layout, outputs, tmp_path):
    (tmp_path / "gradients/toy_3-cd_1/meta.json").write_text("{}")
    with pytest.raises(ResultsError, match=r"toy_3-cd_1/meta\.json: key 'settings' is missing, got nothing"):
        written(layout)


@pytest.mark.parametrize("file", ["gradients/toy_3-cd_1/bias.parquet", "runs/popcd_table1-toy_3/curve.parquet"])
def test_emptied_file_raises_a_one_line_error(layout, outputs, tmp_path, file):
    path, meta = tmp_path / file, (tmp_path / file).with_name("meta.json")
    checksum = hashlib.sha256(path.read_bytes()).hexdigest()
    values = json.loads(meta.read_text()) | {"sha256": {path.name: checksum, "deleted.npz": checksum}}
    meta.write_text(json.dumps(values | {"content_sha256": content_checksum(values)}))
    written(layout)
    path.write_bytes(b"")
    with pytest.raises(ResultsError, match=f"{file}: was changed after it was written"):
        written(layout)


def test_page_of_some_specs_has_only_their_outputs(layout, outputs, tmp_path):
    assert "Table 1: " not in written(layout, tmp_path / "index.html", specs=[layout.spec("popcd_fig1")])


def test_findings_precede_figures_and_have_answers_and_claims():
    names = {"popcd_1.a": verdict.REPRODUCED, "popcd_1.b": verdict.NOT_REPRODUCED}
    claims = [CLAIM | {"claim": name, "text": f"text of {name}", "verdict": outcome} for name, outcome in names.items()]
    finding = {"paper": "popcd", "where": "Abstract", "reason": "a reason", "holds": 1, "fails": 1, "of": 3}
    finding |= {"claims": [*names, "popcd_1.c"], "answer": "partly"}
    findings = [finding | {"name": "first", "text": "One <i>finding</i>.", "headline": True}]
    findings += [finding | {"name": "second", "text": "Another.", "answer": "not run", "claims": []}]
    results = {"name": "paper", "judges": True, "findings": findings, "claims": claims, "shown": []}
    papers = [{"key": "popcd", "title": "A paper"}]
    report = Report(title="t", papers=papers, results=[results], looks={}, theme=chart_theme())
    html = re.sub(r"<script.*?</script>", "", rendered(report), flags=re.DOTALL)
    first, _, others = html.partition('id="finding/popcd/first"')[2].partition("1 more finding<")
    assert '<b class="answer partly">partly</b> <span>One &lt;i&gt;finding&lt;/i&gt;. <small>1 of 3</small>' in first
    assert first.index("a reason") < first.index("text of popcd_1.a") < first.index("text of popcd_1.b")
    assert "Claims that have not been run: 1 of 3." in first
    assert '<b class="answer not-run">not run</b> <span>Another.</span>' in others
    assert html.index('id="findings"') < html.index('id="popcd"') < html.index('id="claims"')
    assert html.count('<a href="#finding/popcd/first">its finding</a>') == 2
    assert block(rendered(report)) == report


def test_page_of_some_figures_has_only_their_findings(layout, outputs):
    claim = {"where": "here", "text": "so", "kind": "decline", "curve": "fig1.a.cd_1", "above": 0.0}
    claims = [claim | {"id": "popcd_1.a", "class": "check"}, claim | {"id": "popcd_6.b"}]
    names = {"first": "popcd_1.a", "second": "popcd_6.b"}
    findings = [{"name": name, "text": "so", "where": "", "claims": [claim]} for name, claim in names.items()]
    file = parse(ClaimFile, {"findings": findings, "claims": claims}, "test")

    def answered(**options):
        folder = Folder(Path(layout.root), Path("page.html"), (), claim_files={"popcd": file}, **options)
        return [(finding.name, finding.answer) for finding in folder.read().findings]

    assert answered() == [("first", "yes"), ("second", "not run")]
    assert answered(chosen=[Path(layout.spec("popcd_fig1"))], is_part=True) == [("first", "yes")]
    verdict.write_verdicts([], layout.claims)
    assert answered() == []


def test_page_has_the_readings_of_figures_and_tables(layout, outputs):
    for spec in outputs:
        write_output(layout, spec.model_dump(mode="json") | {"reading": "rates a tenth"})
    assert written(layout).count("Another reading of the paper: rates a tenth.</p>") == 2


def test_page_and_caption_mark_variants_and_their_verdicts(layout, tmp_path):
    curves = {"cd_1": rising(-6.0), "pop_cd_1": rising(-5.0)}
    values = figure(tmp_path, {"a": {"curves": curves, "published": {"rate": 0.02}}, "b": {"curves": curves}})
    other = DIFFERENCE | {"id": "popcd_1.b", "curve": "fig1.b.pop_cd_1", "against": "fig1.b.cd_1"}
    files = {"popcd": {"claims": [DIFFERENCE, other]}}
    verdicts = judge.evaluate(parse(judge.ClaimsSpec, {"scale": "tiny", "outputs": [values], "claims": files}, "test"))
    verdict.write_verdicts(verdicts, layout.claims)
    write_output(layout, values)
    words = "rate 0.1 (paper: 0.02)".replace(" ", "\N{NO-BREAK SPACE}")
    caption = Path(layout.figure("popcd_fig1", "md")).read_text()
    assert caption.startswith(f"A variant, not the published settings: panel a: {words}. ")
    page = written(layout)
    assert f"<b>A variant</b>, not the published settings: panel a: {words}.</p>" in page
    assert f'">variant</a> <small>panel a: {words}</small>' in page
    pairs = [("variant", verdict.REPRODUCED), ("published", verdict.REPRODUCED)]
    assert [(claim.standing, claim.verdict) for claim in block(page).results[0].claims] == pairs
    assert "<summary>2 claims on it</summary>" in page
    assert page.count("<small>other settings</small>") == 1
    assert "popcd_1: 1 of 1 reproduced; 1 of variants</th>" in claims_table(verdicts)


def test_page_links_only_to_notebooks(layout, outputs):
    text_tables.write_text("a notebook", layout.notebook("popcd_fig1", "html"))
    html = re.sub(r"<script.*?</script>", "", written(layout), flags=re.DOTALL)
    assert re.findall(r'href="([^#"][^"]*)"', html) == ["../notebooks/popcd_fig1.html"]


def test_verdict_on_an_unknown_claim_raises_a_one_line_error(layout, outputs):
    claim = {"id": "popcd_1", "where": "Figure 1", "text": "so", "kind": "decline", "curve": "fig1.a.cd_1", "above": 0}
    file = parse(ClaimFile, {"claims": [claim]}, "test")
    with pytest.raises(ResultsError, match=r"claims\.json: unknown claim '.*'; allowed: those of claims/popcd\.yaml"):
        Folder(Path(layout.root), Path("x.html"), [], claim_files={"popcd": file}).read()
