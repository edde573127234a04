# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of charts of any kind: panels of curves, bars and ranks, or images; only the chart is read.

Panels without a vertical range get one from their curves. Log-likelihoods summed over the training set have the mean
per sample on the right.
"""

import base64
import io
from collections.abc import Iterable, Sequence
from textwrap import wrap

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.textpath import text_to_path
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, ScalarFormatter

from rbmbench.base.errors import ResultsError
from rbmbench.planning.chart import Chart, ChartPanel, Entry, Image, Series
from rbmbench.reporting.ranges import array_of, exponent_of, frame_of, full_limits, vertical_limits, without_start
from rbmbench.reporting.style import BLUE, LOOK, LOOKS, PAGE, VERMILLION, Look, Sheet, finish_axes, look_of, page, theme
from rbmbench.reporting.words import count

MOST_IN_LEGEND = 6
ROW_LETTERS = 104
"""Characters in a row of panels or of the legend; the sample of a line takes as much room as 9."""
OUTER, INNER = 46, 35
"""Points beside a row of panels, and beside each panel, for the labels of axes."""
TITLE_SIZE, NOTE_SIZE = LOOK["axes.titlesize"], 6.8
SHORT_LABEL, IMAGE_LABEL = 32, 10
"""Letters of a line of an axis label in a narrow figure, and beside an image."""
NARROW = 3
"""Number of panels side by side from which each has little room for words."""
MOST_LINES = 4
"""Most lines of words above a panel, with its title; the caption has all of them."""
MOST_LABELS = 5
"""Most labels of an axis with given places of ticks, so that they do not touch."""
MOST_INCHES = 8.6
"""Largest height of all images on a page."""
THIN = 0.6
"""Width of curves in a column of a journal, as a share of that on a page."""
MARK = {"linewidth": 0.9, "zorder": 1.2}
"""Look of vertical lines, in place of the width of their algorithm's curve."""
POINTS = ((BLUE, "o", 0.12), (VERMILLION, "D", -0.12))
"""Colour, marker and shift of the points of each series."""


def draw_chart(chart: Chart, sheet: Sheet = PAGE) -> Figure:
    """Return the picture of a chart, with its title and legend."""
    with theme():
        figure = page(1, sheet)
        if chart.panels:
            looks = looks_of_chart(chart)
            if not sheet.is_wide:
                looks = {key: look | {"linewidth": THIN * look["linewidth"]} for key, look in looks.items()}
            _draw_rows(figure, chart, looks, sheet)
        elif any(image.iteration is None for image in chart.images):
            _draw_sheets(figure, chart, sheet)
        else:
            _draw_mosaics(figure, chart, sheet)
        if sheet.titled:
            figure.suptitle("\n".join(chart.heading or [chart.title]))
        if chart.panels:
            _add_legend(figure, chart, looks, sheet)
    return figure


def looks_of_chart(chart: Chart) -> dict[str, Look]:
    """Return the look of each curve, by its key."""
    entries = [*chart.legend.entries, *(entry for panel in chart.panels for entry in panel.legend)]
    curves = [curve for panel in chart.panels for curve in (*panel.series, *panel.bars, *panel.marks)]
    looks = {curve.key: look_of(curve.key) for curve in curves}
    return looks | {entry.key: look_of(entry.key, entry.color, entry.dash) for entry in entries if entry.key}


def rows_of(panels: Sequence[ChartPanel], most: int) -> list[list[ChartPanel]]:
    """Return panels in rows of at most ``most``; each group has a row, or several of equal lengths."""
    groups: dict[str, list[ChartPanel]] = {}
    for panel in panels:
        groups.setdefault(panel.group, []).append(panel)
    rows = []
    for group in groups.values():
        length = -(-len(group) // -(-len(group) // most))
        rows += [group[first : first + length] for first in range(0, len(group), length)]
    return rows


def _draw_rows(figure: Figure, chart: Chart, looks: dict[str, Look], sheet: Sheet) -> None:
    layout = chart.layout
    rows = rows_of(chart.panels, layout.columns if sheet.is_wide else layout.narrow)
    figure.set_figheight(layout.row * len(rows) + layout.head[not sheet.titled])
    band = LOOKS["band"] | ({} if layout.shade is None else {"alpha": layout.shade})
    widths = {"width_ratios": layout.widths} if layout.widths else {}
    axes = figure.subplots(len(rows), max(map(len, rows)), squeeze=False, sharey=layout.shares_y, **widths)
    for row, line in zip(rows, axes, strict=True):
        for before, panel, after, ax in zip([None, *row], row, [*row[1:], None], line, strict=False):
            exponent = exponent_of([item for item in row if item.y.title == panel.y.title])
            # A heading may extend over panels without one.
            is_alone = len(row) > 1 and all(item.heading == ("",) for item in row if item is not panel)
            _annotate(ax, panel, 1 if is_alone else len(line), sheet)
            # Neighbours of the same values share the labels of their axes, at the outer ends.
            if before is None or before.y.title != panel.y.title or panel.legend:
                _label(ax, panel, exponent, sheet)
            right = _draw_panel(ax, panel, looks, exponent, band, len(line), sheet)
            if right and (after is None or after.y.title != panel.y.title or after.legend):
                right.set_ylabel(f"mean per sample ({panel.y.unit})")
            if panel.legend:
                width = int(ROW_LETTERS * sheet.share) // len(line)
                handles, below = _handles(panel.legend, looks), {"loc": "upper center", "bbox_to_anchor": (0.5, -0.17)}
                ax.legend(handles=handles, ncols=max(1, width // 50), frameon=False, fontsize=6.8, **below)
        for ax in line[len(row) :]:
            ax.set_axis_off()


def is_fitted(panel: ChartPanel) -> bool:
    """Return whether the vertical range of a panel follows from its curves."""
    return not panel.bars and panel.y.range is None and panel.drawn_as in ("lines", "steps")


def _draw_panel(
    ax: Axes, panel: ChartPanel, looks: dict[str, Look], exponent: int, band: Look, columns: int, sheet: Sheet
) -> Axis | None:
    """Draw a panel; return the right axis if there is one."""
    if panel.drawn_as == "points":
        return _draw_points(ax, panel)
    if panel.drawn_as == "cells":
        return _draw_cells(ax, panel)
    for bars in panel.bars:
        edges, look = bars.edges_on(panel.x), looks[bars.key]
        ax.stairs(bars.heights, edges, **look)
        ax.stairs(bars.heights, edges, fill=True, color=look["color"], alpha=0.13)
    if is_fitted(panel) and not any(value is not None for series in panel.series for value in series.mean):
        ax.text(0.5, 0.5, "no trial with finite values", ha="center", va="center", transform=ax.transAxes)
        return None
    factor = panel.rows / 10.0**exponent if panel.rows else 1.0
    for series in panel.series:
        if panel.drawn_as == "steps" and series.x:  # a share, from 0 on and up to the end of the axis
            first, last = panel.x.range or (series.x[0], series.x[-1])
            shares = [0.0, *series.mean, series.mean[-1]]
            ax.step([first, *series.x, last], shares, where="post", **looks[series.key])
        elif panel.drawn_as == "lines" and not series.marked:
            _draw_curve(ax, series, looks[series.key], factor, band)
    for line in panel.lines:
        ax.axhline(factor * line.value, **LOOKS[line.look])
    for mark in panel.marks:
        if mark.height is None:
            ax.axvline(mark.at, **looks[mark.key] | MARK)
        else:
            ax.plot(mark.at, factor * mark.height, "o", color=looks[mark.key]["color"], markersize=4, zorder=3)
    _draw_printed(ax, panel, factor)
    if is_fitted(panel):
        return _fit(ax, panel, looks, factor, columns, sheet)
    ax.set(xscale="log" if panel.x.log else "linear", xlim=panel.x.range)
    ax.set(yscale="log" if panel.y.log else "linear", ylim=panel.y.range)
    if panel.x.places:
        step = -(-len(panel.x.places) // MOST_LABELS)
        ax.set_xticks(panel.x.places, ["" if n % step else f"{at:g}" for n, at in enumerate(panel.x.places)])
        ax.set_xticks([], minor=True)
    finish_axes(ax)
    return None


def _draw_curve(ax: Axes, series: Series, look: Look, factor: float, band: Look) -> None:
    finite = np.flatnonzero(np.isfinite(array_of(series.mean)))
    if not len(finite):
        return
    # A gap breaks a curve; missing values at its ends only widen the axis.
    kept = slice(finite[0], finite[-1] + 1)
    x, look = series.x[kept], look | (LOOKS[("second", "third")[series.place - 1]] if series.place else {})
    ax.plot(x, array_of(series.mean[kept], factor), **look)
    if band["alpha"] and series.low and series.trials != 1:
        low, high = array_of(series.low[kept], factor), array_of(series.high[kept], factor)
        ax.fill_between(x, low, high, color=look["color"], **band)
    thin = LOOKS["path"] | {"color": tuple(0.55 * channel for channel in to_rgb(look["color"]))}
    if series.median:
        ax.plot(x, array_of(series.median[kept], factor), **thin, linestyle=look["linestyle"], zorder=3.2)
    for path in series.paths:
        ax.plot(x, array_of(path[kept], factor), **thin, linestyle="solid", zorder=1.8)


def _draw_printed(ax: Axes, panel: ChartPanel, factor: float) -> None:
    """Draw values of the paper: a hollow mark at a given x, else a line with one."""
    for value in panel.printed:
        height = factor * value.value
        if value.at is None:
            ax.axhline(height, **LOOKS["printed_line"])
            where = {"transform": ax.get_yaxis_transform(), "clip_on": False}
            ax.plot([0.985], [height], **LOOKS["printed"], zorder=4, **where)
        else:
            ax.plot([value.at], [height], **LOOKS["printed"], zorder=4)


def _draw_points(ax: Axes, panel: ChartPanel) -> None:
    """Draw each series as points with intervals, a row for each tick of x, the first at the bottom."""
    names = panel.x.ticks[::-1]
    for series, (color, marker, shift) in zip(panel.series, POINTS, strict=False):
        mean, low, high = (array_of((values or series.mean)[::-1]) for values in (series.mean, series.low, series.high))
        errors = np.clip([mean - low, high - mean], 0, None)
        look = {"color": color, "fmt": marker, "markersize": 4, "linewidth": 1.1}
        ax.errorbar(mean, np.arange(len(names)) + shift, xerr=errors, label=series.label, **look)
    ax.set(xlabel=panel.y.label or panel.y.title)
    finish_axes(ax)
    ax.set_yticks(range(len(names)), names)


def _draw_cells(ax: Axes, panel: ChartPanel) -> None:
    """Draw numbers in cells: a row for each series, the first at the bottom, a column for each tick of x."""
    table = np.array([array_of(series.mean) for series in panel.series[::-1]])
    ax.imshow(table, aspect="auto", cmap="cividis_r", vmin=1, vmax=max(2, len(table)))
    for row, column in np.argwhere(np.isfinite(table)):
        value = table[row, column]
        color = "white" if value > 0.55 * len(table) else "black"
        ax.text(column, row, f"{value:.1f}", ha="center", va="center", fontsize=6.5, color=color)
    ax.set_xticks(range(len(panel.x.ticks)), [name.replace("_", "\n") for name in panel.x.ticks])
    ax.set(xlabel=panel.y.label or panel.y.title)
    finish_axes(ax)
    ax.grid(visible=False)


# --- Ranges -----------------------------------------------------------------------------------------------------------


def _fit(ax: Axes, panel: ChartPanel, looks: dict[str, Look], factor: float, columns: int, sheet: Sheet) -> Axis | None:
    """Set the ranges by the curves; return the right axis if values are summed, and the sheet has room for it."""
    curves = frame_of(panel, factor)
    heights = [factor * height.value for height in (*panel.lines, *panel.printed)]
    # Curves that are never above 0 have no logarithmic axis.
    is_log = panel.y.log and bool((curves["mean"] > 0).any())
    limits = vertical_limits(curves, heights) if panel.rows else full_limits(without_start(curves), is_log, heights)
    _scale(ax, limits, "log" if is_log else "linear")
    _scale_x(ax, panel, curves["x"], columns if sheet.is_wide else NARROW)
    for series in panel.series:
        color, bar = {"color": looks[series.key]["color"]}, LOOKS["estimate"]
        if series.marked:
            # Circles at an end of the axis are not clipped.
            means = np.ma.masked_outside(array_of(series.mean, factor), *limits)
            ax.plot(series.x, means, **LOOKS["compared"] | color, zorder=3, clip_on=False)
            bar = LOOKS["compared_estimate"]
        if series.estimate_high:
            mean, low, high = (array_of(v, factor) for v in (series.mean, series.estimate_low, series.estimate_high))
            is_open = np.isnan(low) & ~np.isnan(high)
            ax.vlines(series.x, np.where(is_open, mean, low), high, **color, **bar)
            if is_open.any():
                ax.plot(np.array(series.x)[is_open], mean[is_open], **LOOKS["open_end"] | color)
    if panel.rows:
        _point_at_dives(ax, panel, curves, limits[0], looks)
    has_right = panel.rows is not None and sheet.is_wide
    sns.despine(ax=ax, right=not has_right)
    if not has_right:
        return None
    right = ax.secondary_yaxis("right", functions=(lambda total: total / factor, lambda mean: mean * factor))
    _set_ticks(right.yaxis)
    return right


def _scale_x(ax: Axes, panel: ChartPanel, x: pd.Series, columns: int) -> None:
    ax.set_xscale("log" if panel.x.log else "linear")
    if panel.x.ticks:
        ax.set_xticks(range(len(panel.x.ticks)), panel.x.ticks, rotation=90)
        return
    if panel.x.log:
        ax.set_xlim(*(panel.x.range or (x[x > 0].min(), x.max())))
        ax.xaxis.set_minor_formatter(NullFormatter())
    else:
        ax.set_xlim(*(panel.x.range or (min(0, x.min()), x.max())))
        is_roomy = columns < NARROW and ax.get_xlim()[1] < 10**6  # for the labels of five ticks
        ax.xaxis.set_major_locator(MaxNLocator(5 if is_roomy else 3))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda at, _: count(at) if at == int(at) else f"{at:g}"))


def _scale(ax: Axes, limits: tuple[float, float], scale: str) -> None:
    ax.set_yscale(scale)
    ax.set_ylim(*limits)
    if scale == "linear":
        _set_ticks(ax.yaxis)
    elif limits[1] < 100 * limits[0]:
        # Powers of ten alone would give one label or two.
        ax.yaxis.set_minor_locator(LogLocator(subs=(2, 5)))
        for set_formatter in (ax.yaxis.set_major_formatter, ax.yaxis.set_minor_formatter):
            set_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    else:
        ax.yaxis.set_minor_formatter(NullFormatter())
    ax.grid(axis="y", **LOOKS["grid"])
    ax.set_axisbelow(True)


def _set_ticks(axis: Axis) -> None:
    axis.set_major_locator(MaxNLocator(6))
    axis.set_major_formatter(ScalarFormatter(useOffset=False))


def _point_at_dives(ax: Axes, panel: ChartPanel, curves: pd.DataFrame, low: float, looks: dict[str, Look]) -> None:
    """Draw an arrow, and the least value, where a curve leaves the panel after its climb."""
    for place, curve in curves.groupby("curve"):
        if curve["mean"].isna().all():
            continue
        top = curve["x"][curve["mean"].idxmax()]  # estimates in circles follow the curve
        below = curve[(curve["x"] >= top) & (curve["mean"] < low)]
        if below.empty:
            continue
        color = looks[panel.series[place].key]["color"]
        tip, tail = (below["x"].iloc[0], 0.0), (below["x"].iloc[0], 0.13)
        arrow = {"arrowstyle": "-|>", "color": color, "shrinkA": 0, "shrinkB": 0}
        across = ax.get_xaxis_transform()
        ax.annotate("", tip, tail, xycoords=across, textcoords=across, arrowprops=arrow)
        words = f" down to {below['mean'].min():.3g}"
        ax.text(*tail, words, transform=across, color=color, fontsize=7, va="center", gid="dive")


# --- Words ------------------------------------------------------------------------------------------------------------


def _annotate(ax: Axes, panel: ChartPanel, columns: int, sheet: Sheet) -> None:
    """Write above a panel its heading and, smaller, its notes."""
    points = (72 * sheet.width - OUTER) / columns - INNER
    if panel.drawn_as not in ("points", "cells"):
        ax.set_xlabel("\n".join(_fitting([panel.x.label or panel.x.title], points, LOOK["axes.labelsize"])))
    first, *further = panel.heading or (f"({panel.name}) {panel.title}",)
    # In narrow panels the data have a separate line, so that the panels of a row are level.
    heading = [first, ", ".join(further)] if columns >= NARROW else [", ".join([first, *further])]
    heading = _fitting(heading, points, TITLE_SIZE)
    if not is_fitted(panel):
        ax.set_title("\n".join(heading), loc="left")
        return
    lines = _fitting(panel.notes, points, NOTE_SIZE)
    if len(lines) > (room := max(1, MOST_LINES - len(heading))):
        lines = [*lines[: room - 1], f"{'more' if room > 1 else 'how it differs'}: see the caption"]
    ax.set_title("\n".join(heading), loc="left", pad=4 + 8.5 * len(lines))
    small = {"va": "bottom", "fontsize": NOTE_SIZE, "color": "0.3"}
    note = ax.annotate("\n".join(lines), (0, 1), (0, 3), "axes fraction", textcoords="offset points", **small)
    # The title's padding makes room for it; a long line must not make the panel narrow.
    note.set_in_layout(False)


def _wrapped(lines: Iterable[str], letters: int) -> list[str]:
    return [piece for line in lines for piece in wrap(line, letters, break_on_hyphens=False)]


def _fitting(lines: Iterable[str], points: float, size: float) -> list[str]:
    """Return words in lines no wider than ``points``; widths of characters differ by a factor of four."""
    font, pieces = FontProperties(size=size), []
    for line in filter(None, lines):
        piece, *words = line.split(" ")
        for word in words:
            longer = f"{piece} {word}"
            if text_to_path.get_text_width_height_descent(longer, font, False)[0] <= points:
                piece = longer
            else:
                pieces.append(piece)
                piece = word
        pieces.append(piece)
    return pieces


def _label(ax: Axes, panel: ChartPanel, exponent: int, sheet: Sheet) -> None:
    """Write the label of the left axis, with the power of ten of sums."""
    if panel.drawn_as in ("points", "cells"):
        return
    power = f"$10^{{{exponent}}}$ " if exponent else ""
    of_rows, unit = " of the training set" * bool(panel.rows), f"({power}{panel.y.unit})" * bool(panel.y.unit)
    label = f"{panel.y.label or panel.y.title}{of_rows * sheet.is_wide}\n{unit}".rstrip()
    if not sheet.is_wide and is_fitted(panel):
        label = "\n".join(_wrapped([label.replace("\n", " ")], SHORT_LABEL))
    ax.set_ylabel(label, parse_math=bool(exponent))


def _handles(entries: Iterable[Entry], looks: dict[str, Look]) -> list[Artist]:
    return [
        Line2D([], [], label=entry.label, **({"color": "0.4"} | LOOKS[entry.look] if entry.look else looks[entry.key]))
        for entry in entries
    ]


def _add_legend(figure: Figure, chart: Chart, looks: dict[str, Look], sheet: Sheet) -> None:
    legend = chart.legend
    handles = _handles(legend.entries, looks) or [
        handle for ax in figure.axes for handle in ax.get_legend_handles_labels()[0]
    ]
    if not handles and not any(panel.legend for panel in chart.panels):
        labels = {series.key: series.label for panel in chart.panels for series in panel.series}
        handles = _handles((Entry(label=label, key=key) for key, label in labels.items()), looks)
    if not handles:
        return
    characters = int(ROW_LETTERS * sheet.share)
    for handle in handles:
        handle.set_label("\n".join(_wrapped([handle.get_label()], characters - 12)))
    if legend.columns:
        columns = max(1, int(legend.columns * sheet.share))
    else:  # as many as fit side by side; they are filled from top to bottom
        widths = np.array([9 + len(handle.get_label()) for handle in handles])
        rows = [-(-len(handles) // most) for most in range(MOST_IN_LEGEND, 1, -1)]
        fits = (np.maximum.reduceat(widths, range(0, len(widths), length)) for length in rows)
        columns = next((len(fit) for fit in fits if fit.sum() <= characters), 1)
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=columns,
        frameon=False,
        handlelength=legend.handle,
        title=legend.title if sheet.titled and legend.title else None,
        title_fontsize=7.5,
    )


# --- Images -----------------------------------------------------------------------------------------------------------


def _show(ax: Axes, image: Image) -> None:
    from PIL import Image as Pictures

    try:
        content = base64.b64decode(image.address.partition(",")[2])
        pixels = np.asarray(Pictures.open(io.BytesIO(content)))
    except (OSError, ValueError, Pictures.DecompressionBombError):
        raise ResultsError(f"images: {image.label}, {image.name}: cannot be decoded; make the figure again") from None
    ax.imshow(pixels, interpolation="none")


def _draw_sheets(figure: Figure, chart: Chart, sheet: Sheet) -> None:
    rows, layout = -(-len(chart.images) // 2), chart.layout
    figure.set_figheight(sheet.share * (layout.head[0] + layout.row * rows))
    axes = figure.subplots(rows, 2, squeeze=False).ravel()
    for ax, image in zip(axes, chart.images, strict=False):
        _show(ax, image)
        heading = image.heading or f"{image.label}: {image.name}"
        ax.set_title(heading, loc="left", fontsize=8.5 * max(sheet.share, 0.75))
    for ax in axes:
        ax.set_axis_off()


def _draw_mosaics(figure: Figure, chart: Chart, sheet: Sheet) -> None:
    """Draw images of models during training: a row for each algorithm and name, iterations from left to right."""
    rows: dict[tuple[str, str], list[Image]] = {}
    for image in chart.images:
        rows.setdefault((image.label, image.name), []).append(image)
    columns = max(map(len, rows.values()))
    side = min((sheet.width - 0.5 * sheet.share) / columns, MOST_INCHES * sheet.share / len(rows))
    figure.set_figheight(side * len(rows) + chart.layout.head[not sheet.titled])
    figure.get_layout_engine().set(h_pad=0.015, w_pad=0.015, hspace=0, wspace=0)
    axes = figure.subplots(len(rows), columns, squeeze=False)
    larger = max(sheet.share, 0.6)
    for ax, image in zip(axes[0], next(iter(rows.values())), strict=False):
        ax.set_title(f"{'iteration ' * (ax is axes[0, 0])}{count(image.iteration)}", fontsize=8 * larger)
    for (label, name), images, line in zip(rows, rows.values(), axes, strict=True):
        for ax, image in zip(line, images, strict=False):
            _show(ax, image)
        words = "\n".join([*wrap(label, IMAGE_LABEL, break_on_hyphens=False), name])
        line[0].set_ylabel(words, fontsize=7.5 * larger)
    for ax in axes.ravel():
        ax.set(xticks=[], yticks=[])
        for spine in ax.spines.values():
            spine.set_visible(False)
