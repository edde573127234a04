"""Drawing of figures of learning curves: panels with curves, bands, sample paths, reference lines and words."""

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter, ScalarFormatter

from rbmbench.base.metrics import metric_of
from rbmbench.kinds._curve_captions import (
    annealing_doubts,
    annealing_reductions,
    band_note,
    figure_title,
    further_lines,
    left_out,
)
from rbmbench.planning.specs import FigureSpec, Trained
from rbmbench.reporting.frames import annealing_certainty, initial_words, summarise, whole_trials
from rbmbench.reporting.marks import marks
from rbmbench.reporting.references import TITLES, Reference
from rbmbench.reporting.style import looks_of, page, theme
from rbmbench.reporting.words import count, data_name, panel_reductions

MOST_COLUMNS = 3
MOST_IN_LEGEND = 6
LEGEND_CHARACTERS = 104
"""What a row of the legend has room for, in characters; a line's sample takes as much as 9."""
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


def grid(panels: tuple[Trained, ...]) -> list[list[Trained]]:
    """Return the panels in rows, in the order they come.

    A data set with its number of hidden units has a row, or several of equal lengths where it has many panels.
    """
    groups: dict[tuple, list[Trained]] = {}
    for panel in panels:
        groups.setdefault((panel.data, panel.hidden), []).append(panel)
    rows = []
    for group in groups.values():
        length = -(-len(group) // -(-len(group) // MOST_COLUMNS))
        rows += [group[first : first + length] for first in range(0, len(group), length)]
    return rows


def draw_curves(spec: FigureSpec, found: Any) -> Figure:
    """Draw mean learning curves with bands over the trials; ``found`` is what the spec reads.

    Log-likelihoods are in nats, summed over the training set on the left axes, mean per sample on the right ones.
    """
    rows, summary, omitted = grid(spec.panels), summarise(found.frame, spec.band), left_out(found.frame)
    doubts = annealing_doubts(annealing_certainty(spec.panels, found.runs))
    looks = looks_of(run for panel in spec.panels for run in panel.runs)
    curves = {panel.name: _of(panel, whole_trials(found.frame)) for panel in spec.panels}
    with theme():
        figure = page(len(rows))
        axes = figure.subplots(len(rows), max(map(len, rows)), squeeze=False)
        for row, line in zip(rows, axes, strict=True):
            summaries = {panel.name: _of(panel, summary) for panel in row}
            exponents = _exponents(row, summaries)
            right = None
            for panel, before, ax in zip(row, [None, *row], line, strict=False):
                of_panel, exponent = summaries[panel.name], exponents[panel.metrics]
                annotate(ax, panel, of_panel, omitted.get(panel.name, []), doubts.get(panel.name, ""), len(line))
                # Neighbours of the same metrics share the labels of their axes, at the outer ends.
                if before is None or before.metrics != panel.metrics:
                    ax.set_ylabel(left_label(panel, exponent), parse_math=True)
                    _label_right(right)
                if of_panel.empty:
                    right = None
                    continue
                factor = of_panel["rows"].iloc[0] / 10.0**exponent if metric_of(panel.metrics[0]).summed else 1.0
                _draw_panel(ax, panel, curves[panel.name], looks, spec.band, factor)
                lines = found.references[panel.name]
                right = _finish_panel(ax, panel, of_panel, lines, looks, factor, len(line))
            _label_right(right)
            for ax in line[len(row) :]:
                ax.set_axis_off()
        figure.suptitle(figure_title(spec, found.frame))
        _add_legend(figure, spec, looks)
    return figure


def _of(panel: Trained, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of one panel."""
    return frame[frame["panel"] == panel.name]


def _draw_panel(
    ax: Axes, panel: Trained, curves: pd.DataFrame, looks: dict[str, dict], band: Any, factor: float
) -> None:
    """Draw the curves of a panel, its whole trials, times a factor: means, bands, and thin medians or single trials."""
    scaled = curves.assign(iteration=curves["iteration"] / (panel.epoch or 1), value=factor * curves["value"])
    for (algorithm, metric), curve in scaled.groupby(["algorithm", "metric"], sort=False):
        place = panel.metrics.index(metric)
        look = looks[algorithm] | (FURTHER[place - 1] if place else {})
        for part in _visible_parts(curve, factor * metric_of(metric).ceiling):
            _draw_curve(ax, part, look, band)


def _visible_parts(curve: pd.DataFrame, ceiling: float) -> list[pd.DataFrame]:
    """Return the stretches of a curve whose mean is below the ceiling of its metric; the whole where there is none."""
    below = curve.groupby("iteration")["value"].mean() < ceiling
    if below.all():
        return [curve]
    stretch = (below != below.shift()).cumsum()[below]
    return [part for _, part in curve.groupby(curve["iteration"].map(stretch))]


def _draw_curve(ax: Axes, curve: pd.DataFrame, look: dict, band: Any) -> None:
    shown = {"x": "iteration", "y": "value", "ax": ax, "legend": False}
    trials = curve["trial"].unique()
    errorbar = (lambda values: np.quantile(values, band.quantiles)) if len(trials) > 1 else None
    sns.lineplot(curve, **shown, errorbar=errorbar, err_kws={"alpha": 0.13, "linewidth": 0, "zorder": 1}, **look)
    thin = {"color": tuple(0.55 * part for part in to_rgb(look["color"])), "linewidth": 0.6, "errorbar": None}
    if band.median:
        sns.lineplot(curve, **shown, **thin, estimator="median", linestyle=look["linestyle"], zorder=3.2)
    if paths := trials[: band.sample_paths].tolist():
        of_paths = curve[curve["trial"].isin(paths)]
        sns.lineplot(of_paths, **shown, **thin, estimator=None, units="trial", linestyle="solid", zorder=1.8)


def _finish_panel(
    ax: Axes, panel: Trained, summary: pd.DataFrame, lines: list[Reference], looks: dict, factor: float, columns: int
) -> Axes | None:
    """Add reference lines and marks to a panel, and set its ranges; return the right axis if it has one."""
    scaled = summary.assign(iteration=summary["iteration"] / (panel.epoch or 1))
    drawn = ["mean", "low", "high"]
    ceilings = summary["metric"].map(lambda name: metric_of(name).ceiling)
    scaled[drawn] = (factor * summary[drawn]).where(summary["mean"] < ceilings)
    for line in lines:
        ax.axhline(factor * line.value, **REFERENCE_LOOKS[line.name])
    for algorithm, iteration in marks(scaled, panel.metrics[0], panel.mark).items() if panel.mark else ():
        if np.isfinite(iteration):
            ax.axvline(iteration, **looks[algorithm] | MARK_LOOK)
    heights = [factor * line.value for line in lines]
    # What is never above 0 cannot be shown on a logarithmic axis.
    axis = panel.axis if (scaled["mean"] > 0).any() else "linear"
    summed = metric_of(panel.metrics[0]).summed
    limits = vertical_limits(scaled, heights) if summed else full_limits(scaled, axis == "log", heights)
    _scale(ax, limits, axis)
    _scale_iterations(ax, scaled["iteration"], panel.iteration_axis, columns)
    sns.despine(ax=ax, right=not summed)
    if not summed:
        return None
    right = ax.secondary_yaxis("right", functions=(lambda total: total / factor, lambda mean: mean * factor))
    _set_ticks(right.yaxis)
    return right


def _exponents(row: list[Trained], curves: dict[str, pd.DataFrame]) -> dict[tuple, int]:
    """Return the power of ten that a row's panels of the same metrics are given in."""
    alike = {panel.metrics: [curves[other.name] for other in row if other.metrics == panel.metrics] for panel in row}
    return {metrics: exponent_of(pd.concat(found)) for metrics, found in alike.items()}


def _label_right(axis) -> None:
    if axis is not None:
        axis.set_ylabel("mean per sample (nats)")


def _add_legend(figure: Figure, spec: FigureSpec, looks: dict[str, dict]) -> None:
    labels = {run.algorithm: run.label for panel in spec.panels for run in panel.runs}
    entries = [(label, looks[algorithm]) for algorithm, label in labels.items()]
    entries += [(label, {"color": "0.4"} | FURTHER[place - 1]) for label, place in further_lines(spec)]
    heights = dict.fromkeys(name for panel in spec.panels for name in panel.references)
    entries += [(TITLES[name], REFERENCE_LOOKS[name]) for name in heights]
    figure.legend(
        handles=[Line2D([], [], label=label, **look) for label, look in entries],
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


def vertical_limits(summary: pd.DataFrame, heights: Sequence[float] = (), start: float = START) -> tuple[float, float]:
    """Return the vertical range of log-likelihoods: all means and bands but for the climb of the first iterations.

    ``summary`` has columns iteration, mean and high, in the units of the axis. The range holds lines at ``heights``;
    ``start`` is the share of the iterations that may fall out of it.
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
    ax.set_xscale(axis)
    if axis == "log":
        ax.set_xlim(iterations[iterations > 0].min(), iterations.max())
        ax.xaxis.set_minor_formatter(NullFormatter())
    else:
        ax.set_xlim(0, iterations.max())
        ax.xaxis.set_major_locator(MaxNLocator(5 if columns < NARROW else 3))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: count(value)))


def _scale(ax: Axes, limits: tuple[float, float], axis: str) -> None:
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


def annotate(ax: Axes, panel: Trained, summary: pd.DataFrame, omitted: list[str], doubt: str, columns: int) -> None:
    """Write above a panel what it shows and, smaller, how it differs from the paper's."""
    title, other = (panel.data, "") if summary.empty else summary[["data_title", "stand_in"]].iloc[0]
    lines = [f"stands in for {data_name(other)}"] if other else []
    # Side by side, panels have no room for a long line.
    cut, at_once = panel_reductions(panel), {1: 4, 2: 2}.get(columns, 1)
    lines += [", ".join(cut[first : first + at_once]) for first in range(0, len(cut), at_once)]
    lines += [f"without {', '.join(panel.without)}"] if panel.without else []
    lines += [f"annealing: {', '.join(annealing_reductions(panel))}"] if annealing_reductions(panel) else []
    lines += [doubt] if doubt else []
    lines += [f"left out: {words}" for words in omitted[:MOST_OMITTED]]
    lines += [f"and {len(omitted) - MOST_OMITTED} trials more"] if len(omitted) > MOST_OMITTED else []
    lines = _wrapped(lines, LETTERS[columns])
    ax.set_xlabel("epoch" if panel.epoch else "iteration")
    rates = ", ".join(f"{rate:g}" for rate in panel.rates or (panel.rate,))
    heading = [f"({panel.name}) {title}", f"α = {rates}, {panel.hidden} hidden"]
    heading += [f"batch {panel.batch}"] if panel.batch else []
    heading += initial_words(panel.initial) if panel.initial else []
    heading = _wrapped(heading if columns >= NARROW else [", ".join(heading)], TITLE_LETTERS[columns])
    ax.set_title("\n".join(heading), loc="left", pad=4 + 8.5 * len(lines))
    small = {"va": "bottom", "fontsize": 6.8, "color": "0.3"}
    note = ax.annotate("\n".join(lines), (0, 1), (0, 3), "axes fraction", textcoords="offset points", **small)
    # The title's padding keeps its place free; a long line must not make the panel narrow.
    note.set_in_layout(False)
    if summary.empty:
        ax.text(0.5, 0.5, "no trial with finite values", ha="center", va="center", transform=ax.transAxes)


def _wrapped(lines: list[str], letters: int) -> list[str]:
    return [part for line in lines for part in wrap(line, letters, break_on_hyphens=False)]
