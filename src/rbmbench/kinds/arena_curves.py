# SPDX-License-Identifier: BSD-3-Clause
"""Figures of anytime curves: held-out log-likelihood by cost; a row of panels per contest, a curve per algorithm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd
from pydantic import Field

from rbmbench.config.checks import Checks
from rbmbench.config.paper import KINDS, Paper
from rbmbench.kinds._contests import (
    Contests,
    OfContests,
    OfContestsSpec,
    contests_in_words,
    curves_of,
    draw_curves,
    finish_sheet,
)
from rbmbench.planning.chart import Axis, Chart, ChartPanel
from rbmbench.planning.specs import FigureSpec
from rbmbench.reporting.contests import COSTS, WIDEST, anytime_curves
from rbmbench.reporting.words import count

if TYPE_CHECKING:
    from matplotlib.figure import Figure

START = 0.02
"""Share of the budget before which curves do not decide the vertical range."""


@KINDS.register
class ArenaCurves(Contests, OfContests):
    """A figure of anytime curves, and the contests that the other figures of an arena show."""

    kind: Literal["arena_curves"] = Field(description="kind of the figure, and of its notebook template")

    def contests_of(self, paper: Paper) -> Contests:
        """Return its own contests."""
        return self

    def check(self, checks: Checks, location: tuple) -> None:
        """Refuse unknown data and algorithms, and runs that cannot be made."""
        checks.check_algorithms(self.algorithms or (), (*location, "algorithms"))
        for name, contest in self.contests.items():
            place = (*location, "contests", name)
            checks.check_names("data set", (contest.data,), checks.paper.data, (*place, "data"))
            checks.check_algorithms(contest.algorithms or (), (*place, "algorithms"))
            self._check_trials(checks, contest, place)
            self._check_certified(checks, contest, place)
            for algorithm in self.algorithms_of(checks.paper, contest):
                if len(checks.paper.algorithms[algorithm].stages) > 1:
                    message = f"found {algorithm!r}, which has several stages; allowed: algorithms with one"
                    raise checks.refuse((*place, "algorithms"), message)
            for algorithm, _, panel in self.trainings(checks.paper, contest):
                checks.check_panel(panel, (algorithm,), place)

    def _check_trials(self, checks: Checks, contest: Any, place: tuple) -> None:
        trials = contest.trials or checks.paper.defaults.trials
        if trials <= self.tuning_trials:
            message = f"found {trials}, of which {self.tuning_trials} tune the rate; should be more, to be judged"
            raise checks.refuse((*place, "trials"), message)

    def _check_certified(self, checks: Checks, contest: Any, place: tuple) -> None:
        budget = contest.certificate or self.certificate
        judged = (contest.trials or checks.paper.defaults.trials) - self.tuning_trials
        if budget and budget.models and budget.models > judged:
            message = f"found {budget.models} models; allowed: at most {judged}, the judged trials"
            raise checks.refuse((*place, "certificate", "models"), message)


class ArenaCurvesSpec(OfContestsSpec, FigureSpec):
    """A figure of anytime curves."""

    kind: Literal["arena_curves"]

    def numbers(self, found: pd.DataFrame) -> pd.DataFrame:
        """Return the curves of all rates and trials: `rbmbench.reporting.contests.contest_curves`."""
        return found

    def chart_of(self, numbers: pd.DataFrame) -> Chart:
        """Return means and bands, a panel for each contest and cost."""
        shown, panels = anytime_curves(numbers), []
        for contest in self.contests:
            of_contest = shown[shown["contest"] == contest.name]
            title = f"{of_contest['data_title'].iloc[0]}, {contest.hidden} hidden units"
            for cost, words in COSTS.items():
                of_cost = of_contest[of_contest["cost"] == cost]
                x = Axis(title=f"{words} of a trial", log=True)
                y = Axis(title="held-out log-likelihood (nats per row)", range=vertical_range(of_cost))
                curves = curves_of(of_cost[of_cost["spent"] > 0].dropna(subset="mean"), "spent")
                panels.append(ChartPanel(name=f"{contest.name} {cost}", title=title, x=x, y=y, series=curves))
        return Chart(panels=tuple(panels))

    def picture(self, numbers: pd.DataFrame, facts: Mapping[str, Any], sheet: Any = None) -> Figure:
        """Return the figure: by matrix products on the left, by processor seconds on the right."""
        from rbmbench.reporting.style import PAGE, looks_of, page, theme

        sheet = sheet or PAGE
        looks, panels = looks_of(self.entries.values()), self.chart_of(numbers).panels
        with theme():
            drawn = page(len(self.contests), sheet)
            rows = drawn.subplots(len(self.contests), len(COSTS), squeeze=False)
            for panel, ax in zip(panels, rows.ravel(), strict=True):
                draw_curves(ax, panel, looks)
            for contest, panel, line in zip(self.contests, panels[:: len(COSTS)], rows, strict=True):
                line[0].set_title(f"{contest.name}: {panel.title}", loc="left")
                line[0].set_ylabel("held-out log-likelihood\n(nats per row)")
            finish_sheet(drawn, self, looks, sheet)
        return drawn

    def words(self, numbers: pd.DataFrame, facts: Mapping[str, Any]) -> str:
        """Return the caption."""
        shown = anytime_curves(numbers)
        trials = count(shown["trials"].min())
        return (
            "Mean log-likelihood of rows that are not trained on, by the cost of a trial so far: matrix products of a"
            " mini-batch with W on the left, processor seconds of training on one thread on the right. All algorithms"
            f" have the same budget of products; that of seconds is the least time that one of them takes for it."
            f" Bands: 10 to 90 % of at least {trials} trials. Between evaluations more than {WIDEST:.0%} of the budget"
            f" apart, lines only connect them; no value there is used. {contests_in_words(self, shown)}"
        )


def vertical_range(numbers: pd.DataFrame) -> tuple[float, float]:
    """Return the range of all curves once they have spent `START` of the budget, but for the worst fifth at the end."""
    numbers = numbers.dropna(subset="mean")
    ends = numbers.sort_values("spent").groupby("algorithm")["mean"].last()
    later = numbers[numbers["spent"] >= START * numbers["spent"].max()]
    low = min(later.groupby("algorithm")["mean"].min().quantile(0.25), ends.quantile(0.2))
    high = later["high"].max()
    pad = 0.06 * (high - low) or 0.1
    return low - pad, high + pad


ArenaCurves.SPEC = ArenaCurvesSpec
