# SPDX-License-Identifier: BSD-3-Clause
"""Charts of the page in a browser: marked claims, axes, trials, looks, and values at the cursor."""

import re

import pandas as pd
import pytest
from browser_page import CLAIM, FIGURE, card, counted_in, data_of, wait_until

from rbmbench.io.results import read_kept_metas

pytestmark = pytest.mark.browser


def test_a_claim_links_to_its_curves_runs_and_command(opened):

    page = opened("#claims?q=popcd_1.fig1.a.k1")
    page.locator("table.claims tbody tr:visible td:nth-child(3) a").first.click()
    assert page.url.endswith(f"#{FIGURE}?claim={CLAIM}")
    assert card(page).locator(".pointed").inner_text().startswith("Reproduced: pop-CD-1 ends above CD-1")
    assert card(page).locator(".command code").inner_text() == "snakemake -c2 popcd_fig1"
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    card(page).locator(".copy").click()
    assert page.evaluate("navigator.clipboard.readText()") == "snakemake -c2 popcd_fig1"
    runs = card(page).locator(".pointed a[href*='/runs/']")
    assert [run.partition("-16h-")[2][:8] for run in runs.all_inner_texts()] == ["pop_cd_1", "cd_1-0.1"]
    runs.first.click()
    assert page.locator("tr:target").is_visible()


def pointed(page, key=FIGURE):
    """Return the marked claim of a figure and the opacities of the curves in its first panel."""
    return page.evaluate(
        """key => { const card = cards.find(({ name }) => name === key);
        const [panel] = card.panels, [u] = card.plots;
        return [card.pointed?.claim ?? null, panel.series.map((one, curve) => u.series[3 * curve + 3].alpha)]; }""",
        key,
    )


def test_a_clicked_claim_marks_its_curves_and_is_in_the_address(drawn):
    assert pointed(drawn) == [None, [1] * 6]
    legend = card(drawn).locator("button[data-key=cd_1]")
    legend.click()
    assert legend.get_attribute("aria-pressed") == "false"
    link = card(drawn).locator(f".about li[data-claim='{CLAIM}'] a").first
    link.focus()
    drawn.keyboard.press("Enter")
    wait_until(drawn, "cards.some(({ pointed }) => pointed)")
    # CD-1, CD-10, PCD-1, pop-CD-1, pop-CD-10 and PT-10.
    assert pointed(drawn) == [CLAIM, [1, 0.2, 0.2, 1, 0.2, 0.2]]
    assert link.get_attribute("aria-current") == "true"
    assert legend.get_attribute("aria-pressed") == "true"  # hidden curves of a claim are shown again
    assert drawn.url.endswith(f"#{FIGURE}?claim={CLAIM}")
    drawn.go_back()
    wait_until(drawn, "cards.every(({ pointed }) => !pointed)")
    drawn.go_forward()
    wait_until(drawn, "cards.some(({ pointed }) => pointed)")
    card(drawn).locator(".pointed button").click()
    assert pointed(drawn) == [None, [1] * 6]
    assert card(drawn).locator(".pointed").is_hidden()
    assert drawn.url.endswith(f"#{FIGURE}")


def colours(page, places):
    """Return the colours of the first panel of the figure at values of its axes, with y from -12 to -2."""
    return page.evaluate(
        """async ([key, places]) => { const [u] = cards.find(({ name }) => name === key).plots;
        u.setScale("y", { min: -12, max: -2 });
        await new Promise(requestAnimationFrame);
        const { canvas } = u.ctx;
        const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
        copy.drawImage(canvas, 0, 0);
        return places.map(([x, y]) =>
            [...copy.getImageData(u.valToPos(x, "x", true), u.valToPos(y, "y", true), 1, 1).data]); }""",
        [FIGURE, places],
    )


def test_window_and_accepted_range_are_shaded(opened):
    # pop-CD-1 ends above CD-1: the window is the last 5 % of 50 000 iterations, the range above -7.07.
    places = [(33300, -9.1), (49100, -9.1), (33300, -5.3), (49100, -5.3)]
    page = opened(f"#{FIGURE}")
    page.wait_for_selector(f"[id='{FIGURE}'] canvas")
    page.evaluate("hidden.add('pcd_1').add('cd_10'); redraw(cards.find(({ name }) => name === 'paper/popcd_fig1'))")
    plain = colours(page, places)
    assert plain == [[0, 0, 0, 0]] * 4
    page.evaluate(f"location.hash = '{FIGURE}?claim={CLAIM}'")
    wait_until(page, "cards.some(({ pointed }) => pointed)")
    outside, window, accepted, overlap = colours(page, places)
    assert outside == [0, 0, 0, 0]
    assert window[0] > window[2]  # yellow
    assert accepted[1] > accepted[0]  # green
    assert overlap not in (window, accepted, outside)


def test_all_claims_on_curves_can_be_marked(opened):
    page = opened()
    marked = page.evaluate(
        """() => REPORT.results.flatMap(({ name, claims }) => claims.filter(({ marks }) => marks.length)
        .map(({ claim, shown }) => {
            const article = document.getElementById(`${name}/${shown}`);
            const done = pointAt(article, claim);
            return [claim, done, article.querySelector(".pointed")?.textContent ?? ""];
        }))"""
    )
    assert len(marked) > 300
    assert [claim for claim, done, text in marked if not done or "NaN" in text or "undefined" in text] == []


def test_all_claims_on_figures_of_curves_have_marks(opened):
    data = data_of(opened())
    drawn = {(entry["name"], shown["key"]) for entry in data["results"] for shown in entry["shown"] if shown["panels"]}
    unmarked = [
        claim["claim"]
        for entry in data["results"]
        for claim in entry["claims"]
        if (entry["name"], claim["shown"]) in drawn and not claim["marks"]
    ]
    assert unmarked == []


@pytest.mark.parametrize(("name", "title"), [("seconds", "processor seconds"), ("steps", "Gibbs steps")])
def test_values_at_the_cursor_of_other_axes_are_those_of_the_csv(opened, repository, name, title):

    key = "paper/sdcp_fig1"
    numbers = pd.read_csv(repository / "results/reference/paper/data/sdcp_fig1.csv.gz")
    metas = read_kept_metas(repository / "results/reference/paper/meta/sdcp_fig1.json").values()
    units = {"CD-12": 12.0, "S-DCP 3x4": 12.0}
    if name == "seconds":
        rate = {
            meta["run"]: meta["wall"]["training_cpu_seconds"] / meta["iterations"] / meta["trials"] for meta in metas
        }
        units = {
            label: next(seconds for run, seconds in rate.items() if f"-{algorithm}-0.3-" in run)
            for label, algorithm in {"CD-12": "cd_12", "S-DCP 3x4": "sdcp_3x4"}.items()
        }
    page = opened(f"#{key}")
    page.wait_for_selector(f"[id='{key}'] canvas")
    counted_in(page, key, name)
    box = card(page, key).locator(".u-over").first.bounding_box()
    page.mouse.move(box["x"] + 0.41 * box["width"], box["y"] + box["height"] / 2)
    first, *lines = card(page, key).locator(".tip:visible").inner_text().splitlines()
    assert first.startswith(title)
    panel = numbers[numbers["panel"] == "a"]
    for label, unit in units.items():
        line = next(line for line in lines if line.startswith(f"■ {label}:"))
        mean, at = re.search(r": (\S+) \(.*?\)(?: at (\S+))?, ", line).groups()
        x = float(at or first.split()[-1])
        rows = panel[panel["label"] == label]
        row = rows.iloc[(rows["iteration"] * unit - x).abs().argmin()]
        assert x == pytest.approx(row["iteration"] * unit, rel=5e-5)
        assert float(mean) == float(f"{row['mean']:.5g}")
    assert card(page, key).locator("p.facts:visible", has_text="iteration").count() == 1


def test_curves_without_a_fixed_number_of_steps_are_named(opened):
    key = "paper/ucd_fig2"
    page = opened(f"#{key}")
    page.wait_for_selector(f"[id='{key}'] canvas")
    counted_in(page, key, "steps")
    assert "Not drawn where the number of steps is not fixed: UCD" in card(page, key).inner_text()
    labels = page.evaluate("key => cards.find(({ name }) => name === key).plots.map((u) => u.axes[0].label)", key)
    assert [label.startswith("Gibbs steps") for label in labels] == [True, False, False, True, False, False]


def test_single_trials_are_the_first_of_the_runs(opened, repository):
    key = "paper/popcd_fig2"
    page = opened(f"#{key}")
    page.wait_for_selector(f"[id='{key}'] canvas")
    count = "key => cards.find(({ name }) => name === key).plots[0].series.length"
    assert page.evaluate(count, key) == 1 + 6 * 3
    card(page, key).locator("input[name=singles]").check()
    assert page.evaluate(count, key) == 1 + 6 * 3 + 6 * 5  # the first of 25
    run, x, trials = page.evaluate(
        """key => { const { panels: [panel] } = cards.find(({ name }) => name === key);
        return [panel.series[3].run, panel.places.map(place => panel.x[place]), panel.series[3].singles]; }""",
        key,
    )
    curve = pd.read_parquet(repository / "results/reference/paper/runs" / run / "curve.parquet")
    curve = curve[curve["metric"] == "log_likelihood"].pivot(index="trial", columns="iteration", values="value")
    assert trials == [[float(f"{value:.4g}") for value in row] for row in curve[x].to_numpy(float)[:5]]


def test_printed_values_and_reference_lines_are_drawn(opened):
    page = opened("#paper/sdcp_fig1")
    page.wait_for_selector("[id='paper/sdcp_fig1'] canvas")
    words = card(page, "paper/sdcp_fig1").locator(".axis", has_text="printed").first.inner_text()
    assert words == "╌ maximum log-likelihood, -2.1972; ◇ printed in the paper: where CD, PCD and CG are stuck, -3.15"
    place = """() => { const { panels: [panel], plots: [u] } = cards.find(({ name }) => name === 'paper/sdcp_fig1');
        const [{ value, at }] = panel.printed;
        const [x, y] = [u.valToPos(at, "x", true), u.valToPos(value, "y", true) - 5 * devicePixelRatio];
        return [...u.ctx.getImageData(x - 1, y - 1, 3, 3).data]; }"""
    assert max(page.evaluate(place)[3::4]) > 100  # the upper corner of the diamond


def test_estimates_have_bars_of_their_intervals(opened):
    page = opened("#paper/popcd_fig3")
    page.wait_for_selector("[id='paper/popcd_fig3'] canvas")
    bar = """() => { const card = cards.find(({ name }) => name === 'paper/popcd_fig3');
        const [panel] = card.panels, [u] = card.plots;
        const all = panel.series.flatMap((one) => estimates(card, panel, one).map((bar) => ({ one, ...bar })));
        const { one, x, low, high } = all.sort((a, b) => b.high - b.low - a.high + a.low)[0];
        const [across, up] = [u.valToPos(x, "x", true), u.valToPos(0.9 * high + 0.1 * low, "y", true)];
        return [...u.ctx.getImageData(across - 1, up, 3, 1).data]; }"""
    assert max(page.evaluate(bar)[3::4]) > 100  # bands are fainter


def test_compared_annealing_is_drawn_as_open_circles(opened):
    page = opened("#paper/popcd_fig3")
    page.wait_for_selector("[id='paper/popcd_fig3'] canvas")
    page.evaluate("""() => { const card = cards.find(({ name }) => name === 'paper/popcd_fig3'), panel = card.panels[0];
        const [one] = panel.series, at = one.mean.length >> 1, low = 2 * Math.min(...one.mean.filter((y) => y != null));
        const mean = one.mean.map((y, place) => (place === at ? low : null));
        const none = { low: [], high: [], estimate_low: [], estimate_high: [], singles: [] };
        panel.series.push({ ...one, ...none, mean, marked: true, metric: "annealed" });
        redraw(card); }""")
    circle = """() => { const card = cards.find(({ name }) => name === 'paper/popcd_fig3'), panel = card.panels[0];
        const [u] = card.plots, { mean } = panel.series.at(-1), at = mean.findIndex((y) => y != null);
        const x = u.valToPos(panel.x[at], "x", true), y = u.valToPos(mean[at] * factorOf(panel, card.view), "y", true);
        const opacities = u.ctx.getImageData(x, y, 8 * devicePixelRatio, 1).data.filter((_, n) => n % 4 === 3);
        return [[...opacities], card.boxes[0].parentNode.querySelector(".axis").textContent]; }"""
    opacities, words = page.evaluate(circle)
    assert opacities[0] < 100 < max(opacities)
    assert words.endswith("; open circles: annealed")


def test_charts_have_the_looks_of_the_theme(opened):
    page = opened("#paper/ucd_fig10")
    page.wait_for_selector("[id='paper/ucd_fig10'] canvas")
    looks = """() => { const card = cards.find(({ name }) => name === 'paper/ucd_fig10'), { theme } = REPORT;
        [theme.fonts.tick, theme.fonts.label] = ["17px serif", "19px serif"];
        [theme.looks.second.width, theme.looks.band.alpha] = [3.7, 0.2];
        redraw(card);
        const [u] = card.plots, [x, y] = u.axes, fill = mixed("#0072B2", theme.looks.band.alpha);
        return [x.font[0], y.font[0], x.labelFont[0], fill, u.series.map(({ width }) => width)]; }"""
    tick, other, label, fill, widths = page.evaluate(looks)
    assert "17px serif" in tick == other
    assert "19px serif" in label
    assert fill == "#0072B233"
    assert widths.count(3.7) == 3  # the second metric of three algorithms


def test_large_and_small_ticks_have_a_power_of_ten(opened):
    ticks = opened().evaluate("[0, -0.3, 0.001, 0.0005, 1700, 2.3e6].map(tickText)")
    assert ticks == ["0", "-0.3", "0.001", "5e-4", "1700", "2.3e6"]


@pytest.mark.parametrize(("name", "opacity"), [("popcd_fig1", 0.13), ("rates_fpcd_fig2", 0.15)])
def test_bands_are_as_opaque_as_in_the_picture(opened, name, opacity):
    page = opened(f"#paper/{name}")
    page.wait_for_selector(f"[id='paper/{name}'] canvas")
    fills = page.evaluate(
        "id => cards.find(({ name }) => name === id).plots.flatMap(({ bands }) => bands.map(({ fill }) => fill()))",
        f"paper/{name}",
    )
    assert {fill[7:] for fill in fills} == {f"{round(255 * opacity):02x}"}


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
        rows = numbers[(numbers["panel"] == "a") & (numbers["iteration"] == iteration)].set_index("label")
        assert len(lines) == 1 + len(rows)
        for line in lines[1:]:
            label, *values = re.fullmatch(r"■ (.*): (\S+) \((\S+) to (\S+)\), 25 trials", line).groups()
            digits = {"mean": 5, "low": 4, "high": 4}
            expected = [float(f"{rows.loc[label, name]:.{digit}g}") for name, digit in digits.items()]
            assert list(map(float, values)) == expected


def test_arrow_keys_show_values(drawn):
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
