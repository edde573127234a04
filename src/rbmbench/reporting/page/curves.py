"""The curves of a figure from the numbers behind it, thinned for the page.

Points are left out, never averaged: each that is left is a point of the CSV, to five digits.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from rbmbench.base.metrics import metric_of
from rbmbench.reporting.page.model import Numbers, Panel, Series
from rbmbench.reporting.words import count, listed

MOST_POINTS = 300
DIGITS = 5


@dataclass(frozen=True)
class Axes:
    """What is known of a panel beside its numbers: whether axes are logarithmic, iterations per epoch, its settings."""

    log_x: bool = False
    log_y: bool = False
    epoch: int | None = None
    words: tuple[str, ...] = ()


def panels(numbers: pd.DataFrame, axes: Mapping[str, Axes]) -> tuple[Panel, ...]:
    """Return the panels of a figure, whose kind the columns of its numbers tell; none where it shows no curves."""
    for column, of_kind in {"iteration": _learning, "stopping_time": _coupling, "validation": _coverage}.items():
        if column in numbers:
            return of_kind(numbers, axes)
    return ()


def _learning(numbers: pd.DataFrame, axes: Mapping[str, Axes]) -> tuple[Panel, ...]:
    """Return panels of metrics during training: mean and band over the trials."""
    found = []
    for name, of_panel in numbers.groupby("panel", sort=False):
        first, known = of_panel.iloc[0], axes.get(str(name), Axes())
        metrics = of_panel["metric"].unique()
        # A panel shows different metrics only where their units agree.
        metric = metric_of(metrics[0])
        curves = {}
        for (algorithm, label, of), curve in of_panel.groupby(["algorithm", "label", "metric"], sort=False):
            curve = curve.set_index("iteration")[["mean", "low", "high", "trials"]]
            curve.loc[curve["mean"] >= metric_of(of).ceiling, ["mean", "low", "high"]] = np.nan
            curves[algorithm, label, metric_of(of).title if len(metrics) > 1 else ""] = curve
        found.append(
            _panel(
                curves,
                name=str(name),
                title=", ".join((_title(first, of_panel), *known.words)),
                x_title="epoch" if known.epoch else "iteration",
                y_title=" and ".join(metric_of(name).title for name in metrics)
                + (f" ({metric.unit}{' per sample' if metric.summed else ''})" if metric.unit else ""),
                rows=int(first["rows"]) if metric.summed else None,
                axes=known,
            )
        )
    return tuple(found)


def _title(first: pd.Series, of_panel: pd.DataFrame) -> str:
    rates = listed([f"{rate:g}" for rate in of_panel["rate"].unique()])
    return f"{first['data_title']}, {count(first['hidden'])} hidden units, rate {rates}"


def _coupling(numbers: pd.DataFrame, axes: Mapping[str, Axes]) -> tuple[Panel, ...]:
    """Return one panel: the share of coupled chains that have met within so many steps."""
    curves = {
        (coupling, coupling, ""): curve[curve["met"].astype(bool)]
        .drop_duplicates("stopping_time")
        .set_index("stopping_time")[["share_within"]]
        .set_axis(["mean"], axis=1)
        for coupling, curve in numbers.groupby("coupling", sort=False)
    }
    words = {"x_title": "Gibbs steps", "y_title": "share of chains that have met"}
    return (_panel(curves, name="a", title="Coupled chains that have met", **words, axes=Axes(log_x=True)),)


def _coverage(numbers: pd.DataFrame, axes: Mapping[str, Axes]) -> tuple[Panel, ...]:
    """Return panels of the indirect sampling likelihood of the test set: mean, least and largest of the trials."""
    found = []
    for name, of_panel in numbers.groupby("panel", sort=False):
        curves = {}
        for (sampler, label), curve in of_panel.groupby(["sampler", "label"], sort=False):
            test = curve.groupby("samples")["test"]
            curves[sampler, label, ""] = test.agg(mean="mean", low="min", high="max", trials="size")
        words = {"x_title": "samples", "y_title": "log-likelihood of the test set (nats per sample)"}
        found.append(_panel(curves, name=str(name), title="How samples cover the test set", **words, axes=Axes(True)))
    return tuple(found)


def _panel(curves: Mapping[tuple[str, str, str], pd.DataFrame], axes: Axes, **words) -> Panel:
    """Return curves (by key, label and metric; frames by x) over their common x, thinned."""
    x = np.unique(np.concatenate([curve.index.to_numpy(float) for curve in curves.values()]))
    x = x[_chosen(x, axes.log_x)]
    series = []
    for (key, label, metric), curve in curves.items():
        curve = curve.reindex(x)
        band = {name: _rounded(curve[name]) for name in ("low", "high") if name in curve}
        mean = _rounded(curve["mean"])
        if set(band.values()) == {mean}:  # a single trial
            band = {}
        trials = int(curve["trials"].max()) if "trials" in curve else None
        series.append(Series(key=str(key), label=str(label), metric=metric, trials=trials, mean=mean, **band))
    shown = _rounded(pd.Series(x / axes.epoch)) if axes.epoch else tuple(int(at) if at == int(at) else at for at in x)
    return Panel(**words, x=shown, log_x=axes.log_x, log_y=axes.log_y, series=tuple(series))


def _chosen(x: np.ndarray, log: bool) -> np.ndarray:
    """Return the places (ascending, at most `MOST_POINTS`) of the x that are shown, evenly spread on their axis."""
    if len(x) <= MOST_POINTS:
        return np.arange(len(x))
    if not log:
        return np.unique(np.linspace(0, len(x) - 1, MOST_POINTS).round().astype(int))
    positive = np.flatnonzero(x > 0)
    spread = np.geomspace(x[positive[0]], x[-1], MOST_POINTS - 1)
    return np.unique(np.append(0, np.searchsorted(x, spread).clip(0, len(x) - 1)))


def _rounded(values: pd.Series) -> Numbers:
    """Return numbers with `DIGITS` significant digits, None for those that are not finite."""
    return tuple(float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None for value in values.to_numpy(float))
