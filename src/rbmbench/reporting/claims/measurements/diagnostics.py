# SPDX-License-Identifier: BSD-3-Clause
"""Measurements of diagnostics: metrics over the iterations or at one of them, and stopping times of coupled chains.

The default metric is the first of the panel of the curve.
"""

import math
from typing import Annotated

import numpy as np
from pydantic import Field

from rbmbench.base.metrics import metric_of
from rbmbench.reporting.claims import intervals
from rbmbench.reporting.claims.arguments import Bound, CurveName, Iteration, MetricName, TimesName, Window
from rbmbench.reporting.claims.evidence import Evidence, NotRun
from rbmbench.reporting.claims.measurements._base import POSITIVE, REQUIRED, SHARE, Level, Measurement, measures, paired
from rbmbench.reporting.curves import Curves
from rbmbench.reporting.frames import FINAL_SHARE


@measures(metric_mean={"limit": None}, metric_share={"limit": REQUIRED})
def metric_over_iterations(
    evidence: Evidence,
    *,
    curve: CurveName,
    limit: float | None = None,
    metric: MetricName | None = None,
    after: Iteration = 0,
) -> Measurement:
    """Measure the mean of a metric over iterations, or the share of iterations in which it is above a limit.

    A metric is a mean over the iterations between two evaluations; it is above the limit in all of them or in none. The
    interval of a mean is Student's over the trials; for a single trial that over its evaluations, as if they were
    independent.
    """
    source = _metric(evidence, curve, metric, after)
    frame, weights = _after(source, after)
    trials, title = frame.to_numpy(), metric_of(source.metric)
    window = (after, source.trials.columns[-1]) if after else None
    since = f"the iterations after {after}" if after else "all iterations"
    if limit is not None:
        phrase = f"share of {since} in which {title.title} of {source.label} is above {limit:g}"
        interval = intervals.of_means(trials, lambda means: (means > limit) @ weights)
        return Measurement(*interval, phrase, (source,), SHARE, window=window)
    notes: tuple[str, ...] = ()
    mean, low, high = intervals.student(trials @ weights)
    if len(trials) == 1:
        _, low, high = intervals.student(trials[0])
        notes = ("one trial: the interval is that over its evaluations",)
        low, high = mean - (high - low) / 2, mean + (high - low) / 2
    phrase = f"{title.label} of {source.label}, mean over {since}"
    return Measurement(mean, low, high, phrase, (source,), notes=notes, window=window, level=Level())


@measures()
def metric_ratio(evidence: Evidence, *, curve: CurveName, against: CurveName, metric: MetricName) -> Measurement:
    """Measure the ratio of a metric of two curves; interval over the trials.

    It is the median over the common evaluations, which is robust to single extreme values.
    """
    source, other = evidence.of(curve, metric=metric), evidence.of(against, metric=metric)
    trials = paired(source, other)
    common = source.trials.columns.intersection(other.trials.columns)
    if common.empty:
        raise NotRun(f"{curve} and {against} have no evaluation in common")
    stacked = np.stack([item.trials.loc[trials, common] for item in (source, other)], axis=-1)
    interval = intervals.of_means(stacked, lambda means: np.median(means[..., 0] / means[..., 1], axis=1))
    same_data = source.panel.data == other.panel.data
    first, second = (item.label if same_data else f"{item.label} on {item.panel.data}" for item in (source, other))
    phrase = f"{metric_of(metric).title}, {first} over {second}, median over {len(common)} evaluations"
    return Measurement(*interval, phrase, (source, other), POSITIVE)


@measures(metric_quantile={"quantile": REQUIRED})
def metric_at(
    evidence: Evidence,
    *,
    curve: CurveName,
    iteration: Iteration,
    quantile: Annotated[float, Field(ge=0, le=1)] | None = None,
    metric: MetricName | None = None,
) -> Measurement:
    """Measure the mean of a metric over the trials at an iteration, or a quantile.

    A quantile, with its exact interval, is more robust than the mean to outliers among the trials.
    """
    source = _metric(evidence, curve, metric)
    values = source.trials.loc[paired(source)].to_numpy()[:, _place(source, iteration)]
    phrase = f"{metric_of(source.metric).label} of {source.label} at iteration {iteration}"
    where = {"window": (iteration, iteration), "level": Level()}
    if quantile is None:
        return Measurement(*intervals.student(values), f"{phrase}, mean over the trials", (source,), **where)
    low, high = np.quantile(values, (0.1, 0.9))
    note = f"10 to 90 % of the {len(values)} trials: {low:.3g} to {high:.3g}"
    phrase += f", {100 * quantile:g} % quantile over the trials"
    return Measurement(*intervals.quantile(values, quantile), phrase, (source,), notes=(note,), **where)


@measures()
def metric_violations(
    evidence: Evidence,
    *,
    curve: CurveName,
    metric: MetricName | None = None,
    at_least: Bound = -np.inf,
    at_most: Bound = np.inf,
) -> Measurement:
    """Measure the number of recorded values of a metric outside a range, in all trials.

    The number is exact, so that there is no interval.
    """
    source = _metric(evidence, curve, metric)
    values = source.trials.loc[paired(source)].to_numpy()
    count = float(np.sum((values < at_least) | (values > at_most)))
    ends = [f"below {at_least:g}"] * math.isfinite(at_least) + [f"above {at_most:g}"] * math.isfinite(at_most)
    trials, evaluations = values.shape
    phrase = f"values of {metric_of(source.metric).title} of {source.label} that are {' or '.join(ends)}"
    phrase += f", of {trials} trials at {evaluations} evaluations each; from {values.min():.3g} to {values.max():.3g}"
    return Measurement(count, count, count, phrase, (source,), POSITIVE, level=Level(range=(at_least, at_most)))


@measures()
def metric_share_of_peak(
    evidence: Evidence, *, curve: CurveName, iteration: Iteration, metric: MetricName | None = None
) -> Measurement:
    """Measure the mean of a metric at an iteration as a share of its largest mean; interval over the trials."""
    source = _metric(evidence, curve, metric)
    trials, place = source.trials.loc[paired(source)], _place(source, iteration)
    measured = intervals.of_means(trials.to_numpy(), lambda means: means[:, place] / means.max(axis=1))
    peak = trials.columns[int(np.argmax(trials.to_numpy().mean(axis=0)))]
    phrase = f"{metric_of(source.metric).title} of {source.label} at iteration {iteration}"
    where = {"window": (iteration, iteration), "level": Level(0.0, float(trials.mean().max()))}
    phrase += f", as a share of the largest mean, which is at iteration {peak}"
    return Measurement(*measured, phrase, (source,), SHARE, **where)


@measures()
def steepest_rise(
    evidence: Evidence, *, curve: CurveName, metric: MetricName | None = None, window: Window | None = None
) -> Measurement:
    """Measure the iteration around which the mean of a metric rises most; interval over the trials.

    The rise is that within ``window`` iterations, by default within `FINAL_SHARE` of all evaluations.
    """
    source = _metric(evidence, curve, metric)
    trials = source.trials.loc[paired(source)]
    iterations = trials.columns.to_numpy(dtype=float)
    spacing = np.median(np.diff(iterations)) if len(iterations) > 1 else 1
    steps = max(1, round(FINAL_SHARE * len(iterations) if window is None else window / spacing))
    if len(iterations) <= steps:
        raise NotRun(f"{curve} has {len(iterations)} evaluations of {source.metric}: too few to rise between them")
    middles = (iterations[steps:] + iterations[:-steps]) / 2

    def steepest(means: np.ndarray) -> np.ndarray:
        return middles[np.argmax(means[:, steps:] - means[:, :-steps], axis=1)]

    phrase = f"iteration around which {metric_of(source.metric).title} of {source.label} rises most"
    interval = intervals.of_means(trials.to_numpy(), steepest)
    return Measurement(*interval, phrase, (source,), POSITIVE, level=Level(along="x"))


@measures()
def stopping_time_share(evidence: Evidence, *, times: TimesName, within: Annotated[int, Field(ge=0)]) -> Measurement:
    """Measure the share of pairs of coupled chains that met within a number of steps, with the exact interval."""
    source = evidence.of(times, "coupling_times")
    met = int((source.frame["met"] & (source.frame["stopping_time"] <= within)).sum())
    phrase = f"share of {len(source.frame)} pairs of chains, {source.label}, that met within {within} steps"
    where = {"window": (within, within), "level": Level()}
    return Measurement(*intervals.share(met, len(source.frame)), phrase, (source,), SHARE, **where)


def _metric(evidence: Evidence, curve: str, metric: str | None, after: int = 0) -> Curves:
    """Return a metric of a curve, by default that of its panel; `NotRun` if it ends at ``after`` or before."""
    source = evidence.of(curve, metric=metric)
    if (last := source.all_trials.columns[-1]) <= after:
        raise NotRun(f"{curve} ends at iteration {last}, the claim is on iterations after {after}")
    return source


def _place(curves: Curves, iteration: int) -> int:
    iterations = list(curves.trials.columns)
    if iteration not in iterations:
        raise NotRun(f"{curves.name} has no evaluation at iteration {iteration}; its last one is at {iterations[-1]}")
    return iterations.index(iteration)


def _after(curves: Curves, after: int):
    """Return the values (trials, evaluations) after an iteration, and the weight of each evaluation.

    The weight is the share of the iterations over which the evaluation is a mean.
    """
    trials = curves.trials.loc[paired(curves)]
    ends = trials.columns.to_numpy(dtype=float)
    # A diagnostic is a mean over the iterations since training halted: at the evaluation before, or the end of a stage.
    # At iteration 0 there are none.
    settings, first = curves.meta["settings"], ends[0]
    spacing = settings.get("evaluate_every") or max(first, 1)
    stages = [stage.get("until", first) for stage in settings.get("schedule", ())]
    halts = [halt for halt in (*stages, *settings.get("evaluate_at", ())) if halt < first]
    gaps = np.diff(ends, prepend=max(0, spacing * (np.ceil(first / spacing) - 1), *halts))
    late = ends > after
    return trials.loc[:, late], gaps[late] / gaps[late].sum()
