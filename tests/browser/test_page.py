"""The page of the kept results in a browser: Debian's chromium, driven by playwright."""

import csv
import json
import re
import shutil
import time
from collections import Counter

import pandas as pd
import pytest

from rbmbench.cli.making import kept_folders
from rbmbench.reporting.page.html import rendered, write_report
from rbmbench.reporting.page.model import Report

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")]
MOST_BYTES = 4_000_000
MOST_SECONDS = 2.0
FIGURE = "paper/popcd_fig1"


@pytest.fixture(scope="module")
def file(repository, tmp_path_factory):
    page = tmp_path_factory.mktemp("page") / "report.html"
    write_report(kept_folders(repository), page, repository / "config" / "config.yaml")
    return page


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        # Chromium's sandbox does not run as root.
        found = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def opened(browser, file):
    """Return a function that opens the page; nothing may be requested from elsewhere, nor said on the console."""
    contexts, said, asked = [], [], []

    def open_page(hash="", **options):
        options = {"viewport": {"width": 1400, "height": 900}, "accept_downloads": True} | options
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"file://{file}{hash}")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert said == []
    assert {url for url in asked if not url.startswith(("file:", "data:", "blob:"))} == set()


@pytest.fixture
def drawn(opened):
    page = opened(f"#{FIGURE}")
    page.wait_for_selector(f"[id='{FIGURE}'] canvas")
    return page


@pytest.fixture(scope="module")
def claims(repository):
    tables = [
        pd.read_csv(folder / "claims.csv") for folder in kept_folders(repository) if (folder / "claims.csv").exists()
    ]
    return pd.concat(tables, keys=["paper", "desktop"], names=["scale", None]).reset_index("scale")


def card(page, key=FIGURE):
    return page.locator(f"[id='{key}']")


def counted(page):
    return int(page.locator("output").inner_text().split()[0])


def test_page_is_small_and_soon_usable(opened, file):
    assert file.stat().st_size <= MOST_BYTES
    opened()  # the first page of a browser starts its processes
    page = opened()
    taken = page.evaluate("performance.timing.domComplete - performance.timing.navigationStart") / 1000
    assert page.locator("output").inner_text() != ""
    # A busy machine is not the page's fault: the best of a few.
    for _ in range(4):
        if taken <= MOST_SECONDS:
            break
        time.sleep(1)
        page.reload()
        again = page.evaluate("performance.timing.domComplete - performance.timing.navigationStart") / 1000
        taken = min(taken, again)
    assert taken <= MOST_SECONDS


def test_all_links_within_the_page_have_a_target(opened):
    page = opened()
    links = page.eval_on_selector_all("a[href^='#']", "links => links.map(link => link.getAttribute('href').slice(1))")
    lost = page.evaluate(
        """links => links.filter(link => !link.startsWith('claims?'))
        .filter(link => !document.getElementById(decodeURIComponent(link)))""",
        links,
    )
    assert len(links) > 500
    assert lost == []


@pytest.mark.parametrize("facet", ["scale", "paper", "verdict", "class"])
def test_filters_count_as_the_csv(opened, claims, facet):
    page = opened()
    assert counted(page) == len(claims)
    for value, number in Counter(claims[facet]).items():
        page.select_option(f"select[name={facet}]", value)
        assert counted(page) == number
        assert page.locator("table.claims tbody tr:visible").count() == number


def test_search_finds_words_anywhere(opened):
    page = opened()
    page.fill("input[name=q]", "pop-cd mnist")
    assert 0 < counted(page) < 100
    for text in page.locator("table.claims tbody tr:visible").all_inner_texts():
        assert "pop-cd" in text.lower()
        assert "mnist" in text.lower()


def test_the_address_restores_what_was_filtered(opened, claims):
    page = opened()
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


def test_filtered_claims_can_be_saved(opened, claims):
    page = opened("#claims?scale=paper&class=reading")
    with page.expect_download() as saving:
        page.click("#download")
    with open(saving.value.path()) as saved:
        found = list(csv.DictReader(saved))
    chosen = claims[(claims["scale"] == "paper") & (claims["class"] == "reading")]
    assert [line["claim"] for line in found] == list(chosen["claim"])
    # JSON has no infinite numbers: their cells are empty.
    finite = chosen["measured"][chosen["measured"].abs() < float("inf")]
    assert [float(line["measured"]) for line in found if line["measured"]] == list(finite)


def test_a_claim_leads_to_its_figure_and_command(opened):
    page = opened("#claims?q=popcd_1.fig1.a.k1")
    page.locator("table.claims tbody tr:visible td:nth-child(3) a").first.click()
    assert page.url.endswith(f"#{FIGURE}")
    assert card(page).locator(".command code").inner_text() == "snakemake -c2 popcd_fig1"
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    card(page).locator(".copy").click()
    assert page.evaluate("navigator.clipboard.readText()") == "snakemake -c2 popcd_fig1"


def test_a_hidden_algorithm_is_hidden_on_the_whole_page(drawn):
    page = drawn
    card(page, "paper/popcd_fig2").scroll_into_view_if_needed()
    page.wait_for_selector("[id='paper/popcd_fig2'] canvas")
    shown = """() => cards.flatMap(({ panels, plots }) => plots.flatMap((u, place) => panels[place].series
        .filter((one, number) => u.series[3 * number + 3].show).map(({ key }) => key)))"""
    assert "pop_cd_1" in page.evaluate(shown)
    card(page).locator("button[data-key=pop_cd_1]").click()
    assert "pop_cd_1" not in page.evaluate(shown)
    assert card(page, "paper/popcd_fig2").locator("button[data-key=pop_cd_1]").get_attribute("aria-pressed") == "false"
    card(page).locator("button[data-key=cd_1]").dblclick()
    assert set(page.evaluate(shown)) == {"cd_1"}
    card(page).locator("button[data-key=cd_1]").dblclick()
    assert {"cd_1", "pop_cd_1", "pt_10"} <= set(page.evaluate(shown))


def test_values_at_the_cursor_are_those_of_the_csv(drawn, repository):
    numbers = pd.read_csv(repository / "results/reference/paper/data/popcd_fig1.csv.gz")
    box = card(drawn).locator(".u-over").first.bounding_box()
    for share in (0.2, 0.7):
        drawn.mouse.move(box["x"] + share * box["width"], box["y"] + box["height"] / 2)
        lines = card(drawn).locator(".tip:visible").inner_text().splitlines()
        iteration = int(lines[0].split()[-1])
        found = numbers[(numbers["panel"] == "a") & (numbers["iteration"] == iteration)].set_index("label")
        assert len(lines) == 1 + len(found)
        for line in lines[1:]:
            label, *values = re.fullmatch(r"■ (.*): (\S+) \((\S+) to (\S+)\), 25 trials", line).groups()
            expected = [float(f"{found.loc[label, name]:.5g}") for name in ("mean", "low", "high")]
            assert list(map(float, values)) == expected


def test_arrow_keys_tell_values(drawn):
    box = card(drawn).locator(".chart").first
    box.focus()
    for _ in range(2):
        drawn.keyboard.press("ArrowRight")
    assert card(drawn).locator(".tip:visible b").inner_text().startswith("iteration ")


def test_panels_share_the_zoom(drawn):
    box = card(drawn).locator(".u-over").first.bounding_box()
    drawn.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 50)
    drawn.mouse.down()
    drawn.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 60, steps=5)
    drawn.mouse.up()
    ranges = drawn.evaluate(
        "cards.find(({ name }) => name === 'paper/popcd_fig1').plots.map(u => [u.scales.x.min, u.scales.x.max])"
    )
    assert 14000 < ranges[0][0] < 16000
    assert 24000 < ranges[0][1] < 26000
    assert [round(end) for end in ranges[1]] == [round(end) for end in ranges[0]]


def test_switches_change_the_axes(drawn):
    state = "cards.find(({ name }) => name === 'paper/popcd_fig1').plots[0]"
    card(drawn).locator("input[name=logX]").check()
    assert drawn.evaluate(f"{state}.scales.x.distr") == 3
    least = drawn.evaluate(f"Math.max(...{state}.data[3])")
    card(drawn).locator("input[name=sum]").check()
    assert drawn.evaluate(f"Math.max(...{state}.data[3])") == pytest.approx(32 * least)


def test_tables_can_be_sorted(opened):
    page = opened("#paper/popcd_table1")
    table = card(page, "paper/popcd_table1").locator("table").first
    table.locator("th button").nth(3).click()
    cells = [float(text.split()[0]) for text in table.locator("tbody td:nth-child(4)").all_inner_texts() if text]
    assert cells == sorted(cells)
    assert table.locator("th").nth(3).get_attribute("aria-sort") == "ascending"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_needs_no_sideways_scroll(opened, scheme):
    page = opened(f"#{FIGURE}", viewport={"width": 390, "height": 844}, color_scheme=scheme)
    page.wait_for_selector(f"[id='{FIGURE}'] canvas")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast(opened, scheme):
    """At least 4.5 to 1, as WCAG asks."""
    page = opened(color_scheme=scheme)
    least = page.evaluate(
        """() => {
          const parsed = (colour) => colour.match(/[0-9.]+/g).map(Number);
          const light = (colour) => parsed(colour).slice(0, 3).map((part) => part / 255)
            .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
            .reduce((sum, part, place) => sum + part * [0.2126, 0.7152, 0.0722][place], 0);
          const behind = (element) => {
            for (; element; element = element.parentElement) {
              const colour = getComputedStyle(element).backgroundColor;
              if (parsed(colour)[3] !== 0) return colour;
            }
          };
          const texts = "p, td, th, a, small, button, .mark, h1, h2, h3, summary, code";
          return Math.min(...[...document.querySelectorAll(texts)]
            .filter((element) => element.checkVisibility())
            .map((element) => [light(getComputedStyle(element).color), light(behind(element))].sort((a, b) => b - a))
            .map(([more, less]) => (more + 0.05) / (less + 0.05)));
        }"""
    )
    assert least >= 4.5


def test_the_keyboard_reaches_everything(opened):
    page = opened()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.url.endswith("#claims")
    names = "input, select, button, a[href]"
    nameless = page.eval_on_selector_all(
        names,
        """all => all.filter(one => !one.textContent.trim() && !one.labels?.length && !one.getAttribute('aria-label'))
        .map(one => one.outerHTML)""",
    )
    assert nameless == []


def test_without_scripts_pictures_and_verdicts_are_there(opened, claims):
    page = opened(java_script_enabled=False)
    assert page.locator("table.claims tbody tr:visible").count() == len(claims)
    assert card(page).locator(".picture").is_visible()
    assert page.locator(".filters").is_hidden()


def test_print_has_pictures_and_few_pages(opened):
    page = opened()
    content = page.pdf(prefer_css_page_size=True)
    pages = len(re.findall(rb"/Type\s*/Page\b", content))
    assert 0 < pages <= 40
    page.emulate_media(media="print")
    assert card(page).locator(".picture").is_visible()
    assert page.locator(".filters").is_hidden()


def test_the_block_of_data_says_its_version(opened):
    data = json.loads(opened().locator("#data").text_content())
    assert data["version"] == 1
    assert [results["name"] for results in data["results"]] == ["paper", "desktop"]


def test_what_was_tried_is_linked_from_claims_that_are_not_reproduced(opened):
    page = opened("#claims?scale=paper&verdict=not%20reproduced")
    links = page.locator("table.claims tbody tr:visible a", has_text="what was tried")
    assert links.count() > 10
    assert "docs/papers.md#" in links.first.get_attribute("href")


@pytest.mark.parametrize(
    "hash", ["#%E0%A4", "#nothing", "#claims?nothing=1&paper=none&q=%00", "#claims?sort=constructor"]
)
def test_addresses_of_nothing_are_ignored(opened, hash):
    assert opened(hash).locator("h1").is_visible()


def test_labels_are_text(browser, tmp_path):
    evil = "<img src=x onerror=alert(1)>"
    series = {"key": evil, "label": evil, "metric": evil, "mean": [1.0, 2.0]}
    panel = {"name": evil, "title": evil, "x_title": evil, "y_title": evil, "x": [0, 1], "series": [series]}
    shown = {"key": "own_fig1", "paper": "own", "heading": evil, "command": evil, "panels": [panel]}
    shown |= {"picture": "data:,", "reading": evil, "caption": evil, "cuts": [evil]}
    looks = {evil: {"colour": "#000000", "width": 1.0}}
    results = [{"name": "own", "judges": True, "claims": [], "shown": [shown]}]
    report = Report(title=evil, papers=[{"key": "own", "title": evil}], results=results, looks=looks)
    (tmp_path / "page.html").write_text(rendered(report))
    page = browser.new_page()
    said = []
    page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    page.goto(f"file://{tmp_path}/page.html")
    page.wait_for_selector("canvas")
    page.locator("summary", has_text="Numbers").click()
    page.locator(".u-over").hover()
    assert evil in page.locator(".tip").inner_text()
    assert page.locator("img[src=x]").count() == 0
    assert said == []
    page.close()
