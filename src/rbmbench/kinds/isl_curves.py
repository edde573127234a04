# SPDX-License-Identifier: BSD-3-Clause
"""Figures of indirect sampling likelihoods of test rows, by the number of samples of trained models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from textwrap import wrap
from typing import Annotated, Any

import pandas as pd
from pydantic import Field

from rbmbench.base.errors import ResultsError
from rbmbench.base.settings import Count, PointCount, SamplingSettings
from rbmbench.config.checks import Checks
from rbmbench.config.paper import KINDS, Paper
from rbmbench.config.parts import Name, Names, Panel, Printed
from rbmbench.io.layout import ISL, META
from rbmbench.io.meta import Meta
from rbmbench.io.results import read_meta, read_table
from rbmbench.measurements.sampling import TRAINING_SET
from rbmbench.planning.chart import Axis, Chart, ChartPanel, Entry, Layout, Line
from rbmbench.planning.jobs import Job, Output
from rbmbench.planning.kinds import Kind
from rbmbench.planning.runs import SHOWN, Planner
from rbmbench.planning.specs import Curve, FigureSpec, Folder, Place, Source, TrainedPanel
from rbmbench.reporting import charts
from rbmbench.reporting.frames import data_of
from rbmbench.reporting.words import count, cuts, data_name, listed, variant_lines, variant_notes

COLUMNS = ["panel", "sampler", "label", "setting", "options", "trial", "samples", "validation", "test", "flip"]
FEW = 5
"""Most trained models with a line each."""
TITLE_WIDTH = 84  # characters per line of a title
MOST_PANELS = 4  # two side by side
SYMBOLS = {"fast_rate": "ε", "decay": "α", "k": "k", "temperatures": "temperatures", "batch": "batch"}


# --- Configuration ----------------------------------------------------------------------------------------------------


class SamplesPanel(Panel):
    """Trained models, and the samplers that draw streams of samples from them."""

    algorithm: Name = Field(description="key of the algorithm that trains the models")
    samplers: Names | None = Field(default=None, description="keys of the samplers; null: all of the paper's")
    samples: Count = Field(description="samples of every stream")
    points: PointCount = Field(default=60, description="numbers of samples at which the likelihood is shown")
    rows: Count | None = Field(default=None, description="validation rows and test rows at most; null: all")
    shown: Count = Field(default=400, description="first samples of each stream to keep for sample sheets")


def planned_samples(planner: Planner, name: str, panel: SamplesPanel) -> tuple[SampledPanel, tuple[Job, Job]]:
    """Return a panel for specs, and its jobs, added to the plan: the run, and that of its streams of samples.

    All samples of one data set and size have one seed: chains of one model start at the same rows.
    """
    run = planner.run(panel, panel.algorithm)
    names = panel.samplers or tuple(planner.paper.samplers)
    settings = SamplingSettings(
        samplers={name: planner.paper.samplers[name].grid_of_settings for name in names},
        seed=planner.seed("samples", panel.data, panel.hidden),
        **panel.model_dump(include={"samples", "points", "rows", "shown"}),
    )
    drawn = planner.measured("sample", f"{run.id.rpartition('-')[0]}-samples", run, settings)
    labels = {key: planner.paper.samplers[key].model_dump(include=SHOWN) for key in names}
    planned = SampledPanel(
        **planner.trained(panel) | {"rate": run.settings.schedule[0].rate},  # the algorithm may have its own
        name=name,
        printed=panel.printed,
        samples_count=panel.samples,
        runs=planner.labelled({panel.algorithm: planner.plan.folder(run)}),
        samples=Folder(folder=planner.plan.folder(drawn)),
        samplers=[SamplerName(sampler=sampler, **fields) for sampler, fields in labels.items()],
    )
    return planned, (run, drawn)


# --- Spec -------------------------------------------------------------------------------------------------------------


class SamplerName(Curve):
    """A sampler of a panel."""

    sampler: str
    label: str


class SampledPanel(TrainedPanel):
    """Trained models, and the samplers that drew streams of samples from them."""

    samples: Folder
    samples_count: int
    samplers: tuple[SamplerName, ...]
    printed: tuple[Printed, ...] = ()


@dataclass(frozen=True)
class SampleResults:
    """The files of the streams of samples of one panel; ``chosen`` is the best setting of each sampler."""

    panel: SampledPanel
    meta: Meta
    table: pd.DataFrame
    """Likelihoods of all settings, see `rbmbench.io.results.read_table`."""
    chosen: dict[str, int]
    """By sampler: the setting with the best mean validation likelihood after all samples."""

    @classmethod
    def read(cls, panel: SampledPanel) -> SampleResults:
        """Return the files; `ResultsError` if one is missing or damaged, or a sampler of the panel is missing."""
        results = cls(panel, read_meta(panel.samples.folder), read_table(panel.samples.folder, ISL), {})
        for sampler in (entry.sampler for entry in panel.samplers):
            if (last := results.after_all(sampler)).empty:
                raise ResultsError(f"{panel.samples.folder}/{ISL}: sampler {sampler!r} is missing")
            results.chosen[sampler] = int(last.groupby("setting")["validation"].mean().idxmax())
        return results

    def after_all(self, sampler: str) -> pd.DataFrame:
        """Return the likelihoods of all settings and models of a sampler after all samples."""
        return self.table[(self.table["sampler"] == sampler) & (self.table["samples"] == self.panel.samples_count)]

    @cached_property
    def curves(self) -> pd.DataFrame:
        """The likelihoods of the chosen settings, nats per row: columns `COLUMNS`."""
        parts = [
            self.table[
                (self.table["sampler"] == entry.sampler) & (self.table["setting"] == self.chosen[entry.sampler])
            ].assign(panel=self.panel.name, label=entry.label, options=self.options(entry.sampler))
            for entry in self.panel.samplers
        ]
        return pd.concat(parts, ignore_index=True)[COLUMNS]

    def options(self, sampler: str, setting: int | None = None) -> str:
        """Return the options of a setting of a sampler, by default the chosen one: "α = 1, ε = 0.01, k = 5"."""
        options = self.meta["grids"][sampler][self.chosen[sampler] if setting is None else setting]
        values = {name: f"{value:g}" if isinstance(value, int | float) else value for name, value in options.items()}
        return ", ".join(f"{SYMBOLS.get(name, name)} = {value}" for name, value in sorted(values.items()))

    def chart(self) -> ChartPanel:
        """Return the panel of the test likelihoods; its range omits low starts of curves."""
        panel, data, line = self.panel, self.data, self.training_set
        note = f" (stand-in for {data_name(data['stand_in'])})" if data["stand_in"] else ""
        title = f"{data['title']}{note}, {panel.hidden} hidden units, {panel.runs[0].label} at rate {panel.rate:g}"
        series, legend = [], []
        for sampler in panel.samplers:
            rows = self.curves[self.curves["sampler"] == sampler.sampler]
            means = rows.groupby("samples")["test"].agg(mean="mean", low="min", high="max", trials="size")
            models = rows.pivot(index="trial", columns="samples", values="test").to_numpy()
            paths = tuple(charts.numbers(model, charts.DIGITS) for model in models) if 1 < len(models) <= FEW else ()
            fields = {"metric": "isl", "paths": paths, "singles": paths}
            series.append(charts.curve(sampler.sampler, sampler.label, means, charts.EVERY_DIGIT, **fields))
            options = self.options(sampler.sampler)
            label = f"{sampler.label} ({options})" if options else sampler.label
            legend.append(Entry(label=label, key=sampler.sampler, color=sampler.color, dash=sampler.dash))
        ends = [*(curve.mean[-1] for curve in series), *(value.value for value in panel.printed), line]
        top, bottom = max(ends), min(float(self.curves["test"].quantile(0.02)), *ends)
        return ChartPanel(
            name=panel.name,
            title=title,
            heading=(f"({panel.name}) {title}",),
            x=Axis(title="samples", log=True, range=(1, panel.samples_count)),
            y=Axis(**charts.titles(["isl"]), range=(bottom - 0.04 * (top - bottom), top + 0.05 * (top - bottom))),
            series=tuple(series),
            lines=(Line(title="training set", value=line, look="training_set"),),
            printed=panel.printed,
            legend=(
                *legend,
                Entry(label=f"training set: {line:.1f}", look="training_set"),
                *charts.printed_entries(panel.printed),
            ),
        )

    @property
    def training_set(self) -> float:
        """The test likelihood with the training rows as samples, nats per row."""
        return float(self.table.loc[self.table["sampler"] == TRAINING_SET, "test"].iloc[0])

    @property
    def data(self) -> dict[str, object]:
        """Title of the data, number of rows, and name of the data they stand in for."""
        return data_of(self.meta, self.panel.samples.folder)


def phrases_of(spec: FigureSpec, panels: Sequence[SampleResults], titled: bool = False) -> list[str]:
    """Return a phrase for each panel of fewer samples than the paper's or of stand-in data; ``titled``: for titles."""
    phrases = []
    for panel in panels:
        stand_in = data_name(panel.data["stand_in"])
        less = [f"stand-in data for {stand_in}"] if stand_in else []
        less += cuts(spec, panel.panel.name, titled)
        phrases += [f"panel {panel.panel.name}: {listed(less)}"] if less else []
    return phrases


def heading_of(spec: FigureSpec, panels: Sequence[SampleResults]) -> tuple[str, ...]:
    """Return the title of a figure in lines: title, scale, and differences from the paper's."""
    lines = [spec.which, *variant_lines(spec, TITLE_WIDTH), *phrases_of(spec, panels, titled=True)]
    return (spec.title, *(wrapped for line in lines for wrapped in wrap(line, TITLE_WIDTH)))


def tried_settings(panels: list[SampleResults]) -> pd.DataFrame:
    """Return the likelihoods of all tried settings after all samples, means over the trials, the best first."""
    rows = []
    for samples, entry in ((results, sampler) for results in panels for sampler in results.panel.samplers):
        means = samples.after_all(entry.sampler).groupby("setting")[["validation", "test"]].mean()
        for setting in range(len(samples.meta["grids"][entry.sampler])):
            row = {"panel": samples.panel.name, "sampler": entry.label}
            row |= {"options": samples.options(entry.sampler, setting)} | means.loc[setting].to_dict()
            rows.append(row | {"chosen": setting == samples.chosen[entry.sampler]})
    return pd.DataFrame(rows).sort_values(["panel", "sampler", "validation"], ascending=[True, True, False])


class IslCurvesSpec(FigureSpec):
    """A figure of indirect sampling likelihoods against the number of samples."""

    panels: tuple[SampledPanel, ...]

    NAMES = "FIGURE.PANEL.SAMPLER"

    def sources(self) -> dict[str, tuple[str, ...]]:
        runs = {run.folder: (META,) for panel in self.panels for run in panel.runs}
        return runs | {panel.samples.folder: (ISL, META) for panel in self.panels}

    def read(self) -> list[SampleResults]:
        return [SampleResults.read(panel) for panel in self.panels]

    def numbers(self, results: list[SampleResults]) -> pd.DataFrame:
        """Return the likelihoods of the chosen settings: a row per panel, sampler, trial and number of samples."""
        return pd.concat([panel.curves for panel in results], ignore_index=True)

    def chart(self, results: list[SampleResults]) -> Chart:
        """Return the likelihoods of the test rows: mean, least and largest of the trials."""
        layout = Layout(columns=2, row=4.2, head=(0.6, 0.0), shade=0.15)
        return Chart(heading=heading_of(self, results), layout=layout, panels=tuple(panel.chart() for panel in results))

    def caption(self, results: list[SampleResults]) -> str:
        words = variant_notes(self)
        for samples in results:
            panel, curves = samples.panel, samples.curves
            last = curves[curves["samples"] == panel.samples_count]
            means = last.groupby("label", sort=False)["test"].mean()
            ends = ", ".join(f"{label} {value:.2f}" for label, value in means.items())
            after = f"Panel {panel.name}, after {count(panel.samples_count)} samples"
            words.append(f"{after}: {ends}; training set {samples.training_set:.2f}.")
            words += charts.printed_notes(panel.printed)
        words += [f"{line[:1].upper()}{line[1:]}." for line in phrases_of(self, results)]
        return (
            "Indirect sampling likelihood of the test rows, nats per row: the first samples of a single chain, as a"
            " mixture of products of Bernoulli units around each of them, with the noise that suits the validation rows"
            " best at that number of samples. Lines: mean over the trained models, bands: smallest to largest, thin"
            f" dark lines: single models where there are at most {FEW}. In brackets: the setting that covers the"
            " validation rows best after all samples. Dashed: the training rows as samples. "
        ) + " ".join(words)

    def evidence(self, results: list[SampleResults], name: str, **_: object) -> SampleCurve | None:
        letter, _, sampler = name.partition(".")
        samples = next((samples for samples in results if samples.panel.name == letter), None)
        labels = {entry.sampler: entry.label for entry in samples.panel.samplers} if samples else {}
        if sampler not in labels:
            return None
        panel, grid = samples.panel, samples.meta["grids"][sampler]
        curves = samples.curves[samples.curves["sampler"] == sampler]
        trials = curves.pivot(index="trial", columns="samples", values="test").sort_index(axis=1).astype(float)
        of_models = samples.after_all(sampler).pivot(index="trial", columns="setting", values="validation")
        fastest: dict[int, float] = {}
        times = samples.meta.get("seconds_per_sample", {}).get(sampler, ())
        for options, seconds in zip(grid, times, strict=False):
            k = options.get("k", 1)  # 1 for samplers without this option
            if seconds:
                fastest[k] = min(seconds, fastest.get(k, seconds))
        return SampleCurve(
            label=labels[sampler],
            stand_in=samples.data["stand_in"],
            frame=trials,
            budget={"iterations": panel.iterations, "samples": panel.samples_count, "trials": len(trials)},
            differences=self.of_part(letter, sampler),
            place=Place(self.key, letter, sampler),
            panel=panel,
            training_set=samples.training_set,
            seconds=fastest,
            chosen=grid[samples.chosen[sampler]],
            choices=tuple(grid[int(setting)] for setting in of_models.idxmax(axis=1)),
        )


@KINDS.register
class IslCurves(Kind):
    """A figure of indirect sampling likelihoods against the number of samples, one curve per sampler."""

    panels: Annotated[dict[Name, SamplesPanel], Field(min_length=1, max_length=MOST_PANELS)] = Field(
        description="the panels, two side by side, by their letter"
    )

    SPEC = IslCurvesSpec

    def names(self, paper: Paper) -> Iterator[str]:
        for letter, panel in self.panels.items():
            yield from (f"{letter}.{name}" for name in panel.samplers or paper.samplers)

    def check(self, checks: Checks, location: tuple) -> None:
        for letter, panel in self.panels.items():
            place = (*location, "panels", letter)
            checks.check_algorithms((panel.algorithm,), (*place, "algorithm"))
            checks.check_names("sampler", panel.samplers or (), checks.paper.samplers, (*place, "samplers"))
            checks.check_panel(panel, (panel.algorithm,), place)
            samplers = checks.paper.samplers
            checks.check_labels([samplers[name].label for name in panel.samplers or samplers], place)

    def plan(self, planner: Planner, key: str) -> Output:
        panels, parts = [], {}
        for name, panel in self.panels.items():
            planned, jobs = planned_samples(planner, name, panel)
            panels.append(planned)
            parts |= {(name, entry.sampler): jobs for entry in planned.samplers}
        return planner.output(IslCurvesSpec(**planner.heading(key, self), panels=panels), parts)


# --- Evidence ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class SampleCurve(Source):
    """The test likelihoods of the chosen setting of one sampler, nats per row: trials by numbers of samples."""

    panel: SampledPanel
    training_set: float
    """The likelihood with the training rows as samples."""
    seconds: Mapping[int, float]
    """Least processor seconds per sample of all settings, by k, the steps between samples; unknown ones are omitted."""
    chosen: Mapping[str, Any]
    """The options of the chosen setting."""
    choices: tuple[Mapping[str, Any], ...]
    """The options that are best for each model alone, by trial."""

    @property
    def final(self) -> pd.Series:
        """The likelihood after all samples, by trial."""
        return self.frame.iloc[:, -1]
