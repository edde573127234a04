# SPDX-License-Identifier: BSD-3-Clause
"""Charts of figures as data, and pictures drawn from them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from PIL import Image as Picture
from pydantic import ValidationError
from reporting_results import figure, rising

from rbmbench.base.errors import ResultsError
from rbmbench.io.layout import Layout
from rbmbench.kinds import parse_spec
from rbmbench.planning.chart import Axis, Bars, Chart, ChartPanel, Line, Mark, Printed, Series
from rbmbench.planning.specs import FigureSpec
from rbmbench.reporting import charts, style
from rbmbench.reporting.drawing import draw_chart
from rbmbench.reporting.page.panels import panel_of
from rbmbench.reporting.redraw import redraw
from rbmbench.reporting.style import PAGE, PUBLICATION


def test_a_chart_of_learning_curves_has_means_bands_and_single_trials(tmp_path):
    spec = parse_spec(figure(tmp_path, {"a": {"curves": {"cd_1": rising(-6.0), "pop_cd_1": rising(-5.0)}}}), "test")
    curves = spec.read()
    chart, numbers = charts.chart_of(spec, curves), spec.numbers(curves)
    (panel,) = chart.panels
    assert (panel.x.title, chart.key, chart.caption) == ("iteration", spec.key, spec.caption(curves))
    for series in panel.series:
        own = numbers[numbers["algorithm"] == series.key]
        assert series.x == tuple(own["iteration"])
        for name in ("mean", "low", "high"):
            np.testing.assert_allclose(getattr(series, name), own[name], rtol=1e-11)
        assert (len(series.singles), series.trials, series.metric) == (5, 5, "log_likelihood")
    charts.write(chart, tmp_path / "chart.json")
    assert charts.read(Chart, tmp_path / "chart.json") == chart


def test_a_chart_counts_epochs_and_ends_at_the_ceiling_of_its_metric(tmp_path):
    values = figure(tmp_path, {"a": {"curves": {"cd_1": np.linspace(1.5, 0.5, 41) + np.zeros((5, 1))}}})
    values["panels"][0] |= {"epoch": 50, "batch": 5}
    spec = parse_spec(values, "test")
    curves = spec.read()
    curves = replace(curves, frame=curves.frame.assign(metric="older_bias_bound"))
    spec = spec.model_copy(update={"panels": (spec.panels[0].model_copy(update={"metrics": ("older_bias_bound",)}),)})
    numbers = spec.numbers(curves)
    (panel,) = spec.chart(curves).panels
    assert (panel.x.title, panel.epoch, panel.rows) == ("epoch", 50, None)
    assert panel.title.endswith("rate 0.1, mini-batches of 5")
    assert panel.series[0].x == tuple(numbers["iteration"] / 50)
    assert [value is None for value in panel.series[0].mean] == (numbers["mean"] >= 1).tolist()


SQUARES = {"x": [1.0, 2.0, 3.0, 5.0], "y": [1.0, 4.0, 9.0, 25.0]}


class Plain(FigureSpec):
    """A figure that defines only a chart."""

    kind: str = "plain"

    def sources(self):
        """Return nothing: no file is read."""
        return {}

    def read(self):
        """Return x and y, as the results of a run."""
        return SQUARES

    def numbers(self, results):
        """Return x and y."""
        return pd.DataFrame(results)

    def caption(self, results):
        """Return the caption."""
        return "Squares."

    def chart(self, results):
        """Return a curve, a line and a printed value."""
        series = (charts.curve("squares", "Squares", pd.DataFrame({"mean": results["y"]}, index=results["x"])),)
        more = {"lines": (Line(title="limit", value=30.0),), "printed": (Printed(label="of 4", value=16.0, at=4.0),)}
        panel = ChartPanel(name="a", title="Numbers", x=Axis(title="x"), y=Axis(title="y"), series=series, **more)
        return Chart(panels=(panel,))


def test_a_chart_is_enough_for_the_picture_and_the_page(tmp_path):
    spec = Plain(key="own_fig1", paper="own", title="Squares", scale="tiny")
    files = {ending: str(tmp_path / f"own_fig1.{ending}") for ending in ("json", "csv", "md", "png", "pdf")}
    charts.write_figure(spec, spec.read(), **files)
    chart = charts.read(Chart, files["json"])
    assert (chart.title, chart.caption, chart.key) == ("Squares", "Squares.", "own_fig1")
    page_panel = panel_of(chart.panels[0])
    assert (page_panel.x, page_panel.series[0].mean) == ((1, 2, 3, 5), (1.0, 4.0, 9.0, 25.0))
    assert (page_panel.lines[0].value, page_panel.printed[0].at) == (30.0, 4.0)
    picture = np.asarray(Picture.open(files["png"]).convert("RGB"))
    assert np.ptp(picture) > 0
    layout = Layout(str(tmp_path / "made"))
    charts.write(chart, layout.figure(spec.key, "json"))
    redraw(layout.root, spec.key, tmp_path / "again")
    again = Layout(str(tmp_path / "again")).figure(spec.key, "png")
    np.testing.assert_array_equal(Picture.open(again).convert("RGB"), picture)


OWN = Series(key="own", label="Own", x=(0.0, 1.0, 2.0), mean=(3.0, None, 5.0))
SHARES = OWN.model_copy(update={"mean": (0.0, 0.5, 1.0)})
CURVES = (OWN, Series(key="empty", label="Empty", x=(), mean=()))
AXES = {"x": Axis(title="x", ticks=("p", "q", "r")), "y": Axis(title="y")}
PARTS = (
    {"series": CURVES},
    {"series": (OWN,), "drawn_as": "points"},
    {"series": (OWN,), "drawn_as": "cells"},
    {"series": (SHARES, CURVES[1]), "drawn_as": "steps"},
    {"bars": (Bars(key="own", edges=(0.0, 1.0, 2.0), heights=(0.25, 0.75)),)},
    {"series": CURVES, "marks": (Mark(key="other", at=1.0), Mark(key="own", at=0.0, height=3.0))},
    {},
)


# Every way to draw on one sheet, and every sheet once.
@pytest.mark.parametrize(
    ("parts", "sheet"), [*((parts, PAGE) for parts in PARTS), *((PARTS[0], sheet) for sheet in PUBLICATION.values())]
)
def test_a_chart_without_a_layout_or_a_legend_has_a_picture(tmp_path, parts, sheet):
    panels = tuple(ChartPanel(name=name, title="T", **AXES, **parts) for name in "abcd")
    picture = draw_chart(Chart(title="Own", panels=panels), sheet)
    assert [ax.get_title(loc="left") for ax in picture.axes[:4]] == [f"({name}) T" for name in "abcd"]
    style.save(picture, tmp_path / "own.png")


@pytest.mark.parametrize("name", ["mean", "high", "median"])
def test_a_curve_without_a_value_for_each_x_raises(name):
    with pytest.raises(ValidationError, match="cd_1: must have 3 values, one for each x, got 2"):
        Series(key="cd_1", label="CD-1", x=(1.0, 2.0, 3.0), **{"mean": (), name: (5.0, 7.0)})


def test_a_chart_of_another_version_raises(tmp_path):
    file = tmp_path / "chart.json"
    file.write_text('{"key": "own_fig1"}')
    with pytest.raises(ResultsError, match=r"chart.json: version must be 2, got 1; make the figure or table again"):
        charts.read(Chart, file)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_numbers_that_are_not_finite_are_null(value):
    assert charts.numbers([1.23456789, value], digits=3) == (1.23, None)
