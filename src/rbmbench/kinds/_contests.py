# SPDX-License-Identifier: BSD-3-Clause
"""Contests of an arena, their runs, and bases of its figures and its table.

A contest is a data set with a number of hidden units, on which all algorithms train with the same budget of matrix
products, each at every rate of one grid. The first trials tune the rate, by rows that are not trained on; the others
are judged, by rows that have no other use.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from rbmbench import estimators
from rbmbench.base.settings import AnnealingBudget, CertificateBudget, Choice, Count, Initial, Positive, Rate, Settings
from rbmbench.config.checks import Checks
from rbmbench.config.paper import Paper
from rbmbench.config.parts import FigureName, Name, Names, Panel
from rbmbench.kinds._arena import ArenaSpec
from rbmbench.planning.jobs import Output, unique
from rbmbench.planning.kinds import Kind
from rbmbench.planning.runs import Planner
from rbmbench.updates import products_of

EARLIEST, LATE = 0.002, 0.1
"""Shares of the budget at the first evaluation of trained models, and from which on evaluations are dense."""
LATE_EVALUATIONS = 0.7
"""Share of the evaluations that are in the last part, from `LATE` on."""
Metric = Literal["log_likelihood", "validation_log_likelihood", "test_log_likelihood"]


class Contest(Settings):
    """One data set with a number of hidden units, and the budget of all algorithms on it."""

    data: Name = Field(description="key of the data set in this file's data")
    hidden: Count = Field(description="hidden units")
    products: Positive = Field(
        lt=2**31,
        description="budget of a trial: matrix products of a mini-batch with W, as Estimator.products counts them",
    )
    rates: Annotated[tuple[Rate, ...], Field(min_length=1)] | None = Field(
        default=None, description="learning rates that are tried with every algorithm; null: those of the figure"
    )
    batch: Count | None = Field(default=None, description="rows of a mini-batch; null: those of the data set's entry")
    trials: Count | None = Field(default=None, description="trials of every run; null: those of defaults")
    evaluations: Count = Field(
        default=40, description="evaluations of a run at equal ratios of its cost, most of them in its last nine tenths"
    )
    algorithms: Names | None = Field(default=None, description="keys of the algorithms; null: those of the figure")
    tuned_by: Metric = Field(default="validation_log_likelihood", description="metric that the rate is chosen by")
    judged_by: Metric = Field(default="test_log_likelihood", description="metric that the algorithms are judged by")
    initial: Initial | None = Field(default=None, description="distribution of the parameters; null: that of defaults")
    annealing: AnnealingBudget | None = Field(default=None, description="budget of log Z; null: that of defaults")
    certificate: CertificateBudget | None = Field(
        default=None, description="budget of the certificates of judged trials; null: that of the figure"
    )

    @property
    def shares(self) -> np.ndarray:
        """Shares of the budget at which runs are evaluated, without its end.

        With 40 evaluations two neighbours are at most a tenth of their cost apart from `LATE` on: this yields values at
        any budget of seconds from a tenth of a run's time on.
        """
        late = max(1, round(LATE_EVALUATIONS * self.evaluations))
        early = np.geomspace(EARLIEST, LATE, self.evaluations - late)
        return np.concatenate([early, np.geomspace(LATE, 1, late + 1)[1:-1]])

    def panel(self, rate: float, least: float, cost_varies: bool) -> Panel:
        """Return the training of one algorithm at one rate; an iteration takes ``least`` products, or at least as many.

        A run ends with its last iteration inside the budget.
        """
        shared = self.model_dump(include={"data", "hidden", "batch", "trials", "initial", "annealing"})
        metrics = (self.tuned_by, self.judged_by)
        flags = {f"{rows}_likelihood": True for rows in ("validation", "test") if f"{rows}_log_likelihood" in metrics}
        iterations = max(1, int(self.products / least))
        if cost_varies:
            # The first iteration alone may exceed the budget; one more than fit into it certainly exceeds it.
            costs = {"products": self.products, "evaluate_at": (1,)}
            costs["evaluate_at_products"] = tuple((self.shares * self.products).tolist())
            iterations += 1
        else:
            costs = {"evaluate_at": tuple(np.unique(np.ceil(self.shares * iterations).astype(int)).tolist())}
        return Panel(**shared, **flags, **costs, rate=rate, iterations=iterations, evaluate_every=iterations)


class OfContests(Kind):
    """Base of the figures and the table of an arena."""

    SPEC = ArenaSpec

    @abstractmethod
    def contests_of(self, paper: Paper) -> Contests:
        """Return the figure whose contests are shown."""

    def plan(self, planner: Planner, key: str) -> Output:
        figure = self.contests_of(planner.paper)
        if id(figure) not in planner.shared:
            planner.shared[id(figure)] = figure.planned(planner)
        contests, jobs = planner.shared[id(figure)]
        return Output(self.SPEC(**planner.heading(key, self), contests=contests), **jobs)


class Contests(OfContests):
    """A figure with contests, which the other figures of an arena share."""

    contests: Annotated[dict[Name, Contest], Field(min_length=1)] = Field(description="the contests, by name")
    algorithms: Names | None = Field(default=None, description="keys of the algorithms; null: all of the study")
    rates: Annotated[tuple[Rate, ...], Field(min_length=1)] = Field(description="learning rates that are tried")
    tuning_trials: Count = Field(default=3, description="first trials of every run, which only choose the rate")
    certificate: CertificateBudget | None = Field(
        default=None, description="budget of the certificates of the first judged trials; null: none are certified"
    )

    @model_validator(mode="after")
    def _rates_differ(self) -> Self:
        for rates in (self.rates, *(contest.rates or () for contest in self.contests.values())):
            if len(set(rates)) < len(rates):
                raise ValueError(f"rates: must differ, got {list(rates)}")
        return self

    def contests_of(self, paper: Paper) -> Contests:
        return self

    def algorithms_of(self, paper: Paper, contest: Contest) -> tuple[str, ...]:
        return contest.algorithms or self.algorithms or tuple(paper.algorithms)

    def check(self, checks: Checks, location: tuple) -> None:
        checks.check_algorithms(self.algorithms or (), (*location, "algorithms"))
        for name, contest in self.contests.items():
            place = (*location, "contests", name)
            checks.check_names("data set", (contest.data,), checks.paper.data, (*place, "data"))
            checks.check_algorithms(contest.algorithms or (), (*place, "algorithms"))
            trials = contest.trials or checks.paper.defaults.trials
            if trials <= self.tuning_trials:
                message = f"must be more, to be judged, got {trials}, of which {self.tuning_trials} tune the rate"
                raise checks.refuse((*place, "trials"), message)
            budget, judged = contest.certificate or self.certificate, trials - self.tuning_trials
            if budget and budget.models and budget.models > judged:
                message = f"must be at most {judged}, the judged trials, got {budget.models} models"
                raise checks.refuse((*place, "certificate", "models"), message)
            algorithms = self.algorithms_of(checks.paper, contest)
            checks.check_one_stage(algorithms, (*place, "algorithms"))
            checks.check_sizes_of(contest.data, contest.hidden, algorithms, place)
            for algorithm, _, panel, least in self.trainings(checks.paper, contest):
                if contest.products < least:
                    message = f"must be at least {least:g}, an iteration of {algorithm!r}, got {contest.products:g}"
                    raise checks.refuse((*place, "products"), message)
                checks.check_panel(panel, (algorithm,), place)

    def trainings(self, paper: Paper, contest: Contest) -> Iterator[tuple[str, float, Panel, float]]:
        """Yield each algorithm of a contest, each rate, the panel to train, and the least products of an iteration."""
        entry = paper.data[contest.data]
        sizes = contest.batch or entry.batch, entry.visible, contest.hidden
        for name in self.algorithms_of(paper, contest):
            stage = paper.algorithms[name].stages[0]
            estimator = Choice(name=stage.estimator, options=stage.options)
            least = products_of(estimator, stage.update, sizes)()
            varies = estimators.REGISTRY.get(estimator.name).cost_varies
            rates = (stage.rate,) if stage.rate else contest.rates or self.rates
            panel = contest.panel(rates[0], least, varies)
            for rate in rates:
                yield name, rate, panel.model_copy(update={"rate": rate}), least

    def planned(self, planner: Planner) -> tuple[list[dict[str, object]], dict[str, object]]:
        """Return the contests for specs, and the jobs of an `Output`, added to the plan."""
        jobs, contests, parts, settings = [], [], {}, {}
        for name, contest in self.contests.items():
            entries = []
            for algorithm, rate, panel, _ in self.trainings(planner.paper, contest):
                run = planner.run(panel, algorithm, planner.trials(panel))  # ranks compare the same trials
                annealed = planner.evaluation(panel, run)
                jobs += [run.id, annealed.id] if annealed else [run.id]
                [entry] = planner.labelled({algorithm: planner.plan.folder(annealed or run)})
                entries.append(entry | {"rate": rate})
                if budget := contest.certificate or self.certificate:
                    certificate = planner.certificate(panel, run, budget, self.tuning_trials)
                    jobs.append(certificate.id)
                    entries[-1]["certificate"] = planner.plan.folder(certificate)
                # Certificates do not affect compared numbers.
                parts[name, algorithm, f"{rate:g}"] = (run, *filter(None, [annealed]))
            shared = contest.model_dump(include={"products", "tuned_by", "judged_by"})
            shared |= {"tuning_trials": self.tuning_trials}
            place = {"name": name, "data": contest.data, "hidden": contest.hidden, "entries": entries}
            contests.append(place | shared)
            settings[name] = shared
        return contests, {"jobs": unique(jobs), "parts": parts, "settings": settings}


class ViewOfContests(OfContests):
    """Base of figures and tables of the contests of another figure."""

    of: FigureName = Field(description="figure of this study whose contests are shown")

    def contests_of(self, paper: Paper) -> Contests:
        return paper.figures[self.of]

    def check(self, checks: Checks, location: tuple) -> None:
        names = [name for name, figure in checks.paper.figures.items() if isinstance(figure, Contests)]
        checks.check_names("figure with contests", (self.of,), names, (*location, "of"))
