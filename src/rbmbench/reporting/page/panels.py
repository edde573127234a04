# SPDX-License-Identifier: BSD-3-Clause
"""Panels of a chart for the page: with common x, and thinned.

Points are omitted, never averaged: each remaining one is a point of the chart, to five digits, of bands and of single
trials to four.
"""

import numpy as np

from rbmbench.base.metrics import metric_of
from rbmbench.planning.chart import Axis, ChartPanel, CurveValues, Numbers, Series
from rbmbench.reporting.charts import metrics_of, numbers, titles
from rbmbench.reporting.page.model import Panel

MOST_POINTS = 100
MOST_POINTS_OF_A_CURVE = 28
"""Most points of a curve whose x differ from those of other curves of its panel."""
MOST_POINTS_OF_A_TRIAL = 20
DIGITS, FEW_DIGITS = 5, 4
DIGITS_OF = {"mean": DIGITS, "low": FEW_DIGITS, "high": FEW_DIGITS, "estimate_low": DIGITS, "estimate_high": DIGITS}


def panel_of(chart: ChartPanel) -> Panel:
    """Return a panel of a chart for the page."""
    outlines = [(bars, (*bars.heights, bars.heights[-1])) for bars in chart.bars]  # a value holds up to the next x
    curves = chart.series or tuple(
        Series(key=bars.key, label=bars.key, x=bars.edges_on(chart.x), mean=heights) for bars, heights in outlines
    )
    grids = {curve.x for curve in curves}
    most = MOST_POINTS if len(grids) == 1 else MOST_POINTS_OF_A_CURVE
    x = np.unique(np.concatenate([*grids]))
    if len(grids) == 1 or len(x) > MOST_POINTS:
        x = np.unique(np.concatenate([_chosen(np.array(grid), chart.x, most) for grid in grids]))
    places = np.searchsorted(x, _chosen(x, chart.x, MOST_POINTS_OF_A_TRIAL)).tolist()
    series = tuple(_series(curve, x, places) for curve in curves)
    metric = metrics_of(chart)[:1]  # further metrics are named beside it
    return Panel(
        name=chart.name,
        title=chart.title,
        x_title=chart.x.title,
        y_title=titles(metric).get("title", chart.y.title),
        sum_title=titles(metric, " summed over the training set").get("title", chart.y.title),
        log_x=chart.x.log,
        log_y=chart.y.log,
        range=chart.y.range,
        stepped=chart.drawn_as == "steps" or not chart.series,
        ticks=chart.x.ticks,
        rows=chart.rows,
        epoch=chart.epoch,
        x=tuple(int(at) if at == int(at) else at for at in numbers(x, DIGITS if chart.epoch else 12)),
        places=places if any(curve.singles for curve in series) else (),
        series=series,
        printed=chart.printed,
        lines=chart.lines,
    )


def _series(curve: Series, x: np.ndarray, places: list[int]) -> CurveValues:
    """Return a curve at some x, and its trials at some of them."""
    at = {value: place for place, value in enumerate(curve.x)}
    indices = [at.get(value) for value in x]
    without = ("low", "high") if curve.low == curve.mean == curve.high else ()  # a single trial
    names = [name for name in DIGITS_OF if getattr(curve, name) and name not in without]
    values = {name: _at(getattr(curve, name), indices, DIGITS_OF[name]) for name in names}
    singles = tuple(_at(trial, [indices[place] for place in places], FEW_DIGITS) for trial in curve.singles)
    fields = {name: getattr(curve, name) for name in ("key", "label", "trials", "run", "seconds", "steps", "marked")}
    return CurveValues(**fields, **values, metric=curve.metric_title and metric_of(curve.metric).title, singles=singles)


def _at(values: Numbers, places: list[int | None], digits: int = DIGITS) -> Numbers:
    chosen = [None if place is None else values[place] for place in places]
    return numbers((np.nan if value is None else value for value in chosen), digits)


def _chosen(x: np.ndarray, axis: Axis, most: int) -> np.ndarray:
    """Return at most ``most`` of the x, ascending, evenly spread on their axis."""
    if len(x) <= most:
        return x
    if not axis.log:
        return x[np.unique(np.linspace(0, len(x) - 1, most).round().astype(int))]
    spread = np.geomspace(x[x > 0][0], x[-1], most - 1)
    return x[np.unique(np.append(0, np.searchsorted(x, spread).clip(0, len(x) - 1)))]
