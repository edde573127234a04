"""Draw the figures: what is drawn where, from tidy frames, the same bytes for the same numbers."""

from os import PathLike

import matplotlib as mpl
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from rbmbench.io.atomic import replaced
from rbmbench.reporting.frames import annealing_certainty, summarise
from rbmbench.reporting.panels import FURTHER, REFERENCE_LOOKS, annotate, draw, exponent_of, left_label
from rbmbench.reporting.references import TITLES, references
from rbmbench.reporting.specs import FigureSpec, Panel
from rbmbench.reporting.style import styles
from rbmbench.reporting.words import annealing_doubts, band_note, figure_title, further_lines, left_out

__all__ = ["LOOK", "grid", "learning_curves", "page", "save"]

PAGE_WIDTH = 7.4
PANEL_HEIGHT = 2.55
DPI = 160
MOST_COLUMNS = 3
MOST_IN_LEGEND = 6
LEGEND_CHARACTERS = 104
"""What a line of the legend has room for, in characters; a line's sample takes as much as 9."""

LOOK = {
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "legend.fontsize": 8,
    "figure.titlesize": 10,
    "pdf.fonttype": 42,
    "mathtext.default": "regular",
}


def grid(panels: tuple[Panel, ...]) -> list[list[Panel]]:
    """Return the panels in rows, in the order they come.

    A data set with its number of hidden units has a row, or several of equal lengths where it has many panels.
    """
    groups: dict[tuple, list[Panel]] = {}
    for panel in panels:
        groups.setdefault((panel.data, panel.hidden), []).append(panel)
    rows = []
    for group in groups.values():
        length = -(-len(group) // -(-len(group) // MOST_COLUMNS))
        rows += [group[first : first + length] for first in range(0, len(group), length)]
    return rows


def page(rows: int) -> Figure:
    """Return an empty figure of the width of a page, for so many rows of panels; to be used with `LOOK` in force."""
    figure = Figure(figsize=(PAGE_WIDTH, 1.0 + PANEL_HEIGHT * rows), layout="constrained")
    FigureCanvasAgg(figure)
    figure.get_layout_engine().set(h_pad=0.06, w_pad=0.04, hspace=0.03, wspace=0.04)
    return figure


def learning_curves(spec: FigureSpec, frame: pd.DataFrame) -> Figure:
    """Draw mean learning curves with bands over the trials, one panel for each data set, learning rate or metric.

    Parameters
    ----------
    spec : FigureSpec
        Which panels, and how they differ from the paper's.
    frame : DataFrame
        The tidy curves, as `rbmbench.reporting.frames.learning_curves` returns them.

    Returns
    -------
    matplotlib.figure.Figure
        Log-likelihoods in nats: summed over the training set on the left axes, mean per sample on the right ones. Other
        metrics as they are.

    Raises
    ------
    DataError, ResultsError
        If a reference line cannot be computed.
    """
    rows, summary, omitted = grid(spec.panels), summarise(frame, spec.band), left_out(frame)
    doubts = annealing_doubts(annealing_certainty(spec))
    looks = styles(run.algorithm for panel in spec.panels for run in panel.runs)
    with mpl.rc_context(LOOK):
        figure = page(len(rows))
        axes = figure.subplots(len(rows), max(map(len, rows)), squeeze=False)
        for row, line in zip(rows, axes, strict=True):
            curves = {panel.name: summary[summary["panel"] == panel.name] for panel in row}
            exponents = _exponents(row, curves)
            right = None
            for panel, before, ax in zip(row, [None, *row], line, strict=False):
                curve, exponent = curves[panel.name], exponents[panel.metrics]
                annotate(ax, panel, curve, omitted.get(panel.name, []), doubts.get(panel.name, ""), len(line))
                # Neighbours of the same metrics share the labels of their axes, at the outer ends.
                if before is None or before.metrics != panel.metrics:
                    ax.set_ylabel(left_label(panel, exponent))
                    _label_right(right)
                lines = references(panel)
                right = draw(ax, panel, curve, lines, looks, exponent, len(line)) if len(curve) else None
            _label_right(right)
            for ax in line[len(row) :]:
                ax.set_axis_off()
        figure.suptitle(figure_title(spec, frame))
        _add_legend(figure, spec, looks)
    return figure


def _exponents(row: list[Panel], curves: dict[str, pd.DataFrame]) -> dict[tuple, int]:
    """Return the power of ten that a row's panels of the same metrics are given in."""
    alike = {panel.metrics: [curves[other.name] for other in row if other.metrics == panel.metrics] for panel in row}
    return {metrics: exponent_of(pd.concat(found)) for metrics, found in alike.items()}


def _label_right(axis) -> None:
    """Label a right axis, if there is one."""
    if axis is not None:
        axis.set_ylabel("mean per sample (nats)")


def _add_legend(figure: Figure, spec: FigureSpec, looks: dict[str, dict]) -> None:
    """Put one legend below all panels, with what lines and bands are."""
    labels = {run.algorithm: run.label for panel in spec.panels for run in panel.runs}
    entries = [(label, looks[algorithm]) for algorithm, label in labels.items()]
    entries += [(label, {"color": "0.4"} | FURTHER[place - 1]) for label, place in further_lines(spec)]
    heights = dict.fromkeys(name for panel in spec.panels for name in panel.references)
    entries += [(TITLES[name], REFERENCE_LOOKS[name]) for name in heights]
    lines = [Line2D([], [], **look) for _, look in entries]
    figure.legend(
        lines,
        [label for label, _ in entries],
        loc="outside lower center",
        ncols=_legend_columns([label for label, _ in entries]),
        frameon=False,
        handlelength=3.2,
        title=band_note(spec),
        title_fontsize=7.5,
    )


def _legend_columns(labels: list[str]) -> int:
    """Return how many columns of a legend, filled from top to bottom, have room side by side."""
    for most in range(MOST_IN_LEGEND, 1, -1):
        rows = -(-len(labels) // most)
        columns = [labels[first : first + rows] for first in range(0, len(labels), rows)]
        if sum(9 + max(map(len, column)) for column in columns) <= LEGEND_CHARACTERS:
            return len(columns)
    return 1


def save(figure: Figure, path: str | PathLike) -> None:
    """Write a figure as PDF or PNG, as the ending of ``path`` says; equal figures give equal bytes.

    Raises
    ------
    ResultsError
        If the file cannot be written.
    """
    metadata = {"CreationDate": None} if str(path).endswith(".pdf") else {"Software": None}
    with mpl.rc_context(LOOK), replaced(path) as temporary:
        figure.savefig(temporary, dpi=DPI, metadata=metadata)
