# SPDX-License-Identifier: BSD-3-Clause
"""Drawing of figures of learning curves: panels with curves, bands, sample paths, reference lines and words."""

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, ScalarFormatter

from rbmbench.base.metrics import metric_of
from rbmbench.kinds._curve_captions import (
    ESTIMATES,
    annealing_reductions,
    band_note,
    figure_title,
    further_lines,
    mark_words,
    own_reductions,
    without,
)
from rbmbench.planning.specs import FigureSpec, Trained
from rbmbench.reporting.frames import initial_words
from rbmbench.reporting.marks import marks
from rbmbench.reporting.references import TITLES
from rbmbench.reporting.style import Sheet, looks_of, page, theme, wrap_labels
from rbmbench.reporting.words import count, data_name, unbroken

MOST_COLUMNS = 3
MOST_IN_LEGEND = 6
LEGEND_CHARACTERS = 104
"""What a row of the legend has room for, in characters; a line's sample takes as much as 9."""
MOST_OMITTED = 3
LETTERS = {1: 110, 2: 64, 3: 38}
TITLE_LETTERS = {1: 90, 2: 50, 3: 30}
"""Small letters, and those of a title, that fit above a panel, by the panels side by side."""
SHORT_LABEL = 24
"""Letters of a line of an axis label in a narrow figure."""
NARROW = 3
"""As many panels side by side leave each little room for words."""
MOST_LINES = 4
"""Of words above a panel, its title included; what has no room stands in the caption."""
START = 0.1
"""Share of a run's iterations, its climb, that the range of a panel of log-likelihoods does not have to show."""
DEEPEST_DIVE = 3.0
"""Range of one curve, in those of all others, beyond which it is cut off, for it would squeeze them into a line."""
FARTHEST_START = 5.0
"""Range of a metric with the initial model, in that without it, beyond which the panel begins after it."""
FURTHER = (
    {"linestyle": (0, (3, 1.5)), "linewidth": 0.9, "zorder": 1.9, "alpha": 0.75},
    {"linestyle": (0, (1, 1.2)), "linewidth": 0.9, "zorder": 1.9, "alpha": 0.75},
)
"""What the curves of a panel's second and third metric have in place of their algorithm's own look."""
DRAWN = ("mean", "low", "high", "median", "estimate_low", "estimate_high")
ESTIMATE_LOOK = {"linewidth": 0.8, "alpha": 0.6, "zorder": 1.7}
MARK_LOOK = {"linewidth": 0.9, "zorder": 1.2}
"""What vertical lines have in place of the width of their algorithm's curve."""
REFERENCE_LOOKS = {
    "maximum": {"color": "0.25", "linewidth": 0.9, "linestyle": (0, (7, 2, 1, 2)), "zorder": 1.5},
    "true_model": {"color": "0.25", "linewidth": 0.9, "linestyle": (0, (1, 1)), "zorder": 1.5},
}


def grid(panels: tuple[Trained, ...], most: int = MOST_COLUMNS) -> list[list[Trained]]:
    """Return the panels in rows of at most so many, in the order they come.

    A data set with its number of hidden units has a row, or several of equal lengths where it has many panels.
    """
    groups: dict[tuple, list[Trained]] = {}
    for panel in panels:
        groups.setdefault((panel.data, panel.hidden), []).append(panel)
    rows = []
    for group in groups.values():
        length = -(-len(group) // -(-len(group) // most))
        rows += [group[first : first + length] for first in range(0, len(group), length)]
    return rows


def draw_curves(spec: FigureSpec, summary: pd.DataFrame, facts: Any, sheet: Sheet) -> Figure:
    """Draw mean learning curves with bands over the trials.

    ``summary`` is what `rbmbench.reporting.frames.summarise` returns, ``facts`` are those of the spec. Log-likelihoods
    are in nats, summed over the training set on the left axes, mean per sample on the right ones.
    """
    rows = grid(spec.panels, MOST_COLUMNS if sheet.is_wide else 1)
    looks = looks_of(run for panel in spec.panels for run in panel.runs)
    with theme():
        figure = page(len(rows), sheet)
        axes = figure.subplots(len(rows), max(map(len, rows)), squeeze=False)
        for row, line in zip(rows, axes, strict=True):
            summaries = {panel.name: summary[summary["panel"] == panel.name] for panel in row}
            exponents = _exponents(row, summaries)
            right = None
            for panel, before, ax in zip(row, [None, *row], line, strict=False):
                of_panel, exponent = summaries[panel.name], exponents[panel.metrics]
                notes = _notes(spec, panel, of_panel, facts) if sheet.titled else []
                _annotate(ax, panel, of_panel, notes, len(line), sheet)
                # Neighbours of the same metrics share the labels of their axes, at the outer ends.
                if before is None or before.metrics != panel.metrics:
                    label = left_label(panel, exponent)
                    label = label if sheet.is_wide else "\n".join(_wrapped(label.splitlines(), SHORT_LABEL))
                    ax.set_ylabel(label, parse_math=True)
                    _label_right(right)
                if of_panel.empty:
                    right = None
                    continue
                factor = of_panel["rows"].iloc[0] / 10.0**exponent if metric_of(panel.metrics[0]).summed else 1.0
                scaled = _scaled(panel, of_panel, factor)
                _draw_panel(ax, panel, scaled, looks, spec.band)
                lines = facts.references.get(panel.name, ())
                right = _finish_panel(ax, panel, scaled, lines, looks, factor, len(line) if sheet.is_wide else NARROW)
            _label_right(right)
            for ax in line[len(row) :]:
                ax.set_axis_off()
        if sheet.titled:
            figure.suptitle(figure_title(spec, summary))
        _add_legend(figure, spec, summary, looks, sheet)
    return figure


def _scaled(panel: Trained, summary: pd.DataFrame, factor: float) -> pd.DataFrame:
    """Return the summary of a panel in the units of its axes, NaN where a metric is above its ceiling."""
    drawn = [name for name in summary if name in DRAWN or name.startswith("path_")]
    ceilings = summary["metric"].map(lambda name: metric_of(name).ceiling)
    scaled = summary.assign(iteration=summary["iteration"] / (panel.epoch or 1))
    scaled[drawn] = (factor * summary[drawn]).where(summary["mean"] < ceilings)
    return scaled


def _draw_panel(ax: Axes, panel: Trained, scaled: pd.DataFrame, looks: dict[str, dict], band: Any) -> None:
    """Draw the curves of a panel: means, bands, and thin medians or single trials."""
    for (algorithm, metric), curve in scaled.groupby(["algorithm", "metric"], sort=False):
        place = panel.metrics.index(metric)
        if curve["mean"].notna().any():
            _draw_curve(ax, curve, looks[algorithm] | (FURTHER[place - 1] if place else {}), band)


def _draw_curve(ax: Axes, curve: pd.DataFrame, look: dict, band: Any) -> None:
    # A gap of NaN breaks a curve; NaN at its ends only widens the axis.
    known = np.flatnonzero(curve["mean"].notna())
    curve = curve.iloc[known[0] : known[-1] + 1]
    iterations = curve["iteration"]
    ax.plot(iterations, curve["mean"], **look)
    if (curve["trials"] > 1).any():
        ax.fill_between(iterations, curve["low"], curve["high"], color=look["color"], alpha=0.13, linewidth=0, zorder=1)
    thin = {"color": tuple(0.55 * part for part in to_rgb(look["color"])), "linewidth": 0.6}
    if band.median:
        ax.plot(iterations, curve["median"], **thin, linestyle=look["linestyle"], zorder=3.2)
    for path in range(1, band.sample_paths + 1):
        if f"path_{path}" in curve:
            ax.plot(iterations, curve[f"path_{path}"], **thin, linestyle="solid", zorder=1.8)


def _finish_panel(
    ax: Axes, panel: Trained, scaled: pd.DataFrame, lines: Any, looks: dict, factor: float, columns: int
) -> Axes | None:
    """Add reference lines, marks and printed values, and set the ranges; return the right axis if there is one."""
    for name, value in lines:
        ax.axhline(factor * value, **REFERENCE_LOOKS[name])
    for algorithm, iteration in marks(scaled, panel.metrics[0], panel.mark).items() if panel.mark else ():
        if np.isfinite(iteration):
            ax.axvline(iteration, **looks[algorithm] | MARK_LOOK)
    draw_printed(ax, panel.printed, factor, panel.epoch or 1)
    heights = [factor * value for _, value in lines] + [factor * one.value for one in panel.printed]
    # What is never above 0 cannot be shown on a logarithmic axis.
    axis = panel.axis if (scaled["mean"] > 0).any() else "linear"
    summed = metric_of(panel.metrics[0]).summed
    limits = vertical_limits(scaled, heights) if summed else full_limits(_without_start(scaled), axis == "log", heights)
    _scale(ax, limits, axis)
    _scale_iterations(ax, scaled["iteration"], panel.iteration_axis, columns)
    if "estimate_low" in scaled:
        _draw_estimates(ax, scaled, limits[0], looks)
    if summed:
        _point_at_dives(ax, scaled, limits[0], looks)
    sns.despine(ax=ax, right=not summed)
    if not summed:
        return None
    right = ax.secondary_yaxis("right", functions=(lambda total: total / factor, lambda mean: mean * factor))
    _set_ticks(right.yaxis)
    return right


def _draw_estimates(ax: Axes, scaled: pd.DataFrame, bottom: float, looks: dict[str, dict]) -> None:
    """Draw the intervals of estimates as thin bars, down to the axis where there is no lower end."""
    for algorithm, curve in scaled[scaled["estimate_high"].notna()].groupby("algorithm", sort=False):
        lows = curve["estimate_low"].clip(lower=bottom)
        ax.vlines(curve["iteration"], lows, curve["estimate_high"], color=looks[algorithm]["color"], **ESTIMATE_LOOK)


PRINTED_LOOK = {"marker": "D", "markersize": 5, "markerfacecolor": "none", "color": "0.15", "markeredgewidth": 0.9}


def draw_printed(ax: Axes, printed: Any, factor: float = 1.0, unit: float = 1.0) -> None:
    """Draw values of the paper: a hollow mark where it says at what iteration (``unit`` of the axis), else a line."""
    for one in printed:
        height = factor * one.value
        if one.at is None:
            ax.axhline(height, color="0.15", linewidth=0.7, linestyle=(0, (1, 3)), zorder=1.4)
            where = {"transform": ax.get_yaxis_transform()}
            ax.plot([0.985], [height], **PRINTED_LOOK, linestyle="none", clip_on=False, zorder=4, **where)
        else:
            ax.plot([one.at / unit], [height], **PRINTED_LOOK, linestyle="none", zorder=4)


def printed_entries(printed: Any) -> list[Line2D]:
    """Return the entries of a legend for values of the paper."""
    labels = dict.fromkeys(f"printed in the paper: {one.label}, {one.value:g}" for one in printed)
    return [Line2D([], [], label=label, linestyle="none", **PRINTED_LOOK) for label in labels]


def _point_at_dives(ax: Axes, scaled: pd.DataFrame, low: float, looks: dict[str, dict]) -> None:
    """Put an arrow, and how far down it goes, where a curve leaves the panel after its climb."""
    for (algorithm, _), curve in scaled.groupby(["algorithm", "metric"], sort=False):
        if curve["mean"].isna().all():
            continue
        below = curve.loc[curve["mean"].idxmax() :].query("mean < @low")
        if below.empty:
            continue
        color = looks[algorithm]["color"]
        tip, tail = (below["iteration"].iloc[0], 0.0), (below["iteration"].iloc[0], 0.13)
        arrow = {"arrowstyle": "-|>", "color": color, "shrinkA": 0, "shrinkB": 0}
        across = ax.get_xaxis_transform()
        ax.annotate("", tip, tail, xycoords=across, textcoords=across, arrowprops=arrow)
        words = f" down to {below['mean'].min():.3g}"
        ax.text(*tail, words, transform=across, color=color, fontsize=7, va="center", gid="dive")


def _exponents(row: list[Trained], curves: dict[str, pd.DataFrame]) -> dict[tuple, int]:
    """Return the power of ten that a row's panels of the same metrics are given in."""
    alike = {panel.metrics: [curves[other.name] for other in row if other.metrics == panel.metrics] for panel in row}
    return {metrics: exponent_of(pd.concat(found)) for metrics, found in alike.items()}


def _label_right(axis) -> None:
    if axis is not None:
        axis.set_ylabel("mean per sample (nats)")


def _add_legend(figure: Figure, spec: FigureSpec, summary: pd.DataFrame, looks: dict[str, dict], sheet: Sheet) -> None:
    labels = {run.algorithm: run.label for panel in spec.panels for run in panel.runs}
    entries = [(label, looks[algorithm]) for algorithm, label in labels.items()]
    entries += [(label, {"color": "0.4"} | FURTHER[place - 1]) for label, place in further_lines(spec, summary)]
    heights = dict.fromkeys(name for panel in spec.panels for name in panel.references)
    entries += [(TITLES[name], REFERENCE_LOOKS[name]) for name in heights]
    upright = {"linestyle": "none", "marker": "|", "markersize": 11, "color": "0.25"}
    entries += [(words, upright) for words in mark_words(spec)]
    handles = [Line2D([], [], label=label, **look) for label, look in entries]
    handles += printed_entries(one for panel in spec.panels for one in panel.printed)
    characters = int(LEGEND_CHARACTERS * sheet.share)
    wrap_labels(handles, characters - 12)
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=_legend_columns([handle.get_label() for handle in handles], characters),
        frameon=False,
        handlelength=3.2,
        title=band_note(spec) + f"; {ESTIMATES}" * ("estimate_low" in summary) if sheet.titled else None,
        title_fontsize=7.5,
    )


def _legend_columns(labels: list[str], characters: int) -> int:
    """Return how many columns of a legend, filled from top to bottom, have room side by side."""
    for most in range(MOST_IN_LEGEND, 1, -1):
        rows = -(-len(labels) // most)
        columns = [labels[first : first + rows] for first in range(0, len(labels), rows)]
        if sum(9 + max(map(len, column)) for column in columns) <= characters:
            return len(columns)
    return 1


def exponent_of(summary: pd.DataFrame) -> int:
    """Return the power of 1000 that sums over the training set are given in: 6 for millions, 0 below ten thousand."""
    largest = summary["sum_mean"].abs().max()
    return 3 * int(np.log10(largest) // 3) if largest >= 1e4 else 0


def left_label(panel: Trained, exponent: int) -> str:
    """Return the label of a panel's left axis, in 10 to the power of ``exponent`` nats for log-likelihoods."""
    metric = metric_of(panel.metrics[0])
    of = " of the training set" * metric.summed
    power = f"$10^{{{exponent}}}$ " if exponent else ""
    return f"{metric.title}{of}" + (f"\n({power}{metric.unit})" if metric.unit else "")


def _later(summary: pd.DataFrame, start: float = START) -> pd.DataFrame:
    """Return the rows of a summary after the climb."""
    return summary[summary["iteration"] >= start * summary["iteration"].max()]


def vertical_limits(summary: pd.DataFrame, heights: Sequence[float] = (), start: float = START) -> tuple[float, float]:
    """Return the vertical range of log-likelihoods: all means and bands but for the climb of the first iterations.

    ``summary`` has columns algorithm, metric, iteration, mean and high, in the units of the axis. The range holds lines
    at ``heights``; ``start`` is the share of the iterations that may fall out of it. One curve that dives far below all
    others is cut off.
    """
    later = _later(summary, start)
    # A band may dive where one trial of ten fails; the means decide how far down the panel reaches.
    low, high = _lowest(later), max(later["high"].max(), later["mean"].max(), *heights, -np.inf)
    low = min(low, *heights, np.inf)
    pad = 0.06 * (high - low) or max(1e-3, 0.01 * abs(high))
    return low - pad, high + pad


def _lowest(later: pd.DataFrame) -> float:
    """Return how far down the means of a panel are shown."""
    lows = later.groupby(["algorithm", "metric"])["mean"].min().sort_values()
    if len(lows) < 2:
        return lows.iloc[0]
    lowest, second = lows.iloc[:2]
    others = later["mean"].max() - second
    return second - 0.15 * others if second - lowest > (DEEPEST_DIVE - 1) * others > 0 else lowest


def _without_start(scaled: pd.DataFrame) -> pd.DataFrame:
    """Return a summary without the initial model where that alone squeezes all that follows."""
    later = scaled[scaled["iteration"] > 0]
    full, rest = (frame["mean"].max() - frame["mean"].min() for frame in (scaled, later))
    return later if full > FARTHEST_START * rest > 0 else scaled


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
    ax.set_xscale(axis)
    if axis == "log":
        ax.set_xlim(iterations[iterations > 0].min(), iterations.max())
        ax.xaxis.set_minor_formatter(NullFormatter())
    else:
        ax.set_xlim(0, iterations.max())
        ax.xaxis.set_major_locator(MaxNLocator(5 if columns < NARROW else 3))
    ax.xaxis.set_major_formatter(FuncFormatter(_place))


def _place(value: float, _: Any = None) -> str:
    """Return the label of a tick of iterations or epochs."""
    return count(value) if value == int(value) else f"{value:g}"


def _scale(ax: Axes, limits: tuple[float, float], axis: str) -> None:
    ax.set_yscale(axis)
    ax.set_ylim(*limits)
    if axis == "linear":
        _set_ticks(ax.yaxis)
    elif limits[1] < 100 * limits[0]:
        # Powers of ten alone would be one label or two.
        ax.yaxis.set_minor_locator(LogLocator(subs=(2, 5)))
        for set_formatter in (ax.yaxis.set_major_formatter, ax.yaxis.set_minor_formatter):
            set_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    else:
        ax.yaxis.set_minor_formatter(NullFormatter())
    ax.grid(axis="y", color="0.9", linewidth=0.5)
    ax.set_axisbelow(True)


def _set_ticks(axis) -> None:
    """Give an axis a few ticks, labelled without an offset."""
    axis.set_major_locator(MaxNLocator(6))
    axis.set_major_formatter(ScalarFormatter(useOffset=False))


def _notes(spec: FigureSpec, panel: Trained, summary: pd.DataFrame, facts: Any) -> Iterator[str]:
    """Yield how a panel differs from the paper's, the most important first; what all panels share is in the title."""
    other = "" if summary.empty else summary["stand_in"].iloc[0]
    if isinstance(other, str) and other:
        yield f"stands in for {data_name(other)}"
    if cut := own_reductions(spec, panel):
        yield ", ".join(cut)
    if labels := without(spec, panel):
        yield f"without {', '.join(labels)}"
    omitted = facts.left_out.get(panel.name, ())
    yield from (f"left out: {words}" for words in omitted[:MOST_OMITTED])
    if len(omitted) > MOST_OMITTED:
        yield f"and {len(omitted) - MOST_OMITTED} trials more"
    if panel.name in facts.doubts:
        yield facts.doubts[panel.name]
    if less := annealing_reductions(spec, panel):
        yield f"annealing: {', '.join(less)}"


def _annotate(
    ax: Axes, panel: Trained, summary: pd.DataFrame, notes: Iterator[str], columns: int, sheet: Sheet
) -> None:
    """Write above a panel what it shows and, smaller, how it differs from the paper's."""
    title = panel.data if summary.empty else summary["data_title"].iloc[0]
    ax.set_xlabel("epoch" if panel.epoch else "iteration")
    rates = ", ".join(f"{rate:g}" for rate in panel.rates or (panel.rate,))
    heading = [f"({panel.name}) {title}", f"α = {rates}, {panel.hidden} hidden"]
    heading += [panel.note] if panel.note else []
    heading += [f"batch {panel.batch}"] if panel.batch else []
    heading += initial_words(panel.initial) if panel.initial else []
    heading[1:] = map(unbroken, heading[1:])
    # In narrow panels the data have a line of their own, so that the panels of a row stay level.
    heading = [heading[0], ", ".join(heading[1:])] if columns >= NARROW else [", ".join(heading)]
    heading = _wrapped(heading, int(TITLE_LETTERS[columns] * sheet.share))
    lines = _wrapped(notes, int(LETTERS[columns] * sheet.share))
    if len(lines) > (room := max(1, MOST_LINES - len(heading))):
        lines = [*lines[: room - 1], f"{'more' if room > 1 else 'how it differs'}: see the caption"]
    ax.set_title("\n".join(heading), loc="left", pad=4 + 8.5 * len(lines))
    small = {"va": "bottom", "fontsize": 6.8, "color": "0.3"}
    note = ax.annotate("\n".join(lines), (0, 1), (0, 3), "axes fraction", textcoords="offset points", **small)
    # The title's padding keeps its place free; a long line must not make the panel narrow.
    note.set_in_layout(False)
    if summary.empty:
        ax.text(0.5, 0.5, "no trial with finite values", ha="center", va="center", transform=ax.transAxes)


def _wrapped(lines: Any, letters: int) -> list[str]:
    return [part for line in lines for part in wrap(line, letters, break_on_hyphens=False)]
