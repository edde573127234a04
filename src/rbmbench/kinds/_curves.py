# SPDX-License-Identifier: BSD-3-Clause
"""Charts and captions of figures of learning curves, with their differences from the paper's."""

import math
from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from rbmbench.base.metrics import COMPARED, INTERVAL, is_largest, metric_of
from rbmbench.io.layout import CURVE, META
from rbmbench.planning.chart import Axis, Chart, ChartPanel, Entry, Legend, Mark, Numbers, Series
from rbmbench.planning.differences import Difference
from rbmbench.planning.specs import RunFolder
from rbmbench.reporting import charts
from rbmbench.reporting.curves import CurveResults, Curves, references
from rbmbench.reporting.frames import (
    TITLES,
    CurvesFigure,
    PanelSpec,
    RunData,
    first_reached,
    initial_words,
    levels,
    tidy_curves,
)
from rbmbench.reporting.words import (
    count,
    counts,
    cuts,
    data_name,
    listed,
    missing,
    reductions,
    shared_cuts,
    stand_ins,
    unbroken,
    variant_lines,
    variant_notes,
)

DRAWN = ("mean", "low", "high", "median", "estimate_low", "estimate_high")
IN_CIRCLES = ("mean", "estimate_low", "estimate_high")
DIGITS_OF_A_TRIAL = 4
MOST_SINGLES = 5
"""Most curves of single trials in a chart."""
MOST_OMITTED = 3
"""Most omitted trials that a panel lists."""
FURTHER_LINES = ("thin, dashed", "thin, dotted")
"""Styles of the lines of a panel's second and third metric."""
CIRCLES = "open circles, dotted bars: by annealed importance sampling"
ANNEALING = "annealing."
"""Prefix of the names of settings of annealing."""
REFERENCES = {
    "maximum": "no model has more, that of the frequencies of the rows",
    "true_model": "log-likelihood of the model that the training rows were drawn from",
}
LARGEST = "of the iterations since the evaluation before"
SINCE = "averaged over the iterations since the evaluation before"


class LearningCurvesSpec(CurvesFigure):
    """A figure of learning curves."""

    NAMES = "FIGURE.PANEL.ALGORITHM"

    @property
    def counted_in(self) -> str:
        """The unit of the horizontal axes, in words."""
        return "epoch" if self.panels[0].epoch else "iteration"

    @property
    def changed(self) -> tuple[Difference, ...]:
        """The unpublished settings that the metrics of their panels depend on."""
        metrics = {panel.name: panel.metrics for panel in self.panels}
        changed = super().changed
        return tuple(change for change in changed if any(map(change.changes, metrics.get(change.panel, ("",)))))

    def sources(self) -> dict[str, tuple[str, ...]]:
        sources = {run.folder: (CURVE, META) for panel in self.panels for run in panel.runs}
        for panel in self.panels:
            if panel.references:
                folder, _, name = panel.data_file.rpartition("/")
                sources[folder] = tuple(dict.fromkeys((*sources.get(folder, ()), name)))
        return sources

    def read(self) -> CurveResults:
        """Return the runs' curves and the reference lines; `DataError` where a data set cannot be read."""
        runs = {folder: RunData.read(folder) for folder in self.folders()}
        lines = {panel.name: references(panel) for panel in self.panels}
        return CurveResults(self.panels, self.band, runs, lines, tidy_curves(self.panels, runs))

    def numbers(self, results: CurveResults) -> pd.DataFrame:
        """Return means and bands; see `rbmbench.reporting.frames.summarise`."""
        return results.summary

    def chart(self, results: CurveResults) -> Chart:
        return Chart(
            heading=tuple(figure_heading(self, results.summary)),
            panels=tuple(_panel(self, panel, results) for panel in self.panels),
            legend=Legend(
                entries=tuple(_entries(self, results.summary)),
                title="; ".join([band_note(self, results), *_estimate_notes(results.summary)]),
            ),
            machines=charts.machines(results.runs.values()),
        )

    def caption(self, results: CurveResults) -> str:
        notes = [*variant_notes(self), *_metric_notes(self, results.summary)]
        if results.has_one_trial:
            notes.append("Lines: a single trial.")
        else:
            low, high = self.band.percent
            trials = f"{counts(results.summary['trials'])} trials"
            notes.append(f"Lines: mean over {trials}; bands: {low} to {high} % quantile over the trials.")
            paths = f"Thin dark lines: single trials, {self.band.sample_paths} a curve."
            notes += [paths] * bool(self.band.sample_paths)
            notes += ["Thin dark lines: medians over the trials."] * self.band.median
        notes += [f"{note.capitalize()}." for note in _estimate_notes(results.summary)]
        notes += [*annealing_notes(results.certainty), *_line_notes(self), *schedule_notes(self, results.runs)]
        return " ".join([*notes, *figure_notes(self, results)])

    def evidence(
        self, results: CurveResults, name: str, metric: str | None = "log_likelihood", **_: object
    ) -> Curves | None:
        """Return a metric of the curve PANEL.ALGORITHM; ``metric`` None means the first of its panel."""
        letter, _, algorithm = name.partition(".")
        panel = next((panel for panel in self.panels if panel.name == letter), None)
        run = next((run for run in (panel.runs if panel else ()) if run.algorithm == algorithm), None)
        return Curves(self, panel, run, results, metric or panel.metrics[0]) if run else None


# --- Charts -----------------------------------------------------------------------------------------------------------


def _panel(spec: LearningCurvesSpec, panel: PanelSpec, results: CurveResults) -> ChartPanel:
    summary = results.summary[results.summary["panel"] == panel.name]
    metric, epoch = metric_of(panel.metrics[0]), panel.epoch or 1
    title = panel.data if summary.empty else summary["data_title"].iloc[0]
    initial = initial_words(panel.initial) if panel.initial else []
    words = [f"{title}, {count(panel.hidden)} hidden units", f"rate {listed(panel.rate_words)}"]
    words += [f"mini-batches of {panel.batch}"] * bool(panel.batch) + initial
    heading = [f"α = {', '.join(panel.rate_words)}, {panel.hidden} hidden", *filter(None, [panel.note])]
    heading += [f"batch {panel.batch}"] * bool(panel.batch) + initial
    series = tuple(_curves(panel, summary, results.runs, epoch))
    return ChartPanel(
        name=panel.name,
        title=", ".join(words),
        heading=(f"({panel.name}) {title}", *map(unbroken, heading)),
        notes=tuple(_notes(spec, panel, summary, results)),
        group=f"{panel.data} {panel.hidden}",
        x=Axis(title="epoch" if panel.epoch else "iteration", log=panel.iteration_axis == "log"),
        y=Axis(**charts.titles(panel.lined), log=panel.axis == "log"),
        series=series,
        lines=tuple(results.references.get(panel.name, ())),
        marks=_marked(series, panel.mark) if panel.mark else (),
        printed=tuple(value.model_copy(update={"at": value.at and value.at / epoch}) for value in panel.printed),
        rows=int(summary["rows"].iloc[0]) if metric.summed and len(summary) else None,
        epoch=panel.epoch,
    )


def _curves(panel: PanelSpec, summary: pd.DataFrame, runs: Mapping[str, RunData], epoch: int) -> Iterator[Series]:
    """Yield the curves of a panel: mean and band, without values from the ceiling of the metric on."""
    folders = {run.algorithm: run for run in panel.runs}
    several = summary["metric"].nunique() > 1
    for (key, label, name), curve in summary.groupby(["algorithm", "label", "metric"], sort=False):
        metric = metric_of(name)
        frame = curve.set_index("iteration")
        is_marked = name.startswith(COMPARED)
        drawn = IN_CIRCLES if is_marked else (*DRAWN, *frame.filter(like="path_"))
        values = [column for column in frame if column in drawn]
        frame = frame[[*values, "trials"]].astype(float)
        frame.loc[frame["mean"] >= metric.ceiling, values] = np.nan
        fields = {"metric": name, "metric_title": metric.title if several else ""}
        fields["place"] = min(panel.metrics.index(name), 2)  # estimates in circles have no line style
        fields["marked"], present = is_marked, set(DRAWN[3:]) & set(curve.dropna(axis=1, how="all"))
        fields |= {column: charts.numbers(frame[column]) for column in values if column in present}
        fields["paths"] = tuple(charts.numbers(frame[column]) for column in values if column.startswith("path_"))
        fields |= _of_run(folders[key], runs, name, frame.index)
        yield charts.curve(key, label, frame.set_axis(frame.index / epoch), **fields)


def _of_run(folder: RunFolder, runs: Mapping[str, RunData], metric: str, iterations: pd.Index) -> dict[str, object]:
    """Return the fields of a `Series` that come from its run, with its first trials unless there is only one."""
    run = runs[folder.folder]
    singles: tuple[Numbers, ...] = ()
    if metric in set(run.curve["metric"]) and not metric.startswith(COMPARED) and len(trials := run.trials(metric)) > 1:
        first = trials.iloc[:MOST_SINGLES].reindex(columns=iterations).to_numpy()
        singles = tuple(charts.numbers(trial, DIGITS_OF_A_TRIAL) for trial in first)
    return charts.of_run(run) | {"singles": singles}


def _marked(series: tuple[Series, ...], share: float) -> tuple[Mark, ...]:
    """Return marks where each curve of the first metric first reaches a share of the largest rise."""
    curves = sorted((curve for curve in series if curve.place == 0), key=lambda curve: curve.key)
    if not curves:
        return ()
    means = [np.array(curve.mean, float) for curve in curves]
    # The level follows from first and largest values: curves may be evaluated at different iterations.
    level = levels(np.array([[mean[0], mean.max()] for mean in means]), share)
    reached = {
        curve.key: first_reached(mean, np.array(curve.x), level) for curve, mean in zip(curves, means, strict=True)
    }
    return tuple(Mark(key=key, at=float(at)) for key, at in reached.items() if np.isfinite(at))


def _notes(spec: LearningCurvesSpec, panel: PanelSpec, summary: pd.DataFrame, results: CurveResults) -> Iterator[str]:
    """Yield the differences of a panel from the paper's, the most important first, without those in the title."""
    stand_in = "" if summary.empty else summary["stand_in"].iloc[0]
    if stand_in:
        yield f"stands in for {data_name(stand_in)}"
    shared = shared_cuts(spec)
    if reduced := [words for words in cuts(spec, panel.name) if words not in shared]:
        yield ", ".join(reduced)
    if labels := missing(spec, panel.name):
        yield f"without {', '.join(labels)}"
    yield from _fewer_trials(spec, panel, results)
    omitted = results.left_out.get(panel.name, ())
    yield from (f"left out: {words}" for words in omitted[:MOST_OMITTED])
    if len(omitted) > MOST_OMITTED:
        yield f"and {len(omitted) - MOST_OMITTED} trials more"
    if panel.name in results.doubts:
        yield results.doubts[panel.name]
    if less := cuts(spec, panel.name, titled=False, only=ANNEALING):
        yield f"annealing: {', '.join(less)}"


def _fewer_trials(spec: LearningCurvesSpec, panel: PanelSpec, results: CurveResults) -> Iterator[str]:
    """Yield the trials of curves that have fewer than their panel, also in the paper's own settings."""
    named = {change.algorithm for change in spec.of_part(panel.name) if change.setting == "trials"}
    for run in panel.runs:
        trials = results.runs[run.folder].meta.get("trials", panel.trials)
        if trials < panel.trials and not named & {"", run.algorithm}:
            yield f"{trials} of {panel.trials} trials for {run.label}"


def _entries(spec: LearningCurvesSpec, summary: pd.DataFrame) -> Iterator[Entry]:
    runs = {run.algorithm: run for panel in spec.panels for run in panel.runs}
    yield from (Entry(label=run.label, key=key, color=run.color, dash=run.dash) for key, run in runs.items())
    further = {name: place for panel in spec.panels for place, name in enumerate(panel.lined) if place}
    for name, place in further.items():
        if is_drawn(name, summary):
            label = f"{FURTHER_LINES[place - 1]}: {metric_of(name).title}{_ceiling_note(name)}"
            yield Entry(label=label, look=("second", "third")[place - 1])
    if any(panel.lined != panel.metrics for panel in spec.panels):
        yield Entry(label=CIRCLES, look="compared")
    lines = dict.fromkeys(name for panel in spec.panels for name in panel.references)
    yield from (Entry(label=TITLES[name], look=name) for name in lines)
    for share in marked_shares(spec):
        yield Entry(label=f"upright: {100 * share:g} % of the largest rise first reached", look="upright")
    yield from charts.printed_entries(value for panel in spec.panels for value in panel.printed)


# --- Captions ---------------------------------------------------------------------------------------------------------


def figure_heading(spec: LearningCurvesSpec, frame: pd.DataFrame) -> list[str]:
    """Return the title of a figure in lines: scale, reduced budgets of all panels, other settings, stand-in data."""
    lines = [spec.title, ", ".join([spec.which, *shared_cuts(spec)]), *variant_lines(spec)]
    phrases = stand_ins(frame)
    return [*lines, *[f"stand-in data: {listed(phrases)}"] * bool(phrases)]


def figure_notes(spec: LearningCurvesSpec, results: CurveResults) -> Iterator[str]:
    """Yield a sentence for each difference of a figure from the paper's."""
    yield from (f"Stand-in data: {phrase}." for phrase in stand_ins(results.summary))
    for panel in spec.panels:
        changes = [change for change in spec.of_part(panel.name) if any(map(change.changes, panel.metrics))]
        annealed = cuts(spec, panel.name, titled=False, only=ANNEALING)
        less = [words + " of the annealing" * (words in annealed) for words in reductions(changes, titled=False)]
        less += [*_fewer_trials(spec, panel, results), *(f"no {label}" for label in missing(spec, panel.name))]
        if less:
            yield f"Panel {panel.name}: {listed(less)}."
    yield from (f"Panel {name}: left out of the means: {listed(words)}." for name, words in results.left_out.items())
    yield from (f"Panel {name}: {words}." for name, words in results.doubts.items())


def annealing_notes(certainty: pd.DataFrame) -> Iterator[str]:
    """Yield the errors of log Z, from `annealing_certainty`; nothing if it is exact."""
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
            f"log Z by annealed importance sampling in both directions: {INTERVAL}s at most"
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


def band_note(spec: LearningCurvesSpec, results: CurveResults) -> str:
    """Return a note on lines and bands of a figure: "line: mean over 25 trials; band: 10–90 % quantile"."""
    if results.has_one_trial:
        return "line: a single trial"
    band, (low, high) = spec.band, spec.band.percent
    line = f"line: mean over {counts(results.summary['trials'])} trials"
    note = f"{line}; band: {low}–{high} % quantile" + "; thin: median" * band.median
    paths = {0: "", 1: "; thin dark line: a single trial"}
    return note + paths.get(band.sample_paths, f"; thin dark lines: {band.sample_paths} single trials")


def _estimate_notes(summary: pd.DataFrame) -> list[str]:
    if "estimate_low" not in summary:
        return []
    is_open = bool(np.isneginf(summary["estimate_low"]).any())
    arrows = ", arrows: no lower end" * is_open
    return [f"thin bars: {INTERVAL}s of estimates{arrows}"]


def _metric_notes(spec: LearningCurvesSpec, summary: pd.DataFrame) -> Iterator[str]:
    panels_of: dict[str, list[str]] = {}  # by the metric that they show first
    for panel in spec.panels:
        panels_of.setdefault(panel.metrics[0], []).append(panel.name)
    summed = [panel.name for panel in spec.panels if metric_of(panel.metrics[0]).summed]
    if summed:
        where = "" if len(summed) == len(spec.panels) else f" ({_panels(summed)})"
        title = listed(list(dict.fromkeys(metric_of(name).title for name in panels_of if metric_of(name).summed)))
        yield (
            f"{title[:1].upper()}{title[1:]} of the whole training set against the {spec.counted_in}{where}: left"
            " axis, summed over the samples; right axis, mean per sample (the same curve). Higher is better. The"
            " vertical range leaves out the climb of the first iterations; an arrow points at a curve that leaves it"
            " below."
        )
    for name in sorted(name for name in panels_of if not metric_of(name).summed):
        metric = metric_of(name)
        when = "at the evaluations" if metric.momentary else LARGEST if is_largest(name) else SINCE
        yield f"P{_panels(panels_of[name])[1:]}: {metric.label}, {when}."
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


def marked_shares(spec: LearningCurvesSpec) -> list[float]:
    """Return the shares of the largest rise that are marked where curves first reach them."""
    return list(dict.fromkeys(panel.mark for panel in spec.panels if panel.mark))


def _line_notes(spec: LearningCurvesSpec) -> Iterator[str]:
    for name in dict.fromkeys(name for panel in spec.panels for name in panel.references):
        yield f"Horizontal line, {TITLES[name]}: {REFERENCES[name]}."
    yield from charts.printed_notes(value for panel in spec.panels for value in panel.printed)
    for share in marked_shares(spec):
        yield (
            f"Vertical lines: the {spec.counted_in} at which a mean first reaches {100 * share:g} % of the rise from"
            " the common start to the largest mean of the panel; none where it never does."
        )


def schedule_notes(spec: LearningCurvesSpec, runs: Mapping[str, RunData]) -> Iterator[str]:
    """Yield the stages of every run that has several, equal ones once; ``runs`` are by folder."""
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
    return f"panel{'s' * (len(names) > 1)} {listed(names)}"
