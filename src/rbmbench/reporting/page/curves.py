# SPDX-License-Identifier: BSD-3-Clause
"""The curves of a figure from the numbers behind it, thinned for the page.

Points are left out, never averaged: each that is left is a point of the CSV, to five digits.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from rbmbench.base.metrics import metric_of
from rbmbench.reporting.page.facts import PanelFacts, RunFacts
from rbmbench.reporting.page.model import Numbers, Panel
from rbmbench.reporting.words import count, listed

MOST_POINTS = 150
DIGITS = 5
MOST_TRIALS = 25
"""Curves of single trials, of which the first are shown."""
MOST_POINTS_OF_A_TRIAL = 40
DIGITS_OF_A_TRIAL = 4


Curves = Mapping[tuple[str, str, str], pd.DataFrame]
"""Curves of a panel, by key, label and metric: mean, and where they are known low, high and trials, by x."""


def curves(numbers: pd.DataFrame) -> dict[str, Curves]:
    """Return the curves of a figure by panel; its kind is told by the columns of its numbers; {} where it has none."""
    for column, of_kind in {"metric": _learning, "stopping_time": _coupling, "validation": _coverage}.items():
        if column in numbers:
            return of_kind(numbers)
    return {}


def _learning(numbers: pd.DataFrame) -> dict[str, Curves]:
    """Return metrics during training: mean and band over the trials."""
    found = {}
    for (panel, *names), curve in numbers.groupby(["panel", "algorithm", "label", "metric"], sort=False):
        curve = curve.set_index("iteration")[["mean", "low", "high", "trials"]].astype(float)
        curve.loc[curve["mean"] >= metric_of(names[-1]).ceiling, ["mean", "low", "high"]] = np.nan
        found.setdefault(str(panel), {})[tuple(map(str, names))] = curve
    return found


def _coupling(numbers: pd.DataFrame) -> dict[str, Curves]:
    """Return the share of coupled chains that have met within so many steps."""
    found = {
        (str(coupling), str(coupling), ""): curve[curve["met"].astype(bool)]
        .drop_duplicates("stopping_time")
        .set_index("stopping_time")[["share_within"]]
        .set_axis(["mean"], axis=1)
        for coupling, curve in numbers.groupby("coupling", sort=False)
    }
    return {"a": found}


def _coverage(numbers: pd.DataFrame) -> dict[str, Curves]:
    """Return indirect sampling likelihoods of the test set: mean, least and largest of the trials."""
    found = {}
    for (panel, *names), curve in numbers.groupby(["panel", "sampler", "label"], sort=False):
        test = curve.groupby("samples")["test"].agg(mean="mean", low="min", high="max", trials="size")
        found.setdefault(str(panel), {})[*map(str, names), ""] = test
    return found


def panels(numbers: pd.DataFrame, known: Mapping[str, PanelFacts]) -> tuple[Panel, ...]:
    """Return the panels of a figure as the page draws them; none where it shows no curves."""
    return tuple(
        _panel(name, of_panel, numbers, known.get(name, PanelFacts())) for name, of_panel in curves(numbers).items()
    )


def _panel(name: str, of_panel: Curves, numbers: pd.DataFrame, known: PanelFacts) -> Panel:
    """Return curves over their common x, thinned."""
    words = _words(name, numbers, known)
    log_x = known.log_x or "iteration" not in numbers
    x = np.unique(np.concatenate([curve.index.to_numpy(float) for curve in of_panel.values()]))
    x = x[_chosen(x, log_x, MOST_POINTS)]
    places = _chosen(x, log_x, MOST_POINTS_OF_A_TRIAL)
    several = len({metric for _, _, metric in of_panel}) > 1
    series = tuple(
        _series(curve, x, x[places], known.runs.get(key, RunFacts("")), metric)
        | {"key": key, "label": label, "metric": metric_of(metric).title if several else ""}
        for (key, label, metric), curve in of_panel.items()
    )
    return Panel(
        name=name,
        **words,
        log_x=log_x,
        log_y=known.log_y,
        epoch=known.epoch,
        x=_rounded(x / known.epoch) if known.epoch else tuple(int(at) if at == int(at) else at for at in x),
        places=places.tolist() if any(one.get("singles") for one in series) else (),
        series=series,
        printed=known.printed,
        lines=tuple(known.lines.values()),
    )


def _words(name: str, numbers: pd.DataFrame, known: PanelFacts) -> dict[str, Any]:
    """Return the titles of a panel and its axes, and the number of rows where sums over them make sense."""
    if "coupling" in numbers:
        y_title = "share of chains that have met"
        return {"title": "Coupled chains that have met", "x_title": "Gibbs steps", "y_title": y_title}
    if "sampler" in numbers:
        y_title = "log-likelihood of the test set (nats per sample)"
        return {"title": known.model or "How samples cover the test set", "x_title": "samples", "y_title": y_title}
    of_panel = numbers[numbers["panel"].astype(str) == name]
    first, metrics = of_panel.iloc[0], of_panel["metric"].unique()
    # A panel shows different metrics only where their units agree.
    metric = metric_of(metrics[0])
    unit = f" ({metric.unit}{' per sample' if metric.summed else ''})" if metric.unit else ""
    return {
        "title": ", ".join((_title(first, of_panel), *known.words)),
        "x_title": "epoch" if known.epoch else "iteration",
        "y_title": " and ".join(metric_of(name).title for name in metrics) + unit,
        "rows": int(first["rows"]) if metric.summed else None,
    }


def _title(first: pd.Series, of_panel: pd.DataFrame) -> str:
    rates = listed([f"{rate:g}" for rate in of_panel["rate"].unique()])
    return f"{first['data_title']}, {count(first['hidden'])} hidden units, rate {rates}"


def _series(curve: pd.DataFrame, x: np.ndarray, places: np.ndarray, run: RunFacts, metric: str) -> dict[str, Any]:
    """Return a curve at some x, and its first trials at some of them."""
    thinned = curve.reindex(x)
    found = {name: _rounded(thinned[name]) for name in ("mean", "low", "high") if name in curve}
    if found.get("low") == found["mean"] == found.get("high"):  # a single trial
        found = {"mean": found["mean"]}
    if "trials" in curve:
        found["trials"] = int(curve["trials"].max())
    trials = run.trials(metric)
    if trials is not None:
        first = trials.iloc[:MOST_TRIALS].reindex(columns=places).to_numpy()
        found["singles"] = tuple(_rounded(trial, DIGITS_OF_A_TRIAL) for trial in first)
    return found | {"run": run.run, "seconds": run.seconds, "steps": run.steps}


def _chosen(x: np.ndarray, log: bool, most: int) -> np.ndarray:
    """Return the places (ascending, at most ``most``) of the x that are shown, evenly spread on their axis."""
    if len(x) <= most:
        return np.arange(len(x))
    if not log:
        return np.unique(np.linspace(0, len(x) - 1, most).round().astype(int))
    positive = np.flatnonzero(x > 0)
    spread = np.geomspace(x[positive[0]], x[-1], most - 1)
    return np.unique(np.append(0, np.searchsorted(x, spread).clip(0, len(x) - 1)))


def _rounded(values: pd.Series | np.ndarray, digits: int = DIGITS) -> Numbers:
    """Return numbers with so many significant digits, None for those that are not finite."""
    return tuple(float(f"{value:.{digits}g}") if np.isfinite(value) else None for value in np.asarray(values, float))
