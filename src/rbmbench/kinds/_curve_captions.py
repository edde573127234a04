# SPDX-License-Identifier: BSD-3-Clause
"""Captions and titles of figures of learning curves, and where they differ from the paper's."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from rbmbench.base.metrics import metric_of
from rbmbench.reporting.frames import RunData
from rbmbench.reporting.references import TITLES
from rbmbench.reporting.words import (
    FEW_PARTICLES,
    count,
    cuts,
    listed,
    missing,
    reductions,
    shared_cuts,
    stand_ins,
    unbroken,
    variant_lines,
    variant_notes,
)

if TYPE_CHECKING:
    from rbmbench.kinds.learning_curves import CurveResults, LearningCurvesSpec, PanelSpec

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


def _counted_in(spec: LearningCurvesSpec) -> str:
    """Return what the horizontal axes of a figure count."""
    return "epoch" if spec.panels[0].epoch else "iteration"


def figure_heading(spec: LearningCurvesSpec, frame: pd.DataFrame) -> list[str]:
    """Return the title of a figure in lines: the scale, what is cut in all panels, other settings, stand-in data."""
    lines = [spec.title, ", ".join([spec.which, *shared_cuts(spec)]), *variant_lines(spec)]
    phrases = stand_ins(frame)
    return [*lines, *[f"stand-in data: {listed(phrases)}"] * bool(phrases)]


def figure_notes(spec: LearningCurvesSpec, results: CurveResults) -> list[str]:
    """Return one sentence for each way in which a figure differs from the paper's."""
    notes = [f"Stand-in data: {phrase}." for phrase in stand_ins(results.summary)]
    for panel in spec.panels:
        shown = [part for part in spec.of_part(panel.name) if any(map(part.changes, panel.metrics))]
        annealed = cuts(spec, panel.name, titled=False, only=ANNEALING)
        less = [words + " of the annealing" * (words in annealed) for words in reductions(shown, titled=False)]
        less += [f"no {label}" for label in missing(spec, panel.name)]
        notes += [f"Panel {panel.name}: {listed(less)}."] if less else []
    notes += [
        f"Panel {panel}: left out of the means: {listed(list(words))}." for panel, words in results.left_out.items()
    ]
    return notes + [f"Panel {panel}: {words}." for panel, words in results.doubts.items()]


def annealing_doubts(certainty: pd.DataFrame) -> dict[str, str]:
    """Return, for each panel of `annealing_certainty`, where so few particles count that its error means little."""
    effective = certainty["least share of particles"] * certainty["particles"]
    few = certainty.assign(effective=effective)[certainty["share converged"].isna() & (effective < FEW_PARTICLES)]
    return {
        panel: "log Z rests on few particles: "
        + ", ".join(unbroken(f"{line.algorithm} {line.effective:.2g}") for line in lines.itertuples())
        for panel, lines in few.groupby("panel")
    }


def annealing_notes(certainty: pd.DataFrame) -> list[str]:
    """Return how sure log Z is, from `annealing_certainty`; nothing where exact."""
    if certainty.empty:
        return []
    notes, tempered, bracketed = [], certainty["share converged"].notna(), certainty["widest interval"].notna()
    if len(annealed := certainty[~tempered & ~bracketed]):
        error, share = annealed["largest standard error"].max(), annealed["least share of particles"].min()
        notes.append(
            f"log Z by annealed importance sampling: standard error at most {error:.2g} nats, effective sample size at"
            f" least {100 * share:.2g} % of the particles."
        )
    if bracketed.any():
        notes.append(
            "log Z by annealed importance sampling in both directions: 95 % intervals at most"
            f" {certainty['widest interval'].max():.2g} nats wide."
        )
    if tempered.any():
        error, share = certainty["largest standard error"][tempered].max(), certainty["share converged"].min()
        notes.append(
            f"log Z by parallel tempering from two starts: standard error at most {error:.2g} nats; {100 * share:.3g} %"
            " of the estimates of a curve, or more, reached the error that was asked for."
        )
    for (particles, temperatures), lines in certainty[tempered].groupby(["particles", "temperatures"]):
        notes.append(
            f"{CIRCLES.capitalize()} of {count(particles)} particles and {count(temperatures)} temperatures; at least"
            f" {particles * lines['least share of particles'].min():.2g} particles count."
        )
    return notes


def band_note(spec: LearningCurvesSpec) -> str:
    """Return what lines and bands of a figure are: "line: mean over trials; band: 10–90 % quantile over trials"."""
    if _one_trial(spec):
        return "line: a single trial"
    band = spec.band
    low, high = band.percent
    note = f"line: mean over trials; band: {low}–{high} % quantile over trials" + "; thin: median" * band.median
    paths = {0: "", 1: "; thin dark line: a single trial"}
    return note + paths.get(band.sample_paths, f"; thin dark lines: {band.sample_paths} single trials")


def curves_caption(spec: LearningCurvesSpec, results: CurveResults) -> str:
    """Return the caption of a figure of learning curves."""
    notes = [*variant_notes(spec), *_likelihood_notes(spec), *_metric_notes(spec, results.summary), _spread_note(spec)]
    if "estimate_low" in results.summary:
        open_ended = bool(np.isneginf(results.summary["estimate_low"]).any())
        notes.append(f"{ESTIMATES.capitalize()}{', without a lower end where few particles count' * open_ended}.")
    notes += [*annealing_notes(results.certainty), *_line_notes(spec), *schedule_notes(spec, results.runs)]
    return " ".join([*notes, *figure_notes(spec, results)])


def _one_trial(spec: LearningCurvesSpec) -> bool:
    return all(panel.trials == 1 for panel in spec.panels)


def _spread_note(spec: LearningCurvesSpec) -> str:
    if _one_trial(spec):
        return "Lines: a single trial."
    band, (low, high) = spec.band, spec.band.percent
    thin = f" Thin dark lines: single trials, {band.sample_paths} a curve." if band.sample_paths else ""
    thin += " Thin dark lines: medians over the trials." * band.median
    return f"Lines: mean over the trials; bands: {low} to {high} % quantile over the trials.{thin}"


def _likelihood_notes(spec: LearningCurvesSpec) -> Iterator[str]:
    summed = [panel for panel in spec.panels if metric_of(panel.metrics[0]).summed]
    if summed:
        where = "" if len(summed) == len(spec.panels) else f" ({_panels(summed)})"
        title = metric_of(summed[0].metrics[0]).title
        yield (
            f"{title[:1].upper()}{title[1:]} of the whole training set against the {_counted_in(spec)}{where}: left"
            " axis, summed over the samples; right axis, mean per sample (the same curve). Higher is better. The"
            " vertical range leaves out the climb of the first iterations; an arrow points at a curve that leaves it"
            " below."
        )


def _metric_notes(spec: LearningCurvesSpec, summary: pd.DataFrame) -> Iterator[str]:
    firsts = {panel.metrics[0] for panel in spec.panels if not metric_of(panel.metrics[0]).summed}
    for name in sorted(firsts):
        shown = _panels([panel for panel in spec.panels if panel.metrics[0] == name])
        when = "at the evaluations" if metric_of(name).momentary else SINCE
        yield f"P{shown[1:]}: {metric_of(name).label}, {when}."
    for place, word in enumerate(FURTHER_LINES, start=1):
        for name in sorted({panel.lined[place] for panel in spec.panels if len(panel.lined) > place}):
            metric = metric_of(name)
            if is_drawn(name, summary):
                yield f"{word.capitalize()}: {metric.label}{_ceiling_note(name)}."
            else:
                yield f"Not drawn, for it is nowhere below {metric.ceiling:g}: {metric.label}."


def is_drawn(name: str, summary: pd.DataFrame) -> bool:
    """Return whether a metric is anywhere below its ceiling."""
    return bool((summary.loc[summary["metric"] == name, "mean"] < metric_of(name).ceiling).any())


def _ceiling_note(name: str) -> str:
    """Return where a metric is drawn, if that is not everywhere."""
    ceiling = metric_of(name).ceiling
    return f", where it is below {ceiling:g}" if math.isfinite(ceiling) else ""


def further_lines(spec: LearningCurvesSpec, summary: pd.DataFrame) -> list[tuple[str, int]]:
    """Return what the lines of further metrics are, with their place in a panel: ("dashed: bound of the bias", 1).

    A metric that is drawn nowhere is left out.
    """
    names = {panel.lined[place]: place for panel in spec.panels for place in range(1, len(panel.lined))}
    return [
        (f"{FURTHER_LINES[place - 1]}: {metric_of(name).title}{_ceiling_note(name)}", place)
        for name, place in names.items()
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
            f"Vertical lines: the {_counted_in(spec)} at which a mean first reaches {100 * share:g} % of the rise from"
            " the common start to the largest mean of the panel; none where it never does."
        )


def schedule_notes(spec: LearningCurvesSpec, runs: Mapping[str, RunData]) -> list[str]:
    """Return the stages of every run that has several, once for those that are alike; ``runs`` are by folder."""
    notes = {}
    for run in (run for panel in spec.panels for run in panel.runs):
        stages = runs[run.folder].meta.get("settings", {}).get("schedule", ())
        words = [
            f"{_estimator(stage)} up to iteration {count(stage['until'])} at rate {stage['rate']:g}" for stage in stages
        ]
        notes |= {f"{run.label}: {', then '.join(words)}.": None} if len(stages) > 1 else {}
    return list(notes)


def _estimator(stage: dict) -> str:
    """Return the estimator of a stage with its options: "cd (k = 10)"."""
    options = ", ".join(f"{name} = {value}" for name, value in sorted(stage["estimator"]["options"].items()))
    return stage["estimator"]["name"] + (f" ({options})" if options else "")


def _panels(panels: list[PanelSpec]) -> str:
    """Return the names of panels in words: "panel a", "panels a and b"."""
    return f"panel{'s' * (len(panels) > 1)} {listed([panel.name for panel in panels])}"
