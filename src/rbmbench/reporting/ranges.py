# SPDX-License-Identifier: BSD-3-Clause
"""Vertical ranges of panels of curves, and the power of ten of sums."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from rbmbench.planning.chart import ChartPanel

START = 0.1
"""Share of a run's iterations, its climb, that the range of a panel of log-likelihoods may omit."""
DEEPEST_DIVE = 3.0
"""Ratio of the range of one curve to that of all others above which it is cut off, to keep the others legible."""
FARTHEST_START = 5.0
"""Ratio of the range of a metric with the initial model to that without above which the panel begins after it."""


def array_of(values: Iterable[float | None], factor: float = 1.0) -> np.ndarray:
    """Return numbers times a factor, float64; None is NaN."""
    return factor * np.array(values, float)


def frame_of(panel: ChartPanel, factor: float = 1.0) -> pd.DataFrame:
    """Return the curves of a panel as rows: curve (its place), x, mean, low and high, times a factor.

    Open circles belong to the first curve of their key.
    """
    frames, keys = [], [series.key for series in panel.series]
    for place, series in enumerate(panel.series):
        place = keys.index(series.key) if series.marked else place
        mean = array_of(series.mean, factor)
        low, high = (array_of(values, factor) if values else mean for values in (series.low, series.high))
        frames.append(pd.DataFrame({"curve": place, "x": series.x, "mean": mean, "low": low, "high": high}))
    return pd.concat(frames, ignore_index=True)


def exponent_of(panels: Iterable[ChartPanel]) -> int:
    """Return the power of 1000 of sums over the training set: 6 for millions, 0 below ten thousand."""
    curves = [panel.rows * array_of(series.mean) for panel in panels if panel.rows for series in panel.series]
    largest = max((np.nanmax(np.abs(curve), initial=0.0) for curve in curves), default=0.0)
    return 3 * int(np.log10(largest) // 3) if largest >= 1e4 else 0


def vertical_limits(curves: pd.DataFrame, heights: Sequence[float] = ()) -> tuple[float, float]:
    """Return the vertical range of log-likelihoods: all means and bands without the climb of the first iterations.

    ``curves`` are those of `frame_of`. The range includes lines at ``heights``. One curve that falls far below all
    others is cut off.
    """
    later = curves[curves["x"] >= START * curves["x"].max()]
    # A band may fall where one trial of ten fails, so that the lower end follows from the means.
    means = later.groupby("curve")["mean"]
    lowest, second = [*means.min().sort_values().iloc[:2], np.inf][:2]
    span = later["mean"].max() - second
    if second - lowest > (DEEPEST_DIVE - 1) * span > 0:
        lowest = second - 0.15 * span
    low, high = min(lowest, *heights, np.inf), max(later["high"].max(), later["mean"].max(), *heights, -np.inf)
    pad = 0.06 * (high - low) or max(1e-3, 0.01 * abs(high))
    return low - pad, high + pad


def without_start(curves: pd.DataFrame) -> pd.DataFrame:
    """Return curves without the initial model if that alone determines most of the range."""
    later = curves[curves["x"] > 0]
    full, short = (frame["mean"].max() - frame["mean"].min() for frame in (curves, later))
    return later if full > FARTHEST_START * short > 0 else curves


def full_limits(curves: pd.DataFrame, logarithmic: bool, heights: Sequence[float] = ()) -> tuple[float, float]:
    """Return the vertical range of a metric: all means, bands and lines; on a logarithmic axis all above 0."""
    values = np.append(curves[["mean", "low", "high"]].to_numpy(), heights)
    values = values[np.isfinite(values)]
    if logarithmic:
        values = np.log(values[values > 0])
    low, high = values.min(), values.max()
    pad = 0.06 * (high - low) or 0.1 * (abs(high) or 1.0)
    return tuple(np.exp([low - pad, high + pad])) if logarithmic else (low - pad, high + pad)
