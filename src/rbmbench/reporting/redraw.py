# SPDX-License-Identifier: BSD-3-Clause
"""Drawing again: pictures, captions and tables of results, live or kept, without training anything.

A kept figure has its numbers in ``data/KEY.csv.gz`` and a spec that ends with one key more: ``facts``, what the picture
needs beside them. A live one is read from its runs.
"""

from pathlib import Path
from typing import Any

import pandas as pd

from rbmbench.base.errors import ResultsError
from rbmbench.io.atomic import write_json
from rbmbench.io.layout import PICTURE_ENDINGS, TABLE_ENDINGS, Layout
from rbmbench.io.results import numbers_file, read_csv, read_json
from rbmbench.planning.specs import FigureSpec, parse_spec, read_spec, with_places
from rbmbench.reporting import charts, style, text_tables


def redraw(root: str | Path, key: str, out: str | Path, sheet: style.Sheet = style.PAGE) -> bool:
    """Draw a figure, or lay out a table, from what is in ``root`` again, into ``out``.

    Returns
    -------
    bool
        False for a kept figure whose picture needs more than numbers, such as images; its caption is written.

    Raises
    ------
    ResultsError
        If its spec or its numbers are missing or damaged.
    """
    source, target = Layout(str(root)), Layout(str(out))
    values = read_json(source.spec(key))
    kept = isinstance(values, dict) and "facts" in values
    spec = parse_spec(values, source.spec(key)) if kept else read_spec(source.spec(key))
    if not isinstance(spec, FigureSpec):
        save_table(spec, read_csv(source.table(spec.key, "csv")), target)
        return True
    if kept and not spec.drawn_from_numbers:
        if type(spec).words is not FigureSpec.words:
            caption = spec.words(numbers_of(source, key), values["facts"])
            text_tables.write_text(caption, target.figure(key, "md"))
        return False
    # A kind that only has `draw` need not know sheets.
    others = () if sheet == style.PAGE else (sheet,)
    if not kept:
        found = spec.read()
        chart = charts.chart_of(spec, found)
        save_figure(charts.picture_of(spec, found, chart, *others), chart.caption, target, key)
        return True
    numbers = numbers_of(source, key)
    try:
        figure, caption = spec.picture(numbers, values["facts"], *others), spec.words(numbers, values["facts"])
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        text = f"do not fit {source.spec(key)}; should be what `rbmbench keep` wrote ({error!r})"
        raise ResultsError(f"{source.numbers(key)}: its numbers {text}") from None
    save_figure(figure, caption, target, key)
    return True


def keep_figure(spec: FigureSpec, values: dict[str, Any], target: Layout) -> None:
    """Draw a figure from its results into a folder of kept ones, and keep its spec and facts; ``values`` are its data.

    The spec has names in place of folders.
    """
    found = spec.read()
    chart = charts.chart_of(spec, found)
    charts.write(chart, target.figure(spec.key, "json"))
    save_figure(charts.picture_of(spec, found, chart), chart.caption, target, spec.key)
    write_json(target.spec(spec.key), without_folders(values) | {"facts": spec.facts(found)})


def save_figure(figure: Any, caption: str, target: Layout, key: str) -> None:
    """Write a figure in all its forms, and its caption."""
    for ending in PICTURE_ENDINGS:
        style.save(figure, target.figure(key, ending))
    text_tables.write_text(caption, target.figure(key, "md"))


def numbers_of(layout: Layout, key: str) -> pd.DataFrame:
    """Return the numbers behind a figure, compressed or not; `ResultsError` if there are none or they are damaged."""
    return read_csv(numbers_file(layout, key))


def save_table(spec: Any, numbers: pd.DataFrame, target: Layout) -> None:
    """Write a table in all its forms."""
    charts.write_table(spec, numbers, **{ending: target.table(spec.key, ending) for ending in TABLE_ENDINGS})


def without_folders(values: Any) -> Any:
    """Return the plain data of a spec with the names of folders in place of their paths."""
    return with_places(values, lambda place: Path(place).name)
