# SPDX-License-Identifier: BSD-3-Clause
"""Filters and samples of models as small images: as text in a table, and side by side as one picture.

A pixel is a letter from a to p, row by row. Of a filter, i is 0 and p the largest absolute weight, b its negative; of a
sample, a is 0 and p is 1.
"""

import base64
import io
import math

import matplotlib as mpl
import numpy as np
import pandas as pd
import seaborn  # noqa: F401  (registers the colour map "vlag")

from rbmbench.training.plots import BETWEEN, tiled

COLUMNS = ("algorithm", "label", "iteration", "what", "unit", "largest", "pixels")
"""Columns of the table: ``what`` is filter or sample, ``unit`` the number of the hidden unit or of the sample, and
``largest`` the largest absolute weight of a filter."""
FILTER, SAMPLE = "filter", "sample"
FIRST, ZERO, LEVELS = ord("a"), 8, 16
LOOKS = {FILTER: ("vlag", -1.0), SAMPLE: ("binary", 0.0)}
"""By kind of image: its colour map, and the value at the map's lower end; that at the upper end is 1."""


def rows_of(W: np.ndarray, samples: np.ndarray) -> pd.DataFrame:
    """Return the columns from what to pixels, a row per image, of filters W (m, units) and samples (images, m)."""
    largest = np.abs(W).max(axis=0)
    levels = np.rint(W / np.where(largest, largest, 1) * (LEVELS - 1 - ZERO)).astype(int) + ZERO
    filters = {"what": FILTER, "unit": range(W.shape[1]), "largest": largest, "pixels": _texts(levels.T)}
    drawn = {"what": SAMPLE, "unit": range(len(samples)), "pixels": _texts(samples * (LEVELS - 1))}
    return pd.concat([pd.DataFrame(filters), pd.DataFrame(drawn)], ignore_index=True)


def images_of(rows: pd.DataFrame, kind: str) -> np.ndarray:
    """Return the filters or samples of rows with `COLUMNS`, (images, side, side).

    Samples are in [0, 1], filters in [-1, 1], each divided by its largest absolute weight.
    """
    texts = rows.loc[rows["what"] == kind, "pixels"]
    side = math.isqrt(len(texts.iloc[0]))
    levels = np.frombuffer("".join(texts).encode(), np.uint8).astype(float).reshape(-1, side, side) - FIRST
    return (levels - ZERO) / (LEVELS - 1 - ZERO) if kind == FILTER else levels / (LEVELS - 1)


def picture_of(images: np.ndarray, kind: str) -> np.ndarray:
    """Return images (images, side, side) in reading order in about a square: colours, uint8 (height, width, 3)."""
    name, low = LOOKS[kind]
    colours = mpl.colormaps[name].with_extremes(bad=BETWEEN)
    scaled = (np.ma.masked_invalid(tiled(images)) - low) / (1 - low)
    return colours(scaled, bytes=True)[..., :3]


def _texts(levels: np.ndarray) -> list[str]:
    return [(row + FIRST).astype(np.uint8).tobytes().decode() for row in levels]


def address(colours: np.ndarray) -> str:
    """Return colours, uint8 (height, width, 3), as the data URL of a lossless WebP picture."""
    from PIL import Image

    content = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(colours)).save(content, "WEBP", lossless=True, quality=100, method=6)
    return f"data:image/webp;base64,{base64.b64encode(content.getvalue()).decode()}"
