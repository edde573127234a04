# SPDX-License-Identifier: BSD-3-Clause
"""The page in a browser: size, findings, claims, links, tables, accessibility, print, escapes of text."""

import csv
import re
from collections import Counter

import pandas as pd
import pytest
from browser_page import CLAIM, FIGURE, USABLE, card, counted_in, data_of

from rbmbench.cli.making import shown_folders
from rbmbench.reporting.page.html import chart_theme, rendered
from rbmbench.reporting.page.model import Report

pytestmark = pytest.mark.browser
MOST_BYTES = 4_000_000


@pytest.fixture(scope="module")
def claims(repository):
    files = [folder / "claims.csv" for folder in shown_folders(repository / "results" / "reference")]
    tables = [pd.read_csv(file) for file in files if file.exists()]
    return pd.concat(tables, keys=["paper", "desktop"], names=["scale", None]).reset_index("scale")


def counted(page):
    return int(page.locator("#claims output").inner_text().split()[0])


def test_page_is_small_and_usable(opened, file):
    assert file.stat().st_size <= MOST_BYTES
    page = opened()
    assert page.evaluate(USABLE) > 0
    assert page.locator("#claims output").inner_text() == ""  # closed


def test_first_screens_have_the_answers_to_all_headlines(opened, repository):

    for width, most in ((1400, 2.2), (390, 12)):
        page = opened(viewport={"width": width, "height": 900})
        assert page.locator("#findings").bounding_box()["height"] < most * 900
        papers = page.locator("article.findings")
        assert papers.count() == 5
        assert papers.locator(".thumb img").count() == 5
        findings = [text.split("\n") for text in papers.locator("div > .finding > summary").all_inner_texts()]
        expected = {
            f"{finding['text']} {finding['holds']} of {finding['of']}"
            if finding["answer"] != "not run"
            else finding["text"]: finding["answer"]
            for finding in data_of(page)["results"][0]["findings"]
            if finding.get("headline")
        }
        assert {text: answer for answer, text in findings} == expected
    words = page.locator("#findings").inner_text().lower()
    assert not [word for word in ("reading", "desktop", "paper scale") if re.search(rf"\b{word}\b", words)]


def test_findings_link_to_claims_and_claims_to_charts(opened):
    page = opened("#finding/popcd/no_divergence")
    finding = page.locator("[id='finding/popcd/no_divergence']")
    assert finding.locator("li").count() == 8
    assert finding.locator("li .strip").count() == 8
    finding.locator("li a").first.click()
    page.wait_for_selector(f"[id='{FIGURE}'] .pointed")
    assert "pop-CD-1 shows no sign of divergence" in card(page).locator(".pointed").inner_text()


def test_all_links_within_the_page_have_a_target(opened):
    page = opened()
    links = page.eval_on_selector_all("a[href^='#']", "links => links.map(link => link.getAttribute('href').slice(1))")
    missing = page.evaluate(
        """links => links.filter(link => !link.startsWith('claims?'))
        .filter(link => !document.getElementById(decodeURIComponent(link.split('?')[0])))""",
        links,
    )
    assert len(links) > 500
    assert missing == []
    ids = page.eval_on_selector_all("[id]", "all => all.map(({ id }) => id)")
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("facet", ["scale", "paper", "verdict", "class"])
def test_numbers_of_filtered_claims_are_those_of_the_csv(opened, claims, facet):
    page = opened("#claims")
    assert counted(page) == len(claims)
    for value, number in Counter(claims[facet]).items():
        page.select_option(f"select[name={facet}]", value)
        assert counted(page) == number
        assert page.locator("table.claims tbody tr:visible").count() == min(number, 50)


def test_claims_are_shown_fifty_at_a_time(opened, claims):
    page = opened("#claims")
    rows = page.locator("table.claims tbody tr")
    assert rows.locator("visible=true").count() == 50
    page.click("#more")
    assert rows.locator("visible=true").count() == 100
    page.fill("input[name=q]", "popcd_1.fig1.a.k1")
    assert rows.locator("visible=true").count() == counted(page) < 50
    assert page.locator("#more").is_hidden()
    page = opened("#" + rows.last.get_attribute("id"))
    assert page.locator("tr:target").is_visible()
    page = opened("#claims")
    page.emulate_media(media="print")
    assert page.locator("table.claims tbody tr:visible").count() == len(claims)


def test_search_finds_words_anywhere(opened):
    page = opened("#claims")
    page.fill("input[name=q]", "pop-cd mnist")
    assert 0 < counted(page) < 100
    for text in page.locator("table.claims tbody tr:visible").all_inner_texts():
        assert "pop-cd" in text.lower()
        assert "mnist" in text.lower()


def test_the_address_restores_filters_and_order(opened, claims):
    page = opened("#claims")
    page.select_option("select[name=paper]", "ucd")
    page.select_option("select[name=verdict]", "not reproduced")
    page.select_option("select[name=sort]", "measured")
    shown = page.locator("table.claims tbody tr:visible").all_inner_texts()
    again = opened("#" + page.url.partition("#")[2])
    assert again.locator("table.claims tbody tr:visible").all_inner_texts() == shown
    assert counted(again) == ((claims["paper"] == "ucd") & (claims["verdict"] == "not reproduced")).sum()
    measured = [
        float(text) for text in again.locator("table.claims tbody tr:visible td:last-child b").all_inner_texts()
    ]
    assert measured == sorted(measured)


def test_filtered_claims_are_saved_as_csv(opened, claims):
    page = opened("#claims?scale=paper&class=reading")
    with page.expect_download() as saving:
        page.click("#download")
    with open(saving.value.path()) as file:
        lines = list(csv.DictReader(file))
    chosen = claims[(claims["scale"] == "paper") & (claims["class"] == "reading")]
    assert sorted(line["claim"] for line in lines) == sorted(chosen["claim"])
    numbers = chosen["measured"].dropna()
    assert any(numbers == float("inf"))
    assert sorted(float(line["measured"]) for line in lines if line["measured"]) == sorted(numbers)


def test_a_clicked_heading_sorts_the_table(opened):
    page = opened("#paper/popcd_table1")
    table = card(page, "paper/popcd_table1").locator("table").first
    table.locator("th button").nth(3).click()
    cells = [float(text.split()[0]) for text in table.locator("tbody td:nth-child(4)").all_inner_texts() if text]
    assert cells == sorted(cells)
    assert table.locator("th").nth(3).get_attribute("aria-sort") == "ascending"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_is_no_wider_than_a_phone(opened, scheme):
    page = opened(f"#{FIGURE}?claim={CLAIM}", viewport={"width": 390, "height": 844}, color_scheme=scheme)
    page.wait_for_selector(f"[id='{FIGURE}'] canvas")
    counted_in(page, FIGURE, "seconds")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation(opened, scheme):

    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    page = opened(f"#{FIGURE}?claim={CLAIM}", color_scheme=scheme)
    page.wait_for_selector(f"[id='{FIGURE}'] canvas")
    counted_in(page, FIGURE, "seconds")
    card(page).locator("details.data summary").first.click()
    report = axe.Axe().run(page)
    assert [(violation["id"], violation["nodes"][0]["html"]) for violation in report.response["violations"]] == []


def test_controls_have_names_and_the_page_a_skip_link(opened):
    page = opened()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.url.endswith("#findings")
    names = "input, select, button, a[href]"
    nameless = page.eval_on_selector_all(
        names,
        """all => all.filter(one => !one.textContent.trim() && !one.labels?.length && !one.getAttribute('aria-label'))
        .map(one => one.outerHTML)""",
    )
    assert nameless == []


def test_page_without_scripts_has_pictures_findings_and_verdicts(opened, claims):
    page = opened(java_script_enabled=False)
    assert page.locator("article.findings").count() == 5
    assert card(page).locator(".picture").is_visible()
    page.locator("#claims summary").click()
    assert page.locator("table.claims tbody tr:visible").count() == len(claims)
    assert page.locator(".filters").is_hidden()


def test_print_has_pictures_and_few_pages(opened):
    page = opened()
    content = page.pdf(prefer_css_page_size=True)
    pages = len(re.findall(rb"/Type\s*/Page\b", content))
    assert 0 < pages <= 40
    page.emulate_media(media="print")
    assert card(page).locator(".picture").is_visible()
    assert page.locator(".filters").is_hidden()
    heads = page.locator("article thead th").all_inner_texts()
    assert heads
    assert all(heads)


def test_the_block_of_data_has_its_version(opened):
    data = data_of(opened())
    assert data["version"] == 3
    assert [results["name"] for results in data["results"]] == ["paper", "desktop"]


def test_claims_link_to_their_findings(opened):
    page = opened("#claims?scale=paper&verdict=not%20reproduced")
    links = page.locator("table.claims tbody tr:visible a", has_text="its finding")
    assert links.count() > 10
    links.first.click()
    assert page.locator("details.finding[open]").count() == 1


@pytest.mark.parametrize(
    "hash", ["#%E0%A4", "#nothing", "#claims?nothing=1&paper=none&q=%00", "#claims?sort=constructor"]
)
def test_unknown_addresses_are_ignored(opened, hash):
    assert opened(hash).locator("h1").is_visible()


def test_labels_are_escaped(browser, tmp_path):
    script = "<img src=x onerror=alert(1)>"
    series = {"key": script, "label": script, "metric": script, "mean": [1.0, 2.0]}
    panel = {"name": script, "title": script, "x_title": script, "y_title": script, "x": [0, 1], "series": [series]}
    shown = {"key": "own_fig1", "paper": "own", "heading": script, "command": script, "panels": [panel]}
    shown |= {
        "picture": {"address": "data:,", "width": 1, "height": 1},
        "reading": script,
        "caption": script,
        "differences": [script],
    }
    looks = {script: {"colour": "#000000", "width": 1.0}}
    results = [{"name": "own", "judges": True, "claims": [], "shown": [shown]}]
    report = Report(
        title=script, papers=[{"key": "own", "title": script}], results=results, looks=looks, theme=chart_theme()
    )
    (tmp_path / "page.html").write_text(rendered(report))
    page = browser.new_page()
    dialogs = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.goto(f"file://{tmp_path}/page.html")
    page.wait_for_selector("canvas")
    page.locator("summary", has_text="Numbers").click()
    page.locator(".u-over").hover()
    assert script in page.locator(".tip").inner_text()
    assert page.locator("img[src=x]").count() == 0
    assert dialogs == []
    page.close()
