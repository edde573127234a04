# SPDX-License-Identifier: BSD-3-Clause
"""Charts of figures of learning curves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from rbmbench.base.metrics import COMPARED, metric_of
from rbmbench.kinds._curve_captions import (
    ANNEALING,
    CIRCLES,
    ESTIMATES,
    band_note,
    figure_heading,
    further_lines,
    marked_shares,
)
from rbmbench.planning.chart import Axis, Chart, ChartPanel, Entry, Legend, Mark, Numbers, Series
from rbmbench.planning.specs import RunFolder
from rbmbench.reporting import charts
from rbmbench.reporting.curves import CurveResults
from rbmbench.reporting.frames import PanelSpec, RunData, initial_words
from rbmbench.reporting.marks import first_reached, levels
from rbmbench.reporting.references import TITLES
from rbmbench.reporting.words import count, cuts, data_name, listed, missing, shared_cuts, unbroken

if TYPE_CHECKING:
    from rbmbench.kinds.learning_curves import LearningCurvesSpec

DRAWN = ("mean", "low", "high", "median", "estimate_low", "estimate_high")
IN_CIRCLES = ("mean", "estimate_low", "estimate_high")
DIGITS_OF_A_TRIAL = 4
MOST_TRIALS = 25
"""Curves of single trials in a chart, the first ones."""
MOST_OMITTED = 3
"""Trials that are left out, of those that a panel names."""
THIN = ("second", "third")
"""Looks of the curves of a panel's second and third metric."""


def curves_chart(spec: LearningCurvesSpec, results: CurveResults) -> Chart:
    """Return the chart of a figure of learning curves."""
    return Chart(
        heading=tuple(figure_heading(spec, results.summary)),
        panels=tuple(_panel(spec, panel, results) for panel in spec.panels),
        legend=Legend(
            entries=tuple(_entries(spec, results.summary)),
            title=band_note(spec) + f"; {ESTIMATES}" * ("estimate_low" in results.summary),
        ),
        machines=charts.machines(results.runs.values()),
    )


def _panel(spec: LearningCurvesSpec, panel: PanelSpec, results: CurveResults) -> ChartPanel:
    summary = results.summary[results.summary["panel"] == panel.name]
    # A panel shows different metrics only where their units agree.
    metric, epoch = metric_of(panel.metrics[0]), panel.epoch or 1
    unit = f" ({metric.unit}{' per sample' if metric.summed else ''})" if metric.unit else ""
    title = panel.data if summary.empty else summary["data_title"].iloc[0]
    initial = initial_words(panel.initial) if panel.initial else []
    words = [
        f"{title}, {count(panel.hidden)} hidden units",
        f"rate {listed([f'{rate:g}' for rate in summary['rate'].unique()])}",
    ]
    words += [f"mini-batches of {panel.batch}"] * bool(panel.batch) + initial
    rates = ", ".join(f"{rate:g}" for rate in panel.rates or (panel.rate,))
    heading = [f"α = {rates}, {panel.hidden} hidden", *filter(None, [panel.note])]
    heading += [f"batch {panel.batch}"] * bool(panel.batch) + initial
    series = tuple(_curves(panel, summary, results.runs, epoch))
    return ChartPanel(
        name=panel.name,
        title=", ".join(words),
        heading=(f"({panel.name}) {title}", *map(unbroken, heading)),
        notes=tuple(_notes(spec, panel, summary, results)),
        group=f"{panel.data} {panel.hidden}",
        x=Axis(title="epoch" if panel.epoch else "iteration", log=panel.iteration_axis == "log"),
        y=Axis(
            title=" and ".join(metric_of(name).title for name in panel.lined) + unit,
            label=metric.title,
            unit=metric.unit,
            log=panel.axis == "log",
        ),
        series=series,
        lines=tuple(results.references.get(panel.name, ())),
        marks=_marked(series, panel.mark) if panel.mark else (),
        printed=tuple(value.model_copy(update={"at": value.at and value.at / epoch}) for value in panel.printed),
        rows=int(summary["rows"].iloc[0]) if metric.summed and len(summary) else None,
        epoch=panel.epoch,
    )


def _curves(panel: PanelSpec, summary: pd.DataFrame, runs: Mapping[str, RunData], epoch: int) -> Iterator[Series]:
    """Yield the curves of a panel: mean and band, without values from the ceiling of the metric on."""
    folders = {run.algorithm: run for run in panel.runs}
    several = summary["metric"].nunique() > 1
    for (key, label, name), curve in summary.groupby(["algorithm", "label", "metric"], sort=False):
        metric = metric_of(name)
        frame = curve.set_index("iteration")
        is_marked = name.startswith(COMPARED)
        drawn = IN_CIRCLES if is_marked else (*DRAWN, *frame.filter(like="path_"))
        values = [column for column in frame if column in drawn]
        frame = frame[[*values, "trials"]].astype(float)
        frame.loc[frame["mean"] >= metric.ceiling, values] = np.nan
        more = {"metric": name, "metric_title": metric.title if several else "", "place": panel.metrics.index(name)}
        more["marked"], known = is_marked, curve.dropna(axis=1, how="all")
        more |= {column: charts.numbers(frame[column]) for column in values if column in DRAWN[3:] and column in known}
        more["paths"] = tuple(charts.numbers(frame[column]) for column in values if column.startswith("path_"))
        more |= _of_run(folders[key], runs, name, frame.index)
        yield charts.curve(key, label, frame.set_axis(frame.index / epoch), **more)


def _of_run(folder: RunFolder, runs: Mapping[str, RunData], metric: str, iterations: pd.Index) -> dict[str, object]:
    """Return the fields of a `Series` that the run gives, with its first trials; none of a single one."""
    run = runs.get(folder.folder)
    if run is None or not charts.is_trained(run.meta):
        return {}
    singles: tuple[Numbers, ...] = ()
    if metric in set(run.curve["metric"]) and not metric.startswith(COMPARED) and len(trials := run.trials(metric)) > 1:
        first = trials.iloc[:MOST_TRIALS].reindex(columns=iterations).to_numpy()
        singles = tuple(charts.numbers(trial, DIGITS_OF_A_TRIAL) for trial in first)
    return charts.of_run(run) | {"singles": singles}


def _marked(series: tuple[Series, ...], share: float) -> tuple[Mark, ...]:
    """Return where each curve of the first metric first reaches a share of the largest rise of them."""
    curves = sorted((curve for curve in series if curve.place == 0), key=lambda curve: curve.key)
    if len({curve.x for curve in curves}) != 1:
        return ()
    means = np.array([curve.mean for curve in curves], float)
    reached = first_reached(means, np.array(curves[0].x), levels(means, share))
    return tuple(Mark(key=curve.key, at=at) for curve, at in zip(curves, reached, strict=True) if np.isfinite(at))


def _notes(spec: LearningCurvesSpec, panel: PanelSpec, summary: pd.DataFrame, results: CurveResults) -> Iterator[str]:
    """Yield how a panel differs from the paper's, the most important first; what all panels share is in the title."""
    stand_in = "" if summary.empty else summary["stand_in"].iloc[0]
    if isinstance(stand_in, str) and stand_in:
        yield f"stands in for {data_name(stand_in)}"
    shared = shared_cuts(spec)
    if own := [words for words in cuts(spec, panel.name) if words not in shared]:
        yield ", ".join(own)
    if labels := missing(spec, panel.name):
        yield f"without {', '.join(labels)}"
    omitted = results.left_out.get(panel.name, ())
    yield from (f"left out: {words}" for words in omitted[:MOST_OMITTED])
    if len(omitted) > MOST_OMITTED:
        yield f"and {len(omitted) - MOST_OMITTED} trials more"
    if panel.name in results.doubts:
        yield results.doubts[panel.name]
    if less := cuts(spec, panel.name, titled=False, only=ANNEALING):
        yield f"annealing: {', '.join(less)}"


def _entries(spec: LearningCurvesSpec, summary: pd.DataFrame) -> Iterator[Entry]:
    """Yield the entries of the legend: algorithms, further metrics, lines, marks and printed values."""
    runs = {run.algorithm: run for panel in spec.panels for run in panel.runs}
    yield from (Entry(label=run.label, key=key, color=run.color, dash=run.dash) for key, run in runs.items())
    yield from (Entry(label=label, look=THIN[place - 1]) for label, place in further_lines(spec, summary))
    if any(panel.lined != panel.metrics for panel in spec.panels):
        yield Entry(label=CIRCLES, look="compared")
    lines = dict.fromkeys(name for panel in spec.panels for name in panel.references)
    yield from (Entry(label=TITLES[name], look=name) for name in lines)
    for share in marked_shares(spec):
        yield Entry(label=f"upright: {100 * share:g} % of the largest rise first reached", look="upright")
    yield from charts.printed_entries(value for panel in spec.panels for value in panel.printed)
