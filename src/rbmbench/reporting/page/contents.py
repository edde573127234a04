"""What the page of a scale shows of each kind of figure and table, in words and cells."""

from typing import Any

import pandas as pd

from rbmbench.reporting import couplings, run_times, samples, sheets, text_tables
from rbmbench.reporting.frames import learning_curves
from rbmbench.reporting.specs import AnyFigure, RunTimesSpec, TableSpec
from rbmbench.reporting.words import figure_caption

__all__ = ["figure_words", "table_content"]


def figure_words(spec: AnyFigure) -> tuple[str, str]:
    """Return the caption of a figure, and what stands in its place where it cannot be seen."""
    if spec.kind == "coupling_times":
        return couplings.caption(spec, couplings.stopping_times(spec)), (
            "Histogram and distribution of stopping times; the numbers are in the CSV."
        )
    if spec.kind == "isl_curves":
        names = list(dict.fromkeys(one.label for panel in spec.panels for one in panel.samplers))
        return samples.caption(spec, samples.curves(spec)), (
            f"Likelihood against the number of samples of {', '.join(names)}; the numbers are in the CSV."
        )
    if spec.kind == "sample_sheets":
        return sheets.caption(spec), "Sheets of samples as images; how much ink each has is in the CSV."
    labels = list(dict.fromkeys(run.label for panel in spec.panels for run in panel.runs))
    alternative = f"{len(spec.panels)} panels of learning curves of {', '.join(labels)}; the numbers are in the CSV."
    return figure_caption(spec, learning_curves(spec)), alternative


def table_content(spec: TableSpec | RunTimesSpec, numbers: pd.DataFrame) -> dict[str, Any]:
    """Return the parts of a table, each with caption, columns, lines and how many columns of words; and its notes.

    Parameters
    ----------
    spec : TableSpec or RunTimesSpec
    numbers : DataFrame
        The table's CSV.
    """
    if spec.kind == "run_times":
        return {
            "parts": [_part(run_times.caption(spec), run_times.layout(numbers), 1)],
            "notes": run_times.notes(spec, numbers),
        }
    paper, certainty = text_tables.paper_layout(numbers), text_tables.certainty_layout(numbers)
    paper.columns = [" ".join(filter(None, name)) for name in paper.columns]
    return {
        "parts": [
            _part(text_tables.table_caption(spec.title), paper, 1),
            _part("How sure the biases are", certainty, 4),
        ],
        "notes": text_tables.table_notes(numbers),
    }


def _part(caption: str, cells: pd.DataFrame, words: int) -> dict[str, Any]:
    """Return one table of text cells, the first columns of which are words."""
    lines = cells.to_numpy().tolist()
    return {"caption": caption, "columns": list(cells.columns), "lines": lines, "words": words}
