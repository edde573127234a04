# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of charts of any kind: panels in rows, curves with bands, lines, and a legend."""

import base64
import io
from textwrap import wrap

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from rbmbench.planning.chart import Chart, ChartPanel
from rbmbench.reporting.style import PAGE, Sheet, finish_axes, page, styles, theme

COLUMNS = 3
LETTERS = 100


def draw_chart(chart: Chart, which: str, sheet: Sheet = PAGE) -> Figure:
    """Return the picture of a chart; ``which`` is the line below its title, the figure in words."""
    looks = styles(sorted({series.key for panel in chart.panels for series in panel.series}))
    labels = {series.key: series.label for panel in chart.panels for series in panel.series}
    cells = [*chart.panels, *chart.images]
    columns = min(COLUMNS if sheet.is_wide else 1, len(cells)) or 1
    rows = -(-len(cells) // columns) or 1
    with theme():
        figure = page(rows, sheet)
        axes = figure.subplots(rows, columns, squeeze=False).ravel()
        for ax, cell in zip(axes, cells, strict=False):
            if isinstance(cell, ChartPanel):
                _draw_panel(ax, cell, looks)
            else:
                content = base64.b64decode(cell.address.partition(",")[2])
                from PIL import Image

                ax.imshow(np.asarray(Image.open(io.BytesIO(content))), interpolation="none")
                ax.set_title(f"{cell.label}: {cell.name}", loc="left")
                ax.set_axis_off()
        for ax in axes[len(cells) :]:
            ax.set_axis_off()
        if sheet.titled:
            lines = [which, *chart.differences]
            figure.suptitle("\n".join([chart.title, *(part for line in lines for part in wrap(line, LETTERS))]))
        if labels:
            handles = [Line2D([], [], label=label, **looks[key]) for key, label in labels.items()]
            figure.legend(handles=handles, loc="outside lower center", ncols=COLUMNS, frameon=False)
    return figure


def _draw_panel(ax: Axes, panel: ChartPanel, looks: dict[str, dict]) -> None:
    for series in panel.series:
        look, x = looks[series.key], np.array(series.x)
        mean, low, high = (np.array(part, float) for part in (series.mean, series.low, series.high))
        ax.plot(x[np.isfinite(mean)], mean[np.isfinite(mean)], **look)
        if len(low):
            ax.fill_between(x, low, high, color=look["color"], alpha=0.13, linewidth=0, zorder=1)
    for line in panel.lines:
        ax.axhline(line.value, color="0.25", linewidth=0.9, linestyle=(0, (7, 2, 1, 2)))
    for value in panel.printed:
        if value.at is None:
            ax.axhline(value.value, color="0.15", linewidth=0.7, linestyle=(0, (1, 3)))
        else:
            ax.plot([value.at], [value.value], "D", markerfacecolor="none", color="0.15")
    ax.set_title(f"({panel.name}) {panel.title}", loc="left")
    for axis, scale, limits in ((panel.x, ax.set_xscale, ax.set_xlim), (panel.y, ax.set_yscale, ax.set_ylim)):
        scale("log" if axis.log else "linear")
        if axis.range:
            limits(*axis.range)
    if panel.x.ticks:
        ax.set_xticks(range(len(panel.x.ticks)), panel.x.ticks, rotation=90)
    ax.set(xlabel=panel.x.title, ylabel=panel.y.title)
    finish_axes(ax)
