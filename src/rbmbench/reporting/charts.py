# SPDX-License-Identifier: BSD-3-Clause
"""Charts and tables as data: what runs add to them, and writing and reading their files."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from os import PathLike
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from rbmbench import estimators, updates
from rbmbench.base.errors import SettingsError
from rbmbench.base.parsing import parse
from rbmbench.io.atomic import replaced
from rbmbench.io.results import read_json
from rbmbench.planning.chart import Chart, Numbers, Series, Shown, StepsPerIteration, Table, TablePart
from rbmbench.planning.specs import FigureSpec, TableSpec, TextTable
from rbmbench.reporting import style, text_tables
from rbmbench.reporting.frames import RunData, machine_of, training_seconds
from rbmbench.reporting.words import summarised

DIGITS = 12


def numbers(values: Iterable[float], digits: int = DIGITS) -> Numbers:
    """Return numbers with so many significant digits; None for those that are not finite."""
    return tuple(float(f"{value:.{digits}g}") if abs(value) < float("inf") else None for value in values)


def curve(key: str, label: str, frame: pd.DataFrame, **more: Any) -> Series:
    """Return a curve: ``frame`` has its x as index, and columns mean, and low, high and trials where they are known."""
    values = {name: numbers(frame[name]) for name in ("mean", "low", "high") if name in frame}
    trials = {"trials": int(frame["trials"].max())} if "trials" in frame else {}
    return Series(key=key, label=label, x=tuple(frame.index.astype(float)), **values, **trials, **more)


def of_run(run: RunData) -> dict[str, Any]:
    """Return the fields of a `Series` that a run gives: its id, and what an iteration of it takes."""
    meta, seconds = run.meta, None
    if is_trained(meta) and meta.get("iterations") and meta.get("trials"):
        seconds = float(f"{training_seconds(meta) / (meta['iterations'] * meta['trials']):.5g}")
    schedule = (meta.get("settings") or {}).get("schedule") or ()
    return {"run": str(meta.get("run", "")), "seconds": seconds, "steps": _steps(schedule)}


def is_trained(meta: Mapping[str, Any]) -> bool:
    """Return whether a meta is that of a run, or of its evaluation."""
    return "training_seconds" in (meta.get("wall") or {})


def machines(runs: Iterable[RunData]) -> int:
    """Return on how many kinds of machines runs were made."""
    return len({machine_of(run.meta) for run in runs if is_trained(run.meta)})


def _steps(schedule: Sequence[Mapping[str, Any]]) -> tuple[StepsPerIteration, ...]:
    """Return the Gibbs steps of each stage of a schedule, up to the first whose number is not fixed."""
    stages = []
    for stage in schedule:
        steps = 0
        with suppress(SettingsError):  # an estimator that is gone
            estimator, update = stage["estimator"], stage.get("update") or {}
            rule = updates.REGISTRY.create(update.get("name", "sgd"), update.get("options"))
            of_phase = estimators.create(estimator["name"], **(estimator.get("options") or {})).gibbs_steps
            steps = getattr(rule, "inner_steps", 1) * of_phase
        if not steps:
            break
        stages.append(StepsPerIteration(until=stage["until"], steps=steps))
    return tuple(stages)


def described(shown: Shown, spec: Any, **more: Any) -> Any:
    """Return a chart or a table with what its spec says of it."""
    words = {"key": spec.key, "paper": spec.paper, "title": spec.title, "reading": spec.reading or ""}
    words |= {"differences": tuple(summarised(spec)), "variant": bool(spec.changed)}
    return shown.model_copy(update=words | more)


def chart_of(spec: FigureSpec, found: Any) -> Chart:
    """Return what a figure shows; ``found`` is what its spec has read."""
    return described(spec.chart(found), spec, caption=spec.caption(found))


def picture_of(spec: FigureSpec, found: Any, chart: Chart, *sheet: style.Sheet) -> Figure:
    """Return the picture of a figure: that of its kind or, where its kind has none, of its chart."""
    from rbmbench.reporting.drawing import draw_chart

    if type(spec).draw is not FigureSpec.draw or spec.drawn_from_numbers:
        return spec.draw(found, *sheet)
    return draw_chart(chart, spec.which, *sheet)


def table_of(spec: TableSpec, layout: TextTable) -> Table:
    """Return what a table shows, from its text."""
    parts = []
    for part in layout.parts:
        columns = [str(name) for name in part.flat.columns]
        published = {columns.index(own): columns.index(other) for own, other in part.published.items()}
        lines = tuple(tuple(map(str, line)) for line in part.flat.to_numpy().tolist())
        named = {"caption": part.caption, "columns": columns, "words": part.words}
        parts.append(TablePart(**named, lines=lines, published=published))
    return described(Table(parts=tuple(parts), notes=layout.notes), spec)


def write_figure(spec: FigureSpec, found: Any, *, json: str, csv: str, md: str, **pictures: str) -> None:
    """Write all files of a figure: chart, numbers, caption, and pictures by their ending."""
    chart = chart_of(spec, found)
    write(chart, json)
    text_tables.write_csv(spec.numbers(found), csv)
    text_tables.write_text(chart.caption, md)
    picture = picture_of(spec, found, chart)
    for path in pictures.values():
        style.save(picture, path)


def write_table(spec: TableSpec, values: pd.DataFrame, *, json: str, csv: str, md: str, tex: str) -> None:
    """Write all files of a table."""
    layout = spec.layout(values)
    write(table_of(spec, layout), json)
    text_tables.write_csv(values, csv)
    text_tables.write_markdown(spec, layout, md)
    text_tables.write_tex(spec, layout, tex)


def write(shown: Shown, path: str | PathLike) -> None:
    """Write a chart or a table as JSON."""
    with replaced(path) as temporary:
        temporary.write_text(shown.model_dump_json(exclude_defaults=True) + "\n", encoding="utf-8")


def read(kind: type[Shown], path: str | PathLike) -> Any:
    """Return a `Chart` or a `Table` from its file; `ResultsError` or `SettingsError` if it is missing or damaged."""
    return parse(kind, read_json(path), str(path))
