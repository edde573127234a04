"""Sheets of consecutive samples as images, one a sampler, in reading order."""

from typing import NamedTuple

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from rbmbench.io.results import read_arrays, read_meta
from rbmbench.reporting.plots import LOOK, page
from rbmbench.reporting.samples import chosen, differences, options_in_words, title, whole_side
from rbmbench.reporting.specs import SampleSheetsSpec
from rbmbench.reporting.words import count

__all__ = ["caption", "figure", "numbers", "sheet"]

GAP = 1  # pixels between images
PAPER = 255


def sheet(images: np.ndarray, columns: int, side: int) -> np.ndarray:
    """Return images (images, side * side), 0 to 255, side by side in rows of ``columns``; ink is dark."""
    lines = -(-len(images) // columns)
    cell = side + GAP
    page_of = np.full((lines * cell + GAP, columns * cell + GAP), PAPER, np.uint8)
    for number, image in enumerate(images):
        row, column = divmod(number, columns)
        top, left = row * cell + GAP, column * cell + GAP
        page_of[top : top + side, left : left + side] = 255 - image.reshape(side, side)
    return page_of


class Shown(NamedTuple):
    """The first samples of the first model by one sampler: images (images, m), 0 to 255."""

    sampler: str
    label: str
    options: str
    images: np.ndarray


def _shown(spec: SampleSheetsSpec) -> list[Shown]:
    """Return every sheet's samples."""
    (panel,) = spec.panels
    best, grids = chosen(panel), read_meta(panel.samples.folder)["grids"]
    names = {one.sampler: f"{one.sampler}-{best[one.sampler]}" for one in panel.samplers}
    arrays, found = read_arrays(f"{panel.samples.folder}/shown.npz", names.values()), []
    for one in panel.samplers:
        options = options_in_words(grids[one.sampler][best[one.sampler]])
        images = arrays[names[one.sampler]][: spec.columns * spec.lines]
        found.append(Shown(one.sampler, one.label, options, images))
    return found


def numbers(spec: SampleSheetsSpec) -> pd.DataFrame:
    """Return a line an image: sampler, label, options, sample (its number), and ink, the mean of its grey in [0, 1]."""
    parts = []
    for sampler, label, options, images in _shown(spec):
        ink = images.mean(axis=1) / 255
        parts.append(pd.DataFrame({"sample": range(1, len(ink) + 1), "ink": ink}))
        parts[-1] = parts[-1].assign(sampler=sampler, label=label, options=options)
    return pd.concat(parts, ignore_index=True)[["sampler", "label", "options", "sample", "ink"]]


def figure(spec: SampleSheetsSpec) -> Figure:
    """Draw the sheets, two in a row.

    Raises
    ------
    ResultsError
        If samples are missing, or are no square images.
    """
    shown, (panel,) = _shown(spec), spec.panels
    side = whole_side(shown[0].images.shape[1], panel.samples.folder)
    rows = -(-len(shown) // 2)
    with mpl.rc_context(LOOK):
        drawn = page(1)
        drawn.set_figheight(0.9 + rows * (0.45 + 3.6 * spec.lines / spec.columns))
        axes = drawn.subplots(rows, 2, squeeze=False).ravel()
        for ax, (_, label, options, images) in zip(axes, shown, strict=False):
            ax.imshow(sheet(images, spec.columns, side), cmap="gray", vmin=0, vmax=255, interpolation="none")
            ax.set_title(f"{label} ({options})" if options else label, loc="left")
        for ax in axes:
            ax.set_axis_off()
        drawn.suptitle(title(spec))
    return drawn


def caption(spec: SampleSheetsSpec) -> str:
    """Return the caption of the figure."""
    (panel,) = spec.panels
    data = read_meta(panel.samples.folder)["data"]["title"]
    return (
        f"The first {count(spec.columns * spec.lines)} consecutive samples of a single chain, in reading order, all"
        f" from one RBM of {panel.hidden} hidden units trained by {panel.runs[0].label} on {data}. Grey is E(x|h);"
        " deterministic samplers give black and white. In brackets: the setting that covers the validation rows"
        " best."
    ) + "".join(f" {line[:1].upper()}{line[1:]}." for line in differences(spec))
