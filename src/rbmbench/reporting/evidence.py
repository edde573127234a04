"""What claims are checked against: curves and table entries, by the names that figures and tables give them.

A name is ``fig1.a.cd_1`` (figure, panel, algorithm) or ``table1.letters_16.cd_1`` (table, row, estimator).
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from rbmbench.errors import SettingsError
from rbmbench.reporting.frames import bias_variance, by_model, data_of, read_trials
from rbmbench.reporting.specs import FigureSpec, Panel, Published, TableSpec
from rbmbench.store import read_meta

__all__ = ["FINAL_SHARE", "Curves", "Entry", "Evidence", "NotRun"]

FINAL_SHARE = 0.05
"""The final value of a curve is the mean over the evaluations in this last share of its iterations."""


class NotRun(Exception):
    """What a claim speaks of is not part of this scale; the message says what, and the paper's number may be known."""

    def __init__(self, message: str, published: float | None = None):
        super().__init__(message)
        self.published = published


@dataclass(frozen=True)
class Curves:
    """All trials of one curve of a figure: log-likelihood, mean per sample, nats."""

    name: str
    label: str
    panel: Panel
    meta: dict[str, Any]
    stand_in: str
    all_trials: pd.DataFrame
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
        """Training time of one iteration of one trial, evaluation not counted.

        It is the processor's time where the run has recorded it, for other jobs on the machine lengthen the clock's.
        """
        wall = self.meta["wall"]
        seconds = wall.get("training_cpu_seconds", wall["training_seconds"])
        return seconds / (self.meta["iterations"] * self.meta["trials"])

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


class Evidence:
    """The figures and tables of one scale; every folder is read once, when it is first asked for."""

    def __init__(
        self,
        paper: str,
        figures: Iterable[FigureSpec],
        tables: Iterable[TableSpec],
        published: Mapping[str, Published] | None = None,
    ):
        self._figures = {spec.key.removeprefix(f"{paper}_"): spec for spec in figures if spec.paper == paper}
        self._tables = {spec.key.removeprefix(f"{paper}_"): spec for spec in tables if spec.paper == paper}
        self._published = dict(published or {})
        self._curves: dict[str, Curves] = {}
        self._measured: dict[str, pd.DataFrame] = {}

    def published(self, name: str, quantity: str) -> float | None:
        """Return the paper's number for an entry of a table, None where it gives none."""
        table, row, algorithm = _parts(name, "TABLE.ROW.ESTIMATOR")
        return self._published[table].value(row, algorithm, quantity) if table in self._published else None

    def panels(self, figure: str) -> list[Panel]:
        """Return the panels of a figure, none when it is not part of this scale."""
        return list(self._figures[figure].panels) if figure in self._figures else []

    def curves(self, name: str) -> Curves:
        """Return a curve by its name, such as ``fig1.a.cd_1``.

        Raises
        ------
        NotRun
            If figure, panel or algorithm is not part of this scale.
        ResultsError
            If it is, and its files are missing or damaged.
        """
        if name not in self._curves:
            figure, letter, algorithm = _parts(name, "FIGURE.PANEL.ALGORITHM")
            panel = next((p for p in self.panels(figure) if p.name == letter), None)
            run = next((r for r in panel.runs if r.algorithm == algorithm), None) if panel else None
            if run is None:
                raise NotRun(f"{name} is not part of this scale")
            meta = read_meta(run.folder)
            stand_in = data_of(meta, run.folder)["stand_in"]
            annealed = {"effective_particles": _least_size(run.folder)} if panel.annealing else {}
            trials = read_trials(run.folder)
            self._curves[name] = Curves(name, run.label, panel, meta, stand_in, trials, **annealed)
        return self._curves[name]

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
        if table not in self._tables:
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
