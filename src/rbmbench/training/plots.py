# SPDX-License-Identifier: BSD-3-Clause
"""Plots of one model or run on axes of the caller: learning curve, filters, samples.

As in seaborn, every function draws on ``ax``, or on the current axes of pyplot, and returns the axes.
"""

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import seaborn as sns  # whose colour map "vlag" is used, too
from matplotlib.axes import Axes

from rbmbench.base.errors import SettingsError, unknown_name
from rbmbench.base.metrics import metric_of
from rbmbench.base.registry import positive_integer
from rbmbench.model.rbm import RBM
from rbmbench.model.rows import binary_rows

MOST_NAMES, LONGEST_NAME = 60, 30
"""Visible units that are named beside a matrix, and letters of a name."""
BETWEEN = "0.8"
"""Grey of the gaps between images."""


def plot_curve(curve: pd.DataFrame, metric: str = "log_likelihood", ax: Axes | None = None, **options: object) -> Axes:
    """Draw a metric over the iterations: the mean of the trials, and a band from the least to the largest.

    Parameters
    ----------
    curve : DataFrame
        Tidy: trial, iteration, metric, value, as in `rbmbench.training.run.TrainingResult`.
    metric : str
        One of its metrics.
    ax : Axes, optional
    **options
        Of `seaborn.lineplot`, such as ``label`` and ``color``.

    Raises
    ------
    SettingsError
        If the curve has no such metric.
    """
    chosen = curve[curve["metric"] == metric]
    if chosen.empty:
        raise SettingsError(unknown_name("metric", metric, set(curve["metric"])))
    ax, details = _axes(ax), metric_of(metric)
    sns.lineplot(chosen, x="iteration", y="value", ax=ax, **{"errorbar": ("pi", 100)} | options)
    ax.set(xlabel="iteration", ylabel=f"{details.title} ({details.unit} per row)" if details.summed else details.label)
    return ax


def plot_filters(
    rbm: RBM,
    shape: tuple[int, int] | None = None,
    ax: Axes | None = None,
    *,
    most: int = 100,
    names: Sequence[str] = (),
) -> Axes:
    """Draw the weights: an image for each hidden unit, or the matrix (visible units, hidden units) without a shape.

    Parameters
    ----------
    rbm : RBM
        A single model, without leading axes.
    shape : tuple of int, optional
        Rows and columns of an image; the visible units are its pixels, row by row.
    ax : Axes, optional
    most : int
        Number of the first hidden units that are drawn.
    names : sequence of str, optional
        Names of the visible units, for the matrix.

    Raises
    ------
    SettingsError
        If the RBM has leading axes, or the shape is not one of as many pixels as there are visible units.
    """
    if rbm.W.ndim != 2:
        raise SettingsError(f"plot_filters: must be one model, such as rbm[0], got an RBM of shape {rbm.W.shape}")
    weights = rbm.on_host().W[:, : positive_integer("most", most)]
    scale = float(np.abs(weights).max()) or 1.0
    colours = {"cmap": "vlag", "vmin": -scale, "vmax": scale, "label": "weight"}
    return _drawn(weights.T, shape, ax, "hidden unit", names, **colours)


def plot_samples(
    states: Any, shape: tuple[int, int] | None = None, ax: Axes | None = None, *, names: Sequence[str] = ()
) -> Axes:
    """Draw states of the visible units: an image for each, or the matrix (visible units, states) without a shape.

    Parameters
    ----------
    states : array_like, shape (states, m), entries 0 or 1
        Drawn in reading order; 1 is dark.
    shape, ax, names
        See `plot_filters`.

    Raises
    ------
    DataError
        If the states are not rows of 0 and 1.
    SettingsError
        If the shape is not one of as many pixels as there are visible units.
    """
    return _drawn(binary_rows(states, "states")[:], shape, ax, "sample", names, cmap="binary", vmin=0, vmax=1)


def check_shape(shape: object, units: int) -> None:
    """Raise a `SettingsError` if a shape is not one of images with a pixel for each visible unit."""
    try:
        rows, columns = shape
        fits = rows * columns == units and all(isinstance(side, int | np.integer) and side > 0 for side in shape)
    except (TypeError, ValueError):
        fits = False
    if not fits:
        raise SettingsError(f"shape: must be rows and columns whose product is {units}, got {shape!r}")


def _drawn(
    values: np.ndarray,
    shape: tuple[int, int] | None,
    ax: Axes | None,
    xlabel: str,
    names: Sequence[str],
    label: str | None = None,
    **colours: object,
) -> Axes:
    """Draw rows of values (count, m) as images, or else as the columns of a matrix."""
    if shape is not None:
        check_shape(shape, values.shape[1])
        page, options = tiled(values.reshape(len(values), *shape)), {"interpolation": "none"}
    else:
        page, options = values.T, {"aspect": "auto"}
    ax = _axes(ax)
    colours["cmap"] = mpl.colormaps[colours["cmap"]].with_extremes(bad=BETWEEN)
    image = ax.imshow(page, **options, **colours)
    if label:
        ax.figure.colorbar(image, ax=ax, label=label)
    if shape is not None:
        ax.set_axis_off()
    else:
        ax.set(xlabel=xlabel, ylabel="visible unit")
        if 0 < len(names) <= MOST_NAMES:
            half = LONGEST_NAME // 2 - 2
            labels = [name if len(name) <= LONGEST_NAME else f"{name[:half]}...{name[-half:]}" for name in names]
            ax.set_yticks(range(len(names)), [label.replace("$", r"\$") for label in labels])  # names are no formulas
    return ax


def tiled(images: np.ndarray, across: int | None = None) -> np.ndarray:
    """Return images (count, rows, columns) as one, in reading order; NaN between and around them.

    There are ``across`` in a row, by default as many as make it about a square.
    """
    count, rows, columns = images.shape
    across = across or int(np.ceil(np.sqrt(count * rows / columns)))
    down = -(-count // across)
    cells = np.full((down * across, rows + 1, columns + 1), np.nan)
    cells[:count, :rows, :columns] = images
    inner = cells.reshape(down, across, rows + 1, columns + 1).swapaxes(1, 2).reshape(down * (rows + 1), -1)
    return np.pad(inner, ((1, 0), (1, 0)), constant_values=np.nan)


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    from matplotlib import pyplot as plt

    return plt.gca()
