"""Draw the figures: what is drawn where, from tidy frames, the same bytes for the same numbers."""

from os import PathLike

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator, ScalarFormatter

from rbmbench.files import replaced
from rbmbench.reporting.frames import BAND, annealing_certainty, summarise
from rbmbench.reporting.notes import (
    annealing_cuts,
    annealing_doubts,
    count,
    data_name,
    figure_title,
    left_out,
    panel_cuts,
)
from rbmbench.reporting.palette import styles
from rbmbench.reporting.specs import FigureSpec, Panel

__all__ = ["grid", "learning_curves", "save", "vertical_limits"]

PAGE_WIDTH = 7.4
PANEL_HEIGHT = 2.55
DPI = 160
MOST_OMITTED = 3
START = 0.1
"""Share of a run's iterations that the vertical range of a panel does not have to show."""

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
    """Return the panels in rows, one row a data set (with its number of hidden units), in the order they come."""
    rows: dict[tuple, list[Panel]] = {}
    for panel in panels:
        rows.setdefault((panel.data, panel.hidden), []).append(panel)
    return list(rows.values())


def vertical_limits(summary: pd.DataFrame, start: float = START) -> tuple[float, float]:
    """Return the vertical range of a panel: all means and bands but for the climb of the first iterations.

    Parameters
    ----------
    summary : DataFrame
        The rows of one panel, as `summarise` returns them.
    start : float
        Share of the iterations that may fall out of the range.

    Returns
    -------
    tuple of float
        Lower and upper limit, in nats summed over the training set.
    """
    later = summary[summary["iteration"] >= start * summary["iteration"].max()]
    # A band may dive where one trial of ten fails; the means decide how far down the panel reaches.
    low, high = later["sum_mean"].min(), max(later["sum_high"].max(), later["sum_mean"].max())
    pad = 0.06 * (high - low) or max(1.0, 0.01 * abs(high))
    return low - pad, high + pad


def learning_curves(spec: FigureSpec, frame: pd.DataFrame) -> Figure:
    """Draw mean learning curves with bands over the trials, one panel for each data set and learning rate.

    Parameters
    ----------
    spec : FigureSpec
        Which panels, and how they differ from the paper's.
    frame : DataFrame
        The tidy curves, as `rbmbench.reporting.frames.learning_curves` returns them.

    Returns
    -------
    matplotlib.figure.Figure
        Log-likelihood in nats: summed over the training set on the left axes, mean per sample on the right ones.
    """
    rows, summary, omitted = grid(spec.panels), summarise(frame), left_out(frame)
    doubts = annealing_doubts(annealing_certainty(spec))
    looks = styles(run.algorithm for panel in spec.panels for run in panel.runs)
    with mpl.rc_context(LOOK):
        figure = Figure(figsize=(PAGE_WIDTH, 1.0 + PANEL_HEIGHT * len(rows)), layout="constrained")
        FigureCanvasAgg(figure)
        figure.get_layout_engine().set(h_pad=0.06, w_pad=0.04, hspace=0.03, wspace=0.04)
        axes = figure.subplots(len(rows), max(map(len, rows)), squeeze=False)
        for row, line in zip(rows, axes, strict=True):
            curves = [summary[summary["panel"] == panel.name] for panel in row]
            exponent = _exponent(pd.concat(curves)["sum_mean"])
            for panel, curve, ax in zip(row, curves, line, strict=False):
                _annotate(ax, panel, curve, omitted.get(panel.name, []), doubts.get(panel.name, ""))
                if not curve.empty:
                    _draw_curves(ax, curve, looks, 10.0**exponent)
                    right = _scale_axes(ax, curve, 10.0**exponent)
            line[0].set_ylabel(f"log-likelihood of the training set\n({_power(exponent)}nats)")
            if not curve.empty:
                right.set_ylabel("mean per sample (nats)")
            for ax in line[len(row) :]:
                ax.set_axis_off()
        figure.suptitle(figure_title(spec, frame))
        _add_legend(figure, spec, looks)
    return figure


def _exponent(values: pd.Series) -> int:
    """Return the power of 1000 that tick labels are given in: 6 for values of millions, 0 below ten thousand."""
    largest = values.abs().max()
    return 3 * int(np.log10(largest) // 3) if largest >= 1e4 else 0


def _power(exponent: int) -> str:
    """Return a power of ten for a label, with a space after it; nothing for 10 to the 0."""
    return f"$10^{{{exponent}}}$ " if exponent else ""


def _draw_curves(ax: Axes, summary: pd.DataFrame, looks: dict[str, dict], unit: float) -> None:
    """Draw the mean curves of one panel and their bands, in so many nats."""
    for algorithm, curve in summary.groupby("algorithm", sort=False):
        look = looks[algorithm]
        ax.plot(curve["iteration"], curve["sum_mean"] / unit, **look)
        if curve["trials"].iloc[0] > 1:
            band = {"color": look["color"], "alpha": 0.13, "linewidth": 0, "zorder": 1}
            ax.fill_between(curve["iteration"], curve["sum_low"] / unit, curve["sum_high"] / unit, **band)


def _scale_axes(ax: Axes, summary: pd.DataFrame, unit: float) -> Axes:
    """Set ranges and ticks of one panel and return its right axis, the mean per sample."""
    samples = summary["rows"].iloc[0] / unit
    ax.set_xlim(0, summary["iteration"].max())
    ax.set_ylim(*(limit / unit for limit in vertical_limits(summary)))
    ax.xaxis.set_major_locator(MaxNLocator(5))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: count(value)))
    right = ax.secondary_yaxis("right", functions=(lambda total: total / samples, lambda mean: mean * samples))
    for axis in (ax.yaxis, right.yaxis):
        axis.set_major_locator(MaxNLocator(6))
        axis.set_major_formatter(ScalarFormatter(useOffset=False))
    ax.grid(axis="y", color="0.9", linewidth=0.5)
    ax.set_axisbelow(True)
    return right


def _annotate(ax: Axes, panel: Panel, summary: pd.DataFrame, omitted: list[str], doubt: str) -> None:
    """Write above a panel what it shows and, smaller, how it differs from the paper's."""
    title, other = (panel.data, "") if summary.empty else summary[["data_title", "stand_in"]].iloc[0]
    lines = [f"stands in for {data_name(other)}"] if other else []
    lines += [", ".join(panel_cuts(panel))] if panel_cuts(panel) else []
    lines += [f"annealing: {', '.join(annealing_cuts(panel))}"] if annealing_cuts(panel) else []
    lines += [doubt] if doubt else []
    lines += [f"left out: {words}" for words in omitted[:MOST_OMITTED]]
    lines += [f"and {len(omitted) - MOST_OMITTED} trials more"] if len(omitted) > MOST_OMITTED else []
    ax.set_xlabel("iteration")
    ax.set_title(
        f"({panel.name}) {title}, α = {panel.rate:g}, {panel.hidden} hidden", loc="left", pad=4 + 8.5 * len(lines)
    )
    note = ax.annotate(
        "\n".join(lines),
        (0, 1),
        (0, 3),
        xycoords="axes fraction",
        textcoords="offset points",
        va="bottom",
        fontsize=6.8,
        color="0.3",
    )
    # The title's padding keeps its place free; a long line must not make the panel narrow.
    note.set_in_layout(False)
    if summary.empty:
        ax.text(0.5, 0.5, "no trial with finite values", ha="center", va="center", transform=ax.transAxes)


def _add_legend(figure: Figure, spec: FigureSpec, looks: dict[str, dict]) -> None:
    """Put one legend below all panels, with what lines and bands are."""
    labels = {run.algorithm: run.label for panel in spec.panels for run in panel.runs}
    lines = [Line2D([], [], **looks[algorithm]) for algorithm in labels]
    low, high = (round(100 * quantile) for quantile in BAND)
    figure.legend(
        lines,
        list(labels.values()),
        loc="outside lower center",
        ncols=min(6, int(np.ceil(len(lines) / np.ceil(len(lines) / 6)))),
        frameon=False,
        handlelength=3.2,
        title=f"line: mean over trials; band: {low}–{high} % quantile over trials",
        title_fontsize=7.5,
    )


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
