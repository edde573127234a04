# SPDX-License-Identifier: BSD-3-Clause
"""Measurements of tables and of an arena: bias and variance of estimators, times of runs and of iterations, ranks."""

from typing import Annotated, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from rbmbench.planning.specs import Source
from rbmbench.reporting.claims import intervals
from rbmbench.reporting.claims.arguments import (
    AlgorithmName,
    EntryName,
    Factor,
    FigureName,
    PublishedEntryName,
    RankName,
    StepAlgorithmName,
    StepTableName,
    TableName,
    TimedAlgorithmName,
)
from rbmbench.reporting.claims.evidence import Evidence, NotRun
from rbmbench.reporting.claims.measurements._base import POSITIVE, Measurement, measures
from rbmbench.reporting.contests import COSTS, over_contests
from rbmbench.reporting.frames import seconds_per_iteration, timed_alike

Entries = Annotated[list[EntryName], Field(min_length=3)]
Figures = Annotated[list[FigureName], Field(min_length=1)]


@measures()
def variance_ratio(evidence: Evidence, *, entry: EntryName, against: EntryName) -> Measurement:
    """Measure the ratio of the variances of two estimators.

    The interval is Student's for the logarithms of the ratios; for a single model that of the F distribution.
    """
    source, other = evidence.of(entry, "bias_variance"), evidence.of(against, "bias_variance")
    ratio, models = _variance_ratio(source, other)
    phrase = f"variance of {source.label} over that of {other.label}" + (f", {models} models" if models > 1 else "")
    return Measurement(*ratio, phrase, (source, other), POSITIVE)


def _variance_ratio(source: Source, other: Source) -> tuple[intervals.Interval, int]:
    """Return the ratio of two variances with its interval, and the number of models."""
    above, below = source.frame["variance"].align(other.frame["variance"], join="inner")
    if len(above) > 1:
        ratio, low, high = np.exp(intervals.student(np.log(above / below))).tolist()
        return (ratio, low, high), len(above)
    fewest = min(source.budget["estimates"], other.budget["estimates"])
    return intervals.variance_ratio(above.iloc[0], below.iloc[0], fewest), len(above)


@measures()
def usual_variance_ratio(evidence: Evidence, *, entries: Entries, against: Entries) -> Measurement:
    """Measure the median of the ratios of the variances of several pairs of estimators.

    The pairs are in order: the first of ``entries`` beside the first of ``against``. A ratio is the geometric mean over
    the models. The pairs are all that the claim is on, no sample of others: the interval is the median of the lower and
    of the upper ends of the intervals of the ratios.
    """
    if len(entries) != len(against):
        raise NotRun(f"must have as many entries in against, got {len(entries)} and {len(against)}")
    sides = [[evidence.of(name, "bias_variance") for name in names] for names in (entries, against)]
    ratios = np.array([_variance_ratio(source, other)[0] for source, other in zip(*sides, strict=True)])
    smallest, largest = ratios[:, 0].min(), ratios[:, 0].max()
    phrase = f"median ratio of the variances of {len(ratios)} pairs, from {smallest:.3g} to {largest:.3g}"
    return Measurement(*np.median(ratios, axis=0).tolist(), phrase, (*sides[0], *sides[1]), POSITIVE)


@measures(bias_difference={"contrast": "difference"}, bias_ratio={"contrast": "ratio"})
def bias_contrast(
    evidence: Evidence, *, entry: EntryName, against: EntryName, contrast: Literal["difference", "ratio"]
) -> Measurement:
    """Measure the difference of the debiased squared biases of two estimators, or the ratio of their means over models.

    The interval is over the models; for a difference of a single model, the difference of the two intervals, which is
    wide. The ratio is about 0 for an estimator without bias, and may be negative.
    """
    source, other = evidence.of(entry, "bias_variance"), evidence.of(against, "bias_variance")
    biases = pd.concat([source.frame["bias_debiased"], other.frame["bias_debiased"]], axis=1).dropna().to_numpy()
    words, models = "minus" if contrast == "difference" else "over", f", {len(biases)} models"
    phrase = f"debiased bias, {source.label} {words} {other.label}, ground truth {source.ground_truth}"
    if contrast == "ratio":
        interval = intervals.of_means(biases, lambda means: means[:, 0] / means[:, 1])
    elif len(biases) > 1:
        interval = intervals.student(biases[:, 0] - biases[:, 1])
    else:
        low, high = (source.frame[a].iloc[0] - other.frame[b].iloc[0] for a, b in (_LOW_HIGH, _LOW_HIGH[::-1]))
        interval, models = (float(biases[0, 0] - biases[0, 1]), float(low), float(high)), ""
    return Measurement(*interval, phrase + models, (source, other))


_LOW_HIGH = ("bias_low", "bias_high")
_COLUMNS = {"bias": "bias_debiased", "variance": "variance"}


@measures(sets_range=True)
def order_of_magnitude(
    evidence: Evidence, *, entry: PublishedEntryName, quantity: Literal["bias", "variance"], factor: Factor = 10.0
) -> Measurement:
    """Measure a variance or a debiased bias; the range is the published value divided and multiplied by a factor.

    A published bias of at most three times its floor, the published variance over the number of estimates, cannot be
    distinguished from zero; the range has no lower end then. The interval is over the models, or of a single model.
    """
    source, published = _entry_and_published(evidence, entry, quantity)
    lower, phrase = published / factor, f"{quantity} of {source.label}"
    if quantity == "bias":
        phrase = f"debiased bias of {source.label}, ground truth {source.ground_truth}"
        variance = evidence.published(entry, "variance")
        estimates = source.printed_estimates
        if variance and estimates and published <= 3 * variance / estimates:
            lower, phrase = -np.inf, f"{phrase}; the published value is at its floor, no bias seen"
    bounds, column, single = (lower, published * factor), _COLUMNS[quantity], source.frame.iloc[0]
    if len(source.frame) > 1:
        interval = intervals.student(source.frame[column])
    elif quantity == "variance":
        interval = intervals.variance(float(single["variance"]), source.budget["estimates"])
    else:
        interval = tuple(float(single[name]) for name in (column, *_LOW_HIGH))
    return Measurement(*interval, phrase, (source,), POSITIVE, bounds, published)


@measures(sets_range=True)
def typical_model(
    evidence: Evidence, *, entry: PublishedEntryName, quantity: Literal["bias", "variance"]
) -> Measurement:
    """Measure the median over the trained models of a variance or a debiased bias, with its exact interval.

    The range contains the medians for which the published value lies between the 5 % and the 95 % quantile of the
    models, with the measured ratios of these to the median; it has no upper end where the 5 % quantile is not positive,
    as a debiased bias may be.
    """
    source, published = _entry_and_published(evidence, entry, quantity)
    values = source.frame[_COLUMNS[quantity]]
    low, median, high = np.quantile(values, [0.05, 0.5, 0.95])
    phrase = f"median {quantity} of {source.label} over {len(values)} models, {low:.3g} to {high:.3g} for nine in ten"
    if not median > 0:
        raise NotRun(f"the median {quantity} of {source.label} is {median:.3g}, which has no ratio to a printed one")
    bounds = published * median / high, published * median / low if low > 0 else np.inf
    return Measurement(*intervals.quantile(values, 0.5), phrase, (source,), POSITIVE, bounds, published)


def _entry_and_published(evidence: Evidence, name: str, quantity: str) -> tuple[Source, float]:
    published = evidence.published(name, quantity)
    if published is None:
        raise NotRun(f"no published {quantity} of {name}")
    try:
        return evidence.of(name, "bias_variance"), published
    except NotRun as reason:
        raise NotRun(str(reason), published) from None


@measures()
def step_time_ratio(
    evidence: Evidence, *, table: StepTableName, algorithm: StepAlgorithmName, against: StepAlgorithmName
) -> Measurement:
    """Measure the ratio of the times of an iteration of two algorithms that are timed side by side.

    It is the geometric mean over the rows that have both, see `intervals.ratio_of_times`. Fewer trials and stand-in
    data do not matter here.
    """
    source = evidence.of(table, "step_times")
    rows = [source.frame[name] for name in source.frame.columns.unique(0)]
    pairs = [(row[algorithm], row[against]) for row in rows if {algorithm, against} <= {*row}]
    if not pairs:
        raise NotRun(f"no row of {table} has both {algorithm} and {against}")
    rounds = f"{len(source.frame)} rounds of {len(pairs)} row{'s' * (len(pairs) > 1)}"
    phrase = f"processor time of an iteration, {algorithm} over {against}, mean over {rounds}"
    return Measurement(*intervals.ratio_of_times(pairs), phrase, (source,), POSITIVE)


@measures()
def run_time_ratio(
    evidence: Evidence, *, figures: Figures, algorithm: AlgorithmName, against: AlgorithmName
) -> Measurement:
    """Measure the ratio of the times of an iteration in runs, the geometric mean over panels, with their range.

    It is for algorithms whose iterations become longer during training, such as UCD; for others see `step_time_ratio`.
    Only runs on the same processor, with the same number of threads and on the same backend are compared, and models
    with as many hidden units as the paper's. Short runs, few trials and stand-in data do not matter here: no sources
    are returned, so that their budgets are not compared with the requirements of the claim.
    """
    ratios, notes = [], []
    specs = {name: evidence.spec(name) for name in figures}
    for figure, panel in [(name, panel) for name, spec in specs.items() if spec for panel in spec.panels]:
        if not {algorithm, against} <= {run.algorithm for run in panel.runs}:
            continue
        if (hidden := specs[figure].as_published("hidden", panel.hidden, panel.name)) != panel.hidden:
            notes.append(f"{figure}.{panel.name} left out: {panel.hidden} of {hidden} hidden units")
            continue
        source, other = (evidence.of(f"{figure}.{panel.name}.{name}") for name in (algorithm, against))
        if timed_alike(source.meta) != timed_alike(other.meta):
            notes.append(f"{figure}.{panel.name} left out: the two ran on different machines, settings or trials")
            continue
        ratios.append(seconds_per_iteration(source.meta) / seconds_per_iteration(other.meta))
    if not ratios:
        raise NotRun("; ".join(notes) or f"no panel of {', '.join(figures)} has both {algorithm} and {against}")
    panels = f"{len(ratios)} panel{'s' * (len(ratios) > 1)}"
    phrase = f"training time of an iteration, {algorithm} over {against}, mean over {panels} and their range"
    return Measurement(*intervals.range_of(ratios), phrase, (), POSITIVE, notes=tuple(notes))


@measures(sets_range=True)
def run_time_magnitude(
    evidence: Evidence, *, table: TableName, algorithm: TimedAlgorithmName, factor: Factor = 10.0
) -> Measurement:
    """Measure a ratio of a table of run times; the range is the published ratio divided and multiplied by a factor.

    It is one number of one machine, without an interval.
    """
    source = evidence.of(table, "run_times")
    lines = source.frame[(source.frame["algorithm"] == algorithm) & ~source.frame["with_log_likelihood"]]
    line = next(lines.dropna(subset="ratio").itertuples(), None)
    if line is None:
        raise NotRun(f"{table} has no ratio of {algorithm}")
    value, published = float(line.ratio), float(line.published_ratio)
    if np.isnan(published):
        raise NotRun(f"no published time of {algorithm} in {table}")
    phrase = f"training time of {line.label} over that of the reference of {table}"
    bounds = published / factor, published * factor
    return Measurement(value, value, value, phrase, (source,), POSITIVE, bounds, published)


@measures()
def rank_difference(
    evidence: Evidence, *, ranks: RankName, against: RankName, cost: Literal["products", "seconds"] = "products"
) -> Measurement:
    """Measure the mean rank of one algorithm minus that of another over the contests in which both take part.

    Below zero the first one is better. The interval is Student's over the contests, or over the trials of fewer than
    three contests. Contests without ranks at this cost are omitted.
    """
    source, other = (evidence.of(name, "arena_ranks", cost=cost) for name in (ranks, against))
    of_trials = [item.frame.set_index(["contest", "trial"])["rank"] for item in (source, other)]
    differences = (of_trials[0] - of_trials[1]).dropna()
    if differences.empty:
        raise NotRun(f"no contest has ranks at equal {COSTS[cost]}: algorithms have no evaluation near the budget")
    contests = ", ".join(differences.index.unique("contest"))
    phrase = f"mean rank of {source.label} minus that of {other.label} at equal {COSTS[cost]} ({contests})"
    return Measurement(*over_contests(differences), phrase, (source, other))
