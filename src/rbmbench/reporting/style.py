"""One colour and one dash pattern an algorithm, the same in the figures of all papers.

The colours are those of Okabe and Ito, which readers with a colour vision deficiency can tell apart; yellow is left
out, for it is lost on white paper. An algorithm keeps its style whoever it is drawn with. Solid lines are the widest
and lie lowest, so that a dashed curve on top of an equal one leaves both to be seen.
"""

from collections.abc import Iterable
from itertools import chain, cycle, product

__all__ = ["style", "styles"]

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILLION, PURPLE, GREY = "#0072B2", "#D55E00", "#CC79A7", "#7F7F7F"
COLOURS = (GREY, GREEN, PURPLE, SKY, ORANGE, BLUE, VERMILLION, BLACK)
SOLID, DASHED, DOTTED, DASH_DOTTED, LONG = (
    "solid",
    (0, (4, 2.6)),
    (0, (1, 2.2)),
    (0, (5, 1.4, 1, 1.4)),
    (0, (8, 2.5)),
)
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
    "cd_1_variance": "cd_1",
    "pcd_1_variance": "pcd_1",
    "ucd_variance": "ucd",
    "expected_cd_1": "cd_1",
    "expected_cd_2": "cd_2",
    "expected_cd_5": "cd_5",
    "expected_cd_10": "cd_10",
    "cd_12": "cd_1",
    "cd_24": "cd_1",
    "cd_25": "cd_1",
    "pcd_12": "pcd_1",
    "pcd_24": "pcd_1",
    "pcd_25": "pcd_1",
    "cg_12": "cg_24",
    "cg_25": "cg_24",
    "sdcp_3x4": "sdcp_6x4",
    "cs_dcp_3x4": "cs_dcp_6x4",
}


def style(colour: str, dashes: str | tuple) -> dict:
    """Return the keyword arguments of `matplotlib.axes.Axes.plot` for a colour and a dash pattern."""
    return {"color": colour, "linestyle": dashes, "linewidth": WIDTHS[dashes], "zorder": HEIGHTS[dashes]}


def styles(algorithms: Iterable[str]) -> dict[str, dict]:
    """Return the style of each algorithm.

    An algorithm that has no fixed style takes the first that is left, in alphabetical order of the newcomers: a new
    estimator needs no line here.

    Parameters
    ----------
    algorithms : iterable of str
        Ids of the algorithms of one figure.

    Returns
    -------
    dict
        Keyword arguments of `matplotlib.axes.Axes.plot` by algorithm, in the order given.
    """
    algorithms = list(dict.fromkeys(algorithms))
    taken = set(ALGORITHMS.values())
    pairs = list(product(COLOURS, PATTERNS))
    free = chain((pair for pair in pairs if pair not in taken), cycle(pairs))
    newcomers = sorted(name for name in algorithms if ALIKE.get(name, name) not in ALGORITHMS)
    chosen = ALGORITHMS | dict(zip(newcomers, free, strict=False))
    return {name: style(*chosen[ALIKE.get(name, name)]) for name in algorithms}
