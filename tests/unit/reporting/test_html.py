"""The page: it holds everything, needs nothing from elsewhere, and shows text as text."""

import json
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest
from reporting_results import figure, numbers, rising, stand_in, table

from rbmbench.base.errors import ResultsError
from rbmbench.base.settings import RunSettings
from rbmbench.io.layout import Layout
from rbmbench.kinds import parse_spec
from rbmbench.measurements.fingerprints import fingerprint
from rbmbench.reporting import style, text_tables
from rbmbench.reporting.claims import judge
from rbmbench.reporting.page import html
from rbmbench.reporting.page.html import VERDICTS, claims_table, write_report
from unit.kinds.test_coupling_times import coupling_figure
from unit.kinds.test_run_times import times_table

VOID = {"meta", "img", "br", "col"}


class Balance(HTMLParser):
    """Checks that every element that is opened is closed in turn."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        self.open += [] if tag in VOID else [tag]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def rendered(layout, values):
    """Write the files that a notebook makes of a figure or a table; return the spec."""
    spec = parse_spec(values, "test")
    found = spec.read()
    if spec.key in ("popcd_fig1", "ucd_fig5"):
        style.save(spec.draw(found), layout.figure(spec.key, "png"))
        text_tables.write_text(spec.caption(found), layout.figure(spec.key, "md"))
    else:
        text_tables.write_csv(spec.numbers(found), layout.table(spec.key, "csv"))
    return spec


@pytest.fixture
def layout(tmp_path):
    return Layout(str(tmp_path / "tiny"))


@pytest.fixture
def outputs(tmp_path, layout):
    drawn = figure(tmp_path, {"a": {"curves": {"cd_1": rising(-5.0)}, "meta": stand_in("mnist")}})
    shown = table(tmp_path, {"toy_3": {"cd_1": [numbers(1e-4, 2e-2, 1e-3)]}})
    claim = dict.fromkeys(judge.COLUMNS) | {"paper": "popcd", "above": 0.0}
    one = {"claim": "popcd_1.a", "class": "check", "where": "Figure 1a", "text": "A <b>claim</b>"}
    one |= {"published": "higher", "measured": 1.25, "low": 1.0, "high": 1.5}
    one |= {"fails": "below -0.25", "note": "why & how"}
    other = {"claim": "popcd_6.b", "class": "published", "where": "Table 1", "text": "other", "published": 0.0242761}
    lines = [
        claim | one | {"verdict": judge.REPRODUCED},
        claim | other | {"verdict": judge.INCONCLUSIVE, "note": "not run"},
    ]
    verdicts = pd.DataFrame(lines, columns=judge.COLUMNS)
    text_tables.write_csv(verdicts, layout.claims)
    return [rendered(layout, drawn), rendered(layout, shown)]


@pytest.fixture
def page(layout, outputs):
    write_report(layout, outputs)
    return (Path(layout.root) / "report" / "index.html").read_text()


def test_page_is_well_formed_and_self_contained(page):
    balance = Balance()
    balance.feed(page)
    assert balance.open == []
    assert "<script" not in page
    assert re.findall(r'(?:src|href)="(?!data:|#|\.\./)([^"]*)', page) == []
    assert 'src="data:image/png;base64,iVBOR' in page


def test_page_shows_verdicts_with_words(page):
    counts = "".join(f'<td class="number">{number}</td>' for number in (0, 0, 1))
    assert f'<th scope="row">published</th>{counts}' in page
    assert '<th scope="row">check</th><td class="number">1</td>' in page
    assert "would not be reproduced: below -0.25" in page
    assert "reproduced</td>" in page
    assert "1.00 to 1.50" in page
    assert "0.0243" in page
    assert "popcd_1: 1 of 1 reproduced" in page


def test_page_escapes_text(page):
    assert "A &lt;b&gt;claim&lt;/b&gt;" in page
    assert "why &amp; how" in page


def test_page_names_stand_ins_cuts_links_and_provenance(page):
    assert "Stand-in data: Digits 8x8 in place of MNIST." in page
    assert 'href="../figures/popcd_fig1.pdf"' in page
    for part in (
        "a processor, 2 cores, 4 GB memory",
        "numpy 2.0, rbmbench 0.1.0, commit 0123456789ab",
        "popcd_fig1-a-cd_1",
    ):
        assert part in page


def test_page_is_the_same_for_the_same_results(layout, outputs, page):
    again = Path(layout.root) / "report" / "again.html"
    write_report(layout, outputs, again)
    assert again.read_text() == page


RUN = RunSettings.model_validate(
    {
        "data": {"name": "toy"},
        "hidden": 3,
        "batch": 7,
        "schedule": [{"until": 40, "estimator": {"name": "cd"}, "rate": 0.1}],
    }
)


@pytest.fixture
def page_of_code(layout, outputs, tmp_path):
    """Return a function that writes the page of a run that recorded a fingerprint."""

    def written(code: str) -> str:
        (folder,) = outputs[0].folders()
        meta = json.loads((Path(folder) / "meta.json").read_text())
        meta |= {"settings": RUN.model_dump(mode="json"), "code": code}
        (Path(folder) / "meta.json").write_text(json.dumps(meta))
        write_report(layout, outputs, tmp_path / "index.html", ["config/smoke.yaml", "a b.yaml"])
        page = (tmp_path / "index.html").read_text()
        balance = Balance()
        balance.feed(page)
        assert balance.open == []
        return re.sub(r"\s+", " ", unescape(page)).replace(f"{folder}/meta.json", "FILE")

    return written


def test_results_of_other_code_are_marked_with_the_command_that_makes_them_again(page_of_code):
    page = page_of_code("0123456789")
    assert page.count("Made with other code: 1 of 1 results.") == 1
    assert "snakemake -c2 all --forcerun FILE --configfile config/smoke.yaml 'a b.yaml'" in page


def test_results_of_the_present_code_are_not_marked(page_of_code):
    page = page_of_code(fingerprint(RUN, visible=5))
    assert "other code" not in page
    assert "--forcerun" not in page
    # The two results of the table record nothing.
    assert "Made with code that computes the same as the present: 1 of 3 results." in page
    assert "Without a record of what their code computes: 2 results." in page


def test_page_shows_every_kind(layout, outputs, tmp_path):
    times, coupled = rendered(layout, times_table(tmp_path)), coupling_figure(tmp_path, rbm=[1, 2, 29])
    write_report(layout, [*outputs, rendered(layout, coupled), times], tmp_path / "index.html")
    page = (tmp_path / "index.html").read_text().replace("\N{NO-BREAK SPACE}", " ")
    balance = Balance()
    balance.feed(page)
    assert balance.open == []
    for part in ("Figure 5 of ucd", "met within 10 steps", "Table 1 of ucd", "CD-1 with log-likelihoods", "Timed on:"):
        assert part in page
    assert page.count("How sure the biases are") == 1


def test_missing_picture_is_one_line(layout, outputs):
    Path(layout.figure("popcd_fig1", "png")).unlink()
    with pytest.raises(ResultsError, match=r"popcd_fig1\.png: cannot be read \(No such file or directory\)"):
        write_report(layout, outputs)


def test_page_without_tables_can_be_written(layout, outputs, tmp_path):
    write_report(layout, outputs[:1], tmp_path / "index.html")
    assert "Figure 1 of popcd" in (tmp_path / "index.html").read_text()


def test_what_was_tried_is_linked_from_claims_that_are_not_reproduced():
    claim = dict.fromkeys(judge.COLUMNS) | {"where": "Figure 1", "text": "it", "discussed": "biases-on-mnist"}
    claim |= {"measured": 1.0, "low": 0.5, "high": 1.5, "class": "published"}
    lines = [claim | {"claim": f"popcd_{number}.a", "verdict": verdict} for number, verdict in enumerate(VERDICTS)]
    text = claims_table(pd.DataFrame(lines, columns=judge.COLUMNS), "../papers.md")
    assert re.findall(r'href="([^"]*)"', text) == ["../papers.md#biases-on-mnist"]
    assert text.index("not reproduced") < text.index("what was tried") < text.index("inconclusive")


def test_a_reading_is_marked(layout, outputs):
    write_report(layout, [spec.model_copy(update={"reading": "rates a tenth"}) for spec in outputs])
    page = (Path(layout.root) / "report" / "index.html").read_text()
    assert page.count("Another reading of the paper: rates a tenth.</p>") == 2


def test_claims_table_of_no_claims_is_empty():
    assert "<tbody>" not in claims_table(pd.DataFrame(columns=judge.COLUMNS))


def test_links_are_addresses_of_files_and_nothing_else(outputs):
    (link,) = html._shown(outputs[0], Layout("javascript:alert(1) #?"), Path(), ())["links"]
    assert link == ("notebook", "javascript%3Aalert%281%29%20%23%3F/notebooks/popcd_fig1.html")
