# SPDX-License-Identifier: BSD-3-Clause
"""The look of all figures: a theme, a page, and one colour and dash pattern per algorithm in the figures of all papers.

Algorithms of one family share a hue; its members differ in brightness and dash pattern, also without colours. Every
colour has a contrast of at least 3:1 with white. The look of an algorithm does not depend on the others in a figure.
Solid lines are the widest and lowest, so that a dashed curve on top of an equal one leaves both visible.
"""

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from typing import Any

import matplotlib as mpl
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.path import Path

from rbmbench.io.atomic import replaced

PIXELS = 1.5
"""Size of a point on the interactive page, except for the width of curves, one pixel per point."""
PAGE_WIDTH = 7.4
PANEL_HEIGHT = 2.55
DPI = 160


@dataclass(frozen=True)
class Sheet:
    """Sheet of a figure: its width, inches, and whether it has a title and notes on reduced budgets."""

    width: float = PAGE_WIDTH
    titled: bool = True

    @property
    def is_wide(self) -> bool:
        """Whether panels have room side by side."""
        return self.width > PAGE_WIDTH / 2

    @property
    def share(self) -> float:
        """The width over that of a page."""
        return self.width / PAGE_WIDTH


PAGE = Sheet()
PUBLICATION = {"3.3": Sheet(3.3, titled=False), "6.9": Sheet(6.9, titled=False)}
"""A column and the text width of a journal, by their inches; the caption has the contents of the title."""
LOOK = {
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8,
    "axes.linewidth": 0.6,
    "axes.edgecolor": "0",
    "axes.labelcolor": "0",
    "axes.spines.top": False,
    "text.color": "0",
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "xtick.color": "0",
    "ytick.color": "0",
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 3.5,
    "ytick.major.size": 3.5,
    "legend.fontsize": 8,
    "figure.titlesize": 10,
    "pdf.fonttype": 42,
    "mathtext.default": "regular",
    # Titles, labels and names of data are text, in which "$" is a dollar; `save` sets the ticks.
    "text.parse_math": False,
}

SOLID, DASHED, DOTTED = "solid", (0, (4, 2.6)), (0, (1, 2.2))
DASH_DOTTED, LONG = (0, (5, 1.4, 1, 1.4)), (0, (8, 2.5))
DASHES = {"solid": SOLID, "dashed": DASHED, "dotted": DOTTED, "dash_dotted": DASH_DOTTED, "long": LONG}
"""Dash patterns by their names in the configuration."""
WIDTHS = {SOLID: 2.4, LONG: 1.6, DASHED: 1.5, DASH_DOTTED: 1.4, DOTTED: 1.5}
HEIGHTS = {SOLID: 2.0, LONG: 2.2, DASHED: 2.4, DASH_DOTTED: 2.6, DOTTED: 2.8}
DARK, DARKER, DARKEST = 0.75, 0.55, 0.25

Look = dict[str, Any]
"""Keyword arguments of `matplotlib.axes.Axes.plot`."""
HOLLOW = {"linestyle": "none", "markersize": 5, "markerfacecolor": "none"}
FURTHER = {"linewidth": 0.9, "zorder": 1.9, "alpha": 0.75}
ESTIMATE = {"linewidth": 0.8, "alpha": 0.6, "zorder": 1.7}
ARROW = Path([(0, 0), (0, -1), (-0.25, -0.65), (0, -1), (0.25, -0.65)], [1, 2, 1, 2, 2])
"""A stroke from a point downwards; as a marker it is half of the marker's size long."""
LOOKS: dict[str, Look] = {
    "compared": HOLLOW | {"marker": "o", "color": "0.25", "markeredgewidth": 1.0},
    "second": FURTHER | {"linestyle": (0, (3, 1.5))},
    "third": FURTHER | {"linestyle": (0, (1, 1.2))},
    "maximum": {"color": "0.25", "linewidth": 0.9, "linestyle": (0, (7, 2, 1, 2)), "zorder": 1.5},
    "true_model": {"color": "0.25", "linewidth": 0.9, "linestyle": (0, (1, 1)), "zorder": 1.5},
    "training_set": {"color": "0.25", "linewidth": 1.0, "linestyle": (0, (6, 2))},
    "upright": {"linestyle": "none", "marker": "|", "markersize": 11, "markeredgewidth": 1.0, "color": "0.25"},
    "printed": HOLLOW | {"marker": "D", "color": "0.15", "markeredgewidth": 0.9},
    "printed_line": {"color": "0.15", "linewidth": 0.7, "linestyle": (0, (1, 3)), "zorder": 1.4},
    "estimate": ESTIMATE,
    "compared_estimate": ESTIMATE | {"linestyle": (0, (1, 1.5))},
    "open_end": ESTIMATE | HOLLOW | {"marker": ARROW, "markersize": 15, "markeredgewidth": 0.8},
    "band": {"linewidth": 0, "alpha": 0.13, "zorder": 1},
    "path": {"linewidth": 0.6},
    "grid": {"color": "0.9", "linewidth": 0.5},
}
"""Looks by name; the curves of a second and third metric have the colour of their algorithm, a path is of one trial."""
METADATA = {"pdf": {"CreationDate": None}, "png": {"Software": None}, "svg": {"Date": None}}
"""Metadata about time and program, removed so that equal figures have equal bytes."""

COORDINATES = re.compile(r'(?<= [dxy]=")[^"]*')
"""Coordinates of an SVG in points; matplotlib writes six decimals, and every vertex in a line."""

BLACK, GREY, BLUE, VERMILLION, GREEN = "#000000", "#6E6E6E", "#0072B2", "#D55E00", "#008A64"
FAMILIES = {
    "cd": (VERMILLION, SOLID),
    "expected_cd": ("#8C564B", SOLID),
    "pcd": ("#AA4499", DASH_DOTTED),
    "sml": ("#AA4499", DASH_DOTTED),
    "pop_cd": (BLUE, SOLID),
    "leave_one_out": (BLUE, SOLID),
    "pt": (BLACK, DOTTED),
    "parallel_tempering": (BLACK, DOTTED),
    "exact": (BLACK, SOLID),
    "ucd": (GREEN, SOLID),
    "pcd_then_ucd": ("#6B7A00", LONG),
    "weak_decay": ("#3F7F00", DASHED),
    "strong_decay": ("#2C4A8C", DOTTED),
    "fpcd": ("#C2185B", SOLID),
    "rates_fpcd": ("#C2185B", SOLID),
    "herding": ("#8C564B", SOLID),
    "rates_herding": ("#8C564B", LONG),
    "gibbs": (GREY, SOLID),
    "sample_penalization": ("#947000", DASH_DOTTED),
    "sdcp": ("#00838F", SOLID),
    "cs_dcp": ("#3D2FA8", LONG),
    "cg": ("#4D4D4D", DASHED),
    "ssd": ("#947000", DOTTED),
}
"""Hue by the longest beginning of the key of an algorithm or a sampler, and pattern in place of a solid line.

The pattern is not solid for families whose curves often lie on those of others.
"""
HUES = sorted({hue for hue, _ in FAMILIES.values()})
VARIANTS = {
    "": (1.0, SOLID),
    "1": (1.0, SOLID),
    "2": (DARKER, DASH_DOTTED),
    "5": (1.0, LONG),
    "10": (DARKER, DASHED),
    "20": (1.0, DOTTED),
    "30": (DARKEST, LONG),
    "12": (1.0, SOLID),
    "24": (DARK, SOLID),
    "25": (DARKER, SOLID),
    "3x4": (DARK, SOLID),
    "6x4": (1.0, SOLID),
    "2x12": (DARK, DASHED),
    "12x2": (DARK, DOTTED),
    "rate_05": (DARKER, LONG),
    "rate_10": (1.0, DOTTED),
    "init_1": (DARKEST, SOLID),
    "init_2": (DARKER, DASHED),
    "init_3": (1.0, DOTTED),
    "init_4": (1.0, DASHED),
    "95": (DARKER, DASHED),
    "antithetic": (DARKER, DASHED),
    "program": (1.0, SOLID),
    "both_layers": (1.0, DOTTED),
    "both_antithetic": (DARKER, DASH_DOTTED),
    "then_cd": (DARKER, LONG),
}
"""Brightness and dash pattern by the longest listed end of a key: k, inner steps, or another variation."""


def look_of(name: str, color: str | None = None, dash: str | None = None) -> Look:
    """Return the keyword arguments of `matplotlib.axes.Axes.plot` for the key of an algorithm or a sampler.

    They depend on the key alone: hue by family, brightness and dash pattern by variant. ``color`` and ``dash`` (a key
    of `DASHES`), from the configuration, take precedence. A key of no listed family or variant has a hue or pattern by
    a hash of its name, which the configuration may override.
    """
    name = name.removesuffix("_variance")
    family = max((key for key in FAMILIES if f"{name}_".startswith(f"{key}_")), key=len, default="")
    hue, solid = FAMILIES[family] if family else (_hashed(name, HUES), SOLID)
    suffix = name[len(family) :].strip("_")
    variant = max((key for key in VARIANTS if key and f"_{suffix}".endswith(f"_{key}")), key=len, default="")
    brightness, pattern = VARIANTS[variant]
    if suffix and not variant:
        brightness, pattern = _hashed(name, list(VARIANTS.values()))
    if pattern == SOLID:
        pattern = solid
    elif family == "cs_dcp" and pattern == DASHED:
        pattern = DASH_DOTTED
    color, pattern = color or _scaled(hue, brightness), DASHES[dash] if dash else pattern
    return {"color": color, "linestyle": pattern, "linewidth": WIDTHS[pattern], "zorder": HEIGHTS[pattern]}


def _hashed(name: str, values: list) -> Any:
    return values[int(hashlib.sha256(name.encode()).hexdigest(), 16) % len(values)]


def _scaled(color: str, brightness: float) -> str:
    return "#" + "".join(f"{round(brightness * int(color[place : place + 2], 16)):02X}" for place in (1, 3, 5))


@contextmanager
def theme() -> Iterator[None]:
    """Draw with the theme of all figures within the block: seaborn's ticks, in sizes that fit a printed page."""
    settings = sns.plotting_context("paper") | sns.axes_style("ticks") | LOOK
    with mpl.style.context(["default", settings]):  # independent of the user's matplotlibrc
        yield


def page(rows: int, sheet: Sheet = PAGE) -> Figure:
    """Return an empty figure of the width of a sheet, for some rows of panels; to be used within `theme`."""
    head = 1.0 if sheet.titled else 0.5
    figure = Figure(figsize=(sheet.width, head + PANEL_HEIGHT * rows), layout="constrained")
    FigureCanvasAgg(figure)
    figure.get_layout_engine().set(h_pad=0.06, w_pad=0.04, hspace=0.03, wspace=0.04)
    return figure


def finish_axes(ax: Axes) -> None:
    """Give axes a light grid below the curves, and no right spine."""
    ax.grid(**LOOKS["grid"])
    ax.set_axisbelow(True)
    sns.despine(ax=ax)


def save(figure: Figure, path: str | PathLike) -> None:
    """Write a figure as PDF, PNG or SVG, by the ending of ``path``; equal figures give equal bytes.

    `ResultsError` if the file cannot be written.
    """
    metadata = METADATA[str(path).rpartition(".")[2]]
    # Text of an SVG remains text; its ids would be random without a salt.
    with (
        theme(),
        mpl.rc_context({"text.parse_math": True, "svg.fonttype": "none", "svg.hashsalt": "rbmbench"}),
        replaced(path) as temporary,
    ):
        for axis in figure.findobj(Axis):
            for label in axis.get_ticklabels(which="both"):
                label.set_parse_math(True)
        figure.savefig(temporary, dpi=DPI, metadata=metadata)
        if temporary.suffix == ".svg":
            text = temporary.read_text(encoding="utf-8")
            temporary.write_text(COORDINATES.sub(_shortened, text), encoding="utf-8")


def _shortened(coordinates: re.Match) -> str:
    """Return coordinates with two decimals, 1/7200 inch, and without spaces around the letters of a path."""
    rounded = re.sub(r"-?\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}", coordinates[0])
    return re.sub(r"\s*([A-Za-z])\s*", r"\1", rounded)
