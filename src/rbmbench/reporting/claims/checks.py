"""The measurements that claims are judged by: each turns curves or table entries into one number with an interval.

A measurement knows nothing of verdicts. To add one, write a function that takes an `Evidence` and keyword arguments,
and put it into `CHECKS`; a claim then names it as its ``kind`` and gives the arguments beside it.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd

from rbmbench.base.metrics import metric_of
from rbmbench.reporting.claims import intervals
from rbmbench.reporting.claims.evidence import FINAL_SHARE, Curves, Entry, Evidence, NotRun
from rbmbench.reporting.claims.measurement import Measurement, paired
from rbmbench.reporting.claims.metric_checks import METRIC_CHECKS
from rbmbench.reporting.claims.sample_checks import SAMPLE_CHECKS
from rbmbench.reporting.frames import machine_of

__all__ = ["CHECKS"]


def final_difference(evidence: Evidence, *, curve: str, against: str, metric: str = "log_likelihood") -> Measurement:
    """Measure the difference of two curves' final values of a metric, paired by trial, with Student's interval."""
    one, other = evidence.curves(curve, metric), evidence.curves(against, metric)
    trials = paired(one, other)
    value, low, high = intervals.student((one.final - other.final).loc[trials])
    first, second = (
        curves.label if one.panel == other.panel else f"{curves.label} at rate {curves.panel.rate:g}"
        for curves in (one, other)
    )
    what = f"final {metric_of(metric).title}, {first} minus {second}, nats per sample, {len(trials)} trials"
    return Measurement(value, low, high, what, (one, other))


def final_lead(evidence: Evidence, *, curve: str, against: str) -> Measurement:
    """Measure that difference as a share of the rise of the second curve from its first to its final value."""
    one, other = evidence.curves(curve), evidence.curves(against)
    trials = paired(one, other)
    values = one.final.loc[trials], other.final.loc[trials]
    return _lead(one, other, values, other.trials.loc[trials].iloc[:, 0], "final log-likelihood")


def lead_after(
    evidence: Evidence, *, curve: str, against: str, share: float, metric: str = "log_likelihood"
) -> Measurement:
    """Measure the lead after a share of the paper's iterations, as a share of the second curve's rise until then."""
    one, other = evidence.curves(curve, metric), evidence.curves(against, metric)
    after = share * (other.panel.paper_iterations or other.panel.iterations)
    if other.panel.iterations < after:
        raise NotRun(f"{against} ends at iteration {other.panel.iterations}, the claim speaks of iteration {after:.0f}")
    trials = paired(one, other)
    values = (pd.Series(c.around(after), c.trials.index).loc[trials] for c in (one, other))
    what = f"{metric_of(metric).title} at iteration {after:.0f}"
    return _lead(one, other, values, other.trials.loc[trials].iloc[:, 0], what)


def _lead(one: Curves, other: Curves, values, start, what: str) -> Measurement:
    """Return by how much of the rise of ``other`` the values of ``one`` lead."""
    value, low, high = intervals.bootstrap(
        np.stack([*values, start], axis=1), lambda x: (x[:, 0] - x[:, 1]) / (x[:, 1] - x[:, 2])
    )
    what = f"{what}, {one.label} minus {other.label}, as a share of the rise of {other.label}"
    return Measurement(value, low, high, what, (one, other))


def final_spread(evidence: Evidence, *, curves: list[str], metric: str = "log_likelihood") -> Measurement:
    """Measure how far the final values of several curves lie apart, as a share of the rise to the best of them."""
    found = [evidence.curves(name, metric) for name in curves]
    trials = paired(*found)
    starts = [curve.trials.loc[trials].iloc[:, 0] for curve in found]
    stacked = np.stack([*(curve.final.loc[trials] for curve in found), np.mean(starts, axis=0)], axis=1)

    def spread(means: np.ndarray) -> np.ndarray:
        finals, start = means[:, :-1], means[:, -1]
        return np.ptp(finals, axis=1) / (finals.max(axis=1) - start)

    names = ", ".join(curve.label for curve in found)
    what = f"largest difference of the final {metric_of(metric).title} of {names}, as a share of the rise"
    return Measurement(*intervals.bootstrap(stacked, spread), what, tuple(found))


def decline(evidence: Evidence, *, curve: str, metric: str = "log_likelihood") -> Measurement:
    """Measure how far the mean curve ends below its own maximum, as a share of its rise to that maximum."""
    found = evidence.curves(curve, metric)
    trials = found.trials.loc[paired(found)]
    late = _late(found)
    title = metric_of(metric).title.removeprefix("mean ")
    what = f"fall of the mean {title} of {found.label} from its maximum to its end, share of its rise"
    return Measurement(*intervals.bootstrap(trials.to_numpy(), lambda means: _fallen(means, late)), what, (found,))


def decline_difference(evidence: Evidence, *, curve: str, against: str) -> Measurement:
    """Measure by how much more of its rise one mean curve falls than another, paired by trial."""
    one, other = evidence.curves(curve), evidence.curves(against)
    trials = paired(one, other)
    ends = _late(one), _late(other)
    both = np.concatenate([one.trials.loc[trials], other.trials.loc[trials]], axis=1)
    cut = one.trials.shape[1]
    value, low, high = intervals.bootstrap(
        both, lambda means: _fallen(means[:, :cut], ends[0]) - _fallen(means[:, cut:], ends[1])
    )
    what = f"fall from the maximum as a share of the rise, {one.label} minus {other.label}"
    return Measurement(value, low, high, what, (one, other))


def _late(curves: Curves) -> np.ndarray:
    """Return which evaluations belong to the final value."""
    iterations = curves.trials.columns.to_numpy(dtype=float)
    return iterations > (1 - FINAL_SHARE) * iterations[-1]


def _fallen(means: np.ndarray, late: np.ndarray) -> np.ndarray:
    """Return how far mean curves (resamples, evaluations) end below their maximum, as a share of their rise to it."""
    top = means.max(axis=1)
    # A curve that only falls has no rise: its fall is an infinite share of it.
    with np.errstate(divide="ignore", invalid="ignore"):
        return (top - means[:, late].mean(axis=1)) / (top - means[:, 0])


def gain_after(evidence: Evidence, *, curve: str, after: int) -> Measurement:
    """Measure what a curve gains from an iteration to its end, as a share of its rise up to that iteration."""
    found = evidence.curves(curve)
    trials = found.trials.loc[paired(found)]
    if trials.columns[-1] <= after:
        raise NotRun(f"{curve} ends at iteration {trials.columns[-1]}, the claim speaks of what follows {after}")
    stacked = np.stack([trials.iloc[:, 0], found.around(after), found.final], axis=1)
    value, low, high = intervals.bootstrap(stacked, lambda x: (x[:, 2] - x[:, 1]) / (x[:, 1] - x[:, 0]))
    what = f"gain of {found.label} after iteration {after}, as a share of its rise until then"
    return Measurement(value, low, high, what, (found,))


def run_time_ratio(evidence: Evidence, *, algorithm: str, against: str, figures: list[str]) -> Measurement:
    """Measure how many times as long an iteration takes; the interval is from the smallest to the largest panel.

    Only runs of the same processor, number of threads and backend are compared, and models
    with as many hidden units as the paper's. A short run, fewer trials and stand-in data serve as well, so that no
    source is named whose budget would be held against the claim.
    """
    ratios, notes = [], []
    for figure, panel in [(name, panel) for name in figures for panel in evidence.panels(name)]:
        if not {algorithm, against} <= {run.algorithm for run in panel.runs}:
            continue
        if panel.paper_hidden not in (None, panel.hidden):
            notes.append(f"{figure}.{panel.name} left out: {panel.hidden} of {panel.paper_hidden} hidden units")
            continue
        one, other = (evidence.curves(f"{figure}.{panel.name}.{name}") for name in (algorithm, against))
        if machine_of(one.meta) != machine_of(other.meta):
            notes.append(f"{figure}.{panel.name} left out: the two ran on different machines or settings")
            continue
        ratios.append(one.seconds_per_iteration / other.seconds_per_iteration)
    if not ratios:
        raise NotRun("; ".join(notes) or f"no panel of {', '.join(figures)} has both {algorithm} and {against}")
    panels = f"{len(ratios)} panel{'s' * (len(ratios) > 1)}"
    what = f"training time of an iteration, {algorithm} over {against}, mean over {panels} and their range"
    mean = float(np.exp(np.mean(np.log(ratios))))
    return Measurement(mean, min(ratios), max(ratios), what, (), notes=tuple(notes))


def variance_ratio(evidence: Evidence, *, entry: str, against: str) -> Measurement:
    """Measure the ratio of two estimators' variances: over the models, or by the F distribution for a single one."""
    one, other = evidence.entry(entry), evidence.entry(against)
    above, below = one.models["variance"].align(other.models["variance"], join="inner")
    what = f"variance of {one.label} over that of {other.label}"
    if len(above) > 1:
        logs = intervals.student(np.log(above / below))
        return Measurement(*np.exp(logs).tolist(), f"{what}, {len(above)} models", (one, other))
    ratio = intervals.variance_ratio(above.iloc[0], below.iloc[0], min(one.estimates, other.estimates))
    return Measurement(*ratio, what, (one, other))


def bias_difference(evidence: Evidence, *, entry: str, against: str) -> Measurement:
    """Measure the difference of two estimators' debiased squared biases; a single model's interval is conservative."""
    one, other = evidence.entry(entry), evidence.entry(against)
    what = f"debiased bias, {one.label} minus {other.label}, ground truth {one.ground_truth}"
    difference = (one.models["bias_debiased"] - other.models["bias_debiased"]).dropna()
    if len(difference) > 1:
        return Measurement(*intervals.student(difference), f"{what}, {len(difference)} models", (one, other))
    low, high = (one.models[a].iloc[0] - other.models[b].iloc[0] for a, b in (_LOW_HIGH, _LOW_HIGH[::-1]))
    return Measurement(float(difference.iloc[0]), float(low), float(high), what, (one, other))


_LOW_HIGH = ("bias_low", "bias_high")


def order_of_magnitude(evidence: Evidence, *, entry: str, quantity: str, factor: float = 10.0) -> Measurement:
    """Measure an entry of a table, to be held against the published number times and over a factor.

    A bias is taken debiased. A published bias of no more than three times its floor (published variance over number of
    estimates) says only that no bias was seen; then there is no lower bound.
    """
    published = evidence.published(entry, quantity)
    if published is None:
        raise NotRun(f"no published {quantity} of {entry}")
    try:
        found = evidence.entry(entry)
    except NotRun as reason:
        raise NotRun(str(reason), published) from None
    lower, what = published / factor, f"{quantity} of {found.label}"
    if quantity == "bias":
        what = f"debiased bias of {found.label}, ground truth {found.ground_truth}"
        variance = evidence.published(entry, "variance")
        if variance and found.published.estimates and published <= 3 * variance / found.published.estimates:
            lower, what = -np.inf, f"{what}; the published value is at its floor, no bias seen"
    return Measurement(
        *_entry_interval(found, quantity), what, (found,), bounds=(lower, published * factor), published=published
    )


def _entry_interval(found: Entry, quantity: str) -> tuple[float, float, float]:
    """Return a variance or a debiased bias with its interval: over the models, or a single one's own."""
    column = {"bias": "bias_debiased"}.get(quantity, quantity)
    if len(found.models) > 1:
        return intervals.student(found.models[column])
    single = found.models.iloc[0]
    if quantity == "variance":
        return intervals.variance(float(single["variance"]), found.estimates)
    return tuple(float(single[name]) for name in (column, *_LOW_HIGH))


CHECKS: dict[str, Callable[..., Measurement]] = {
    check.__name__: check
    for check in (
        final_difference,
        final_lead,
        lead_after,
        final_spread,
        decline,
        decline_difference,
        gain_after,
        run_time_ratio,
        variance_ratio,
        bias_difference,
        order_of_magnitude,
        *METRIC_CHECKS,
        *SAMPLE_CHECKS,
    )
}
