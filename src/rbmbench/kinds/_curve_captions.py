# SPDX-License-Identifier: BSD-3-Clause
"""Captions and titles of figures of learning curves, and where they differ from the paper's."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from rbmbench.base.metrics import metric_of
from rbmbench.planning.specs import FigureSpec, Trained
from rbmbench.reporting.frames import trials_left_out
from rbmbench.reporting.references import TITLES
from rbmbench.reporting.words import (
    FEW_PARTICLES,
    count,
    listed,
    reductions,
    stand_ins,
    unbroken,
    variant_lines,
    variant_notes,
)

FURTHER_LINES = ("dashed", "dotted")
"""What the lines of a panel's second and third metric are."""
ESTIMATES = "thin bars: 95 % intervals of estimates"
SINCE = "averaged over the iterations since the evaluation before"


def counted_in(spec: FigureSpec) -> str:
    """Return what the horizontal axes of a figure count: "epoch" or "iteration"."""
    return "epoch" if spec.panels[0].epoch else "iteration"


def annealing_reductions(spec: FigureSpec, panel: Trained) -> list[str]:
    """Return what the annealing of a panel has less of than the paper's; nothing where log Z is exact."""
    differences = spec.of_part(panel.name)
    return reductions((less for less in differences if less.setting.startswith("annealing.")), titled=False)


def without(spec: FigureSpec, panel: Trained) -> list[str]:
    """Return the labels of the paper's curves that a panel lacks."""
    parts = [part for part in spec.of_part(panel.name) if part.setting == "algorithm"]
    return [part.published for part in parts if part.value is None]


def left_out(frame: pd.DataFrame) -> dict[str, list[str]]:
    """Return, for each panel, the trials that are left out of the means: "CD-1 trial 3 (not finite at 600)"."""
    phrases: dict[str, list[str]] = {}
    for trial in trials_left_out(frame).itertuples():
        phrases.setdefault(trial.panel, []).append(
            f"{trial.label} trial {trial.trial} (not finite at iteration {count(trial.iteration)})"
        )
    return phrases


def shared_reductions(spec: FigureSpec) -> list[str]:
    """Return what all of several panels have less of than the paper's."""
    if len(spec.panels) < 2:
        return []
    first, *others = [reductions(spec.of_part(panel.name)) for panel in spec.panels]
    return [phrase for phrase in first if all(phrase in other for other in others)]


def own_reductions(spec: FigureSpec, panel: Trained) -> list[str]:
    """Return what a panel has less of than the paper's, but for what all panels share."""
    shared = shared_reductions(spec)
    return [phrase for phrase in reductions(spec.of_part(panel.name)) if phrase not in shared]


def figure_title(spec: FigureSpec, frame: pd.DataFrame) -> str:
    """Return the title of a figure: what it is, the scale, what is cut in all panels, other settings, stand-in data."""
    lines = [spec.title, ", ".join([spec.which, *shared_reductions(spec)]), *variant_lines(spec)]
    found = stand_ins(frame)
    return "\n".join([*lines, f"stand-in data: {listed(found)}"] if found else lines)


def figure_notes(spec: FigureSpec, frame: pd.DataFrame, facts: Any) -> list[str]:
    """Return one sentence for each way in which a figure differs from the paper's."""
    notes = [f"Stand-in data: {phrase}." for phrase in stand_ins(frame)]
    for panel in spec.panels:
        shown = [part for part in spec.of_part(panel.name) if any(map(part.changes, panel.metrics))]
        annealed = annealing_reductions(spec, panel)
        less = [
            f"{words} of the annealing" if words in annealed else words for words in reductions(shown, titled=False)
        ]
        less += [f"no {label}" for label in without(spec, panel)]
        notes += [f"Panel {panel.name}: {listed(less)}."] if less else []
    notes += [
        f"Panel {panel}: left out of the means: {listed(list(words))}." for panel, words in facts.left_out.items()
    ]
    return notes + [f"Panel {panel}: {words}." for panel, words in facts.doubts.items()]


def annealing_doubts(certainty: pd.DataFrame) -> dict[str, str]:
    """Return, for each panel of `annealing_certainty`, where so few particles count that its error means little."""
    effective = certainty["least share of particles"] * certainty["particles"]
    few = certainty.assign(effective=effective)[effective < FEW_PARTICLES]
    return {
        panel: "log Z rests on few particles: "
        + ", ".join(unbroken(f"{line.algorithm} {line.effective:.2g}") for line in lines.itertuples())
        for panel, lines in few.groupby("panel")
    }


def annealing_notes(certainty: pd.DataFrame) -> list[str]:
    """Return how sure log Z is, from `annealing_certainty`; nothing where exact."""
    if certainty.empty:
        return []
    notes, tempered = [], certainty["share converged"].notna()
    if len(annealed := certainty[~tempered]):
        error, share = annealed["largest standard error"].max(), annealed["least share of particles"].min()
        notes.append(
            f"log Z by annealed importance sampling: standard error at most {error:.2g} nats, effective sample size at"
            f" least {100 * share:.2g} % of the particles."
        )
    if tempered.any():
        error, share = certainty["largest standard error"][tempered].max(), certainty["share converged"].min()
        notes.append(
            f"log Z by parallel tempering from two starts: standard error at most {error:.2g} nats; {100 * share:.3g} %"
            " of the estimates of a curve, or more, reached the error that was asked for."
        )
    return notes


def band_note(spec: FigureSpec) -> str:
    """Return what lines and bands of a figure are: "line: mean over trials; band: 10–90 % quantile over trials"."""
    if _one_trial(spec):
        return "line: a single trial"
    band = spec.band
    low, high = band.percent
    note = f"line: mean over trials; band: {low}–{high} % quantile over trials" + "; thin: median" * band.median
    paths = {0: "", 1: "; thin dark line: a single trial"}
    return note + paths.get(band.sample_paths, f"; thin dark lines: {band.sample_paths} single trials")


def curves_caption(spec: FigureSpec, summary: pd.DataFrame, facts: Any) -> str:
    """Return the caption of a figure of learning curves; arguments as those of `_curve_panels.draw_curves`."""
    notes = [*variant_notes(spec), *_likelihood_notes(spec), *_metric_notes(spec, summary), _spread_note(spec)]
    if "estimate_low" in summary:
        open_ended = bool(np.isneginf(summary["estimate_low"]).any())
        notes.append(f"{ESTIMATES.capitalize()}{', without a lower end where few particles count' * open_ended}.")
    notes += facts.annealing
    notes += [*_line_notes(spec), *facts.stages, *figure_notes(spec, summary, facts)]
    return " ".join(notes)


def _one_trial(spec: FigureSpec) -> bool:
    return all(panel.trials == 1 for panel in spec.panels)


def _spread_note(spec: FigureSpec) -> str:
    if _one_trial(spec):
        return "Lines: a single trial."
    low, high = spec.band.percent
    median = " Thin dark lines: medians over the trials." * spec.band.median
    single = f" Thin dark lines: single trials, {spec.band.sample_paths} a curve." if spec.band.sample_paths else ""
    return f"Lines: mean over the trials; bands: {low} to {high} % quantile over the trials.{single}{median}"


def _likelihood_notes(spec: FigureSpec) -> list[str]:
    summed = [panel for panel in spec.panels if metric_of(panel.metrics[0]).summed]
    if not summed:
        return []
    where = "" if len(summed) == len(spec.panels) else f" ({_panels(summed)})"
    title = metric_of(summed[0].metrics[0]).title
    return [
        f"{title[:1].upper()}{title[1:]} of the whole training set against the {counted_in(spec)}{where}: left"
        " axis, summed over the samples; right axis, mean per sample (the same curve). Higher is better. The vertical"
        " range leaves out the climb of the first iterations; an arrow points at a curve that leaves it below."
    ]


def _metric_notes(spec: FigureSpec, summary: pd.DataFrame) -> list[str]:
    firsts = {panel.metrics[0] for panel in spec.panels if not metric_of(panel.metrics[0]).summed}
    notes = [
        f"{_panels([p for p in spec.panels if p.metrics[0] == name], capital=True)}: {metric_of(name).label},"
        f" {'at the evaluations' if metric_of(name).momentary else SINCE}."
        for name in sorted(firsts)
    ]
    for place, word in enumerate(FURTHER_LINES, start=1):
        names = sorted({panel.metrics[place] for panel in spec.panels if len(panel.metrics) > place})
        notes += [
            f"{word.capitalize()}: {metric_of(name).label}{_ceiling_note(name)}."
            if is_drawn(name, summary)
            else f"Not drawn, for it is nowhere below {metric_of(name).ceiling:g}: {metric_of(name).label}."
            for name in names
        ]
    return notes


def is_drawn(name: str, summary: pd.DataFrame) -> bool:
    """Return whether a metric is anywhere below its ceiling."""
    return bool((summary.loc[summary["metric"] == name, "mean"] < metric_of(name).ceiling).any())


def _ceiling_note(name: str) -> str:
    """Return where a metric is drawn, if that is not everywhere."""
    ceiling = metric_of(name).ceiling
    return f", where it is below {ceiling:g}" if math.isfinite(ceiling) else ""


def further_lines(spec: FigureSpec, summary: pd.DataFrame) -> list[tuple[str, int]]:
    """Return what the lines of further metrics are, with their place in a panel: ("dashed: bound of the bias", 1).

    A metric that is drawn nowhere is left out.
    """
    names = {panel.metrics[place]: place for panel in spec.panels for place in range(1, len(panel.metrics))}
    return [
        (f"{FURTHER_LINES[place - 1]}: {metric_of(name).title}{_ceiling_note(name)}", place)
        for name, place in names.items()
        if is_drawn(name, summary)
    ]


def mark_words(spec: FigureSpec) -> list[str]:
    """Return what the vertical lines of a figure are, for its legend."""
    shares = dict.fromkeys(panel.mark for panel in spec.panels if panel.mark)
    return [f"upright: {100 * share:g} % of the largest rise first reached" for share in shares]


def _line_notes(spec: FigureSpec) -> list[str]:
    words = {
        "maximum": "no model has more, that of the frequencies of the rows",
        "true_model": "log-likelihood of the model that the training rows were drawn from",
    }
    found = dict.fromkeys(name for panel in spec.panels for name in panel.references)
    shares = dict.fromkeys(panel.mark for panel in spec.panels if panel.mark)
    values = [f"{one.label}, {one.value:g}" for panel in spec.panels for one in panel.printed]
    printed = [f"Hollow marks: printed in the paper ({'; '.join(dict.fromkeys(values))})."] if values else []
    lines = [f"Horizontal line, {TITLES[name]}: {words[name]}." for name in found]
    upright = [
        f"Vertical lines: the {counted_in(spec)} at which a mean first reaches {100 * share:g} % of the rise from the"
        " common start to the largest mean of the panel; none where it never does."
        for share in shares
    ]
    return [*lines, *printed, *upright]


def schedule_notes(spec: FigureSpec, metas: Mapping[str, Any]) -> list[str]:
    """Return the stages of every run that has several, once for those that are alike; ``metas`` are by folder."""
    notes = {}
    for run in (run for panel in spec.panels for run in panel.runs):
        stages = metas[run.folder].get("settings", {}).get("schedule", ())
        words = [
            f"{_estimator(stage)} up to iteration {count(stage['until'])} at rate {stage['rate']:g}" for stage in stages
        ]
        notes |= {f"{run.label}: {', then '.join(words)}.": None} if len(stages) > 1 else {}
    return list(notes)


def _estimator(stage: dict) -> str:
    """Return the estimator of a stage with its options: "cd (k = 10)"."""
    options = ", ".join(f"{name} = {value}" for name, value in sorted(stage["estimator"]["options"].items()))
    return stage["estimator"]["name"] + (f" ({options})" if options else "")


def _panels(panels: list[Trained], capital: bool = False) -> str:
    """Return the names of panels in words: "panel a", "panels a and b"."""
    word = "panel" if len(panels) == 1 else "panels"
    return f"{word.capitalize() if capital else word} {listed([panel.name for panel in panels])}"
