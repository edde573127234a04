"""Draw one panel of learning curves: curves, bands, sample paths, reference lines, ranges, and what stands above it."""

from collections.abc import Sequence
from textwrap import wrap

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter, ScalarFormatter

from rbmbench.base.metrics import metric_of
from rbmbench.reporting.frames import initial_words
from rbmbench.reporting.marks import marks
from rbmbench.reporting.references import Reference
from rbmbench.reporting.specs import Panel
from rbmbench.reporting.words import annealing_cuts, count, data_name, panel_cuts

__all__ = [
    "FURTHER",
    "REFERENCE_LOOKS",
    "annotate",
    "draw",
    "exponent_of",
    "full_limits",
    "left_label",
    "vertical_limits",
]

MOST_OMITTED = 3
LETTERS = {1: 110, 2: 66, 3: 38}
TITLE_LETTERS = {1: 90, 2: 50, 3: 30}
"""Small letters, and those of a title, that fit above a panel, by the panels side by side."""
NARROW = 3
"""As many panels side by side leave each little room for words."""
START = 0.1
"""Share of a run's iterations, its climb, that the range of a panel of log-likelihoods does not have to show."""
FURTHER = (
    {"linestyle": (0, (3, 1.5)), "linewidth": 1.0, "zorder": 3.0},
    {"linestyle": (0, (1, 1.2)), "linewidth": 1.0, "zorder": 3.0},
)
"""What the curves of a panel's second and third metric have in place of their algorithm's own look."""
MARK_LOOK = {"linewidth": 0.9, "zorder": 1.2}
"""What vertical lines have in place of the width of their algorithm's curve."""
REFERENCE_LOOKS = {
    "maximum": {"color": "0.25", "linewidth": 0.9, "linestyle": (0, (7, 2, 1, 2)), "zorder": 1.5},
    "true_model": {"color": "0.25", "linewidth": 0.9, "linestyle": (0, (1, 1)), "zorder": 1.5},
}


def exponent_of(summary: pd.DataFrame) -> int:
    """Return the power of 1000 that sums over the training set are given in: 6 for millions, 0 below ten thousand."""
    largest = summary["sum_mean"].abs().max()
    return 3 * int(np.log10(largest) // 3) if largest >= 1e4 else 0


def left_label(panel: Panel, exponent: int) -> str:
    """Return the label of a panel's left axis, in 10 to the power of ``exponent`` nats for log-likelihoods."""
    metric = metric_of(panel.metrics[0])
    of = " of the training set" * metric.summed
    power = f"$10^{{{exponent}}}$ " if exponent else ""
    return f"{metric.title}{of}" + (f"\n({power}{metric.unit})" if metric.unit else "")


def draw(
    ax: Axes,
    panel: Panel,
    summary: pd.DataFrame,
    lines: list[Reference],
    looks: dict[str, dict],
    exponent: int,
    columns: int,
) -> Axes | None:
    """Draw the curves of a panel with their bands, and its reference lines; return the right axis if it has one.

    Parameters
    ----------
    ax : Axes
    panel : Panel
    summary : DataFrame
        The rows of the panel, as `rbmbench.reporting.frames.summarise` returns them; at least one.
    lines : list of Reference
    looks : dict
        By algorithm: keyword arguments of `matplotlib.axes.Axes.plot`.
    exponent : int
        The left axis of log-likelihoods is in 10 to this power nats.
    columns : int
        Panels side by side.
    """
    summed = metric_of(panel.metrics[0]).summed
    factor = summary["rows"].iloc[0] / 10.0**exponent if summed else 1.0
    thin = [column for column in summary if column.startswith("path_") or column == "median"]
    drawn = ["mean", "low", "high", *thin]
    scaled = summary.assign(iteration=summary["iteration"] / (panel.epoch or 1))
    scaled[drawn] = np.where(_says_something(summary)[:, None], factor * summary[drawn], np.nan)
    for (algorithm, metric), curve in scaled.groupby(["algorithm", "metric"], sort=False):
        place = panel.metrics.index(metric)
        _draw_curve(ax, curve, looks[algorithm] | (FURTHER[place - 1] if place else {}), thin)
    for line in lines:
        ax.axhline(factor * line.value, **REFERENCE_LOOKS[line.name])
    for algorithm, iteration in marks(scaled, panel.metrics[0], panel.mark).items() if panel.mark else ():
        if np.isfinite(iteration):
            ax.axvline(iteration, **looks[algorithm] | MARK_LOOK)
    heights = [factor * line.value for line in lines]
    # What is never above 0 has no place on a logarithmic axis.
    axis = panel.axis if (scaled["mean"] > 0).any() else "linear"
    _scale(
        ax, scaled, vertical_limits(scaled, heights) if summed else full_limits(scaled, axis == "log", heights), axis
    )
    _scale_iterations(ax, scaled["iteration"], panel.iteration_axis, columns)
    if not summed:
        ax.spines["right"].set_visible(False)
        return None
    right = ax.secondary_yaxis("right", functions=(lambda total: total / factor, lambda mean: mean * factor))
    _set_ticks(right.yaxis)
    return right


def _says_something(summary: pd.DataFrame) -> np.ndarray:
    """Return which means are below the ceilings of their metrics, (lines,)."""
    return (summary["mean"] < summary["metric"].map(lambda name: metric_of(name).ceiling)).to_numpy()


def _draw_curve(ax: Axes, curve: pd.DataFrame, look: dict, thin: list[str]) -> None:
    """Draw a mean curve, its band, and thin the median or the curves of single trials."""
    ax.plot(curve["iteration"], curve["mean"], **look)
    dark = tuple(0.55 * part for part in to_rgb(look["color"]))
    for column in thin:
        pattern = look["linestyle"] if column == "median" else "solid"
        height = 3.2 if column == "median" else 1.8
        ax.plot(curve["iteration"], curve[column], color=dark, linewidth=0.6, linestyle=pattern, zorder=height)
    if curve["trials"].iloc[0] > 1:
        band = {"color": look["color"], "alpha": 0.13, "linewidth": 0, "zorder": 1}
        ax.fill_between(curve["iteration"], curve["low"], curve["high"], **band)


def vertical_limits(summary: pd.DataFrame, heights: Sequence[float] = (), start: float = START) -> tuple[float, float]:
    """Return the vertical range of log-likelihoods: all means and bands but for the climb of the first iterations.

    Parameters
    ----------
    summary : DataFrame
        Columns iteration, mean and high, in the units of the axis.
    heights : sequence of float
        Heights of lines that the range must hold.
    start : float
        Share of the iterations that may fall out of the range.
    """
    later = summary[summary["iteration"] >= start * summary["iteration"].max()]
    # A band may dive where one trial of ten fails; the means decide how far down the panel reaches.
    low, high = later["mean"].min(), max(later["high"].max(), later["mean"].max(), *heights, -np.inf)
    pad = 0.06 * (high - low) or max(1e-3, 0.01 * abs(high))
    return low - pad, high + pad


def full_limits(summary: pd.DataFrame, logarithmic: bool, heights: Sequence[float] = ()) -> tuple[float, float]:
    """Return the vertical range of a metric: all means, bands and lines; on a logarithmic axis all that are above 0."""
    values = np.append(summary[["mean", "low", "high"]].to_numpy(), heights)
    values = values[np.isfinite(values)]
    if logarithmic:
        values = np.log(values[values > 0])
    low, high = values.min(), values.max()
    pad = 0.06 * (high - low) or 0.1 * (abs(high) or 1.0)
    return tuple(np.exp([low - pad, high + pad])) if logarithmic else (low - pad, high + pad)


def _scale_iterations(ax: Axes, iterations: pd.Series, axis: str, columns: int) -> None:
    """Set range and ticks of the horizontal axis; a logarithmic one begins with the first iteration after 0."""
    ax.set_xscale(axis)
    if axis == "log":
        ax.set_xlim(iterations[iterations > 0].min(), iterations.max())
        ax.xaxis.set_minor_formatter(NullFormatter())
    else:
        ax.set_xlim(0, iterations.max())
        ax.xaxis.set_major_locator(MaxNLocator(5 if columns < NARROW else 3))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: count(value)))


def _scale(ax: Axes, summary: pd.DataFrame, limits: tuple[float, float], axis: str) -> None:
    """Set range and ticks of the vertical axis of one panel."""
    ax.set_yscale(axis)
    ax.set_ylim(*limits)
    if axis == "linear":
        _set_ticks(ax.yaxis)
    ax.grid(axis="y", color="0.9", linewidth=0.5)
    ax.set_axisbelow(True)


def _set_ticks(axis) -> None:
    """Give an axis a few ticks, labelled without an offset."""
    axis.set_major_locator(MaxNLocator(6))
    axis.set_major_formatter(ScalarFormatter(useOffset=False))


def annotate(ax: Axes, panel: Panel, summary: pd.DataFrame, omitted: list[str], doubt: str, columns: int) -> None:
    """Write above a panel what it shows and, smaller, how it differs from the paper's."""
    title, other = (panel.data, "") if summary.empty else summary[["data_title", "stand_in"]].iloc[0]
    lines = [f"stands in for {data_name(other)}"] if other else []
    # Side by side, panels have no room for a long line.
    cut, at_once = panel_cuts(panel), {1: 4, 2: 2}.get(columns, 1)
    lines += [", ".join(cut[first : first + at_once]) for first in range(0, len(cut), at_once)]
    lines += [f"without {', '.join(panel.without)}"] if panel.without else []
    lines += [f"annealing: {', '.join(annealing_cuts(panel))}"] if annealing_cuts(panel) else []
    lines += [doubt] if doubt else []
    lines += [f"left out: {words}" for words in omitted[:MOST_OMITTED]]
    lines += [f"and {len(omitted) - MOST_OMITTED} trials more"] if len(omitted) > MOST_OMITTED else []
    lines = _wrapped(lines, LETTERS[columns])
    ax.set_xlabel("epoch" if panel.epoch else "iteration")
    heading = [f"({panel.name}) {title}", f"α = {panel.rate:g}, {panel.hidden} hidden"]
    heading += [f"batch {panel.batch}"] if panel.batch else []
    heading += initial_words(panel.initial) if panel.initial else []
    heading = _wrapped(heading if columns >= NARROW else [", ".join(heading)], TITLE_LETTERS[columns])
    ax.set_title("\n".join(heading), loc="left", pad=4 + 8.5 * len(lines))
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


def _wrapped(lines: list[str], letters: int) -> list[str]:
    """Return the lines, those that are too long in several."""
    return [part for line in lines for part in wrap(line, letters, break_on_hyphens=False)]
