# SPDX-License-Identifier: BSD-3-Clause
"""Filters and samples of models as small images: as text in a table, and side by side as one picture.

A pixel is a letter from a to p, row by row. Of a filter, i is 0 and p the largest absolute weight, b its negative; of a
sample, a is 0 and p is 1.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
import pandas as pd
import seaborn  # noqa: F401  (whose colour map "vlag" is used)

from rbmbench.reporting.plots import BETWEEN, tiled

COLUMNS = ("algorithm", "label", "iteration", "what", "unit", "largest", "pixels")
"""Columns of the table: ``what`` is filter or sample, ``unit`` the number of the hidden unit or of the sample, and
``largest`` the largest absolute weight of a filter."""
FILTER, SAMPLE = "filter", "sample"
FIRST, ZERO, LEVELS = ord("a"), 8, 16
LOOKS = {FILTER: ("vlag", -1.0), SAMPLE: ("binary", 0.0)}
"""By what an image is: its colour map, and the value at the map's lower end; that at the upper end is 1."""


@dataclass(frozen=True)
class Snapshot:
    """Filters and samples of one model.

    Attributes
    ----------
    algorithm, label : str
    iteration : int
    largest : float
        The largest absolute weight of its filters.
    filters, samples : ndarray, shape (images, side, side)
        Filters in [-1, 1], each divided by its largest absolute weight; samples in [0, 1].
    """

    algorithm: str
    label: str
    iteration: int
    largest: float
    filters: np.ndarray
    samples: np.ndarray


def rows_of(W: np.ndarray, samples: np.ndarray) -> pd.DataFrame:
    """Return the columns from what to pixels, a row per image, of filters W (m, units) and samples (images, m)."""
    largest = np.abs(W).max(axis=0)
    levels = np.rint(W / np.where(largest, largest, 1) * (LEVELS - 1 - ZERO)).astype(int) + ZERO
    filters = {"what": FILTER, "unit": range(W.shape[1]), "largest": largest, "pixels": _texts(levels.T)}
    drawn = {"what": SAMPLE, "unit": range(len(samples)), "pixels": _texts(samples * (LEVELS - 1))}
    return pd.concat([pd.DataFrame(filters), pd.DataFrame(drawn)], ignore_index=True)


def snapshots(numbers: pd.DataFrame) -> list[Snapshot]:
    """Return the models of a table with `COLUMNS`, by algorithm and iteration, in its order.

    Raises
    ------
    ValueError
        If a column is missing or holds what it should not; the message names it.
    """
    for name in COLUMNS:
        if name not in numbers:
            raise ValueError(f"column {name!r} is missing; found {', '.join(map(str, numbers.columns))}")
    if numbers.empty:
        raise ValueError("has no rows; should have one per image")
    _check(numbers, "what", numbers["what"].isin((FILTER, SAMPLE)), f"{FILTER} or {SAMPLE}")
    iterations = pd.to_numeric(numbers["iteration"], errors="coerce")
    _check(numbers, "iteration", (iterations >= 0) & (iterations % 1 == 0), "a whole number from 0")
    largest = pd.to_numeric(numbers["largest"], errors="coerce")
    found = (largest >= 0) & np.isfinite(largest)
    _check(numbers, "largest", found | (numbers["what"] != FILTER), "a finite number from 0 for each filter")
    pixels = numbers["pixels"].astype(str)
    _check(numbers, "pixels", pixels.str.fullmatch("[a-p]+"), "letters from a to p")
    side = math.isqrt(len(pixels.iloc[0]))
    _check(numbers, "pixels", pixels.str.len() == side * side, f"a square number of letters, {side * side} in all rows")
    checked = numbers.assign(iteration=iterations.astype(int), largest=largest)
    groups = checked.groupby(["algorithm", "label", "iteration"], sort=False)
    return [_snapshot(*map(str, names), iteration, rows, side) for (*names, iteration), rows in groups]


def picture_of(images: np.ndarray, what: str) -> np.ndarray:
    """Return images (images, side, side) in reading order in about a square: colours, uint8 (height, width, 3)."""
    name, low = LOOKS[what]
    colours = mpl.colormaps[name].with_extremes(bad=BETWEEN)
    scaled = (np.ma.masked_invalid(tiled(images)) - low) / (1 - low)
    return colours(scaled, bytes=True)[..., :3]


def _snapshot(algorithm: str, label: str, iteration: int, rows: pd.DataFrame, side: int) -> Snapshot:
    of_kind = {}
    for what in LOOKS:
        texts = rows.loc[rows["what"] == what, "pixels"]
        if texts.empty:
            raise ValueError(f"column 'what': found no {what} of {label} at iteration {iteration}; should have one")
        levels = np.frombuffer("".join(texts).encode(), np.uint8).astype(float) - FIRST
        of_kind[what] = levels.reshape(-1, side, side)
    filters = (of_kind[FILTER] - ZERO) / (LEVELS - 1 - ZERO)
    samples = of_kind[SAMPLE] / (LEVELS - 1)
    return Snapshot(algorithm, label, int(iteration), float(rows["largest"].max()), filters, samples)


def _texts(levels: np.ndarray) -> Iterable[str]:
    return [(row + FIRST).astype(np.uint8).tobytes().decode() for row in levels]


def _check(numbers: pd.DataFrame, column: str, fits: pd.Series, allowed: str) -> None:
    """Refuse the first row whose cell does not fit."""
    if not fits.all():
        place = int(np.argmin(fits.to_numpy(bool)))
        found = str(numbers[column].iloc[place])
        raise ValueError(f"column {column!r}, row {place + 1}: found {found[:20]!r}; should be {allowed}")
