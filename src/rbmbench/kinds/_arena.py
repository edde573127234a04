# SPDX-License-Identifier: BSD-3-Clause
"""Figures and table of an arena: four views of the curves of its contests, and a table of the final values.

The kind of a figure selects its view: anytime curves, final ranks, reached targets, or rates.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from textwrap import wrap

import numpy as np
import pandas as pd

from rbmbench.base.metrics import INTERVAL, metric_of
from rbmbench.planning.chart import Axis, Chart, ChartPanel, Entry, Layout, Legend, Mark, Series, Table
from rbmbench.planning.specs import FigureSpec, Place, Source, TableSpec
from rbmbench.reporting import charts
from rbmbench.reporting.contests import (
    COSTS,
    NEAREST_TARGET,
    OVERALL,
    SHARES,
    TARGETS,
    WIDEST,
    OfContestsSpec,
    anytime_curves,
    contest_results,
    final_ranks,
    reached_targets,
    standings,
    tuned_rates,
    unit_of,
)
from rbmbench.reporting.text_tables import by_interval, interval, part_of, significant
from rbmbench.reporting.words import count, stand_ins, variant_lines, variant_notes

LEGEND_COLUMNS = 5
"""Columns of a legend of algorithms, on a page."""
START = 0.02
"""Share of the budget below which curves do not affect the vertical range."""
DIGITS = 10
"""Significant digits of anytime curves: more change no picture, and make files half as large again."""


class ArenaSpec(OfContestsSpec, FigureSpec):
    """A figure of an arena."""

    NAMES = "NAME.ALGORITHM"

    def numbers(self, results: pd.DataFrame) -> pd.DataFrame:
        return VIEWS[self.kind].numbers(results)

    def chart(self, results: pd.DataFrame) -> Chart:
        return VIEWS[self.kind].chart(self, self.numbers(results))

    def caption(self, results: pd.DataFrame) -> str:
        return VIEWS[self.kind].caption(self, self.numbers(results))

    def evidence(self, results: pd.DataFrame, name: str, cost: str = "products", **_: object) -> Source | None:
        """Return the ranks of an algorithm at a cost, see `standings`, in a figure of ranks."""
        ranks = standings(results).query("algorithm == @name and cost == @cost")
        if ranks.empty:
            return None
        fields = {"stand_in": max(results["stand_in"]), "differences": self.of_part(None, name)}
        fields["place"] = Place(self.key, "contests", name, is_exact=False)
        budget = {"trials": ranks.dropna(subset="rank").groupby("contest").size().min()}
        return Source(label=self.labels[name], frame=ranks, budget=budget, **fields)


class ArenaTableSpec(OfContestsSpec, TableSpec):
    """The table of an arena."""

    def numbers(self, results: pd.DataFrame) -> pd.DataFrame:
        return contest_results(results)

    def table(self, numbers: pd.DataFrame) -> Table:
        """Return one printed table for each contest, the best algorithm first."""
        parts = []
        for contest in self.contests:
            of_contest = numbers[numbers["contest"] == contest.name]
            caption = f"{contest.name}: {of_contest['data_title'].iloc[0]}, {contest.hidden} hidden units,"
            caption += f" {count(contest.products)} products"
            parts.append(part_of(caption, _cells(of_contest), 1))
        notes = [
            f"Log-likelihood: mean over judged trials, nats per row, with Student's {INTERVAL}. Rank: mean"
            " over trials. * the chosen rate is an end of the grid. No fault found: judged models whose"
            " certificate finds nothing wrong, of those that were examined.",
            _without_ranks(numbers),
            _contests_in_words(self, numbers),
        ]
        return Table(parts=tuple(parts), notes=tuple(filter(None, notes)))


@dataclass(frozen=True)
class View:
    """A view of an arena: its numbers from all curves, and chart and caption from these numbers."""

    numbers: Callable[[pd.DataFrame], pd.DataFrame]
    chart: Callable[[ArenaSpec, pd.DataFrame], Chart]
    caption: Callable[[ArenaSpec, pd.DataFrame], str]


def _chart(spec: ArenaSpec, panels: Iterable[ChartPanel], layout: Layout, **legend: object) -> Chart:
    """Return the chart of a view, with a legend of the algorithms, or of the fields ``legend``."""
    heading = (spec.title, *wrap(spec.which, charts.LETTERS), *variant_lines(spec))
    entries = [
        Entry(label=entry.label, key=name, color=entry.color, dash=entry.dash) for name, entry in spec.entries.items()
    ]
    fields = {"entries": tuple(entries), "columns": LEGEND_COLUMNS} | legend
    return Chart(heading=heading, panels=tuple(panels), layout=layout, legend=Legend(**fields))


def _series(numbers: pd.DataFrame, x: str, **fields: object) -> tuple[Series, ...]:
    names = [name for name in ("mean", "low", "high", "trials") if name in numbers]
    curves = numbers.groupby(["algorithm", "label"], sort=False)
    return tuple(charts.curve(*map(str, key), curve.set_index(x)[names], **fields) for key, curve in curves)


# --- Views ------------------------------------------------------------------------------------------------------------


def _curves(spec: ArenaSpec, numbers: pd.DataFrame) -> Chart:
    """Return means and bands: by matrix products on the left, by processor seconds on the right."""
    curves, panels, fields = anytime_curves(numbers), [], {"digits": DIGITS, "metric": "held_out_log_likelihood"}
    for contest in spec.contests:
        of_contest = curves[curves["contest"] == contest.name]
        title = f"{of_contest['data_title'].iloc[0]}, {contest.hidden} hidden units"
        for place, (cost, words) in enumerate(COSTS.items()):
            of_cost = of_contest[of_contest["cost"] == cost]
            panel = ChartPanel(
                name=f"{contest.name} {cost}",
                title=title,
                heading=("" if place else f"{contest.name}: {title}",),
                group=contest.name,
                x=Axis(title=f"{words} of a trial", log=True),
                y=Axis(**charts.titles([fields["metric"]]), range=_vertical_range(of_cost)),
                series=_series(of_cost[of_cost["spent"] > 0].dropna(subset="mean"), "spent", **fields),
            )
            panels.append(panel)
    return _chart(spec, panels, Layout(columns=2, narrow=2, shade=0.1))


def _curves_caption(spec: ArenaSpec, numbers: pd.DataFrame) -> str:
    curves = anytime_curves(numbers)
    trials = count(curves["trials"].min())
    return (
        "Mean log-likelihood by the cost of a trial so far: matrix products of a mini-batch with W on the left,"
        " processor seconds of training on one thread on the right. All algorithms"
        f" have the same budget of products; that of seconds is the least time that one of them takes for it."
        f" Bands: 10 to 90 % of at least {trials} trials. Between evaluations more than {WIDEST:.0%} of the budget"
        f" apart, lines only connect them; no value there is used. {_contests_in_words(spec, curves)}"
    )


def _vertical_range(numbers: pd.DataFrame) -> tuple[float, float]:
    """Return the range of all curves from `START` of the budget on, without the fifth with the worst final values."""
    numbers = numbers.dropna(subset="mean")
    ends = numbers.sort_values("spent").groupby("algorithm")["mean"].last()
    later = numbers[numbers["spent"] >= START * numbers["spent"].max()]
    low = min(later.groupby("algorithm")["mean"].min().quantile(0.25), ends.quantile(0.2))
    high = later["high"].max()
    pad = 0.06 * (high - low) or 0.1
    return low - pad, high + pad


def _ranks(spec: ArenaSpec, numbers: pd.DataFrame) -> Chart:
    """Return mean ranks with intervals, and the ranks in each contest under equal products."""
    overall, products = numbers[numbers["contest"] == OVERALL], numbers[numbers["cost"] == "products"]
    products = products[products["contest"] != OVERALL]
    order = overall[overall["cost"] == "products"].sort_values("rank")["algorithm"].tolist()
    contests = list(dict.fromkeys(products["contest"]))

    def ranks_at(ranks: pd.DataFrame, by: str, places: list[str], **columns: str) -> pd.DataFrame:
        return ranks.set_index(by).reindex(places)[[*columns]].rename(columns=columns).reset_index(drop=True)

    interval = {"rank": "mean", "rank_low": "low", "rank_high": "high"}
    means = [
        charts.curve(cost, f"equal {words}", ranks_at(of_cost, "algorithm", order, **interval))
        for cost, words in COSTS.items()
        for of_cost in [overall[overall["cost"] == cost]]
        if of_cost["rank"].notna().any()
    ]
    of_contests = [
        charts.curve(name, spec.labels[name], ranks_at(ranks, "contest", contests, rank="mean"))
        for name in order
        for ranks in [products[products["algorithm"] == name]]
    ]
    first = ChartPanel(
        name="overall",
        title=f"Mean rank over all contests, {INTERVAL}",
        heading=("",),
        x=Axis(title="algorithm", ticks=tuple(spec.labels[name] for name in order)),
        y=Axis(title="mean rank", label="mean rank over all contests"),
        series=tuple(means),
        drawn_as="points",
    )
    second = ChartPanel(
        name="contests",
        title="Mean rank in each contest, equal matrix products",
        heading=("",),
        x=Axis(title="contest", ticks=tuple(contests)),
        y=Axis(title="mean rank", label="mean rank in each contest, equal matrix products"),
        series=tuple(of_contests),
        drawn_as="cells",
    )
    row = {"row": 2.55 * max(1, -(-len(order) // 12)), "widths": (1, 1.25), "shares_y": True}
    legend = {"entries": (), "columns": 2, "handle": 2.0}
    return _chart(spec, (first, second), Layout(columns=2, narrow=2, **row), **legend)


def _ranks_caption(spec: ArenaSpec, numbers: pd.DataFrame) -> str:
    overall, contests = (numbers[(numbers["contest"] == OVERALL) == is_overall] for is_overall in (True, False))
    units = dict.fromkeys(unit_of(number) for number in overall.dropna(subset="rank")["contests"])
    return (
        "Ranks by the log-likelihood at the end of the budget; 1 is the best of the algorithms in a trial."
        f" Left: mean over contests and trials, with Student's {INTERVAL}s"
        f" over the {' or '.join(units) or 'contest'}s. Right: mean over the trials of each contest,"
        f" under equal matrix products. {_without_ranks(contests)}"
        f" {_contests_in_words(spec, contests)}"
    )


def _targets(spec: ArenaSpec, numbers: pd.DataFrame) -> Chart:
    """Return the shares of reached targets, a panel for each cost under which there are any."""
    shares, panels = numbers.rename(columns={"reached": "mean"}), []
    for cost, words in COSTS.items():
        if cost not in shares["cost"].array:
            continue
        panel = ChartPanel(
            name=cost,
            title=f"equal {words}",
            heading=("",),
            x=Axis(title=f"share of the {words}", log=True, range=(SHARES[0], 1)),
            y=Axis(title="share of targets reached", range=(0, 1)),
            series=_series(shares[shares["cost"] == cost], "spent"),
        )
        panels.append(panel)
    return _chart(spec, panels, Layout(columns=len(panels), shares_y=True))


def _targets_caption(spec: ArenaSpec, numbers: pd.DataFrame) -> str:
    return (
        f"Share of targets that trials have reached, by the share of the budget spent; {count(TARGETS - 1)}"
        " targets in each contest, all contests and judged trials together. Targets are log-likelihoods"
        " between the initial one and the best mean at the end of the budget, at distances from it that fall by"
        f" equal factors to {100 * NEAREST_TARGET:g} % of the whole. Contests in which an algorithm has no"
        " evaluation near the end of the budget are left out"
        + "".join(f"; under equal {COSTS[cost]} none is left" for cost in COSTS if cost not in numbers["cost"].array)
        + "."
    )


def _rates(spec: ArenaSpec, numbers: pd.DataFrame) -> Chart:
    """Return the likelihoods by the rate, a panel for each contest, with a dot at each rate that is chosen."""
    panels, title = [], metric_of("tuning_log_likelihood").label
    y = {"title": title, "label": title.replace(" of ", "\nof ").replace(" (", "\n(")}  # panels are narrow
    for contest in spec.contests:
        of_contest = numbers[numbers["contest"] == contest.name]
        chosen, ascending = of_contest[of_contest["chosen"]], of_contest.sort_values("rate", kind="stable")
        best = chosen["mean"]
        low = min(of_contest.groupby("rate")["mean"].max().min(), best.min())
        pad = 0.08 * (best.max() - low) or 0.1
        order = list(of_contest["algorithm"].unique())
        curves = sorted(_series(ascending, "rate"), key=lambda curve: order.index(curve.key))
        panel = ChartPanel(
            name=contest.name,
            title=f"{of_contest['data_title'].iloc[0]}, {contest.hidden} hidden units",
            heading=(contest.name,),
            x=Axis(title="learning rate", log=True, places=tuple(sorted(of_contest["rate"].unique()))),
            y=Axis(**y, range=(low - pad, best.max() + pad)),
            series=tuple(curves),
            marks=tuple(
                Mark(key=row.algorithm, at=row.rate, height=row.mean)
                for row in chosen.dropna(subset="mean").itertuples()
            ),
        )
        panels.append(panel)
    return _chart(spec, panels, Layout(shade=0))


def _rates_caption(spec: ArenaSpec, numbers: pd.DataFrame) -> str:
    return (
        "Mean log-likelihood at the end of the budget of matrix products, by the learning rate, over the trials that"
        " tune it; dots: the rate that is chosen. Values far below the best are cut off."
        f" {_contests_in_words(spec, numbers, others='')}"
    )


VIEWS = {
    "arena_curves": View(pd.DataFrame.copy, _curves, _curves_caption),
    "arena_ranks": View(final_ranks, _ranks, _ranks_caption),
    "arena_targets": View(reached_targets, _targets, _targets_caption),
    "arena_rates": View(tuned_rates, _rates, _rates_caption),
}


# --- Words and cells --------------------------------------------------------------------------------------------------


def _without_ranks(results: pd.DataFrame) -> str:
    """Return a sentence with the contests without ranks under a cost, "" if there are none; see `contest_results`."""
    missing = results.groupby(["cost", "contest"], sort=False)["rank"].apply(lambda ranks: ranks.isna().any())
    texts = [
        f"under equal {COSTS[cost]}: {', '.join(names.index.unique('contest'))}"
        for cost, names in missing[missing].groupby("cost", sort=False)
    ]
    return f"Without ranks, as not every algorithm has an evaluation near the budget, {'; '.join(texts)}." * bool(texts)


def _contests_in_words(spec: ArenaSpec | ArenaTableSpec, numbers: pd.DataFrame, others: str = "other ") -> str:
    """Return sentences about data, trials and tuning of the contests, and about settings other than the study's.

    ``others`` is empty if the numbers are those of the trials that tune the rates.
    """
    titles = numbers.drop_duplicates("contest").set_index("contest")
    contests = [contest for contest in spec.contests if contest.name in titles.index]
    phrases = [
        f"({contest.name}) {titles.loc[contest.name, 'data_title']}, {contest.hidden} hidden units,"
        f" {count(contest.products)} products, {count(titles.loc[contest.name, 'trials'])} trials"
        for contest in contests
    ]
    grids = {c.name: ", ".join(f"{rate:g}" for rate in sorted({e.rate for e in c.entries})) for c in contests}
    tuned_by = {contest.name: _with_rows(contest.tuned_by) for contest in contests}
    judged_by = {contest.name: _with_rows(contest.judged_by) for contest in contests}
    return (
        f"Contests: {'; '.join(phrases)}. The rate of each algorithm is that of {_with_exceptions(grids)} with the best"
        f" {_with_exceptions(tuned_by)} at the end of the budget in {spec.contests[0].tuning_trials} {others}trials."
        f" Algorithms are judged by the {_with_exceptions(judged_by)}."
        + "".join(f" Stand-in data: {phrase}." for phrase in stand_ins(numbers))
        + "".join(f" {sentence}" for sentence in variant_notes(spec))
    )


def _with_rows(metric: str) -> str:
    """Return the title of a metric; that of the log-likelihood does not name its rows, those of training."""
    return "mean log-likelihood of the training rows" if metric == "log_likelihood" else metric_of(metric).title


def _with_exceptions(texts: dict[str, str]) -> str:
    """Return the text of most contests, and in brackets those of the others: "a (toy: b)"."""
    usual, _ = Counter(texts.values()).most_common(1)[0]
    others = [f"{name}: {text}" for name, text in texts.items() if text != usual]
    return f"{usual} ({'; '.join(others)})" if others else usual


def _cells(numbers: pd.DataFrame) -> pd.DataFrame:
    tables = {cost: rows.set_index("algorithm") for cost, rows in numbers.groupby("cost", sort=False)}
    products = tables["products"].sort_values("rank")
    seconds = tables["seconds"].reindex(products.index)
    rates = [f"{rate:g}{'*' if edge else ''}" for rate, edge in zip(products["rate"], products["at_edge"], strict=True)]
    judged = zip(products["certified"], products["examined"], strict=True)
    return pd.DataFrame(
        {
            "algorithm": products["label"],
            "rate": rates,
            "log-likelihood": _values(products),
            INTERVAL: [interval(*ends) for ends in products[["low", "high"]].to_numpy()],
            "rank": products["rank"].map(_rank),
            "no fault found": [f"{certified} of {examined}" if examined else "-" for certified, examined in judged],
            "seconds": products["seconds"].map(significant),
            "log-likelihood, equal seconds": _values(seconds),
            "rank, equal seconds": seconds["rank"].map(_rank),
        }
    )


def _rank(rank: float) -> str:
    return f"{rank:.1f}" if np.isfinite(rank) else "-"


def _values(numbers: pd.DataFrame) -> list[str]:
    # Empty texts are missing values in a CSV.
    rows = zip(numbers["missing"].fillna(""), numbers[["value", "low", "high"]].to_numpy(), strict=True)
    return [missing or by_interval(*value) for missing, value in rows]
