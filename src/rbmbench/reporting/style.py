"""The look of all figures: a theme, a page, and one colour and dash pattern per algorithm in the figures of all papers.

The colours are those of Okabe and Ito, which readers with a colour vision deficiency can tell apart; yellow is left
out, for it is lost on white paper. An algorithm keeps its style whichever others it is drawn with. Solid lines are the
widest and lie lowest, so that a dashed curve on top of an equal one leaves both visible.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, cycle, product
from os import PathLike

import matplotlib as mpl
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from rbmbench.io.atomic import replaced

PAGE_WIDTH = 7.4
PANEL_HEIGHT = 2.55
DPI = 160
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

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILLION, PURPLE, GREY = "#0072B2", "#D55E00", "#CC79A7", "#7F7F7F"
COLOURS = (GREY, GREEN, PURPLE, SKY, ORANGE, BLUE, VERMILLION, BLACK)
SOLID, DASHED, DOTTED = "solid", (0, (4, 2.6)), (0, (1, 2.2))
DASH_DOTTED, LONG = (0, (5, 1.4, 1, 1.4)), (0, (8, 2.5))
PATTERNS = (LONG, DASH_DOTTED, DASHED, DOTTED, SOLID)
WIDTHS = {SOLID: 2.4, LONG: 1.6, DASHED: 1.5, DASH_DOTTED: 1.4, DOTTED: 1.5}
HEIGHTS = {SOLID: 2.0, LONG: 2.2, DASHED: 2.4, DASH_DOTTED: 2.6, DOTTED: 2.8}

ALGORITHMS = {
    "cd_1": (ORANGE, SOLID),
    "cd_10": (VERMILLION, DASHED),
    "pcd_1": (PURPLE, DASH_DOTTED),
    "pop_cd_1": (SKY, SOLID),
    "pop_cd_10": (BLUE, DASHED),
    "pt_10": (BLACK, DOTTED),
    "ucd": (GREEN, SOLID),
    "cd_2": (GREY, LONG),
    "cd_5": (SKY, DASH_DOTTED),
    "cd_20": (BLUE, DOTTED),
    "cd_30": (BLACK, LONG),
    "pcd_then_ucd": (GREEN, LONG),
    "fpcd": (GREEN, DASH_DOTTED),
    "rates_fpcd": (GREEN, DASHED),
    "rates_herding": (GREY, DASHED),
    "gibbs": (VERMILLION, SOLID),
    "sample_penalization": (ORANGE, DASH_DOTTED),
    "parallel_tempering": (BLUE, DASH_DOTTED),
    "herding": (GREY, DASH_DOTTED),
    "sdcp_6x4": (BLUE, SOLID),
    "sdcp_2x12": (SKY, DASHED),
    "sdcp_12x2": (BLUE, LONG),
    "cs_dcp_6x4": (VERMILLION, LONG),
    "cs_dcp_2x12": (VERMILLION, DOTTED),
    "cs_dcp_12x2": (VERMILLION, DASH_DOTTED),
    "cg_24": (BLACK, DASHED),
    "ssd_25": (GREY, DOTTED),
    "exact": (BLACK, SOLID),
}

# Trained as another one, with more diagnostics, in expectation, or with other numbers of steps.
ALIKE = {
    alike: algorithm
    for algorithm, others in {
        "cd_1": ("cd_1_variance", "expected_cd_1", "cd_12", "cd_24", "cd_25"),
        "cd_2": ("expected_cd_2",),
        "cd_5": ("expected_cd_5",),
        "cd_10": ("expected_cd_10",),
        "pcd_1": ("pcd_1_variance", "pcd_12", "pcd_24", "pcd_25"),
        "ucd": ("ucd_variance",),
        "cg_24": ("cg_12", "cg_25"),
        "sdcp_6x4": ("sdcp_3x4",),
        "cs_dcp_6x4": ("cs_dcp_3x4",),
    }.items()
    for alike in others
}


def styles(algorithms: Iterable[str]) -> dict[str, dict]:
    """Return keyword arguments of `matplotlib.axes.Axes.plot` for each algorithm of a figure, in the order given.

    An algorithm that has no fixed style takes the first that is left, in alphabetical order of the newcomers: a new
    estimator needs no line here.
    """
    algorithms = list(dict.fromkeys(algorithms))
    taken = set(ALGORITHMS.values())
    pairs = list(product(COLOURS, PATTERNS))
    free = chain((pair for pair in pairs if pair not in taken), cycle(pairs))
    newcomers = sorted(name for name in algorithms if ALIKE.get(name, name) not in ALGORITHMS)
    chosen = ALGORITHMS | dict(zip(newcomers, free, strict=False))
    return {name: line_style(*chosen[ALIKE.get(name, name)]) for name in algorithms}


def line_style(colour: str, dashes: str | tuple) -> dict:
    """Return the keyword arguments of `matplotlib.axes.Axes.plot` for a colour and a dash pattern."""
    return {"color": colour, "linestyle": dashes, "linewidth": WIDTHS[dashes], "zorder": HEIGHTS[dashes]}


@contextmanager
def theme() -> Iterator[None]:
    """Draw with the theme of all figures within the block: seaborn's ticks, in sizes that fit a printed page."""
    with mpl.rc_context(sns.plotting_context("paper") | sns.axes_style("ticks") | LOOK):
        yield


def page(rows: int) -> Figure:
    """Return an empty figure of the width of a page, for so many rows of panels; to be used within `theme`."""
    figure = Figure(figsize=(PAGE_WIDTH, 1.0 + PANEL_HEIGHT * rows), layout="constrained")
    FigureCanvasAgg(figure)
    figure.get_layout_engine().set(h_pad=0.06, w_pad=0.04, hspace=0.03, wspace=0.04)
    return figure


def finish_axes(ax: Axes) -> None:
    """Give axes a light grid below the curves, and no right spine."""
    ax.grid(color="0.9", linewidth=0.5)
    ax.set_axisbelow(True)
    sns.despine(ax=ax)


def save(figure: Figure, path: str | PathLike) -> None:
    """Write a figure as PDF or PNG, as the ending of ``path`` says; equal figures give equal bytes.

    `ResultsError` if the file cannot be written.
    """
    metadata = {"CreationDate": None} if str(path).endswith(".pdf") else {"Software": None}
    with theme(), mpl.rc_context({"text.parse_math": True}), replaced(path) as temporary:
        for axis in figure.findobj(Axis):
            for label in axis.get_ticklabels(which="both"):
                label.set_parse_math(True)
        figure.savefig(temporary, dpi=DPI, metadata=metadata)
