# SPDX-License-Identifier: BSD-3-Clause
"""The contents of a figure of learning curves, and its curves as evidence of claims."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from rbmbench import datasets
from rbmbench.base.errors import SettingsError
from rbmbench.base.metrics import ERRORS, NORMAL
from rbmbench.io.meta import Meta
from rbmbench.io.results import read_arrays
from rbmbench.likelihood import exact_log_partition, log_likelihood
from rbmbench.model.rbm import RBM
from rbmbench.planning.chart import Line
from rbmbench.planning.differences import Difference
from rbmbench.planning.specs import Place, RunFolder
from rbmbench.reporting.frames import (
    FINAL_SHARE,
    TITLES,
    Band,
    CurvesFigure,
    PanelSpec,
    RunData,
    annealing_certainty,
    estimate_ends,
    first_rate,
    summarise,
    with_estimates,
)
from rbmbench.reporting.words import FEW_PARTICLES, count, unbroken
from rbmbench.training.evaluation import DistinctRows

QUANTILES = "quantiles"
ROUNDING = 1e-9
"""Rounding errors of log-likelihoods, nats."""
TRUE_ARRAYS = ("true_W", "true_b", "true_c")
"""Arrays (m, n), (m,), (n,) in the file of a data set whose rows were drawn from an RBM."""


def maximum(rows: np.ndarray) -> float:
    """Return the largest mean log-likelihood of rows (N, m) of 0 and 1 over all models, nats per sample.

    It is (1/N) sum_i log p^(v_i), with the frequencies p^ of the rows.
    """
    shares = DistinctRows(rows).counts / len(rows)
    return float(shares @ np.log(shares))


def references(panel: PanelSpec) -> list[Line]:
    """Return the horizontal lines of a panel: exact log-likelihoods, means per sample of its rows, in nats.

    They are the `maximum`, and the log-likelihood of the RBM that the rows were drawn from. The rows are those of the
    log-likelihood of the panel: of the training set, or of the test set.

    Raises
    ------
    DataError
        If the file of the data set is missing or damaged.
    ResultsError
        If it does not contain the model of the rows.
    """
    subset = "train" if "log_likelihood" in panel.metrics else "test"
    rows = getattr(datasets.read(panel.data_file), subset) if panel.references else None
    lines = []
    for name in panel.references:
        if name == "maximum":
            value = maximum(rows)
        else:
            arrays = read_arrays(panel.data_file, TRUE_ARRAYS)
            rbm = RBM(*(arrays[array] for array in TRUE_ARRAYS))
            value = float(log_likelihood(rbm, rows, exact_log_partition(rbm)))
        lines.append(Line(title=TITLES[name], value=value, look=name))
    return lines


@dataclass(frozen=True)
class CurveResults:
    """Runs and reference lines of a figure of learning curves."""

    panels: tuple[PanelSpec, ...]
    band: Band
    runs: dict[str, RunData]
    """The runs' files, by folder."""
    references: dict[str, list[Line]]
    """Horizontal lines, by panel."""
    frame: pd.DataFrame
    """See `rbmbench.reporting.frames.tidy_curves`."""

    @cached_property
    def summary(self) -> pd.DataFrame:
        """Means, bands and intervals of estimates: see `rbmbench.reporting.frames`."""
        return with_estimates(summarise(self.frame, self.band), self.panels, self.runs)

    @property
    def has_one_trial(self) -> bool:
        """Whether every curve is that of a single trial."""
        return bool((self.summary["trials"] == 1).all())

    @cached_property
    def certainty(self) -> pd.DataFrame:
        """Errors of log Z: see `rbmbench.reporting.frames.annealing_certainty`."""
        return annealing_certainty(self.panels, self.runs)

    @cached_property
    def left_out(self) -> dict[str, list[str]]:
        """Trials omitted from means, in words, by panel."""
        phrases: dict[str, list[str]] = {}
        lost = self.frame[~np.isfinite(self.frame["value"])]
        groups = lost.groupby(["panel", "algorithm", "label", "trial"], sort=False)["iteration"]
        for (panel, _, label, trial), iteration in groups.min().items():
            phrases.setdefault(panel, []).append(f"{label} trial {trial} (not finite at iteration {count(iteration)})")
        return phrases

    @cached_property
    def doubts(self) -> dict[str, str]:
        """Notes on curves with too few particles for reliable errors of log Z, by panel."""
        effective = self.certainty["least share of particles"] * self.certainty["particles"]
        few = (effective < FEW_PARTICLES) & self.certainty["share converged"].isna()
        return {
            panel: "log Z rests on few particles: "
            + ", ".join(unbroken(f"{line.algorithm} {line.effective:.2g}") for line in lines.itertuples())
            for panel, lines in self.certainty.assign(effective=effective)[few].groupby("panel")
        }


@dataclass(frozen=True)
class Curves:
    """All trials of one metric of a curve of a figure; a log-likelihood is the mean per sample, nats."""

    spec: CurvesFigure
    panel: PanelSpec
    run: RunFolder
    results: CurveResults
    metric: str = "log_likelihood"

    @property
    def name(self) -> str:
        """Its name in claims: ``fig1.a.cd_1``."""
        return f"{self.spec.name}.{self.panel.name}.{self.run.algorithm}"

    @property
    def label(self) -> str:
        """The algorithm in legends."""
        return self.run.label

    @property
    def rate(self) -> float:
        """The learning rate, the first one of a schedule."""
        return first_rate(self.files, self.panel)

    @property
    def files(self) -> RunData:
        """The files of its run."""
        return self.results.runs[self.run.folder]

    @property
    def meta(self) -> Meta:
        """The meta of its run."""
        return self.files.meta

    @property
    def stand_in(self) -> str:
        """See `Source`."""
        return self.files.data["stand_in"]

    @cached_property
    def all_trials(self) -> pd.DataFrame:
        """All trials (index) by iterations (columns), NaN for missing values."""
        return self.files.trials(self.metric)

    @cached_property
    def trials(self) -> pd.DataFrame:
        """The trials without a missing or non-finite value, as trials by iterations."""
        return self.all_trials[np.isfinite(self.all_trials).all(axis=1)]

    @cached_property
    def effective_particles(self) -> float:
        """The least effective sample size of annealing over trials and evaluations; infinite if there is none."""
        name, kept = "annealing_effective_sample_size", set(self.files.curve["metric"])
        if ERRORS.get(self.metric) != "log_partition_error" or name not in kept or "log_partition_low" in kept:
            return math.inf
        return float(self.files.trials(name).min(axis=None))

    def doubt(self, particles: float, trials: pd.Index) -> np.ndarray:
        """Return errors of the mean of trials below and above its values, (2, evaluations), beyond standard errors.

        See `rbmbench.reporting.frames.estimate_ends`, whose intervals always include `NORMAL` standard errors.
        """
        ends = estimate_ends(self.files, self.metric, particles)
        if ends is None:
            return np.zeros((2, self.trials.shape[1]))
        half = NORMAL * self.files.trials(ERRORS[self.metric])
        beyond = self.trials - ends[0] - half, ends[1] - self.trials - half
        # Differences within rounding errors are 0.
        shown = self._shown(trials)
        return np.stack([excess.loc[shown].where(excess > ROUNDING, 0.0).mean() for excess in beyond])

    @property
    def place(self) -> Place:
        """The panel that shows the metric of the run: this one, or else another one; this one if none does."""
        for panel in sorted(self.spec.panels, key=lambda panel: panel.name != self.panel.name):
            if self.metric in panel.metrics and self.run.folder in [run.folder for run in panel.runs]:
                return Place(self.spec.key, panel.name, self.run.algorithm, self.metric, panel.epoch or 1)
        return Place(self.spec.key, self.panel.name, self.run.algorithm, is_exact=False)

    @cached_property
    def mean(self) -> pd.Series:
        """The mean over the trials."""
        return self.trials.mean()

    @property
    def iterations(self) -> np.ndarray:
        """The iterations of the evaluations, float64."""
        return self.trials.columns.to_numpy(dtype=float)

    @property
    def late(self) -> np.ndarray:
        """Mask of the evaluations of the final value: see `FINAL_SHARE`."""
        return self.iterations > (1 - FINAL_SHARE) * self.iterations[-1]

    @property
    def final(self) -> pd.Series:
        """The final value of every trial, by trial."""
        return self.trials.loc[:, self.late].mean(axis=1)

    def errors(self, trial: int) -> np.ndarray | None:
        """Return the standard errors (evaluations,) of the estimates of a trial; None for exact values."""
        if (name := ERRORS.get(self.metric)) not in set(self.files.curve["metric"]):
            return None
        return self.files.trials(name).loc[trial, self.trials.columns].to_numpy()

    def of_trials(self, trials: pd.Index) -> np.ndarray:
        """Return values of trials (trials, evaluations); the mean, as often, of a curve that lacks some of them."""
        if self._shown(trials) is trials:
            return self.trials.loc[trials].to_numpy()
        return np.tile(self.mean.to_numpy(), (len(trials), 1))

    def _shown(self, trials: pd.Index) -> pd.Index:
        """Return trials, or all complete trials of a curve that lacks some of them."""
        return trials if trials.isin(self.trials.index).all() else self.trials.index

    def near(self, iteration: float) -> np.ndarray:
        """Return the mask of the evaluations within half of `FINAL_SHARE` of an iteration, and of the nearest one."""
        distances = np.abs(self.iterations - iteration)
        near = distances <= FINAL_SHARE / 2 * self.iterations[-1]
        near[np.argmin(distances)] = True
        return near

    def reference(self, name: str) -> Line:
        """Return a reference line of its panel; `SettingsError` if the panel has no such line."""
        lines = {line.look: line for line in self.results.references[self.panel.name]}
        if name not in lines:
            names = ", ".join(lines) or "none"
            raise SettingsError(f"claims: {self.name}: its panel has no reference {name!r}; got {names}")
        return lines[name]

    def of_panel(self) -> list[Curves]:
        """Return the same metric of all curves of the panel."""
        return [Curves(self.spec, self.panel, run, self.results, self.metric) for run in self.panel.runs]

    @property
    def dropped(self) -> list[str]:
        """See `Source`."""
        lost = self.all_trials.index.difference(self.trials.index)
        return [f"left out: {self.label} trial {trial} (not finite)" for trial in lost]

    @property
    def budget(self) -> dict[str, int]:
        """See `Source`."""
        return {"iterations": self.panel.iterations, "trials": len(self.trials)}

    @property
    def differences(self) -> tuple[Difference, ...]:
        """Differences of the run, and of the evaluation of the metric, from the published ones."""
        changes = self.spec.of_part(self.panel.name, self.run.algorithm)
        return tuple(change for change in changes if change.changes(self.metric) and change.setting != QUANTILES)
