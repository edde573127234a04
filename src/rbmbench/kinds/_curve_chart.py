# SPDX-License-Identifier: BSD-3-Clause
"""Charts of figures of learning curves."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from rbmbench.base.metrics import metric_of
from rbmbench.planning.chart import Axis, Chart, ChartPanel, Line, Numbers, PrintedValue, Series
from rbmbench.planning.specs import FigureSpec, RunFolder
from rbmbench.reporting import charts
from rbmbench.reporting.frames import RunData, initial_words
from rbmbench.reporting.references import TITLES
from rbmbench.reporting.words import count, listed

DIGITS_OF_A_TRIAL = 4
MOST_TRIALS = 25
"""Curves of single trials in a chart, the first ones."""


def curves_chart(spec: FigureSpec, summary: pd.DataFrame, facts: Any, runs: Mapping[str, RunData]) -> Chart:
    """Return the chart of a figure of learning curves.

    ``summary`` is what `rbmbench.reporting.frames.summarise` returns, ``facts`` are those of the spec, and ``runs`` are
    by folder; of runs without kept curves there are no single trials.
    """
    of_panels = {panel.name: summary[summary["panel"] == panel.name] for panel in spec.panels}
    panels = [_panel(panel, of_panels[panel.name], facts, runs) for panel in spec.panels if len(of_panels[panel.name])]
    return Chart(panels=tuple(panels), machines=charts.machines(runs.values()))


def _panel(panel: Any, summary: pd.DataFrame, facts: Any, runs: Mapping[str, RunData]) -> ChartPanel:
    folders = {run.algorithm: run for run in panel.runs}
    first, metrics = summary.iloc[0], list(summary["metric"].unique())
    # A panel shows different metrics only where their units agree.
    metric = metric_of(metrics[0])
    unit = f" ({metric.unit}{' per sample' if metric.summed else ''})" if metric.unit else ""
    words = [f"{first['data_title']}, {count(first['hidden'])} hidden units"]
    words += [f"rate {listed([f'{rate:g}' for rate in summary['rate'].unique()])}"]
    words += [f"mini-batches of {panel.batch}"] * bool(panel.batch)
    words += initial_words(panel.initial) if panel.initial else []
    curves = summary.groupby(["algorithm", "label", "metric"], sort=False)
    epoch = panel.epoch or 1
    return ChartPanel(
        name=panel.name,
        title=", ".join(words),
        x=Axis(title="epoch" if panel.epoch else "iteration", log=panel.iteration_axis == "log"),
        y=Axis(title=" and ".join(metric_of(name).title for name in metrics) + unit, log=panel.axis == "log"),
        series=tuple(
            _series(*map(str, names), curve, folders[names[0]], runs, epoch, several=len(metrics) > 1)
            for names, curve in curves
        ),
        lines=tuple(Line(title=TITLES[name], value=value) for name, value in facts.references.get(panel.name, ())),
        printed=tuple(
            PrintedValue(label=one.label, value=one.value, at=one.at and one.at / epoch) for one in panel.printed
        ),
        rows=int(first["rows"]) if metric.summed else None,
        epoch=panel.epoch,
    )


def _series(
    key: str,
    label: str,
    metric: str,
    curve: pd.DataFrame,
    folder: RunFolder,
    runs: Mapping[str, RunData],
    epoch: int,
    several: bool,
) -> Series:
    """Return mean and band of a curve, without values from the ceiling of the metric on.

    Where there is a single trial, the band is that of the intervals of its estimates.
    """
    if "estimate_low" in curve:
        single = (curve["trials"] == 1) & curve["estimate_high"].notna()
        ends = {end: curve[end].mask(single, curve[f"estimate_{end}"]) for end in ("low", "high")}
        curve = curve.assign(**ends)
    frame = curve.set_index("iteration")[["mean", "low", "high", "trials"]].astype(float)
    frame.loc[frame["mean"] >= metric_of(metric).ceiling, ["mean", "low", "high"]] = np.nan
    more = {"metric": metric, "metric_title": metric_of(metric).title if several else ""}
    if (run := runs.get(folder.folder)) is not None and charts.is_trained(run.meta):
        more |= charts.of_run(run) | {"singles": _singles(run, metric, frame.index)}
    return charts.curve(key, label, frame.set_axis(frame.index / epoch), **more)


def _singles(run: RunData, metric: str, iterations: pd.Index) -> tuple[Numbers, ...]:
    """Return the first trials of a run; none for a single one."""
    if metric not in set(run.curve["metric"]):
        return ()
    trials = run.trials(metric)
    first = trials.iloc[:MOST_TRIALS].reindex(columns=iterations).to_numpy()
    return tuple(charts.numbers(trial, DIGITS_OF_A_TRIAL) for trial in first) if len(trials) > 1 else ()
