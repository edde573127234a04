"""What claims are checked against: curves and table entries, by the names that figures and tables give them.

A name is ``fig1.a.cd_1`` (figure, panel, algorithm or sampler), ``table1.letters_16.cd_1`` (table, row, estimator),
``fig5.rbm`` (figure, coupling) or ``table2`` (a table of run times).
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from rbmbench.base.errors import SettingsError
from rbmbench.io.results import read_meta
from rbmbench.reporting import couplings, run_times
from rbmbench.reporting.claims.sample_evidence import SampleCurve, read_sample_curve
from rbmbench.reporting.frames import bias_variance, by_model, data_of, read_trials, training_seconds
from rbmbench.reporting.references import Reference, references
from rbmbench.reporting.specs import (
    AnyFigure,
    AnyTable,
    Band,
    CouplingTimesSpec,
    FigureSpec,
    IslCurvesSpec,
    Panel,
    Published,
    RunTimesSpec,
    TableSpec,
)

__all__ = ["FINAL_SHARE", "Curves", "Entry", "Evidence", "NotRun", "RunTimes", "StoppingTimes"]

FINAL_SHARE = 0.05
"""The final value of a curve is the mean over the evaluations in this last share of its iterations."""


class NotRun(Exception):
    """What a claim speaks of is not part of this scale; the message says what, and the paper's number may be known."""

    def __init__(self, message: str, published: float | None = None):
        super().__init__(message)
        self.published = published


@dataclass(frozen=True)
class Curves:
    """All trials of one metric of a curve of a figure; a log-likelihood is the mean per sample, nats."""

    name: str
    label: str
    panel: Panel
    meta: dict[str, Any]
    stand_in: str
    all_trials: pd.DataFrame
    metric: str = "log_likelihood"
    effective_particles: float = math.inf
    """The least effective sample size of the annealing over trials and evaluations; infinite where log Z is exact."""

    @cached_property
    def trials(self) -> pd.DataFrame:
        """The trials without a missing or non-finite value, as trials by iterations."""
        return self.all_trials[np.isfinite(self.all_trials).all(axis=1)]

    def around(self, iteration: float) -> np.ndarray:
        """Return, for every trial, the mean over the evaluations near an iteration, within half of `FINAL_SHARE`."""
        iterations = self.trials.columns.to_numpy(dtype=float)
        near = np.abs(iterations - iteration) <= FINAL_SHARE / 2 * iterations[-1]
        near[np.argmin(np.abs(iterations - iteration))] = True
        return self.trials.to_numpy()[:, near].mean(axis=1)

    @property
    def final(self) -> pd.Series:
        """The final value of every trial, by trial: see `FINAL_SHARE`."""
        iterations = self.trials.columns.to_numpy(dtype=float)
        late = iterations > (1 - FINAL_SHARE) * iterations[-1]
        return self.trials.loc[:, late].mean(axis=1)

    @property
    def seconds_per_iteration(self) -> float:
        """Training time of one iteration of one trial: see `rbmbench.reporting.frames.training_seconds`."""
        return training_seconds(self.meta) / (self.meta["iterations"] * self.meta["trials"])

    @property
    def dropped(self) -> list[str]:
        """The trials that are left out, in words."""
        lost = self.all_trials.index.difference(self.trials.index)
        return [f"left out: {self.label} trial {trial} (not finite)" for trial in lost]

    @property
    def budget(self) -> dict[str, tuple[float | None, float | None]]:
        """What was run and what the paper ran: iterations and trials."""
        panel = self.panel
        return {
            "iterations": (panel.iterations, panel.paper_iterations),
            "trials": (len(self.trials), panel.paper_trials),
        }


@dataclass(frozen=True)
class Entry:
    """One estimator of one row of a table of bias and variance, against the best ground truth there is."""

    name: str
    label: str
    ground_truth: str
    stand_in: str
    models: pd.DataFrame
    """One line a trained model, with the quantities as columns; see `rbmbench.reporting.frames.by_model`."""
    published: Published

    @property
    def estimates(self) -> int:
        """How many gradient estimates each model's numbers rest on."""
        return int(self.models["estimates"].iloc[0])

    @property
    def dropped(self) -> list[str]:
        """Nothing is ever left out of an entry."""
        return []

    @property
    def budget(self) -> dict[str, tuple[float | None, float | None]]:
        """What was run and what the paper ran: iterations of training, estimates, and models."""
        row = self.name.split(".")[1]
        return {
            "iterations": (int(self.models["iterations"].iloc[0]), self.published.iterations.get(row)),
            "estimates": (self.estimates, self.published.estimates),
            "models": (len(self.models), None),
        }


@dataclass(frozen=True)
class RunTimes:
    """A table of run times: see `rbmbench.reporting.run_times.run_times`."""

    label: str
    spec: RunTimesSpec
    frame: pd.DataFrame
    stand_in: str = ""
    dropped: tuple[str, ...] = ()

    @property
    def budget(self) -> dict[str, tuple[float | None, float | None]]:
        """What was run and what the paper ran: iterations, since steps of UCD grow longer as training goes on."""
        return {"iterations": (self.spec.iterations, self.spec.paper_iterations)}


@dataclass(frozen=True)
class StoppingTimes:
    """The stopping times of the chains of one coupling: see `rbmbench.reporting.couplings.read_times`."""

    label: str
    spec: CouplingTimesSpec
    frame: pd.DataFrame
    stand_in: str = ""
    dropped: tuple[str, ...] = ()

    @property
    def budget(self) -> dict[str, tuple[float | None, float | None]]:
        """What was run and what the paper ran: replications."""
        return {"replications": (self.spec.replications, self.spec.paper_replications)}


class Evidence:
    """The figures and tables of one scale; every folder is read once, when it is first asked for."""

    def __init__(
        self,
        paper: str,
        figures: Iterable[AnyFigure],
        tables: Iterable[AnyTable],
        published: Mapping[str, Published] | None = None,
    ):
        self._figures = {spec.key.removeprefix(f"{paper}_"): spec for spec in figures if spec.paper == paper}
        self._tables = {spec.key.removeprefix(f"{paper}_"): spec for spec in tables if spec.paper == paper}
        self._published = dict(published or {})
        self._curves: dict[tuple[str, str], Curves] = {}
        self._measured: dict[str, pd.DataFrame] = {}

    def published(self, name: str, quantity: str) -> float | None:
        """Return the paper's number for an entry of a table, None where it gives none."""
        table, row, algorithm = _parts(name, "TABLE.ROW.ESTIMATOR")
        return self._published[table].value(row, algorithm, quantity) if table in self._published else None

    def panels(self, figure: str) -> list[Panel]:
        """Return the panels of a figure of curves, none when it is not part of this scale."""
        spec = self._figures.get(figure)
        return list(spec.panels) if isinstance(spec, FigureSpec) else []

    def curves(self, name: str, metric: str = "log_likelihood") -> Curves:
        """Return a metric of a curve by its name, such as ``fig1.a.cd_1``.

        Raises
        ------
        NotRun
            If figure, panel or algorithm is not part of this scale.
        ResultsError
            If it is, and its files are missing or damaged or have no such metric.
        """
        if (name, metric) not in self._curves:
            panel = self._panel(name)
            run = next((run for run in panel.runs if run.algorithm == name.rpartition(".")[2]), None)
            if run is None:
                raise NotRun(f"{name} is not part of this scale")
            meta = read_meta(run.folder)
            stand_in = data_of(meta, run.folder)["stand_in"]
            annealed = panel.annealing and metric in ("log_likelihood", "test_log_likelihood")
            particles = {"effective_particles": _least_size(run.folder)} if annealed else {}
            trials = read_trials(run.folder, metric)
            self._curves[name, metric] = Curves(
                name, run.label, panel, meta, stand_in, trials, metric=metric, **particles
            )
        return self._curves[name, metric]

    def metric(self, name: str) -> str:
        """Return the metric that the panel of a curve shows, the first where it shows two."""
        return self._panel(name).metrics[0]

    def all_curves(self, name: str, metric: str) -> list[Curves]:
        """Return a metric of all curves of the panel of a curve."""
        place = name.rpartition(".")[0]
        return [self.curves(f"{place}.{run.algorithm}", metric) for run in self._panel(name).runs]

    def band(self, name: str) -> Band:
        """Return the band of the figure of a curve."""
        self._panel(name)
        return self._figures[name.partition(".")[0]].band

    def reference(self, name: str, reference: str) -> Reference:
        """Return a reference line of the panel of a curve.

        Raises
        ------
        SettingsError
            If the panel shows no such line.
        """
        panel = self._panel(name)
        if reference not in panel.references:
            shown = ", ".join(panel.references) or "none"
            raise SettingsError(f"claims: {name}: its panel has no reference {reference!r}; found: {shown}")
        return next(line for line in references(panel) if line.name == reference)

    def _panel(self, name: str) -> Panel:
        """Return the panel of a curve, or raise `NotRun`."""
        figure, letter, _ = _parts(name, "FIGURE.PANEL.ALGORITHM")
        panel = next((panel for panel in self.panels(figure) if panel.name == letter), None)
        if panel is None:
            raise NotRun(f"{name} is not part of this scale")
        return panel

    def stopping_times(self, name: str) -> StoppingTimes:
        """Return the stopping times of a coupling, such as ``fig5.rbm``.

        Raises
        ------
        NotRun
            If figure or coupling is not part of this scale.
        ResultsError
            If it is, and its files are missing or damaged.
        """
        figure, _, chosen = str(name).partition(".")
        spec = self._figures.get(figure)
        found = [one for one in getattr(spec, "couplings", ()) if one.coupling == chosen]
        if not found:
            raise NotRun(f"{name} is not part of this scale")
        return StoppingTimes(couplings.TITLES[chosen], spec, couplings.read_times(found[0], spec.longest))

    def sample_curve(self, name: str) -> SampleCurve:
        """Return the likelihoods of the samples of a sampler, such as ``fig2.a.gibbs``.

        Raises
        ------
        NotRun
            If figure, panel or sampler is not part of this scale.
        ResultsError
            If it is, and its files are missing or damaged.
        """
        figure, letter, sampler = _parts(name, "FIGURE.PANEL.SAMPLER")
        spec = self._figures.get(figure)
        panels = spec.panels if isinstance(spec, IslCurvesSpec) else ()
        panel = next((panel for panel in panels if panel.name == letter), None)
        if panel is None or sampler not in {one.sampler for one in panel.samplers}:
            raise NotRun(f"{name} is not part of this scale")
        return read_sample_curve(panel, sampler)

    def run_times(self, table: str) -> RunTimes:
        """Return a table of run times by its name.

        Raises
        ------
        NotRun
            If it is not part of this scale.
        """
        spec = self._tables.get(table)
        if not isinstance(spec, RunTimesSpec):
            raise NotRun(f"{table} is not part of this scale")
        frame = run_times.run_times(spec)
        return RunTimes(table, spec, frame, frame["stand_in"].iloc[0])

    def entry(self, name: str) -> Entry:
        """Return an entry of a table by its name, such as ``table1.letters_16.cd_1``.

        Raises
        ------
        NotRun
            If table, row or estimator is not part of this scale.
        ResultsError
            If it is, and its files are missing or damaged.
        """
        table, row, algorithm = _parts(name, "TABLE.ROW.ESTIMATOR")
        if not isinstance(self._tables.get(table), TableSpec):
            raise NotRun(f"{table} is not part of this scale")
        if table not in self._measured:
            self._measured[table] = by_model(bias_variance(self._tables[table]))
        measured = self._measured[table]
        models = measured[(measured["row"] == row) & (measured["algorithm"] == algorithm)]
        if models.empty:
            raise NotRun(f"{name} is not part of this scale")
        truths = list(models["ground_truth"].unique())
        truth = "exact" if "exact" in truths else truths[0]
        models = models[models["ground_truth"] == truth].set_index("model")
        first = models.iloc[0]
        published = self._published.get(table, Published())
        return Entry(name, first["label"], truth, first["stand_in"], models, published)


def _least_size(folder: str) -> float:
    """Return the least effective sample size of the annealing of a run's snapshots."""
    return float(read_trials(folder, "annealing_effective_sample_size").min(axis=None))


def _parts(name: str, form: str) -> list[str]:
    """Return the three parts of a name, or raise the error of a name of another form."""
    parts = str(name).split(".")
    if len(parts) != 3:
        raise SettingsError(f"claims: found {name!r}; should have the form {form}")
    return parts
