# SPDX-License-Identifier: BSD-3-Clause
"""Contests of an arena in tidy frames: likelihoods by cost, at rates that other trials chose.

Costs are matrix products (see `rbmbench.estimators.Estimator.products`) and processor seconds, both of one trial.
Values are mean log-likelihoods per row, nats.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from rbmbench.base.settings import Stage
from rbmbench.io.layout import CERTIFICATE, CURVE, META
from rbmbench.io.results import read_table
from rbmbench.measurements.verdicts import CERTIFIED, verdict
from rbmbench.planning.specs import RunFolder, Shown, Spec
from rbmbench.reporting.claims.intervals import FEWEST, Interval, student
from rbmbench.reporting.frames import RunData, first_reached, training_seconds
from rbmbench.reporting.words import short_commit
from rbmbench.updates import products_of

COSTS = {"products": "matrix products", "seconds": "processor seconds"}
"""Costs by their columns, in words."""
ENTRANT = ["contest", "algorithm"]
OF_CONTEST = ["contest", "data", "data_title", "stand_in", "hidden", "budget"]
OF_CURVE = ["algorithm", "label", "rate", "trial", "judged", "iteration", "products", "seconds", "tuning", "value"]
COLUMNS = [*OF_CONTEST, *OF_CURVE, "certificate", "commit"]
NEAREST_TARGET = 0.01
TARGETS = 51
"""Number of levels from the start of a contest to its best final value, with distances down to `NEAREST_TARGET`."""
DECIMALS = 6
"""Decimals of seconds and nats: more are noise, and would double the size of the kept file."""
SHARES = np.geomspace(2e-3, 1.0, 121)
"""Shares of the budget at which curves are shown and reached targets are counted."""
WIDEST = 0.1
"""Largest distance of two evaluations for a value between them, as a share of the budget."""
ROUNDING = 1e-6
"""Relative difference up to which costs are equal: seconds are rounded."""
OVERALL = "all contests"
REFUSED, TOO_DEAR = "no evaluation near the budget", "needs more than the budget"
"""Reasons for a missing value at a budget."""


class ContestEntry(RunFolder):
    """An algorithm at one rate, and the folder of its run or the run's evaluation."""

    rate: float
    certificate: str | None = None
    """Folder of the certificates of some trials."""

    def curves(self, contest: ContestSpec) -> pd.DataFrame:
        """Return the curves of the trials in a contest; see `OfContestsSpec.read`."""
        run, budget = RunData.read(self.folder), contest.products
        tuning, value = run.trials(contest.tuned_by), run.trials(contest.judged_by)
        settings = run.meta["settings"]
        if settings.get("products"):
            products = run.trials("products")
        else:
            stage = Stage.model_validate(settings["schedule"][0])
            sizes = settings["batch"], run.meta["data"]["visible"], settings["hidden"]
            cost = products_of(stage.estimator, stage.update, sizes)()
            products = pd.DataFrame(1, value.index, value.columns) * (cost * value.columns.to_numpy())
        spent, last = products.clip(upper=budget), products.columns[-1]
        seconds = training_seconds(run.meta) / products[last].sum() * spent
        # One more iteration would exceed the budget.
        spent[last] = spent[last].mask(products[last] * (1 + 1 / last) > budget, budget)
        dear = (products.columns > 0) & (products.gt(budget) & (products.columns == 1)).any(axis=1).to_numpy()[:, None]
        columns = {"tuning": tuning.mask(dear), "value": value.mask(dear), "seconds": seconds}
        columns = {name: frame.round(DECIMALS) for name, frame in columns.items()} | {"products": spent}
        long = pd.concat({name: frame.stack() for name, frame in columns.items()}, axis=1).reset_index()
        first, data = settings["first_trial"], run.data
        certificates = read_table(self.certificate, CERTIFICATE).groupby("trial") if self.certificate else ()
        verdicts = {trial: str(verdict(rows)) for trial, rows in certificates}
        return long.assign(
            contest=contest.name,
            data=contest.data,
            data_title=data["title"],
            stand_in=data["stand_in"],
            hidden=contest.hidden,
            budget=budget,
            algorithm=self.algorithm,
            label=self.label,
            rate=self.rate,
            judged=long["trial"] >= first + contest.tuning_trials,
            certificate=[verdicts.get(trial, "") for trial in (long["trial"] - first).where(long["iteration"] == last)],
            commit=short_commit(run.meta.get("commit"), 7),
        )[COLUMNS]


class ContestSpec(Spec):
    """A data set and a number of hidden units, and the runs of all algorithms on it."""

    name: str
    data: str
    hidden: int
    products: float
    tuning_trials: int
    tuned_by: str
    judged_by: str
    entries: tuple[ContestEntry, ...]


class OfContestsSpec(Shown):
    """Base of the specs of an arena."""

    contests: tuple[ContestSpec, ...]

    def sources(self) -> dict[str, tuple[str, ...]]:
        """See `Shown.sources`."""
        entries = [entry for contest in self.contests for entry in contest.entries]
        certificates = {entry.certificate: (CERTIFICATE,) for entry in entries if entry.certificate}
        return {entry.folder: (CURVE, META) for entry in entries} | certificates

    def read(self) -> pd.DataFrame:
        """Return all curves, one row for each contest, entry, trial and evaluation.

        Columns are contest, data, data_title, stand_in, hidden, budget (products), algorithm, label, rate, trial,
        judged (false for trials that tune), iteration, products and seconds (of a trial until then), tuning and value
        (the metrics for the choice of rates and for judging algorithms; NaN if the first iteration alone exceeds the
        budget), certificate (the verdict on the model of the last evaluation, else ""), commit (of the code that made
        it). The last model inside the budget of products counts at the budget.
        """
        entries = [(entry, contest) for contest in self.contests for entry in contest.entries]
        return pd.concat([entry.curves(contest) for entry, contest in entries], ignore_index=True)

    @property
    def entries(self) -> dict[str, ContestEntry]:
        """One entry of each algorithm, by its key."""
        return {entry.algorithm: entry for contest in self.contests for entry in contest.entries}

    @property
    def labels(self) -> dict[str, str]:
        """Labels of the algorithms by key."""
        return {name: entry.label for name, entry in self.entries.items()}

    @property
    def lacks(self) -> str:
        """The omitted parts, see `Shown.lacks`, and algorithms that are in no contest."""
        missing = (item for item in self.differences if item.setting == "algorithm" and item.value is None)
        labels = dict.fromkeys(item.label for item in missing if item.algorithm not in self.entries)
        return super().lacks + f", without {', '.join(labels)}" * bool(labels)


def values_at(at: np.ndarray, costs: np.ndarray, values: np.ndarray, widest: float) -> np.ndarray:
    """Return the values (..., evaluations) of a curve at a cost, or at costs (n,): (...,) or (..., n).

    At an evaluation it is the measured value; between two that are at most ``widest`` apart it is linear; elsewhere,
    and beyond the last evaluation, NaN.
    """
    after = np.minimum(np.searchsorted(costs, at * (1 - ROUNDING)), len(costs) - 1)
    before = np.maximum(after - 1, 0)
    measured, gap = np.abs(costs[after] - at) <= ROUNDING * at, costs[after] - costs[before]
    near = (costs[before] <= at) & (at <= costs[after]) & (gap <= widest)
    weight = (at - costs[before]) / np.where(gap > 0, gap, 1)
    between = (1 - weight) * values[..., before] + weight * values[..., after]
    return np.where(measured, values[..., after], np.where(near, between, np.nan))


def at_cost(curves: pd.DataFrame, cost: str, budgets: Mapping[str, float]) -> pd.DataFrame:
    """Return tuning, value and seconds of every trial at a cost, by contest; see `values_at`.

    Column refused is true for trials without an evaluation near this cost; tuning is then that of the last evaluation
    before. Other missing values are of trials whose first iteration exceeds the budget of products.
    """
    keys = [*ENTRANT, "label", "rate", "trial", "judged"]
    # Thousands of short curves: arrays are ten times as fast as frames.
    groups = curves.groupby(keys, sort=False).ngroup().to_numpy()
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    reached = curves[keys].iloc[order[starts]].reset_index(drop=True)
    budget = reached["contest"].map(budgets).to_numpy(dtype=float)
    names = ["tuning", "value", "seconds"]
    costs = np.split(curves[cost].to_numpy(dtype=float)[order], starts[1:])
    values = np.split(curves[names].assign(present=1.0).to_numpy(dtype=float)[order], starts[1:])
    trials = list(zip(budget, costs, values, strict=True))
    *columns, present = np.transpose([values_at(at, spent, table.T, WIDEST * at) for at, spent, table in trials])
    refused = np.isnan(present)
    before = [table[np.searchsorted(spent, at, side="right") - 1, 0] for at, spent, table in trials]
    columns[0] = np.where(refused, before, columns[0])
    return reached.assign(**dict(zip(names, columns, strict=True)), refused=refused)


def along(curves: pd.DataFrame, cost: str, budget: float) -> tuple[np.ndarray, np.ndarray]:
    """Return costs up to the budget, and the values of the trials of one algorithm there (trials, costs).

    The costs are those of the evaluations, means over the trials, and the `SHARES` of the budget. See `values_at`.
    """
    costs, values = (
        curves.pivot(index="trial", columns="iteration", values=name).to_numpy() for name in (cost, "value")
    )
    evaluated = costs.mean(axis=0)
    grid = np.unique(np.concatenate([evaluated[evaluated < budget * (1 - ROUNDING)], SHARES * budget]))
    return grid, np.array([values_at(grid, *trial, WIDEST * budget) for trial in zip(costs, values, strict=True)])


@dataclass(frozen=True)
class Budgeted:
    """All trials at the budgets of one cost, by contest."""

    curves: pd.DataFrame
    cost: str
    budgets: dict[str, float]

    @cached_property
    def reached(self) -> pd.DataFrame:
        """All trials at the budgets: see `at_cost`."""
        return at_cost(self.curves, self.cost, self.budgets)

    @cached_property
    def rates(self) -> pd.DataFrame:
        """By contest and algorithm the rate with the best mean tuning value of the trials that tune."""
        tuning = self.reached[~self.reached["judged"]].fillna({"tuning": -np.inf})
        means = tuning.groupby([*ENTRANT, "rate"], sort=False)["tuning"].mean().reset_index()
        best = means.groupby(ENTRANT, sort=False)["tuning"].idxmax()
        return means.loc[best, [*ENTRANT, "rate"]].reset_index(drop=True)

    @property
    def at_best(self) -> pd.DataFrame:
        """All trials at the chosen rates."""
        return self.reached.merge(self.rates, on=[*ENTRANT, "rate"])

    @property
    def judged(self) -> pd.DataFrame:
        """The curves of judged trials at the chosen rates."""
        return self.curves[self.curves["judged"]].merge(self.rates, on=[*ENTRANT, "rate"])


def under_products(curves: pd.DataFrame) -> Budgeted:
    """Return all trials at the budgets of products."""
    return Budgeted(curves, "products", curves.groupby("contest", sort=False)["budget"].first().to_dict())


def under_budgets(curves: pd.DataFrame) -> tuple[Budgeted, Budgeted]:
    """Return all trials at the budgets of products, and at those of seconds.

    The latter are the least time of any algorithm for the products, at the rate chosen for them.
    """
    products = under_products(curves)
    times = products.at_best.dropna(subset="value").groupby(ENTRANT, sort=False)["seconds"].mean()
    budgets = times.groupby("contest", sort=False).min().to_dict()
    return products, Budgeted(curves, "seconds", budgets)


def standings(curves: pd.DataFrame) -> pd.DataFrame:
    """Return the ranks of all judged trials, at the chosen rates, under both budgets.

    Columns are cost, budget, contest, algorithm, label, rate, trial, tuning, value, refused, seconds, rank (1 is the
    best of the algorithms in this trial; ties share the mean of their ranks; NaN if one of them is refused, see
    `at_cost`).
    """
    frames = []
    for under in under_budgets(curves):
        judged = under.at_best[lambda trials: trials["judged"]]
        groups = judged.groupby(["contest", "trial"])
        ranks = groups["value"].rank(ascending=False, na_option="bottom")
        ranks = ranks.mask(groups["refused"].transform("any"))
        frames.append(judged.assign(cost=under.cost, budget=judged["contest"].map(under.budgets), rank=ranks))
    return pd.concat(frames, ignore_index=True).drop(columns="judged")


def contest_results(curves: pd.DataFrame) -> pd.DataFrame:
    """Return mean, Student's interval over the trials, and mean rank of each algorithm, contest and cost.

    Columns are those of contests in `OfContestsSpec.read`, and cost, algorithm, label, rate, at_edge (whether the rate
    is an end of the grid), trials, value, low, high, missing (reason for no value: `REFUSED`, `TOO_DEAR` or ""),
    rank, rank_low, rank_high, seconds, examined and certified (numbers of judged models with a certificate,
    and with the verdict "certified"), doubts (the reasons of the first other one).
    """
    ends = curves.groupby(ENTRANT)["rate"].agg(["min", "max"])
    facts = curves.drop_duplicates("contest").set_index("contest")[["data", "data_title", "stand_in", "hidden"]]
    rows = []
    keys = ["cost", *ENTRANT, "label", "rate"]
    for key, trials in standings(curves).groupby(keys, sort=False):
        row = dict(zip(keys, key, strict=True))
        end = ends.loc[tuple(row[name] for name in ENTRANT)]
        row["at_edge"] = bool(end["min"] < end["max"] and row["rate"] in (end["min"], end["max"]))
        row |= facts.loc[row["contest"]].to_dict() | {"budget": trials["budget"].iloc[0], "trials": len(trials)}
        row |= dict(zip(("value", "low", "high"), student(trials["value"]), strict=True))
        row["missing"] = REFUSED if trials["refused"].any() else TOO_DEAR if trials["value"].isna().any() else ""
        row |= dict(zip(("rank", "rank_low", "rank_high"), student(trials["rank"]), strict=True))
        rows.append(row | {"seconds": trials["seconds"].mean()})
    examined = curves[curves["certificate"].fillna("") != ""]
    sure = examined["certificate"] == CERTIFIED
    groups = examined.assign(sure=sure, doubt=examined["certificate"].where(~sure)).groupby([*ENTRANT, "rate"])
    certified = groups.agg(examined=("sure", "size"), certified=("sure", "sum"), doubts=("doubt", "first"))
    results = pd.DataFrame(rows).merge(certified.reset_index(), on=[*ENTRANT, "rate"], how="left")
    return results.fillna({"examined": 0, "certified": 0, "doubts": ""}).astype({"examined": int, "certified": int})


def overall_ranks(standing: pd.DataFrame) -> pd.DataFrame:
    """Return the mean rank over contests with its interval, see `over_contests`, by cost and algorithm.

    Column contests has the number of contests with ranks; trials without are omitted. Column contest is `OVERALL`.
    """
    rows = []
    for (cost, name, label), trials in standing.groupby(["cost", "algorithm", "label"], sort=False):
        ranks = trials.set_index(["contest", "trial"])["rank"].dropna()
        mean, *ends = over_contests(ranks)
        low, high = np.clip(ends, 1, standing["algorithm"].nunique())
        overall = {"cost": cost, "algorithm": name, "rank": mean, "rank_low": low, "rank_high": high}
        rows.append(overall | {"contests": ranks.index.unique("contest").size, "contest": OVERALL, "label": label})
    return pd.DataFrame(rows)


def final_ranks(curves: pd.DataFrame) -> pd.DataFrame:
    """Return `overall_ranks` and `contest_results`."""
    return pd.concat([overall_ranks(standings(curves)), contest_results(curves)], ignore_index=True)


def over_contests(values: pd.Series) -> Interval:
    """Return the mean over contests of numbers by contest and trial, and Student's interval over the contests.

    If there are too few contests, it is over the trials, see `unit_of`.
    """
    return student(values.groupby(unit_of(values.index.unique("contest").size)).mean())


def unit_of(contests: int) -> str:
    """Return the unit of intervals: "contest", or "trial" if there are too few contests."""
    return "trial" if contests < FEWEST else "contest"


def anytime_curves(curves: pd.DataFrame) -> pd.DataFrame:
    """Return mean, and quantiles of 10 and 90 % over the judged trials, at the rates chosen for the whole budget.

    Columns are contest, data_title, stand_in, hidden, algorithm, label, rate, trials, cost, spent (products or
    seconds, see `along`), mean, low, high; all three NaN unless every trial has a value, see `values_at`.
    """
    frames = []
    keys = ["contest", "data_title", "stand_in", "hidden", *ENTRANT[1:], "label", "rate"]
    for under in under_budgets(curves):
        for key, trials in under.judged.groupby(keys, sort=False, dropna=False):  # no stand-in is NaN in a CSV
            spent, values = along(trials, under.cost, under.budgets[key[0]])
            low, high = np.quantile(values, (0.1, 0.9), axis=0)
            curve = {"trials": len(values), "cost": under.cost, "spent": spent, "mean": values.mean(axis=0)}
            curve |= {"low": low, "high": high}
            frames.append(pd.DataFrame(dict(zip(keys, key, strict=True)) | curve))
    return pd.concat(frames, ignore_index=True)


def reached_targets(curves: pd.DataFrame) -> pd.DataFrame:
    """Return the share of all targets, trials and contests that each algorithm has reached, by share of the budget.

    The targets of a contest lie between the mean of the initial values and the best mean at the end of the budget;
    their distances to that fall by equal factors. Contests in which a value at the end is refused, see `at_cost`, are
    omitted. Columns are cost, algorithm, spent (share), reached, label.
    """
    frames = []
    for under in under_budgets(curves):
        judged, ends = under.judged, under.at_best[lambda trials: trials["judged"]]
        judged = judged[~judged["contest"].isin(ends.loc[ends["refused"], "contest"])]
        best = ends.groupby(ENTRANT)["value"].agg(lambda values: values.to_numpy().mean()).groupby("contest").max()
        first = judged[judged["iteration"] == 0].groupby("contest")["value"].mean()
        times: dict[tuple[str, str], list[np.ndarray]] = {}
        for (contest, *names), trials in judged.groupby([*ENTRANT, "label"], sort=False):
            distances = (best[contest] - first[contest]) * np.geomspace(1, NEAREST_TARGET, TARGETS)[1:]
            spent, values = along(trials, under.cost, under.budgets[contest])
            shares = spent / under.budgets[contest]
            reached = [first_reached(trial, shares, best[contest] - distances) for trial in values]
            times.setdefault(tuple(names), []).append(np.concatenate(reached))
        for (algorithm, label), arrays in times.items():
            reached = (np.concatenate(arrays)[:, None] <= SHARES).mean(axis=0)
            shares = {"cost": under.cost, "algorithm": algorithm, "spent": SHARES, "reached": reached, "label": label}
            frames.append(pd.DataFrame(shares))
    return pd.concat(frames, ignore_index=True)


def tuned_rates(curves: pd.DataFrame) -> pd.DataFrame:
    """Return the mean tuning value, with its extremes, of every rate under the budget of products.

    Columns are contest, data_title, stand_in, hidden, algorithm, label, rate, trials, mean, low, high, chosen.
    """
    under, keys = under_products(curves), [*ENTRANT, "label", "rate"]
    facts = curves.drop_duplicates("contest")[["contest", "data_title", "stand_in", "hidden"]]
    tuning = under.reached[~under.reached["judged"]].groupby(keys, sort=False)["tuning"]
    means = tuning.agg(trials="size", mean=lambda values: values.to_numpy().mean(), low="min", high="max").reset_index()
    merged = means.merge(facts, on="contest").merge(under.rates, "left", [*ENTRANT, "rate"], indicator="chosen")
    return merged.assign(chosen=merged["chosen"] == "both")
