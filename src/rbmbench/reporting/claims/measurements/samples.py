# SPDX-License-Identifier: BSD-3-Clause
"""Measurements of streams of samples: indirect sampling likelihoods, speed of mixing, and costs of samples.

Likelihoods are means per row, in nats.
"""

from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from rbmbench.base.errors import SettingsError
from rbmbench.planning.specs import Source
from rbmbench.reporting.claims import intervals
from rbmbench.reporting.claims.arguments import SampleCount, SampleCurveBesideName, SampleCurveName, SamplerOption
from rbmbench.reporting.claims.evidence import Evidence, NotRun
from rbmbench.reporting.claims.measurements._base import POSITIVE, Level, Measurement, measures

IslStatistic = Literal["final", "training_set", "lead_on_training_set", "decline"]


@measures(**{f"isl_{name}": {"statistic": name} for name in get_args(IslStatistic)})
def isl(evidence: Evidence, *, curve: SampleCurveName, statistic: IslStatistic) -> Measurement:
    """Measure the sampling likelihood of the test rows after all samples, its lead on the training set, or its decline.

    A decline is the fall from the maximum. Intervals are Student's over the trials. The likelihood with the training
    rows as samples, ``training_set``, is one number.
    """
    source = evidence.of(curve, "isl_curves")
    values, of_rows, words = source.final, source.training_set, f"sampling likelihood of {source.label}"
    if statistic == "training_set":
        return Measurement(of_rows, of_rows, of_rows, "sampling likelihood of the training set, nats a row", (source,))
    where: dict[str, Any] = {"window": (source.frame.columns[-1],) * 2, "level": Level()}
    if statistic == "final":
        words += f" after {source.panel.samples_count} samples"
    elif statistic == "lead_on_training_set":
        values, words = values - of_rows, f"{words} minus that of the training set"
        where["level"] = Level(of_rows)
    else:
        values, words = source.frame.max(axis=1) - values, f"fall of the {words} from its maximum to its end"
        where = {"possible": POSITIVE, "level": Level(float(source.frame.mean().max()), -1.0)}
    return Measurement(*intervals.student(values), f"{words}, nats a row", (source,), **where)


@measures()
def isl_difference(
    evidence: Evidence, *, curve: SampleCurveName, against: SampleCurveName, samples: SampleCount | None = None
) -> Measurement:
    """Measure the difference of two likelihoods after a number of samples, by default all, trial by trial."""
    source, other = evidence.of(curve, "isl_curves"), evidence.of(against, "isl_curves")
    at = samples or min(source.frame.columns[-1], other.frame.columns[-1])
    difference = (_at(source, at) - _at(other, at)).dropna()
    names = [source.label, other.label]
    if source.label == other.label:
        names = [f"{item.label} of {item.panel.runs[0].label} at rate {item.panel.rate:g}" for item in (source, other)]
    phrase = f"sampling likelihood after {at} samples, {' minus '.join(names)}, nats a row"
    where = {"window": (at, at), "level": Level(float(_at(other, at).mean()))}
    return Measurement(*intervals.student(difference), f"{phrase}, {len(difference)} trials", (source, other), **where)


@measures()
def isl_growth(evidence: Evidence, *, curve: SampleCurveName, samples: SampleCount) -> Measurement:
    """Measure the rise of a likelihood from a number of samples to all, with Student's interval over the trials."""
    source = evidence.of(curve, "isl_curves")
    before, end = _at(source, samples), source.frame.columns[-1]
    phrase = f"rise of the sampling likelihood of {source.label} from {samples} to {end} samples, nats a row"
    where = {"window": (samples, end), "level": Level(float(before.mean()))}
    return Measurement(*intervals.student(source.final - before), phrase, (source,), **where)


@measures()
def mixing_speed(evidence: Evidence, *, curve: SampleCurveName, against: SampleCurveName) -> Measurement:
    """Measure the ratio of the numbers of samples that ``against`` and ``curve`` need for the same likelihood.

    The likelihood is that of ``against`` after all samples. Numbers of samples are interpolated in logarithm; of a
    curve that does not reach the likelihood all samples are counted, and the ratio is too large. The interval is
    Student's, of the logarithms over the trials.
    """
    source, other = evidence.of(curve, "isl_curves"), evidence.of(against, "isl_curves")
    trials = source.frame.index.intersection(other.frame.index)
    logs = [np.log(other.frame.columns[-1] / _reached(source, other.final[trial], trial)) for trial in trials]
    phrase = f"samples of {other.label} over those of {source.label} for the likelihood that {other.label} ends with"
    late = [trial for trial in trials if source.final[trial] < other.final[trial]]
    notes = (f"{source.label} does not get there in {len(late)} of {len(trials)} trials",) if late else ()
    ratio = np.exp(intervals.student(np.array(logs))).tolist()
    return Measurement(*ratio, phrase, (source, other), POSITIVE, notes=notes)


@measures()
def sample_cost_ratio(evidence: Evidence, *, curve: SampleCurveName, against: SampleCurveBesideName) -> Measurement:
    """Measure the ratio of the processor times of a sample, as the geometric mean over k; the interval is the range."""
    source, other = evidence.of(curve, "isl_curves"), evidence.of(against, "isl_curves")
    if source.panel.samples != other.panel.samples:
        raise SettingsError(f"claims: {curve}, {against}: must be of one panel, drawn in one job")
    steps = sorted(set(source.seconds) & set(other.seconds))
    if not steps:
        raise NotRun(f"too few samples of {curve} or {against} to time them")
    interval = intervals.range_of([source.seconds[k] / other.seconds[k] for k in steps])
    phrase = f"processor time of a sample, {source.label} over {other.label}, mean over k = "
    phrase += f"{', '.join(map(str, steps))} and their range"
    return Measurement(*interval, phrase, (source, other), POSITIVE)


@measures()
def chosen_option_ratio(
    evidence: Evidence, *, curve: SampleCurveName, against: SampleCurveName, option: SamplerOption
) -> Measurement:
    """Measure the ratio of an option's chosen values; the interval is the range over the choices for single models.

    The chosen setting of a sampler has the best mean validation likelihood after all samples. Values are those of a
    grid, so that a ratio is accurate to half a step of the two grids.
    """
    source, other = evidence.of(curve, "isl_curves"), evidence.of(against, "isl_curves")
    pairs = [(source.chosen, other.chosen), *zip(source.choices, other.choices, strict=False)]
    if not all(options[option] > 0 for pair in pairs for options in pair):
        raise NotRun(f"{option} is chosen to be 0 by {curve} or {against}: no ratio")
    ratios = [first[option] / second[option] for first, second in pairs]
    chosen = f"{source.chosen[option]:g} of {source.label} over {other.chosen[option]:g} of {other.label}"
    phrase = f"chosen {option}, {chosen}, and the range over the choices of single models"
    return Measurement(ratios[0], min(ratios), max(ratios), phrase, (source, other), POSITIVE)


def _at(source: Source, samples: int) -> pd.Series:
    """Return the likelihood at a number of samples by trial, interpolated in logarithm."""
    numbers = source.frame.columns.to_numpy(dtype=float)
    if not numbers[0] <= samples <= numbers[-1]:
        raise NotRun(f"{source.label} has {numbers[0]:.0f} to {numbers[-1]:.0f} samples, the claim is on {samples}")
    values = [np.interp(np.log(samples), np.log(numbers), row) for row in source.frame.to_numpy()]
    return pd.Series(values, source.frame.index)


def _reached(source: Source, level: float, trial: int) -> float:
    """Return the number of samples at which a trial first reaches a likelihood, or all samples if it does not."""
    numbers = np.log(source.frame.columns.to_numpy(dtype=float))
    values = np.maximum.accumulate(source.frame.loc[trial].to_numpy())
    above = int(np.searchsorted(values, level))
    if above in (0, len(values)):
        return float(np.exp(numbers[min(above, len(values) - 1)]))
    share = (level - values[above - 1]) / (values[above] - values[above - 1])
    return float(np.exp(numbers[above - 1] + share * (numbers[above] - numbers[above - 1])))
