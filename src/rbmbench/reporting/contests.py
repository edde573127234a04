# SPDX-License-Identifier: BSD-3-Clause
"""Contests of an arena in tidy frames: what algorithms reach for what cost, at rates that other trials chose.

Costs are matrix products (see `rbmbench.estimators.Estimator.products`) and processor seconds, both of one trial.
Values are mean log-likelihoods per row, nats.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
import pandas as pd

from rbmbench import estimators, updates
from rbmbench.base.metrics import metric_of
from rbmbench.base.settings import Choice, Stage
from rbmbench.measurements.verdicts import CERTIFIED
from rbmbench.reporting.claims.intervals import FEWEST, Interval, student
from rbmbench.reporting.frames import RunData, training_seconds
from rbmbench.reporting.marks import first_reached

COSTS = {"products": "matrix products", "seconds": "processor seconds"}
"""Costs by their columns, in words."""
ENTRANT = ["contest", "algorithm"]
OF_CONTEST = ["contest", "data", "data_title", "stand_in", "hidden", "budget"]
OF_CURVE = ["algorithm", "label", "rate", "trial", "judged", "iteration", "products", "seconds", "tuning", "value"]
COLUMNS = [*OF_CONTEST, *OF_CURVE, "certificate", "commit"]
NEAREST_TARGET = 0.01
TARGETS = 51
"""Levels from the start of a contest to its best final value, their distances to that falling to `NEAREST_TARGET`."""
DECIMALS = 6
"""Of seconds and nats: more would double the size of the kept file, and say nothing."""
SHARES = np.geomspace(2e-3, 1.0, 121)
"""Shares of the budget at which reached targets are counted."""


def products_of(estimator: Choice, update: Choice, sizes: tuple[int, int, int]) -> Callable[[Mapping], float]:
    """Return the matrix products of an iteration as a function of its diagnostics.

    ``sizes`` are rows of a mini-batch, visible and hidden units.
    """
    made = estimators.REGISTRY.create(estimator.name, estimator.options)
    return partial(updates.REGISTRY.create(update.name, update.options).products, made, *sizes)


def contest_curves(
    contest: Any, runs: Mapping[str, RunData], verdicts: Mapping[str, Mapping[int, str]] | None = None
) -> pd.DataFrame:
    """Return all curves of a contest, one row for each entry, trial and evaluation.

    Parameters
    ----------
    contest : rbmbench.kinds._contests.ContestSpec
    runs : mapping
        The runs' files, by folder.
    verdicts : mapping, optional
        Of certificates, in words, by folder of the run and index of the trial.

    Returns
    -------
    DataFrame
        Columns contest, data, data_title, stand_in, hidden, budget (products), algorithm, label, rate, trial, judged
        (whether the trial is, or else tunes), iteration, products and seconds (of a trial until then), tuning and value
        (the metrics that rates are chosen by and that algorithms are judged by), certificate (the verdict on the model
        of the last evaluation, else ""), commit (of the code that made it).

    Raises
    ------
    ResultsError
        If a run lacks one of the metrics.
    """
    known = verdicts or {}
    curves = [_entry_curves(contest, one, runs[one.folder], known.get(one.folder, {})) for one in contest.entries]
    return pd.concat(curves, ignore_index=True)


def _entry_curves(contest: Any, entry: Any, run: RunData, verdicts: Mapping[int, str]) -> pd.DataFrame:
    tuning, value = run.trials(contest.tuned_by), run.trials(contest.judged_by)
    products = _products(run, tuning.columns.to_numpy())
    seconds = training_seconds(run.meta) / run.meta["trials"] * products / products[-1]
    columns = {"tuning": tuning, "value": value}
    long = pd.concat({name: frame.stack().round(DECIMALS) for name, frame in columns.items()}, axis=1).reset_index()
    place = long["iteration"].map({iteration: i for i, iteration in enumerate(tuning.columns)})
    first = run.meta["settings"]["first_trial"]
    data, last = run.data, long["iteration"] == tuning.columns[-1]
    return long.assign(
        contest=contest.name,
        data=contest.data,
        data_title=data["title"],
        stand_in=data["stand_in"],
        hidden=contest.hidden,
        budget=contest.products,
        algorithm=entry.algorithm,
        label=entry.label,
        rate=entry.rate,
        judged=long["trial"] >= first + contest.tuning_trials,
        products=products[place],
        seconds=seconds[place].round(DECIMALS),
        certificate=[verdicts.get(trial, "") for trial in (long["trial"] - first).where(last)],
        commit=(run.meta.get("commit") or "")[:7],
    )[COLUMNS]


def _products(run: RunData, iterations: np.ndarray) -> np.ndarray:
    """Return the products until each evaluation, by the diagnostics of the iterations before it."""
    settings = run.meta["settings"]
    stage = Stage.model_validate(settings["schedule"][0])
    cost = products_of(
        stage.estimator, stage.update, (settings["batch"], run.meta["data"]["visible"], settings["hidden"])
    )
    means = run.curve.pivot_table(index="iteration", columns="metric", values="value", aggfunc="mean")
    means = means[[name for name in means if not metric_of(name).momentary]]
    known = means.to_dict("index")
    costs = [cost({name: one for name, one in known.get(i, {}).items() if np.isfinite(one)}) for i in iterations[1:]]
    return np.concatenate([[0.0], np.cumsum(np.diff(iterations) * costs)])


def at_cost(curves: pd.DataFrame, cost: str, budgets: Mapping[str, float]) -> pd.DataFrame:
    """Return values and tuning of every trial once it has cost so much, by contest; linear between evaluations."""
    keys = [*ENTRANT, "label", "rate", "trial", "judged"]
    # Thousands of short curves: arrays are ten times as fast as frames.
    of_curve = curves.groupby(keys, sort=False).ngroup().to_numpy()
    order = np.argsort(of_curve, kind="stable")
    starts = np.flatnonzero(np.diff(of_curve[order], prepend=-1))
    found = curves[keys].iloc[order[starts]].reset_index(drop=True)
    budget = found["contest"].map(budgets).to_numpy()
    costs = np.split(curves[cost].to_numpy()[order], starts[1:])
    for name in ("tuning", "value", "seconds"):
        values = np.split(curves[name].to_numpy()[order], starts[1:])
        found[name] = [np.interp(*one) for one in zip(budget, costs, values, strict=True)]
    return found.assign(whole_cost=[one[-1] for one in costs])


def chosen_rates(reached: pd.DataFrame) -> pd.DataFrame:
    """Return for each contest and algorithm the rate with the best mean tuning value of the trials that tune."""
    tuning = reached[~reached["judged"]].fillna({"tuning": -np.inf})
    means = tuning.groupby([*ENTRANT, "rate"], sort=False)["tuning"].mean().reset_index()
    best = means.groupby(ENTRANT, sort=False)["tuning"].idxmax()
    return means.loc[best, [*ENTRANT, "rate"]].reset_index(drop=True)


@dataclass(frozen=True)
class Budgeted:
    """All trials at the budgets of one cost.

    Attributes
    ----------
    cost : str
    budgets : dict
        By contest.
    reached : DataFrame
        See `at_cost`.
    rates : DataFrame
        See `chosen_rates`.
    """

    cost: str
    budgets: dict[str, float]
    reached: pd.DataFrame
    rates: pd.DataFrame

    @classmethod
    def of(cls, curves: pd.DataFrame, cost: str, budgets: dict[str, float]) -> Self:
        """Return all trials at these budgets."""
        reached = at_cost(curves, cost, budgets)
        return cls(cost, budgets, reached, chosen_rates(reached))

    @property
    def at_best(self) -> pd.DataFrame:
        """All trials at the chosen rates."""
        return self.reached.merge(self.rates, on=[*ENTRANT, "rate"])

    def judged(self, curves: pd.DataFrame) -> pd.DataFrame:
        """Return the curves of judged trials at the chosen rates."""
        return curves[curves["judged"]].merge(self.rates, on=[*ENTRANT, "rate"])


def under_products(curves: pd.DataFrame) -> Budgeted:
    """Return all trials at the budgets of products."""
    return Budgeted.of(curves, "products", curves.groupby("contest", sort=False)["budget"].first().to_dict())


def under_budgets(curves: pd.DataFrame) -> tuple[Budgeted, Budgeted]:
    """Return all trials at the budgets of products, and at those of seconds.

    The latter are the least time that any algorithm takes for the products, at the rate that is chosen for them.
    """
    products = under_products(curves)
    times = products.at_best.groupby(ENTRANT, sort=False)["seconds"].mean()
    return products, Budgeted.of(curves, "seconds", times.groupby("contest", sort=False).min().to_dict())


def standings(curves: pd.DataFrame) -> pd.DataFrame:
    """Return where every judged trial stands, at the chosen rates, under both budgets.

    Returns
    -------
    DataFrame
        Columns cost, budget, contest, algorithm, label, rate, trial, tuning, value, whole_cost, seconds, rank (1 is the
        best of the algorithms in this trial; ties share the mean of their ranks).
    """
    parts = []
    for under in under_budgets(curves):
        judged = under.at_best[lambda trials: trials["judged"]]
        ranks = judged.groupby(["contest", "trial"])["value"].rank(ascending=False, na_option="bottom")
        parts.append(judged.assign(cost=under.cost, budget=judged["contest"].map(under.budgets), rank=ranks))
    return pd.concat(parts, ignore_index=True).drop(columns="judged")


def contest_results(curves: pd.DataFrame) -> pd.DataFrame:
    """Return mean, Student's interval over the trials, and mean rank of each algorithm, contest and cost.

    Columns are those of contests in `contest_curves`, and cost, algorithm, label, rate, at_edge (whether the rate is
    an end of the grid), trials, value, low, high, rank, rank_low, rank_high, seconds, whole_cost, examined and
    certified (numbers of judged models that have a certificate, and whose verdict is "certified"), doubts (the reasons
    of the first one that is not).
    """
    ends = curves.groupby(ENTRANT)["rate"].agg(["min", "max"])
    facts = curves.drop_duplicates("contest").set_index("contest")[["data", "data_title", "stand_in", "hidden"]]
    rows = []
    keys = ["cost", *ENTRANT, "label", "rate"]
    for key, one in standings(curves).groupby(keys, sort=False):
        found = dict(zip(keys, key, strict=True))
        end = ends.loc[tuple(found[name] for name in ENTRANT)]
        found["at_edge"] = bool(end["min"] < end["max"] and found["rate"] in (end["min"], end["max"]))
        found |= facts.loc[found["contest"]].to_dict() | {"budget": one["budget"].iloc[0], "trials": len(one)}
        found |= dict(zip(("value", "low", "high"), student(one["value"]), strict=True))
        found |= dict(zip(("rank", "rank_low", "rank_high"), student(one["rank"]), strict=True))
        rows.append(found | one[["seconds", "whole_cost"]].mean().to_dict())
    results = pd.DataFrame(rows).merge(_certified(curves), on=[*ENTRANT, "rate"], how="left")
    return results.fillna({"examined": 0, "certified": 0, "doubts": ""}).astype({"examined": int, "certified": int})


def _certified(curves: pd.DataFrame) -> pd.DataFrame:
    """Return how many models of each algorithm and rate have a certificate, and what it says."""
    examined = curves[curves["certificate"].fillna("") != ""]
    sure = examined["certificate"] == CERTIFIED
    counted = examined.assign(sure=sure, doubt=examined["certificate"].where(~sure)).groupby([*ENTRANT, "rate"])
    return counted.agg(examined=("sure", "size"), certified=("sure", "sum"), doubts=("doubt", "first")).reset_index()


def overall_ranks(standing: pd.DataFrame) -> pd.DataFrame:
    """Return the mean rank over contests with its interval, see `over_contests`, by cost and algorithm."""
    rows = []
    for (cost, name), one in standing.groupby(["cost", "algorithm"], sort=False):
        mean, *ends = over_contests(one.set_index(["contest", "trial"])["rank"])
        low, high = np.clip(ends, 1, standing["algorithm"].nunique())
        rows.append({"cost": cost, "algorithm": name, "rank": mean, "rank_low": low, "rank_high": high})
    return pd.DataFrame(rows)


def over_contests(values: pd.Series) -> Interval:
    """Return the mean over contests of numbers by contest and trial, and Student's interval over the contests.

    Where those are too few it is over the trials, see `unit_of`.
    """
    return student(values.groupby(unit_of(values.index.unique("contest").size)).mean())


def unit_of(contests: int) -> str:
    """Return over what intervals are: "contest", or "trial" where contests are too few to stand for others."""
    return "trial" if contests < FEWEST else "contest"


def _facts(curves: pd.DataFrame) -> pd.DataFrame:
    """Return what figures say of each contest."""
    return curves.drop_duplicates("contest")[["contest", "data_title", "stand_in", "hidden"]]


def anytime_curves(curves: pd.DataFrame) -> pd.DataFrame:
    """Return mean, and quantiles of 10 and 90 % over the judged trials, at the rates chosen for the whole budget.

    Columns are contest, data_title, stand_in, hidden, algorithm, label, rate, trials, cost, spent (products or
    seconds), mean, low, high. Curves end with the budget, where values lie between evaluations.
    """
    parts = []
    for under in under_budgets(curves):
        cost, judged = under.cost, under.judged(curves)
        keys = ["contest", "data_title", "stand_in", "hidden", *ENTRANT[1:], "label", "rate", cost]
        before = judged[judged[cost] < 0.9999 * judged["contest"].map(under.budgets)]
        ends = under.at_best[lambda trials: trials["judged"]]
        spent = np.minimum(ends["whole_cost"], ends["contest"].map(under.budgets))
        within = pd.concat([before, ends.assign(**{cost: spent}).merge(_facts(curves), on="contest")])
        grouped = within.groupby(keys, sort=False, dropna=False)["value"]  # no stand-in is NaN in a CSV
        summary = grouped.agg(
            trials="count", mean="mean", low=lambda x: x.quantile(0.1), high=lambda x: x.quantile(0.9)
        )
        parts.append(summary.reset_index().rename(columns={cost: "spent"}).assign(cost=cost))
    return pd.concat(parts, ignore_index=True)


def reached_targets(curves: pd.DataFrame) -> pd.DataFrame:
    """Return which share of all targets, trials and contests each algorithm has reached, by share of the budget.

    The targets of a contest lie between the mean of the initial values and the best mean at the end of the budget;
    their distances to that fall by equal factors. Columns are cost, algorithm, label, spent (share), reached.
    """
    rows = []
    for under in under_budgets(curves):
        cost, judged, ends = under.cost, under.judged(curves), under.at_best[lambda trials: trials["judged"]]
        best = ends.groupby(ENTRANT)["value"].agg(lambda values: values.to_numpy().mean()).groupby("contest").max()
        first = judged[judged["iteration"] == 0].groupby("contest")["value"].mean()
        times: dict[str, list[np.ndarray]] = {}
        for (contest, algorithm, _), one in judged.groupby([*ENTRANT, "trial"], sort=False):
            distances = (best[contest] - first[contest]) * np.geomspace(1, NEAREST_TARGET, TARGETS)[1:]
            share = one[cost].to_numpy() / under.budgets[contest]
            reached = first_reached(one["value"].to_numpy(), share, best[contest] - distances)
            times.setdefault(algorithm, []).append(reached)
        for algorithm, found in times.items():
            shares = (np.concatenate(found)[:, None] <= SHARES).mean(axis=0)
            of_one = {"cost": cost, "algorithm": algorithm}
            rows += [of_one | {"spent": s, "reached": r} for s, r in zip(SHARES, shares, strict=True)]
    labels = curves.drop_duplicates("algorithm").set_index("algorithm")["label"]
    found = pd.DataFrame(rows)
    return found.assign(label=found["algorithm"].map(labels))


def tuned_rates(curves: pd.DataFrame) -> pd.DataFrame:
    """Return the mean tuning value, with its extremes, of every rate under the budget of products.

    Columns are contest, data_title, stand_in, hidden, algorithm, label, rate, trials, mean, low, high, chosen.
    """
    under, keys = under_products(curves), [*ENTRANT, "label", "rate"]
    chosen, reached = under.rates.assign(chosen=True), under.reached
    found = reached[~reached["judged"]].groupby(keys, sort=False)["tuning"]
    found = found.agg(trials="count", mean="mean", low="min", high="max").reset_index()
    merged = found.merge(_facts(curves), on="contest").merge(chosen, on=[*ENTRANT, "rate"], how="left")
    return merged.assign(chosen=merged["chosen"].notna())
