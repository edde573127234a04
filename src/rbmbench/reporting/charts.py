# SPDX-License-Identifier: BSD-3-Clause
"""Charts and tables as data: fields from runs, and writing and reading their files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from json import dumps
from os import PathLike
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, TypeVar

import pandas as pd

from rbmbench import estimators, updates
from rbmbench.base.errors import ResultsError, SettingsError
from rbmbench.base.metrics import metric_of
from rbmbench.base.parsing import parse
from rbmbench.io.atomic import write_text
from rbmbench.io.layout import Layout
from rbmbench.io.meta import Meta
from rbmbench.io.results import read_json
from rbmbench.planning.chart import (
    VERSION,
    Chart,
    ChartPanel,
    Entry,
    Numbers,
    Printed,
    Series,
    Shown,
    StepsPerIteration,
    Table,
)
from rbmbench.planning.specs import FigureSpec, TableSpec
from rbmbench.reporting import text_tables
from rbmbench.reporting.frames import RunData, machine_of, seconds_per_iteration
from rbmbench.reporting.words import summarised

if TYPE_CHECKING:
    from rbmbench.reporting.style import Sheet

DIGITS, EVERY_DIGIT = 12, 17
LETTERS = 100
"""Characters per line of a title."""
Item = TypeVar("Item", bound=Shown)


def numbers(values: Iterable[float], digits: int = DIGITS) -> Numbers:
    """Return numbers with ``digits`` significant digits; None for those that are not finite."""
    return tuple(float(f"{value:.{digits}g}") if abs(value) < float("inf") else None for value in values)


def curve(key: str, label: str, frame: pd.DataFrame, digits: int | None = None, **fields: object) -> Series:
    """Return a curve: ``frame`` has its x as index, and columns mean and, if any, low, high and trials.

    ``digits`` are those of all numbers, by default `DIGITS` of the values, and all of x.
    """
    values = {name: numbers(frame[name], digits or DIGITS) for name in ("mean", "low", "high") if name in frame}
    trials = {"trials": int(frame["trials"].max())} if "trials" in frame else {}
    x = numbers(frame.index.astype(float), digits or EVERY_DIGIT)
    return Series(key=key, label=label, x=x, **values, **trials, **fields)


def of_run(run: RunData) -> dict[str, object]:
    """Return the fields of a `Series` from a run: its id, and time and Gibbs steps of an iteration."""
    meta, seconds = run.meta, None
    if is_trained(meta) and meta.get("iterations") and meta.get("trials"):
        seconds = float(f"{seconds_per_iteration(meta):.5g}")
    stages = []
    for stage in (meta.get("settings") or {}).get("schedule") or ():
        steps = 0
        with suppress(SettingsError):  # an estimator that no longer exists
            estimator, update = stage["estimator"], stage.get("update") or {}
            rule = updates.REGISTRY.create(update.get("name", "sgd"), update.get("options"))
            of_phase = estimators.create(estimator["name"], **(estimator.get("options") or {})).gibbs_steps
            steps = rule.inner_steps * of_phase
        if not steps:  # their number is not fixed
            break
        stages.append(StepsPerIteration(until=stage["until"], steps=steps))
    return {"run": str(meta.get("run", "")), "seconds": seconds, "steps": tuple(stages)}


def titles(metrics: Sequence[str], scope: str = " per sample") -> dict[str, str]:
    """Return the fields of an `Axis` of metrics that share a unit; pictures have the title of the first alone.

    ``scope`` follows the unit of metrics that can be summed over the samples.
    """
    if not metrics:
        return {}
    first = metric_of(metrics[0])
    unit = f" ({first.unit}{scope * first.summed})" if first.unit else ""
    title = " and ".join(metric_of(name).title for name in metrics) + unit
    return {"title": title, "label": first.title, "unit": first.unit}


def metrics_of(panel: ChartPanel) -> list[str]:
    """Return the metrics of the lines of a panel, in their order."""
    metrics = {curve.place: curve.metric for curve in panel.series if curve.metric and not curve.marked}
    return [metrics[place] for place in sorted(metrics)]


def is_trained(meta: Meta) -> bool:
    """Return whether a meta is that of a run, or of its evaluation."""
    return "training_seconds" in (meta.get("wall") or {})


def machines(runs: Iterable[RunData]) -> int:
    """Return the number of kinds of machines that made runs."""
    return len({machine_of(run.meta) for run in runs if is_trained(run.meta)})


def described(item: Item, spec: FigureSpec | TableSpec, **fields: object) -> Item:
    """Return a chart or a table with key, title and differences of its spec, and further fields."""
    words = {"key": spec.key, "paper": spec.paper, "title": spec.title, "reading": spec.reading or ""}
    words |= {"differences": tuple(summarised(spec)), "variant": bool(spec.changed)}
    return item.model_copy(update=words | fields)


def chart_of(spec: FigureSpec, results: object) -> Chart:
    """Return the chart of a figure; ``results`` is the value of `Shown.read`."""
    chart = described(spec.chart(results), spec, caption=spec.caption(results))
    lines = [wrapped for line in (spec.which, *chart.differences) for wrapped in wrap(line, LETTERS)]
    return chart if chart.heading else chart.model_copy(update={"heading": (spec.title, *lines)})


def printed_entries(printed: Iterable[Printed]) -> list[Entry]:
    """Return the entries of a legend for values of the paper."""
    labels = dict.fromkeys(f"printed in the paper: {value.label}, {value.value:g}" for value in printed)
    return [Entry(label=label, look="printed") for label in labels]


def printed_notes(printed: Iterable[Printed]) -> list[str]:
    """Return the sentence of a caption on values of the paper; nothing without any."""
    values = dict.fromkeys(f"{value.label}, {value.value:g}" for value in printed)
    return [f"Hollow marks: printed in the paper ({'; '.join(values)})."] * bool(values)


def table_of(spec: TableSpec, numbers: pd.DataFrame) -> Table:
    """Return the contents of a table from its numbers."""
    return described(spec.table(numbers), spec, heading=f"{spec.origin}{spec.lacks}: {spec.title}")


def write_figure(spec: FigureSpec, results: object, *, json: str, csv: str, md: str, **pictures: str) -> None:
    """Write all files of a figure: chart, numbers, caption, and pictures by their ending."""
    chart = chart_of(spec, results)
    write(chart, json)
    text_tables.write_csv(spec.numbers(results), csv)
    write_pictures(chart, md=md, **pictures)


def write_pictures(chart: Chart, sheet: Sheet | None = None, *, md: str, **pictures: str) -> bool:
    """Write the caption of a chart, and pictures by their ending; return False if it has lost its images."""
    # Planning imports this module, and should not import matplotlib.
    from rbmbench.reporting import style
    from rbmbench.reporting.drawing import draw_chart

    write_text(chart.caption, md)
    if not chart.panels and not chart.images:
        return False
    picture = draw_chart(chart, sheet or style.PAGE)
    for path in pictures.values():
        style.save(picture, path)
    return True


def write_table(spec: TableSpec, values: pd.DataFrame, *, json: str, csv: str, md: str, tex: str) -> None:
    """Write all files of a table."""
    table = table_of(spec, values)
    write(table, json)
    text_tables.write_csv(values, csv)
    text_tables.write_markdown(table, md)
    text_tables.write_tex(table, tex)


def write(item: Shown, path: str | PathLike) -> None:
    """Write a chart or a table as JSON."""
    values = {"version": VERSION} | item.model_dump(mode="json", exclude_defaults=True)
    write_text(dumps(values, ensure_ascii=False, separators=(",", ":")), path)


def read_shown(layout: Layout, key: str) -> Chart | Table:
    """Return the table of a key if there is one, else the chart; for errors see `read`."""
    if Path(layout.table(key, "json")).is_file():
        return read(Table, layout.table(key, "json"))
    return read(Chart, layout.figure(key, "json"))


def read(kind: type[Item], path: str | PathLike) -> Item:
    """Return a `Chart` or a `Table` from its file, with the present titles of metrics on axes.

    `ResultsError` or `SettingsError` if it is missing or damaged.
    """
    values = read_json(path)
    if isinstance(values, dict) and (version := values.get("version", 1)) != VERSION:
        raise ResultsError(f"{path}: version must be {VERSION}, got {version}; make the figure or table again")
    item = parse(kind, values, str(path))
    if not isinstance(item, Chart):
        return item
    axes = [panel.y.model_copy(update=titles(metrics_of(panel))) for panel in item.panels]
    panels = tuple(panel.model_copy(update={"y": axis}) for panel, axis in zip(item.panels, axes, strict=True))
    return item.model_copy(update={"panels": panels})
