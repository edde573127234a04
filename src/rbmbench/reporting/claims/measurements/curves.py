# SPDX-License-Identifier: BSD-3-Clause
"""Measurements of learning curves: final values, falls from the maximum, widths of bands, and when a level is reached.

The final value of a trial is the mean over the evaluations in the last `FINAL_SHARE` of its iterations. A rise is from
the first evaluation to the final value, or to the maximum where this is said. Log-likelihoods are means per sample, in
nats. Curves are compared trial by trial; trials with a value that is not finite are left out.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any

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
    SHARE,
    Level,
    Measurement,
    OfMeans,
    measures,
    pair,
    paired,
)
from rbmbench.reporting.frames import FINAL_SHARE
from rbmbench.reporting.marks import first_reached, levels

CurveNames = Annotated[list[CurveName], Field(min_length=2)]
ONE_TRIAL = "one trial: the interval is that of its estimates"


@measures()
def final_difference(
    evidence: Evidence, *, curve: CurveName, against: CurveName, metric: MetricName = "log_likelihood"
) -> Measurement:
    """Measure the difference of the final values of two curves, with Student's interval over the trials."""
    one, other, trials = pair(evidence, curve, against, metric=metric)
    first, second = (
        curves.label if one.panel == other.panel else f"{curves.label} at rate {curves.panel.rate:g}"
        for curves in (one, other)
    )
    what = f"final {metric_of(metric).title}, {first} minus {second}, nats per sample, {len(trials)} trials"
    where = {"window": _at_end(one), "level": Level(_value(other, other.late))}
    of_means = OfMeans((one, other), lambda means: _end(one, means[0]) - _end(other, means[1]))
    if len(trials) == 1:
        return _of_curves([one, other], of_means.number, what, **where)
    interval = intervals.student((one.final - other.final).loc[trials])
    return Measurement(*interval, what, (one, other), of_means=of_means, **where)


@measures()
def final_lead(evidence: Evidence, *, curve: CurveName, against: CurveName) -> Measurement:
    """Measure the difference of two final values as a share of the second curve's rise; interval over the trials."""
    one, other, _ = pair(evidence, curve, against)
    return _lead(one, other, one.late, other.late, "final log-likelihood", _at_end(one))


@measures()
def lead_after(
    evidence: Evidence, *, curve: CurveName, against: CurveName, share: Share, metric: MetricName = "log_likelihood"
) -> Measurement:
    """Measure the difference of two curves at a share of the published iterations; interval over the trials.

    It is given as a share of the rise of the second curve up to that iteration.
    """
    one, other = evidence.of(curve, metric=metric), evidence.of(against, metric=metric)
    after = share * other.spec.as_published("iterations", other.panel.iterations, other.panel.name)
    if other.panel.iterations < after:
        raise NotRun(f"{against} ends at iteration {other.panel.iterations}, the claim speaks of iteration {after:.0f}")
    last = float(one.trials.columns[-1])
    window = max(after - FINAL_SHARE / 2 * last, 0.0), min(after + FINAL_SHARE / 2 * last, last)
    what = f"{metric_of(metric).title} at iteration {after:.0f}"
    return _lead(one, other, one.near(after), other.near(after), what, window)


def _lead(
    one: Any, other: Any, late: np.ndarray, other_late: np.ndarray, what: str, window: tuple[float, float]
) -> Measurement:
    """Return the difference of the values of two curves at some evaluations as a share of the rise of ``other``."""
    what = f"{what}, {one.label} minus {other.label}, as a share of the rise of {other.label}"

    def lead(means: list[np.ndarray]) -> np.ndarray:
        value, beside = means[0][:, late].mean(axis=1), means[1][:, other_late].mean(axis=1)
        return (value - beside) / (beside - means[1][:, 0])

    value = _value(other, other_late)
    return _of_curves([one, other], lead, what, window=window, level=Level(value, value - other.mean.iloc[0]))


@measures(POSITIVE)
def final_spread(evidence: Evidence, *, curves: CurveNames, metric: MetricName = "log_likelihood") -> Measurement:
    """Measure the range of the final values of several curves; interval over the trials.

    It is given as a share of the rise to the largest of them.
    """
    return _spread(evidence, curves, metric, "final", _end)


@measures(POSITIVE)
def peak_spread(evidence: Evidence, *, curves: CurveNames, metric: MetricName = "log_likelihood") -> Measurement:
    """Measure the range of the maxima of several mean curves; interval over the trials.

    It is given as a share of the rise to the largest of them.
    """
    return _spread(evidence, curves, metric, "largest", lambda _, means: means.max(axis=1))


def _spread(
    evidence: Evidence, curves: list[str], metric: str, which: str, value: Callable[[Any, np.ndarray], np.ndarray]
) -> Measurement:
    """Measure the range of a value of several mean curves as a share of the rise to the largest."""
    sources = [evidence.of(name, metric=metric) for name in curves]
    names = ", ".join(curve.label for curve in sources)
    what = f"largest difference of the {which} {metric_of(metric).title} of {names}, as a share of the rise"

    def spread(means: list[np.ndarray]) -> np.ndarray:
        reached = np.stack(list(map(value, sources, means)), axis=1)
        start = np.mean([of_curve[:, 0] for of_curve in means], axis=0)
        rise = reached.max(axis=1) - start
        # Curves that end below their start have no rise.
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(rise > 0, np.ptp(reached, axis=1) / rise, np.inf)

    return _of_curves(sources, spread, what, window=_at_end(sources[0]) if which == "final" else None)


def _at_end(curves: Any) -> tuple[float, float]:
    """Return the iterations of the final value."""
    last = float(curves.trials.columns[-1])
    return (1 - FINAL_SHARE) * last, last


def _value(curves: Any, at: np.ndarray) -> float:
    """Return the mean curve at some evaluations."""
    return float(curves.mean[at].mean())


def _end(curves: Any, means: np.ndarray) -> np.ndarray:
    """Return the final values of mean curves (draws, evaluations)."""
    return means[:, curves.late].mean(axis=1)


@measures()
def peak_difference(
    evidence: Evidence, *, curve: CurveName, against: CurveName, metric: MetricName = "log_likelihood"
) -> Measurement:
    """Measure the difference of the maxima of two mean curves; interval over the trials."""
    one, other, _ = pair(evidence, curve, against, metric=metric)
    what = f"largest {metric_of(metric).title}, {one.label} minus {other.label}, nats per sample"
    level = Level(float(other.mean.max()))
    return _of_curves([one, other], lambda means: means[0].max(axis=1) - means[1].max(axis=1), what, level=level)


@measures(POSITIVE)
def peak_iteration(evidence: Evidence, *, curve: CurveName, metric: MetricName = "log_likelihood") -> Measurement:
    """Measure the iteration at which a mean curve is largest; interval over the trials."""
    source = evidence.of(curve, metric=metric)
    iterations = source.trials.columns.to_numpy(dtype=float)
    what = f"iteration at which the mean {metric_of(metric).title} of {source.label} is largest"
    return _of_curves([source], lambda means: iterations[means[0].argmax(axis=1)], what, level=Level(along="x"))


@measures(POSITIVE)
def falls_behind(evidence: Evidence, *, curve: CurveName, against: CurveName, share: Share) -> Measurement:
    """Measure the iteration from which a mean curve stays below another, infinity if it does not; interval over trials.

    It counts as below by more than a share of the other's rise from the first to the last evaluation.
    """
    one, other, _ = pair(evidence, curve, against)
    iterations = one.trials.columns.to_numpy(dtype=float)

    def begins(means: list[np.ndarray]) -> np.ndarray:
        behind = means[1] - means[0] > share * (means[1][:, -1:] - means[1][:, :1])
        to_the_end = np.logical_and.accumulate(behind[:, ::-1], axis=1)[:, ::-1]
        return first_reached(to_the_end, iterations, np.ones(len(behind)))

    what = f"iteration from which {one.label} is more than {100 * share:g} % of the rise below {other.label}"
    return _of_curves([one, other], begins, what, level=Level(along="x"))


def _of_curves(
    sources: list[Any], statistic: Callable[[list[np.ndarray]], np.ndarray], what: str, **where: object
) -> Measurement:
    """Measure a statistic of several mean curves, each (draws, evaluations); interval over the trials.

    Where there is a single trial whose values are estimates, the interval is that of the estimates. ``where`` are
    window and level.
    """
    trials = paired(*sources)
    stacked = np.concatenate([curve.trials.loc[trials] for curve in sources], axis=1)
    where["of_means"] = of_means = OfMeans(sources, statistic)
    errors = [curve.errors for curve in sources]
    if len(trials) > 1 or any(error is None for error in errors):
        return Measurement(*intervals.of_means(stacked, of_means.stacked), what, tuple(sources), **where)
    interval = intervals.of_errors(stacked[0], np.concatenate(errors), of_means.stacked)
    return Measurement(*interval, what, tuple(sources), notes=(ONE_TRIAL,), **where)


@measures(SHARE)
def rising_share(evidence: Evidence, *, curve: CurveName, metric: MetricName = "log_likelihood") -> Measurement:
    """Measure the share of the evaluations at which a mean curve is above the evaluation before; interval over trials.

    It is 0.5 for a curve that only fluctuates.
    """
    source = evidence.of(curve, metric=metric)
    what = f"share of the evaluations at which the mean {metric_of(metric).title} of {source.label} has risen"
    return _of_curves([source], lambda means: (np.diff(means[0], axis=1) > 0).mean(axis=1), what)


@measures()
def final_gap(evidence: Evidence, *, curve: CurveName, reference: ReferenceName) -> Measurement:
    """Measure the final log-likelihood minus a reference line of the panel, with Student's interval over the trials."""
    source = evidence.of(curve)
    line = source.reference(reference)
    what = f"final log-likelihood of {source.label} minus that of the {line.title}, nats per sample"
    where = {"window": _at_end(source), "level": Level(line.value)}
    where["of_means"] = OfMeans([source], lambda means: _end(source, means[0]) - line.value)
    return Measurement(*intervals.student(source.final.loc[paired(source)] - line.value), what, (source,), **where)


@measures(POSITIVE)
def final_band_ratio(evidence: Evidence, *, curve: CurveName, against: CurveName) -> Measurement:
    """Measure the ratio of the final widths of two bands; interval over the trials.

    The width of a band is the distance between the quantiles of the figure, over the final values of the trials.
    """
    one, other, trials = pair(evidence, curve, against)
    band = one.spec.band

    def log_ratio(finals: np.ndarray) -> np.ndarray:
        low, high = np.quantile(finals, band.quantiles, axis=1)
        # Two bands without width have no ratio.
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log((high - low)[:, 0] / (high - low)[:, 1])

    low, high = band.percent
    what = f"width of the {low} to {high} % band of final values, {one.label} over {other.label}, {len(trials)} trials"
    finals = np.stack([one.final.loc[trials], other.final.loc[trials]], axis=1)
    interval = np.exp(intervals.of_trials(finals, log_ratio)).tolist()
    more = {"differences": one.differences_of_band + other.differences_of_band, "window": _at_end(one)}
    return Measurement(*interval, what, (one, other), **more)


@measures(POSITIVE)
def decline(evidence: Evidence, *, curve: CurveName, metric: MetricName = "log_likelihood") -> Measurement:
    """Measure the fall of a mean curve from its maximum to its final value; interval over the trials.

    It is given as a share of the rise to the maximum, the largest mean over as many evaluations as the final value has.
    The maximum of noisy means is too large, so that the lower end of the interval is that of `_sure_fall`, if lower.
    """
    source = evidence.of(curve, metric=metric)
    title = metric_of(metric).title.removeprefix("mean ")
    what = f"fall of the mean {title} of {source.label} from its maximum to its end, share of its rise"
    top = float(_windows(source.mean.to_numpy()[None], source.late).max())
    level = Level(top, float(source.mean.iloc[0]) - top)
    fall = _of_curves([source], lambda means: _fallen(means[0], source.late), what, level=level)
    trials = source.trials.loc[paired(source)].to_numpy()
    return replace(fall, low=min(fall.low, _sure_fall(trials, source.late))) if len(trials) > 1 else fall


@measures()
def decline_difference(evidence: Evidence, *, curve: CurveName, against: CurveName) -> Measurement:
    """Measure the difference of the falls of two mean curves, as in `decline`; interval over the trials."""
    one, other, _ = pair(evidence, curve, against)
    what = f"fall from the maximum as a share of the rise, {one.label} minus {other.label}"
    return _of_curves([one, other], lambda means: _fallen(means[0], one.late) - _fallen(means[1], other.late), what)


def _windows(curves: np.ndarray, late: np.ndarray) -> np.ndarray:
    """Return the means of curves (..., evaluations) over windows as long as the final one, which is the last."""
    return np.lib.stride_tricks.sliding_window_view(curves, int(late.sum()), axis=-1).mean(axis=-1)


def _fallen(means: np.ndarray, late: np.ndarray) -> np.ndarray:
    """Return how far mean curves (resamples, evaluations) end below their maximum, as a share of their rise to it."""
    windows = _windows(means, late)
    top = windows.max(axis=1)
    # A curve that only falls has no rise: its fall is an infinite share of it.
    with np.errstate(divide="ignore", invalid="ignore"):
        return (top - windows[:, -1]) / np.maximum(top - means[:, 0], 0)


def _sure_fall(trials: np.ndarray, late: np.ndarray) -> float:
    """Return the lower end of the fall of the mean of trials (trials, evaluations), at least 0.

    Each trial falls from the window in which the mean of the others is largest: chosen without the trial, the window is
    not larger in it by chance.
    """
    windows = _windows(trials, late)
    at = (windows.sum(axis=0) - windows).argmax(axis=1)
    top = np.take_along_axis(windows, at[:, None], axis=1)[:, 0]
    parts = np.stack([top - windows[:, -1], top - trials[:, 0]], axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return max(0.0, intervals.of_means(parts, lambda means: means[:, 0] / np.maximum(means[:, 1], 0))[1])


@measures()
def gain_after(evidence: Evidence, *, curve: CurveName, after: Iteration) -> Measurement:
    """Measure the gain from an iteration to the final value; interval over the trials.

    It is given as a share of the rise up to that iteration.
    """
    source = evidence.of(curve)
    if (last := source.trials.columns[-1]) <= after:
        raise NotRun(f"{curve} ends at iteration {last}, the claim speaks of what follows {after}")

    def gain(means: list[np.ndarray]) -> np.ndarray:
        value = means[0][:, source.near(after)].mean(axis=1)
        return (_end(source, means[0]) - value) / (value - means[0][:, 0])

    what = f"gain of {source.label} after iteration {after}, as a share of its rise until then"
    value = _value(source, source.near(after))
    level = Level(value, value - float(source.mean.iloc[0]))
    return _of_curves([source], gain, what, window=_at_end(source), level=level)


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

    The level is a share of the largest rise of the mean curves of the panel. The difference is minus infinity where
    ``curve`` never reaches it, infinity where ``against`` never does, and 0 where neither does.
    """
    sources = evidence.of(curve, metric=metric).of_panel()
    names = [one.name for one in sources]
    trials, iterations = paired(*sources), sources[0].trials.columns.to_numpy(dtype=float)
    stacked = np.stack([one.trials.loc[trials] for one in sources], axis=1)
    first, second = (names.index(evidence.of(name, metric=metric).name) for name in (curve, against))

    def earlier(means: np.ndarray) -> np.ndarray:
        at = first_reached(means, iterations, levels(means, share)[..., None])
        with np.errstate(invalid="ignore"):
            return np.where(at[:, second] == at[:, first], 0.0, at[:, second] - at[:, first])

    what = f"iterations by which {sources[first].label} reaches {100 * share:g} % of the largest rise of "
    what += f"{metric_of(metric).title} before {sources[second].label}"
    # The level depends on all curves of the panel.
    differences = tuple(difference for curves in sources for difference in curves.differences)
    interval, means = intervals.of_means(stacked, earlier), stacked.mean(axis=0)
    reached = float(first_reached(means[second], iterations, levels(means, share)))
    more = {"differences": differences, "level": Level(reached, -1.0, "x")}
    more["of_means"] = OfMeans(sources, lambda means: earlier(np.stack(means, axis=1)))
    return Measurement(*interval, what, (sources[first], sources[second]), **more)


@measures(POSITIVE)
def smallest_within(
    evidence: Evidence,
    *,
    curves: Annotated[list[CurveOfStepsName], Field(min_length=1)],
    against: CurveName,
    tolerance: Annotated[float, Field(ge=0)],
) -> Measurement:
    """Measure the smallest k whose curve ends near another; interval over the trials.

    A curve ends near ``against`` when its final value is at most ``tolerance`` of the rise of ``against`` below that of
    ``against``. The number is infinite where no curve does.
    """
    other, sources = evidence.of(against), [evidence.of(name) for name in curves]
    sources.sort(key=_steps)
    trials, steps = paired(other, *sources), np.array([*map(_steps, sources), np.inf])
    finals = [curve.final.loc[trials] for curve in (*sources, other)]
    stacked = np.stack([*finals, other.trials.loc[trials].iloc[:, 0]], axis=1)

    def smallest(means: np.ndarray) -> np.ndarray:
        ends, end, start = means[:, :-2], means[:, -2:-1], means[:, -1:]
        near = ends >= end - tolerance * (end - start)
        return steps[np.where(near.any(axis=1), near.argmax(axis=1), len(sources))]

    def of_ends(means: list[np.ndarray]) -> np.ndarray:
        ends = [_end(curve, mean) for curve, mean in zip((*sources, other), means, strict=True)]
        return smallest(np.stack([*ends, means[-1][:, 0]], axis=1))

    what = f"smallest k whose final log-likelihood is less than {tolerance:g} of the rise below that of {other.label}"
    where = {"window": _at_end(other), "of_means": OfMeans((*sources, other), of_ends)}
    return Measurement(*intervals.of_means(stacked, smallest), what, (other, *sources), **where)


def _steps(curves: Any) -> int:
    options = curves.meta["settings"]["schedule"][-1]["estimator"]["options"]
    if "k" not in options:
        raise SettingsError(
            f"claims: {curves.name}: its estimator must have the option k, got {sorted(options) or 'none'}"
        )
    return options["k"]
