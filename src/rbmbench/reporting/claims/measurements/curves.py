# SPDX-License-Identifier: BSD-3-Clause
"""Measurements of learning curves: final values, falls from the maximum, widths of bands, and when a level is reached.

The final value of a trial is the mean over the evaluations in the last `FINAL_SHARE` of its iterations. A rise is from
the first evaluation to the final value, or to the maximum where stated. Log-likelihoods are means per sample, in nats.
Curves are compared trial by trial; trials with a value that is not finite are omitted.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal, get_args

import numpy as np
from pydantic import Field

from rbmbench.base.errors import SettingsError
from rbmbench.base.metrics import metric_of
from rbmbench.reporting.claims import intervals
from rbmbench.reporting.claims.arguments import (
    CurveBesideName,
    CurveName,
    CurveOfStepsName,
    Iteration,
    MetricName,
    ReferenceName,
    Share,
)
from rbmbench.reporting.claims.evidence import Evidence, NotRun
from rbmbench.reporting.claims.measurements._base import (
    POSITIVE,
    REQUIRED,
    SHARE,
    Level,
    Measurement,
    OfMeans,
    measures,
    paired,
)
from rbmbench.reporting.curves import QUANTILES, Curves
from rbmbench.reporting.frames import FINAL_SHARE, first_reached, levels

CurveNames = Annotated[list[CurveName], Field(min_length=2)]
Statistic = Literal["final", "peak", "decline"]
Shape = Literal["peak_iteration", "rising_share", "decline"]
LIKELIHOOD = {"metric": "log_likelihood"}
ONE_TRIAL = "one trial: the interval is that of its estimates"


def _end(curves: Curves, means: np.ndarray) -> np.ndarray:
    return means[:, curves.late].mean(axis=1)


def _windows(curves: np.ndarray, late: np.ndarray) -> np.ndarray:
    """Return the means of curves (..., evaluations) over windows as long as the final one, which is the last."""
    return np.lib.stride_tricks.sliding_window_view(curves, int(late.sum()), axis=-1).mean(axis=-1)


def _fallen(curves: Curves, means: np.ndarray) -> np.ndarray:
    """Return the fall of mean curves from their maximum to their end, as a share of their rise to it."""
    windows = _windows(means, curves.late)
    top = windows.max(axis=1)
    # A curve that only falls has no rise: its fall is an infinite share of it.
    with np.errstate(divide="ignore", invalid="ignore"):
        return (top - windows[:, -1]) / np.maximum(top - means[:, 0], 0)


STATISTICS = {
    "final": ("final {metric}", _end),
    "peak": ("largest {metric}", lambda _, means: means.max(axis=1)),
    "decline": ("fall from the maximum as a share of the rise", _fallen),
}
"""By name: the description, and the function of a curve and its means (draws, evaluations) that returns (draws,)."""


def _of_curves(
    sources: Sequence[Curves],
    statistic: Callable[[list[np.ndarray]], np.ndarray],
    phrase: str,
    linear: bool = False,
    one_trial: bool = True,
    of_trials: Sequence[Curves] | None = None,
    **options: Any,
) -> Measurement:
    """Measure a statistic of several mean curves, each (draws, evaluations); interval over the trials.

    The interval of a single trial of estimates is that of the estimates, if ``one_trial``. The trials are those of
    ``of_trials``, by default of all curves; the mean of a curve that lacks some of them is fixed.
    """
    trials = paired(*(of_trials or sources))
    of_means = OfMeans(sources, statistic, trials)
    values = [curve.of_trials(trials) for curve in sources]
    errors = [curve.errors(trials[0]) for curve in sources] if one_trial and len(trials) == 1 else []
    if errors and all(error is not None for error in errors):
        interval = intervals.of_errors(np.concatenate(values, axis=1)[0], np.concatenate(errors), of_means.stacked)
        options["notes"] = (ONE_TRIAL,)
    elif linear:
        interval = intervals.student(statistic(values))
    else:
        interval = intervals.of_means(np.concatenate(values, axis=1), of_means.stacked)
    return Measurement(*interval, phrase, tuple(sources), of_means=of_means, **options)


@measures(
    final_difference={"statistic": "final"},
    peak_difference={"statistic": "peak"},
    decline_difference={"statistic": "decline", **LIKELIHOOD},
)
def curve_difference(
    evidence: Evidence,
    *,
    curve: CurveName,
    against: CurveName,
    statistic: Statistic,
    metric: MetricName = "log_likelihood",
) -> Measurement:
    """Measure the difference of the final values, the maxima or the declines of two mean curves."""
    sources = source, other = [evidence.of(name, metric=metric) for name in (curve, against)]
    (words, number), trials = STATISTICS[statistic], paired(source, other)
    first, second = (
        curves.label if source.panel == other.panel else f"{curves.label} at rate {curves.rate:g}" for curves in sources
    )
    phrase = f"{words.format(metric=metric_of(metric).title)}, {first} minus {second}"
    options: dict[str, Any] = {}
    if statistic != "decline":
        phrase += ", nats per sample"
        options["level"] = Level(float(number(other, other.of_trials(trials).mean(axis=0)[None])[0]))
    if statistic == "final":
        phrase += f", {len(trials)} trial{'s' * (len(trials) > 1)}"
        options |= {"window": _at_end(source), "linear": True}
    return _of_curves(sources, lambda means: number(source, means[0]) - number(other, means[1]), phrase, **options)


@measures(final_spread={"statistic": "final"}, peak_spread={"statistic": "peak"})
def curve_spread(
    evidence: Evidence,
    *,
    curves: CurveNames,
    statistic: Literal["final", "peak"],
    metric: MetricName = "log_likelihood",
) -> Measurement:
    """Measure the range of the final values or the maxima of mean curves, as a share of the rise to the largest."""
    sources, (words, number) = [evidence.of(name, metric=metric) for name in curves], STATISTICS[statistic]
    names = ", ".join(dict.fromkeys(curve.label for curve in sources))
    words = words.format(metric=metric_of(metric).title)

    def spread(means: list[np.ndarray]) -> np.ndarray:
        reached = np.stack(list(map(number, sources, means)), axis=1)
        rise = reached.max(axis=1) - np.mean([mean[:, 0] for mean in means], axis=0)
        # Curves that end below their start have no rise.
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(rise > 0, np.ptp(reached, axis=1) / rise, np.inf)

    phrase = f"largest difference of the {words} of {names}, as a share of the rise"
    window = _at_end(sources[0]) if statistic == "final" else None
    return _of_curves(sources, spread, phrase, possible=POSITIVE, window=window)


@measures()
def final_gap(evidence: Evidence, *, curve: CurveName, reference: ReferenceName) -> Measurement:
    """Measure the final log-likelihood minus a reference line of the panel, with Student's interval over the trials."""
    source = evidence.of(curve)
    line = source.reference(reference)
    phrase = f"final log-likelihood of {source.label} minus that of the {line.title}, nats per sample"
    where = {"window": _at_end(source), "level": Level(line.value), "linear": True, "one_trial": False}
    return _of_curves([source], lambda means: _end(source, means[0]) - line.value, phrase, **where)


@measures(final_lead={"share": None, **LIKELIHOOD}, lead_after={"share": REQUIRED})
def curve_lead(
    evidence: Evidence,
    *,
    curve: CurveName,
    against: CurveName,
    share: Share | None = None,
    metric: MetricName = "log_likelihood",
) -> Measurement:
    """Measure the difference of two mean curves at a share of the published iterations, by default at their ends.

    The unit is the rise of the second curve up to there.
    """
    source, other = evidence.of(curve, metric=metric), evidence.of(against, metric=metric)
    title = metric_of(metric).title
    of_rise = f"{source.label} minus {other.label}, as a share of the rise of {other.label}"
    if share is None:
        return _lead([source, other], source.late, other.late, f"final {title}, {of_rise}", _at_end(source))
    after = share * other.spec.as_published("iterations", other.panel.iterations, other.panel.name)
    if other.panel.iterations < after:
        raise NotRun(f"{against} ends at iteration {other.panel.iterations}, the claim is on iteration {after:.0f}")
    last = float(source.trials.columns[-1])
    window = max(after - FINAL_SHARE / 2 * last, 0.0), min(after + FINAL_SHARE / 2 * last, last)
    phrase = f"{title} at iteration {after:.0f}, {of_rise}"
    return _lead([source, other], source.near(after), other.near(after), phrase, window)


@measures()
def gain_after(evidence: Evidence, *, curve: CurveName, after: Iteration) -> Measurement:
    """Measure the gain from an iteration to the final value; interval over the trials.

    The unit is the rise up to that iteration.
    """
    source = evidence.of(curve)
    if (last := source.trials.columns[-1]) <= after:
        raise NotRun(f"{curve} ends at iteration {last}, the claim is on iterations after {after}")
    phrase = f"gain of {source.label} after iteration {after}, as a share of its rise until then"
    return _lead([source], source.late, source.near(after), phrase, _at_end(source))


def _lead(sources: Sequence[Curves], late: np.ndarray, base: np.ndarray, text: str, window: tuple) -> Measurement:
    """Measure the first curve minus the last one at some evaluations of each, as a share of the rise of the last."""

    def lead(means: list[np.ndarray]) -> np.ndarray:
        value, beside = means[0][:, late].mean(axis=1), means[-1][:, base].mean(axis=1)
        # Beside a curve that falls, each lead is an infinite share of its rise.
        with np.errstate(divide="ignore", invalid="ignore"):
            return (value - beside) / np.maximum(beside - means[-1][:, 0], 0)

    other = sources[-1].of_trials(paired(*sources)).mean(axis=0)
    value = float(other[base].mean())
    level = Level(value, max(value - float(other[0]), 0.0))
    return _of_curves(sources, lead, text, window=window, level=level)


def _at_end(curves: Curves) -> tuple[float, float]:
    last = float(curves.trials.columns[-1])
    return (1 - FINAL_SHARE) * last, last


@measures(**{name: {"statistic": name} for name in get_args(Shape)})
def curve_shape(
    evidence: Evidence, *, curve: CurveName, statistic: Shape, metric: MetricName = "log_likelihood"
) -> Measurement:
    """Measure the iteration of the maximum of a mean curve, its decline, or the share of evaluations at which it rose.

    A decline is the fall from the maximum to the final value as a share of the rise to the maximum, the largest mean
    over as many evaluations as the final value has. The maximum of noisy means is too large, so that the lower end of
    the interval is that of `_sure_fall`, if lower. The share is 0.5 for a curve that only fluctuates.
    """
    source = evidence.of(curve, metric=metric)
    title = metric_of(metric).title
    if statistic == "peak_iteration":
        phrase = f"iteration at which the mean {title} of {source.label} is largest"
        options = {"possible": POSITIVE, "level": Level(along="x")}
        return _of_curves([source], lambda means: source.iterations[means[0].argmax(axis=1)], phrase, **options)
    if statistic == "rising_share":
        phrase = f"share of the evaluations at which the mean {title} of {source.label} has risen"
        return _of_curves([source], lambda means: (np.diff(means[0], axis=1) > 0).mean(axis=1), phrase, possible=SHARE)
    phrase = f"fall of the mean {title.removeprefix('mean ')} of {source.label} from its maximum to its end"
    top = float(_windows(source.mean.to_numpy()[None], source.late).max())
    where = {"possible": POSITIVE, "level": Level(top, float(source.mean.iloc[0]) - top)}
    fall = _of_curves([source], lambda means: _fallen(source, means[0]), f"{phrase}, share of its rise", **where)
    trials = source.trials.loc[paired(source)].to_numpy()
    return replace(fall, low=min(fall.low, _sure_fall(trials, source.late))) if len(trials) > 1 else fall


def _sure_fall(trials: np.ndarray, late: np.ndarray) -> float:
    """Return the lower end of the fall of the mean of trials (trials, evaluations), at least 0.

    Each trial falls from the window in which the mean of the other trials is largest, since this choice does not depend
    on the noise of the trial.
    """
    windows = _windows(trials, late)
    at = (windows.sum(axis=0) - windows).argmax(axis=1)
    top = np.take_along_axis(windows, at[:, None], axis=1)[:, 0]
    falls = np.stack([top - windows[:, -1], top - trials[:, 0]], axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return max(0.0, intervals.of_means(falls, lambda means: means[:, 0] / np.maximum(means[:, 1], 0))[1])


@measures()
def falls_behind(evidence: Evidence, *, curve: CurveName, against: CurveName, share: Share) -> Measurement:
    """Measure the iteration from which a mean curve stays below another, infinity if it does not; interval over trials.

    It counts as below by more than a share of the other's rise from the first to the last evaluation.
    """
    source, other = evidence.of(curve), evidence.of(against)
    _check_evaluations(source, other)

    def begins(means: list[np.ndarray]) -> np.ndarray:
        behind = means[1] - means[0] > share * (means[1][:, -1:] - means[1][:, :1])
        to_the_end = np.logical_and.accumulate(behind[:, ::-1], axis=1)[:, ::-1]
        return first_reached(to_the_end, source.iterations, np.ones(len(behind)))

    phrase = f"iteration from which {source.label} is more than {100 * share:g} % of the rise below {other.label}"
    return _of_curves([source, other], begins, phrase, possible=POSITIVE, level=Level(along="x"))


@measures()
def final_band_ratio(evidence: Evidence, *, curve: CurveName, against: CurveName) -> Measurement:
    """Measure the ratio of the final widths of two bands; interval over the trials.

    The width of a band is the distance between the quantiles of the figure, over the final values of the trials.
    """
    source, other = evidence.of(curve), evidence.of(against)
    band, trials = source.spec.band, paired(source, other)

    def log_ratio(finals: np.ndarray) -> np.ndarray:
        low, high = np.quantile(finals, band.quantiles, axis=1)
        # Two bands without width have no ratio.
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log((high - low)[:, 0] / (high - low)[:, 1])

    low, high = band.percent
    phrase = f"width of the {low} to {high} % band of final values, {source.label} over {other.label}"
    phrase += f", {len(trials)} trials"
    finals = np.stack([source.final.loc[trials], other.final.loc[trials]], axis=1)
    interval = np.exp(intervals.of_trials(finals, log_ratio)).tolist()
    changes = (*source.spec.differences, *other.spec.differences)
    of_bands = tuple(change for change in changes if change.setting == QUANTILES)
    fields = {"differences": of_bands, "window": _at_end(source)}
    return Measurement(*interval, phrase, (source, other), POSITIVE, **fields)


@measures()
def reach_difference(
    evidence: Evidence,
    *,
    curve: CurveName,
    against: CurveBesideName,
    share: Share,
    metric: MetricName = "test_log_likelihood",
) -> Measurement:
    """Measure by how many iterations a mean curve reaches a level before another; interval over the trials.

    The level is a share of the largest rise of the mean curves of the panel. The difference is minus infinity if
    ``curve`` never reaches it, infinity if ``against`` never does, and 0 if neither does.
    """
    sources = evidence.of(curve, metric=metric).of_panel()
    _check_evaluations(*sources)
    names, iterations = [source.name for source in sources], sources[0].iterations
    first, second = (names.index(evidence.of(name, metric=metric).name) for name in (curve, against))

    def earlier(means: list[np.ndarray]) -> np.ndarray:
        stacked = np.stack(means, axis=1)
        at = first_reached(stacked, iterations, levels(stacked, share)[..., None])
        with np.errstate(invalid="ignore"):
            return np.where(at[:, second] == at[:, first], 0.0, at[:, second] - at[:, first])

    phrase = f"iterations by which {sources[first].label} reaches {100 * share:g} % of the largest rise of "
    phrase += f"{metric_of(metric).title} before {sources[second].label}"
    trials = paired(*(pair := (sources[first], sources[second])))
    means = np.stack([source.of_trials(trials).mean(axis=0) for source in sources])
    level = Level(float(first_reached(means[second], iterations, levels(means, share))), -1.0, "x")
    # The level depends on all curves of the panel, which therefore have to meet what the claim needs.
    return _of_curves(sources, earlier, phrase, one_trial=False, of_trials=pair, level=level)


@measures()
def smallest_within(
    evidence: Evidence,
    *,
    curves: Annotated[list[CurveOfStepsName], Field(min_length=1)],
    against: CurveName,
    tolerance: Annotated[float, Field(ge=0)],
) -> Measurement:
    """Measure the smallest k whose curve ends near another; interval over the trials.

    A curve ends near ``against`` when its final value is at most ``tolerance`` of the rise of ``against`` below that of
    ``against``. The number is infinite if no curve does.
    """
    other, sources = evidence.of(against), [evidence.of(name) for name in curves]
    sources.sort(key=_steps)
    steps = np.array([*map(_steps, sources), np.inf])

    def smallest(means: list[np.ndarray]) -> np.ndarray:
        end, start = _end(other, means[-1]), means[-1][:, 0]
        ends = np.stack([_end(curve, mean) for curve, mean in zip(sources, means[:-1], strict=True)], axis=1)
        near = ends >= (end - tolerance * (end - start))[:, None]
        return steps[np.where(near.any(axis=1), near.argmax(axis=1), len(sources))]

    phrase = f"smallest k whose final log-likelihood is less than {tolerance:g} of the rise below that of {other.label}"
    options = {"one_trial": False, "possible": POSITIVE, "window": _at_end(other)}
    measured = _of_curves((*sources, other), smallest, phrase, **options)
    return replace(measured, sources=(other, *sources))


def _check_evaluations(first: Curves, *others: Curves) -> None:
    """Raise `NotRun` if curves are not evaluated at the same iterations, as where one run has several stages."""
    for curves in others:
        if not np.array_equal(curves.iterations, first.iterations):
            raise NotRun(f"{first.label} and {curves.label} are evaluated at different iterations")


def _steps(curves: Curves) -> int:
    options = curves.meta["settings"]["schedule"][-1]["estimator"]["options"]
    if "k" not in options:
        raise SettingsError(
            f"claims: {curves.name}: its estimator must have the option k, got {sorted(options) or 'none'}"
        )
    return options["k"]
