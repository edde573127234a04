# SPDX-License-Identifier: BSD-3-Clause
"""Where a claim is measured in the panels of its figure: its curves, its window of x, and the accepted range.

The accepted range of a number in the unit of an axis lies along that axis. Numbers that are differences from another
curve, or shares of a rise, are placed where they would be on the axis: "ends at most 2 nats below CD-1" becomes the
line 2 nats below the end of CD-1. Windows and values are those of the measurements in `rbmbench.reporting.claims`,
taken of mean curves.
"""

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from rbmbench.reporting.claims.measurements import MEASUREMENTS
from rbmbench.reporting.frames import FINAL_SHARE
from rbmbench.reporting.marks import first_reached, levels
from rbmbench.reporting.page.curves import Curves
from rbmbench.reporting.page.facts import PanelFacts
from rbmbench.reporting.page.model import Mark

ARGUMENTS = ("curve", "times", "against", "curves")
"""The arguments of measurements that name curves."""


@dataclass(frozen=True)
class Claimed:
    """The arguments of a claim, and the curves of its figure that they name.

    Attributes
    ----------
    kind : str
    arguments : mapping
    panel : str
        That of ``curve``.
    means : mapping of str to Series
        Mean curves by argument, values by x.
    facts : PanelFacts
        Of that panel.
    of_panel : list of Series
        All curves of that panel that show the same metric.
    """

    kind: str
    arguments: Mapping[str, Any]
    panel: str
    means: Mapping[str, pd.Series]
    facts: PanelFacts
    of_panel: list[pd.Series]

    def end(self, name: str) -> float:
        """Return the final value of a curve."""
        x = self.means[name].index
        return float(self.means[name][x > (1 - FINAL_SHARE) * x[-1]].mean())

    def near(self, name: str, at: float) -> float:
        """Return the value of a curve near an x, as `near` of the curves of a figure does."""
        curve = self.means[name]
        x = curve.index.to_numpy(float)
        close = np.abs(x - at) <= FINAL_SHARE / 2 * x[-1]
        close[np.argmin(np.abs(x - at))] = True
        return float(curve[close].mean())

    def rise(self, name: str, value: float) -> float:
        """Return how far a value is above the start of a curve."""
        return value - float(self.means[name].iloc[0])

    @property
    def at(self) -> float:
        """The x that the claim speaks of: that of its arguments, else the last one."""
        given = self.arguments
        if "share" in given:
            return float(given["share"]) * (self.facts.iterations or self.last)
        named = (given[name] for name in ("iteration", "after", "samples", "within") if given.get(name) is not None)
        return float(next(named, self.last))

    @property
    def last(self) -> float:
        """The last x of the curve."""
        return float(next(iter(self.means.values())).index[-1])


def _final(claim: Claimed) -> tuple[float, float]:
    return (1 - FINAL_SHARE) * claim.last, claim.last


def _near(claim: Claimed) -> tuple[float, float]:
    half = FINAL_SHARE / 2 * claim.last
    return max(claim.at - half, 0), min(claim.at + half, claim.last)


def _after(claim: Claimed) -> tuple[float, float] | None:
    return (claim.at, claim.last) if claim.arguments.get("after") else None


def _at(claim: Claimed) -> tuple[float, float]:
    return claim.at, claim.at


WINDOWS: dict[str, Callable[[Claimed], tuple[float, float] | None]] = {
    **dict.fromkeys(("final_difference", "final_lead", "final_spread", "final_gap", "final_band_ratio"), _final),
    **dict.fromkeys(("smallest_within", "gain_after"), _final),
    "lead_after": _near,
    **dict.fromkeys(("metric_mean", "metric_share"), _after),
    **dict.fromkeys(("metric_at", "metric_quantile", "metric_share_of_peak", "stopping_time_share"), _at),
    **dict.fromkeys(("isl_final", "isl_difference", "isl_lead_on_training_set"), _at),
}
"""The range of x that a kind of claim is measured on; others take whole curves."""


def _lead(claim: Claimed, number: float, value: float) -> float:
    return value + number * claim.rise("against", value)


def _fallen(claim: Claimed, number: float) -> float:
    top = float(claim.means["curve"].max())
    return top - number * claim.rise("curve", top)


def _gained(claim: Claimed, number: float) -> float:
    value = claim.near("curve", claim.at)
    return value + number * claim.rise("curve", value)


def _beside_line(claim: Claimed, number: float) -> float:
    return claim.facts.lines[claim.arguments.get("reference", "training_set")].value + number


def _beside_samples(claim: Claimed, number: float) -> float:
    curve = claim.means["against"]
    return float(np.interp(math.log(claim.at), np.log(curve.index.to_numpy(float)), curve)) + number


HEIGHTS: dict[str, Callable[[Claimed, float], float]] = {
    "final_difference": lambda claim, number: claim.end("against") + number,
    "peak_difference": lambda claim, number: float(claim.means["against"].max()) + number,
    "final_lead": lambda claim, number: _lead(claim, number, claim.end("against")),
    "lead_after": lambda claim, number: _lead(claim, number, claim.near("against", claim.at)),
    "final_gap": _beside_line,
    "decline": _fallen,
    "gain_after": _gained,
    **dict.fromkeys(("metric_mean", "metric_at", "metric_quantile"), lambda _, number: number),
    "metric_share_of_peak": lambda claim, number: number * float(claim.means["curve"].max()),
    **dict.fromkeys(("isl_final", "stopping_time_share"), lambda _, number: number),
    "isl_difference": _beside_samples,
    "isl_lead_on_training_set": _beside_line,
    "isl_decline": lambda claim, number: float(claim.means["curve"].max()) - number,
}
"""The height that a curve has where the number of a claim is the given one."""


def _earlier(claim: Claimed, number: float) -> float:
    """Return the x at which ``curve`` would reach the level so many iterations before ``against``."""
    alike = pd.concat(claim.of_panel, axis=1).dropna()
    level = levels(alike.to_numpy().T, float(claim.arguments["share"]))
    against = claim.means["against"].reindex(alike.index).to_numpy()
    return float(first_reached(against, alike.index.to_numpy(float), level)) - number


ABSCISSAS: dict[str, Callable[[Claimed, float], float]] = {
    **dict.fromkeys(("peak_iteration", "steepest_rise"), lambda _, number: number),
    "reach_difference": _earlier,
}
"""The x at which a curve has what the claim speaks of, where the number of the claim is the given one."""


def marks(
    entry: Mapping[str, Any],
    bounds: tuple[float, float],
    figure: str,
    curves: Mapping[str, Curves],
    facts: Mapping[str, PanelFacts],
) -> tuple[Mark, ...]:
    """Return where a claim is measured in the panels of a figure; () where its curves are not drawn.

    Parameters
    ----------
    entry : mapping
        The claim, as its file has it: its kind and the arguments of its measurement.
    bounds : tuple of float
        The range in which it holds, infinite where there is no end.
    figure : str
        The name of the figure within its paper, such as fig1.
    curves : mapping of str to Curves
        The curves of the figure, by panel; see `rbmbench.reporting.page.curves.curves`.
    facts : mapping of str to PanelFacts
        What is known of the panels.
    """
    places = _places(entry, figure, curves, facts)
    drawn: dict[str, list[int]] = {}
    for panel, place in (one for found in places.values() for one in found.places):
        drawn.setdefault(panel, []).append(place)
    if not drawn:
        return ()
    named = {argument: found for argument, found in places.items() if found.of_metric}
    claim = _claimed(entry, named, curves, facts) if named else None
    window = claim and WINDOWS.get(claim.kind, lambda _: None)(claim)
    found = []
    for panel, of_panel in drawn.items():
        epoch = facts.get(panel, PanelFacts()).epoch or 1
        accepted = _accepted(claim, bounds, epoch) if claim and panel == claim.panel else {}
        shown = window and tuple(end / epoch for end in window)
        found.append(Mark(panel=panel, curves=tuple(dict.fromkeys(of_panel)), window=shown, **accepted))
    return tuple(found)


@dataclass(frozen=True)
class _Found:
    """Curves of a figure: panels and places in them, and whether they show the metric that is asked for."""

    places: tuple[tuple[str, int], ...]
    of_metric: bool = True


def _places(
    entry: Mapping[str, Any], figure: str, curves: Mapping[str, Curves], facts: Mapping[str, PanelFacts]
) -> dict[str, _Found]:
    """Return the curves that a claim names and the figure shows, by argument."""
    if figure in entry.get("figures", ()):  # of their run times
        asked = entry.get("algorithm"), entry.get("against")
        alike = tuple((panel, place) for panel in curves for place, one in enumerate(curves[panel]) if one[0] in asked)
        return {"figures": _Found(alike, of_metric=False)}
    found = {}
    for argument in ARGUMENTS:
        value = entry.get(argument, ())
        for number, name in enumerate([value] if isinstance(value, str) else value):
            key, *parts = str(name).split(".")
            if key == figure and parts:
                panel = parts[0] if len(parts) > 1 else "a"
                metric = _metric(entry, facts.get(panel))
                found[f"{argument}{number or ''}"] = _places_of(panel, parts[-1], metric, curves, facts)
    return found


def _places_of(
    panel: str, key: str, metric: str, curves: Mapping[str, Curves], facts: Mapping[str, PanelFacts]
) -> _Found:
    """Return the curve of a metric in its panel, else in another one of the same run, else its others in its panel."""
    run = facts.get(panel, PanelFacts()).runs.get(key)
    others = [name for name in curves if run and facts.get(name, PanelFacts()).runs.get(key) == run]
    for name in [panel, *others]:
        for place, (of_curve, _, of) in enumerate(curves.get(name, ())):
            if of_curve == key and of in (metric, ""):
                return _Found(((name, place),))
    alike = [(panel, place) for place, one in enumerate(curves.get(panel, ())) if one[0] == key]
    return _Found(tuple(alike), of_metric=False)


def _metric(entry: Mapping[str, Any], facts: PanelFacts | None) -> str:
    """Return the metric that a claim is about: its own, that of its kind, or the first of the panel."""
    measure = MEASUREMENTS.get(str(entry.get("kind")))
    given = inspect.signature(measure).parameters.get("metric") if measure else None
    default = "log_likelihood" if given is None else given.default
    return entry.get("metric") or default or (facts or PanelFacts()).metric


def _claimed(
    entry: Mapping[str, Any],
    named: Mapping[str, _Found],
    curves: Mapping[str, Curves],
    facts: Mapping[str, PanelFacts],
) -> Claimed:
    places = {argument: found.places[0] for argument, found in named.items()}
    means = {name: list(curves[panel].values())[place]["mean"].dropna() for name, (panel, place) in places.items()}
    panel, place = next(iter(places.values()))
    metric = list(curves[panel])[place][2]
    alike = [curve["mean"] for (_, _, of), curve in curves[panel].items() if of == metric]
    return Claimed(str(entry.get("kind")), entry, panel, means, facts.get(panel, PanelFacts()), alike)


def _accepted(claim: Claimed, bounds: tuple[float, float], epoch: int) -> dict[str, Any]:
    """Return the accepted range and its axis, {} where the number of the claim has no place on either."""
    if claim.kind == "metric_violations":
        return _ends(*(float(claim.arguments.get(end, math.inf)) for end in ("at_least", "at_most")))
    along = "x" if claim.kind in ABSCISSAS else "y"
    place = (ABSCISSAS if along == "x" else HEIGHTS).get(claim.kind)
    if place is None:
        return {}
    try:
        unit = epoch if along == "x" else 1
        ends = [place(claim, bound) / unit if math.isfinite(bound) else bound for bound in bounds]
        falls = place(claim, 1.0) < place(claim, 0.0)
    except KeyError:  # a curve or a line that the figure does not draw
        return {}
    # Numbers that fall where the curve rises, such as a decline, have their ends the other way round.
    return _ends(*(reversed(ends) if falls else ends)) | {"along": along}


def _ends(above: float, below: float) -> dict[str, Any]:
    def rounded(end: float) -> float | None:
        return float(f"{end:.5g}") if math.isfinite(end) else None

    return {"above": rounded(above), "below": rounded(below)}
