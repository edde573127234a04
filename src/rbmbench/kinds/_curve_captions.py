# SPDX-License-Identifier: BSD-3-Clause
"""Captions and titles of figures of learning curves, and where they differ from the paper's."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from rbmbench.base.metrics import metric_of
from rbmbench.reporting.curves import CurveResults
from rbmbench.reporting.frames import RunData
from rbmbench.reporting.references import TITLES
from rbmbench.reporting.words import (
    count,
    cuts,
    listed,
    missing,
    reductions,
    shared_cuts,
    stand_ins,
    variant_lines,
    variant_notes,
)

if TYPE_CHECKING:
    from rbmbench.kinds.learning_curves import LearningCurvesSpec

FURTHER_LINES = ("thin, dashed", "thin, dotted")
"""What the lines of a panel's second and third metric are."""
ESTIMATES = "thin bars: 95 % intervals of estimates"
CIRCLES = "open circles, dotted bars: by annealed importance sampling"
ANNEALING = "annealing."
"""What begins the names of settings of annealing."""
REFERENCES = {
    "maximum": "no model has more, that of the frequencies of the rows",
    "true_model": "log-likelihood of the model that the training rows were drawn from",
}
SINCE = "averaged over the iterations since the evaluation before"


def figure_heading(spec: LearningCurvesSpec, frame: pd.DataFrame) -> list[str]:
    """Return the title of a figure in lines: the scale, what is cut in all panels, other settings, stand-in data."""
    lines = [spec.title, ", ".join([spec.which, *shared_cuts(spec)]), *variant_lines(spec)]
    phrases = stand_ins(frame)
    return [*lines, *[f"stand-in data: {listed(phrases)}"] * bool(phrases)]


def figure_notes(spec: LearningCurvesSpec, results: CurveResults) -> Iterator[str]:
    """Yield one sentence for each way in which a figure differs from the paper's."""
    yield from (f"Stand-in data: {phrase}." for phrase in stand_ins(results.summary))
    for panel in spec.panels:
        shown = [part for part in spec.of_part(panel.name) if any(map(part.changes, panel.metrics))]
        annealed = cuts(spec, panel.name, titled=False, only=ANNEALING)
        less = [words + " of the annealing" * (words in annealed) for words in reductions(shown, titled=False)]
        if less := [*less, *(f"no {label}" for label in missing(spec, panel.name))]:
            yield f"Panel {panel.name}: {listed(less)}."
    yield from (f"Panel {name}: left out of the means: {listed(words)}." for name, words in results.left_out.items())
    yield from (f"Panel {name}: {words}." for name, words in results.doubts.items())


def annealing_notes(certainty: pd.DataFrame) -> Iterator[str]:
    """Yield how sure log Z is, from `annealing_certainty`; nothing where exact."""
    is_tempered, is_bracketed = certainty["share converged"].notna(), certainty["widest interval"].notna()
    annealed, tempered = certainty[~is_tempered & ~is_bracketed], certainty[is_tempered]
    if len(annealed):
        error, share = annealed["largest standard error"].max(), annealed["least share of particles"].min()
        yield (
            f"log Z by annealed importance sampling: standard error at most {error:.2g} nats, effective sample size at"
            f" least {100 * share:.2g} % of the particles."
        )
    if is_bracketed.any():
        yield (
            "log Z by annealed importance sampling in both directions: 95 % intervals at most"
            f" {certainty['widest interval'].max():.2g} nats wide."
        )
    if len(tempered):
        error, share = tempered["largest standard error"].max(), certainty["share converged"].min()
        yield (
            f"log Z by parallel tempering from two starts: standard error at most {error:.2g} nats; {100 * share:.3g} %"
            " of the estimates of a curve, or more, reached the error that was asked for."
        )
    for (particles, temperatures), lines in tempered.groupby(["particles", "temperatures"]):
        yield (
            f"{CIRCLES.capitalize()} of {count(particles)} particles and {count(temperatures)} temperatures; at least"
            f" {particles * lines['least share of particles'].min():.2g} particles count."
        )


def _is_single(spec: LearningCurvesSpec) -> bool:
    return all(panel.trials == 1 for panel in spec.panels)


def band_note(spec: LearningCurvesSpec) -> str:
    """Return what lines and bands of a figure are: "line: mean over trials; band: 10–90 % quantile over trials"."""
    if _is_single(spec):
        return "line: a single trial"
    band, (low, high) = spec.band, spec.band.percent
    note = f"line: mean over trials; band: {low}–{high} % quantile over trials" + "; thin: median" * band.median
    paths = {0: "", 1: "; thin dark line: a single trial"}
    return note + paths.get(band.sample_paths, f"; thin dark lines: {band.sample_paths} single trials")


def curves_caption(spec: LearningCurvesSpec, results: CurveResults) -> str:
    """Return the caption of a figure of learning curves."""
    notes = [*variant_notes(spec), *_metric_notes(spec, results.summary), _spread_note(spec)]
    if "estimate_low" in results.summary:
        open_ended = bool(np.isneginf(results.summary["estimate_low"]).any())
        notes.append(f"{ESTIMATES.capitalize()}{', without a lower end where few particles count' * open_ended}.")
    notes += [*annealing_notes(results.certainty), *_line_notes(spec), *schedule_notes(spec, results.runs)]
    return " ".join([*notes, *figure_notes(spec, results)])


def _spread_note(spec: LearningCurvesSpec) -> str:
    if _is_single(spec):
        return "Lines: a single trial."
    band, (low, high) = spec.band, spec.band.percent
    thin = f" Thin dark lines: single trials, {band.sample_paths} a curve." if band.sample_paths else ""
    thin += " Thin dark lines: medians over the trials." * band.median
    return f"Lines: mean over the trials; bands: {low} to {high} % quantile over the trials.{thin}"


def _metric_notes(spec: LearningCurvesSpec, summary: pd.DataFrame) -> Iterator[str]:
    panels_of: dict[str, list[str]] = {}  # by the metric that they show first
    for panel in spec.panels:
        panels_of.setdefault(panel.metrics[0], []).append(panel.name)
    summed = [panel.name for panel in spec.panels if metric_of(panel.metrics[0]).summed]
    if summed:
        where = "" if len(summed) == len(spec.panels) else f" ({_panels(summed)})"
        title = next(metric_of(name).title for name in panels_of if metric_of(name).summed)
        yield (
            f"{title[:1].upper()}{title[1:]} of the whole training set against the {spec.counted_in}{where}: left"
            " axis, summed over the samples; right axis, mean per sample (the same curve). Higher is better. The"
            " vertical range leaves out the climb of the first iterations; an arrow points at a curve that leaves it"
            " below."
        )
    for name in sorted(name for name in panels_of if not metric_of(name).summed):
        when = "at the evaluations" if metric_of(name).momentary else SINCE
        yield f"P{_panels(panels_of[name])[1:]}: {metric_of(name).label}, {when}."
    further = {(place, name) for panel in spec.panels for place, name in enumerate(panel.lined) if place}
    for place, name in sorted(further):
        metric = metric_of(name)
        if is_drawn(name, summary):
            yield f"{FURTHER_LINES[place - 1].capitalize()}: {metric.label}{_ceiling_note(name)}."
        else:
            yield f"Not drawn, for it is nowhere below {metric.ceiling:g}: {metric.label}."


def is_drawn(name: str, summary: pd.DataFrame) -> bool:
    """Return whether a metric is anywhere below its ceiling."""
    return bool((summary.loc[summary["metric"] == name, "mean"] < metric_of(name).ceiling).any())


def _ceiling_note(name: str) -> str:
    ceiling = metric_of(name).ceiling
    return f", where it is below {ceiling:g}" if math.isfinite(ceiling) else ""


def further_lines(spec: LearningCurvesSpec, summary: pd.DataFrame) -> list[tuple[str, int]]:
    """Return what the lines of further metrics are, with their place in a panel: ("dashed: bound of the bias", 1).

    A metric that is drawn nowhere is left out.
    """
    further = {name: place for panel in spec.panels for place, name in enumerate(panel.lined) if place}
    return [
        (f"{FURTHER_LINES[place - 1]}: {metric_of(name).title}{_ceiling_note(name)}", place)
        for name, place in further.items()
        if is_drawn(name, summary)
    ]


def marked_shares(spec: LearningCurvesSpec) -> list[float]:
    """Return the shares of the largest rise whose first reaching is marked."""
    return list(dict.fromkeys(panel.mark for panel in spec.panels if panel.mark))


def _line_notes(spec: LearningCurvesSpec) -> Iterator[str]:
    for name in dict.fromkeys(name for panel in spec.panels for name in panel.references):
        yield f"Horizontal line, {TITLES[name]}: {REFERENCES[name]}."
    values = [f"{value.label}, {value.value:g}" for panel in spec.panels for value in panel.printed]
    if values:
        yield f"Hollow marks: printed in the paper ({'; '.join(dict.fromkeys(values))})."
    for share in marked_shares(spec):
        yield (
            f"Vertical lines: the {spec.counted_in} at which a mean first reaches {100 * share:g} % of the rise from"
            " the common start to the largest mean of the panel; none where it never does."
        )


def schedule_notes(spec: LearningCurvesSpec, runs: Mapping[str, RunData]) -> Iterator[str]:
    """Yield the stages of every run that has several, once for those that are alike; ``runs`` are by folder."""
    notes: dict[str, None] = {}
    for run in (run for panel in spec.panels for run in panel.runs):
        words = []
        for stage in runs[run.folder].meta.get("settings", {}).get("schedule", ()):
            options = ", ".join(f"{name} = {value}" for name, value in sorted(stage["estimator"]["options"].items()))
            estimator = stage["estimator"]["name"] + f" ({options})" * bool(options)
            words.append(f"{estimator} up to iteration {count(stage['until'])} at rate {stage['rate']:g}")
        notes |= {f"{run.label}: {', then '.join(words)}.": None} if len(words) > 1 else {}
    yield from notes


def _panels(names: list[str]) -> str:
    """Return the names of panels in words: "panel a", "panels a and b"."""
    return f"panel{'s' * (len(names) > 1)} {listed(names)}"
