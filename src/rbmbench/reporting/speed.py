# SPDX-License-Identifier: BSD-3-Clause
"""The measured speed of training steps: the table in Markdown, and bars against floors and peers."""

from os import PathLike

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from rbmbench.base.errors import ResultsError
from rbmbench.io.meta import Meta
from rbmbench.io.results import read_csv
from rbmbench.reporting.style import BLUE, GREY, PAGE_WIDTH, VERMILLION, theme

COLUMNS = ("what", "milliseconds", "against", "kind", "reference_milliseconds", "ratio", "aim")
FLOOR, PRODUCTS, PEER = "floor", "products", "peer"
OURS = "rbmbench"
LOOKS = {
    FLOOR: {"facecolor": "white", "edgecolor": GREY, "hatch": "////", "label": "dense matrix products alone"},
    PRODUCTS: {"facecolor": "white", "edgecolor": BLUE, "hatch": "....", "label": "binary ones alone"},
    OURS: {"facecolor": BLUE, "edgecolor": BLUE, "label": "rbmbench"},
    PEER: {"facecolor": VERMILLION, "edgecolor": VERMILLION, "label": "another program"},
}
BAR_HEIGHT = 0.19


def read_steps(path: str | PathLike) -> pd.DataFrame:
    """Return the table that ``benchmarks/measure.py`` has written; `ResultsError` if it is missing or damaged."""
    return read_csv(path, COLUMNS, keep_default_na=False)


def step_bars(table: pd.DataFrame) -> pd.DataFrame:
    """Return the bars of the picture: for each step with a floor the floor, its binary products, rbmbench and peers.

    Columns are step, kind ("floor", "products", "rbmbench", "peer"), name, milliseconds, and ratio to the floor;
    `ResultsError` if no step was measured against a floor.
    """
    lines = []
    for step, rows in table.groupby("what", sort=False):
        line = next(rows[rows["kind"] == FLOOR].itertuples(), None)
        if line is None:
            continue
        floor = line.reference_milliseconds
        bars = [(FLOOR, line.against.removeprefix("its "), floor)]
        binary = rows[rows["kind"] == PRODUCTS]
        names = binary["against"].str.removeprefix("its ")
        bars += [(PRODUCTS, name, t) for name, t in zip(names, binary["reference_milliseconds"], strict=True)]
        bars.append((OURS, OURS, line.milliseconds))
        peers = rows[rows["kind"] == PEER]
        bars += [(PEER, name, t) for name, t in zip(peers["against"], peers["reference_milliseconds"], strict=True)]
        lines += [(step, kind, name, time, time / floor) for kind, name, time in bars]
    if not lines:
        raise ResultsError("speed of steps: none was measured against a floor; got no line of kind 'floor'")
    return pd.DataFrame(lines, columns=["step", "kind", "name", "milliseconds", "ratio"])


def bars(table: pd.DataFrame, meta: Meta) -> Figure:
    """Draw milliseconds per update as bars, with the ratio to the floor beside each; see `step_bars`.

    ``meta`` has the conditions: hardware, threads, precision, finished. The floor is the dense products.
    """
    rows = step_bars(table)
    steps = [group for _, group in rows.groupby("step", sort=False)]
    sizes = [len(group) for group in steps]
    with theme():
        height = 1.1 + sum(0.42 + BAR_HEIGHT * size for size in sizes)
        figure = Figure(figsize=(PAGE_WIDTH, height), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots(len(steps), 1, squeeze=False, height_ratios=[size + 0.4 for size in sizes])[:, 0]
        for ax, group in zip(axes, steps, strict=True):
            _draw_step(ax, group)
        axes[-1].set_xlabel("milliseconds per update (each step has its own axis); ×: ratio to the dense products")
        figure.suptitle(f"Time per update against its dense matrix products\n{conditions(meta)}", fontsize=9)
        kinds = [kind for kind in LOOKS if kind in set(rows["kind"])]
        handles = [Patch(linewidth=0.8, **LOOKS[kind]) for kind in kinds]
        figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False)
    return figure


def _draw_step(ax: Axes, rows: pd.DataFrame) -> None:
    floor = rows["milliseconds"].iloc[0]
    for place, bar in enumerate(rows.itertuples()):
        ax.barh(place, bar.milliseconds, height=0.72, linewidth=0.8, **LOOKS[bar.kind])
        text = f"{bar.milliseconds:#.3g}".rstrip(".") + " ms"
        text += "" if bar.kind == FLOOR else f", {bar.ratio:.2f} ×"
        # The text of a bar that ends before the floor is beyond the floor's line, not across it.
        ax.annotate(
            text, (max(bar.milliseconds, floor), place), (3, 0), textcoords="offset points", va="center", fontsize=7.5
        )
    ax.axvline(floor, color="0.3", linewidth=0.8, linestyle=(0, (4, 2)))
    ax.set_yticks(range(len(rows)), rows["name"])
    ax.invert_yaxis()
    ax.tick_params(axis="y", length=0)
    ax.spines["right"].set_visible(False)
    ax.set_xlim(0, 1.22 * rows["milliseconds"].max())
    ax.set_title(rows["step"].iloc[0], loc="left", fontweight="bold")


def conditions(meta: Meta) -> str:
    """Return the conditions of a measured speed in words: processor, threads, precision, date (UTC)."""
    hardware, threads = meta["hardware"], meta["threads"]
    return (
        f"{threads} thread{'s' * (threads != 1)} of {hardware['cpu']} ({hardware['cores']} cores), "
        f"{meta['precision']}, {meta['finished'][:10]}"
    )


def caption(meta: Meta) -> str:
    """Return the caption of the picture, with the omitted measurements."""
    return (
        "Time per update, the best of several turns; all bars of a step were measured in turns in one process. The"
        " dashed line is the step's matrix products alone, made dense by a library; × is the ratio to it. Those of"
        " rbmbench are faster, since they accept only states of 0 and 1."
        f" {conditions(meta)}.{_left_out(meta)}"
    )


def markdown(table: pd.DataFrame, meta: Meta) -> str:
    """Return the table as Markdown, with the conditions below it."""
    rounded = table.drop(columns="kind").round({"milliseconds": 3, "reference_milliseconds": 3, "ratio": 3})
    text = rounded.to_markdown(index=False, disable_numparse=True)
    return f"{text}\n\n{conditions(meta)}; best of several turns.{_left_out(meta)}\n"


def _left_out(meta: Meta) -> str:
    return "".join(f" {words}." for words in meta.get("left_out") or [])
