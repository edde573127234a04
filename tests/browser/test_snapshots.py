# SPDX-License-Identifier: BSD-3-Clause
"""Slider of a figure of filters and samples in a browser."""

import math

import pytest
from browser_page import card, wait_until
from image_results import ITERATIONS, images_figure

from rbmbench.io.layout import Layout
from rbmbench.kinds import parse_spec
from rbmbench.reporting import charts, text_tables
from rbmbench.reporting.claims.verdict import Verdict, write_verdicts
from rbmbench.reporting.page.html import write_report

pytestmark = pytest.mark.browser
KEY = "tiny/arena_fig5"


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """The page of two folders with the figure."""
    root = tmp_path_factory.mktemp("images")
    spec = parse_spec(images_figure(root), "test")
    images = spec.read()
    claim = {"claim": "arena_1.a", "paper": "arena", "where": "Figure 5", "text": "it", "what": "number"}
    claim |= {"standing": "ours", "measured": 1.5, "low": 1.0, "high": 2.0, "above": 0.0, "below": math.inf}
    for name in ("tiny", "small"):
        layout = Layout(str(root / name))
        named = spec.model_copy(update={"title": f"Images, {name}"})
        text_tables.write_text(named.model_dump_json(), layout.spec(spec.key))
        files = {ending: layout.figure(spec.key, ending) for ending in ("json", "md", "png")}
        charts.write_figure(named, images, csv=layout.numbers(spec.key), **files)
        write_verdicts([Verdict(**claim).decided()], layout.claims)
    page = root / "report.html"
    write_report([root / "tiny", root / "small"], page, config="none.yaml")
    return page


def shown(page, key=KEY):
    """Return the alternative texts and the addresses of the visible pictures of a figure."""
    pictures = card(page, key).locator(".models img:visible")
    return pictures.evaluate_all("all => all.map(one => one.alt)"), pictures.evaluate_all(
        "all => all.map(one => one.src)"
    )


def test_arrow_keys_change_the_iteration(opened):
    page = opened(f"#{KEY}")
    slider = card(page, KEY).get_by_label("Trained for")
    words, last = shown(page)
    assert words[:2] == ["Filters of CD_1 after 300 iterations", "Samples of CD_1 after 300 iterations"]
    assert len(set(last)) == len(last) == 4
    slider.focus()
    page.keyboard.press("ArrowLeft")
    words, before = shown(page)
    assert words[2:] == ["Filters of PCD_1 after 10 iterations", "Samples of PCD_1 after 10 iterations"]
    assert set(before).isdisjoint(last)
    assert slider.get_attribute("aria-valuetext") == card(page, KEY).locator("output").inner_text() == "10 iterations"
    page.keyboard.press("Home")
    assert shown(page)[0][0] == f"Filters of CD_1 after {ITERATIONS[0]} iterations"
    assert page.url.endswith(f"#{KEY}?iteration={ITERATIONS[0]}")
    page.keyboard.press("End")
    assert shown(page) == (["Filters of CD_1 after 300 iterations", *shown(page)[0][1:]], last)
    loaded = "all => all.every(one => one.complete && one.naturalWidth > 0)"
    assert card(page, KEY).locator(".models img").evaluate_all(loaded)


def test_the_address_has_the_iteration(opened):
    page = opened(f"#{KEY}?iteration=10")
    assert {text.split(" after ")[1] for text in shown(page)[0]} == {"10 iterations"}
    assert {text.split(" after ")[1] for text in shown(page, "small/arena_fig5")[0]} == {"300 iterations"}
    page.evaluate(f"location.hash = '{KEY}?iteration=300'")
    wait_until(page, "document.querySelector('.slider output').value === '300 iterations'")
    for iteration in ("11", "x", "", "-1"):
        assert shown(opened(f"#{KEY}?iteration={iteration}"))[0][0] == "Filters of CD_1 after 300 iterations"


def test_an_algorithm_is_hidden_in_all_figures(opened):
    page = opened(f"#{KEY}")
    card(page, KEY).locator("button[data-key=cd_1]").click()
    for key in (KEY, "small/arena_fig5"):
        assert [text.split()[2] for text in shown(page, key)[0]] == ["PCD_1", "PCD_1"]
        assert card(page, key).locator("button[data-key=cd_1]").get_attribute("aria-pressed") == "false"
    card(page, KEY).locator("button[data-key=pcd_1]").dblclick()
    assert {text.split()[2] for text in shown(page)[0]} == {"PCD_1", "CD_1"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 390])
def test_axe_finds_no_violation_and_the_page_fits_its_width(opened, scheme, width):
    page = opened(f"#{KEY}?iteration=10", color_scheme=scheme, viewport={"width": width, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    report = axe.Axe().run(page)
    assert [(violation["id"], violation["nodes"][0]["html"]) for violation in report.response["violations"]] == []


def test_the_picture_is_visible_without_scripts_and_in_print(opened):
    page = opened(f"#{KEY}", java_script_enabled=False)
    assert card(page, KEY).locator(".picture").is_visible()
    assert card(page, KEY).locator("input").count() == 0
    page = opened(f"#{KEY}")
    assert card(page, KEY).locator(".picture").is_hidden()
    page.emulate_media(media="print")
    card(page, KEY).locator(".picture").wait_for(timeout=5000)  # loaded when shown
    assert card(page, KEY).locator(".slider").is_hidden()
