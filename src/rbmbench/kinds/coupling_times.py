# SPDX-License-Identifier: BSD-3-Clause
"""Figures of the stopping times of coupled chains of one random model."""

from collections.abc import Iterator
from typing import Annotated, Self

import numpy as np
import pandas as pd
from pydantic import Field, model_validator

from rbmbench.base.errors import ResultsError
from rbmbench.base.settings import ChainCount, Count, Coupling, CouplingSettings, LastStep, NotNegative
from rbmbench.config.paper import KINDS, Paper
from rbmbench.config.parts import Printed
from rbmbench.io.layout import META, STOPPING_TIMES
from rbmbench.io.results import read_table
from rbmbench.planning.chart import Axis, Bars, Chart, ChartPanel, Entry, Layout, Legend
from rbmbench.planning.jobs import Job, Output
from rbmbench.planning.kinds import Kind
from rbmbench.planning.runs import Planner
from rbmbench.planning.specs import FigureSpec, Place, Source, Spec
from rbmbench.reporting import charts
from rbmbench.reporting.words import count, cuts, listed, variant_lines, variant_notes

TITLES = {
    "general": "general coupling (Algorithm 1)",
    "rbm": "coupling for RBMs (Algorithm 3)",
    "both_layers": "coupling of both layers",
    "from_start": "coupling of both layers from the start",
}
LOOKS = {
    "general": ("#D55E00", "solid"),
    "rbm": ("#008A64", "dashed"),
    "both_layers": ("#0072B2", "dotted"),
    "from_start": ("#B3568A", "dash_dotted"),
}
"""Colours and dash patterns."""
BINS = 30
EARLY = 10
"""Number of steps for which the paper has the share of chains that met."""


class Chains(Spec):
    """The stopping times of one coupling."""

    coupling: str
    folder: str


class CouplingTimesSpec(FigureSpec):
    """A figure of the stopping times of coupled chains."""

    visible: int
    hidden: int
    width: float
    replications: int
    longest: int
    couplings: tuple[Chains, ...]
    printed: tuple[Printed, ...] = ()

    NAMES = "FIGURE.COUPLING"

    def sources(self) -> dict[str, tuple[str, ...]]:
        return {chains.folder: (STOPPING_TIMES, META) for chains in self.couplings}

    def read(self) -> pd.DataFrame:
        """Return the stopping times: columns coupling, chain, stopping_time, and met.

        A pair that was cut has ``longest`` steps, and has not met.
        """
        parts = []
        for chains in self.couplings:
            times = read_table(chains.folder, STOPPING_TIMES)
            if times.empty or (times["stopping_time"] < 1).any():
                least = "none" if times.empty else times["stopping_time"].min()
                raise ResultsError(f"{chains.folder}/{STOPPING_TIMES}: must be times of at least 1, got {least}")
            met, cut = times["stopping_time"] < self.longest, times["stopping_time"].clip(upper=self.longest)
            parts.append(times.assign(coupling=chains.coupling, met=met, stopping_time=cut))
        return pd.concat(parts, ignore_index=True)[["coupling", "chain", "stopping_time", "met"]]

    def numbers(self, results: pd.DataFrame) -> pd.DataFrame:
        return distribution(results)

    def chart(self, results: pd.DataFrame) -> Chart:
        """Return a histogram of the stopping times, and the share of chains that met by number of steps."""
        bars, series, entries = [], [], []
        # About equal widths on a logarithmic axis; edges between integers, so that each bin contains one.
        edges = np.unique(np.geomspace(1, self.longest, BINS + 1).round()) - 0.5
        for coupling, times in distribution(results).groupby("coupling", sort=False):
            met = times[times["met"]]
            heights, _ = np.histogram(met["stopping_time"], edges, weights=met["share"])
            bars.append(Bars(key=coupling, edges=edges.tolist(), heights=heights.tolist()))
            within = met.set_index("stopping_time")[["share_within"]].set_axis(["mean"], axis=1)
            within = within if len(within) else pd.DataFrame({"mean": [0.0]}, index=[1])
            series.append(charts.curve(coupling, coupling, within))
            share = f"{100 * within['mean'].iloc[-1]:.3g} % met in less than {count(self.longest)}"
            color, dash = LOOKS[coupling]
            entries.append(Entry(label=f"{TITLES[coupling]}: {share}", key=coupling, color=color, dash=dash))
        titles = {"title": "Gibbs steps", "label": "stopping time τ (Gibbs steps)"}
        steps = Axis(**titles, log=True, range=(1, self.longest))
        histogram = ChartPanel(
            name="histogram",
            title="Stopping times",
            heading=("",),
            x=steps,
            y=Axis(title="share of the chains in a bin"),
            bars=tuple(bars),
        )
        shares = ChartPanel(
            name="a",
            title="Coupled chains that have met",
            heading=("",),
            x=steps,
            y=Axis(title="share of chains that have met", label="share of the chains that met", range=(0, 1.02)),
            series=tuple(series),
            drawn_as="steps",
            printed=self.printed,
        )
        return Chart(
            heading=(self.title, self.which, *variant_lines(self), *filter(None, [listed(cuts(self))])),
            panels=(histogram, shares),
            layout=Layout(columns=2),
            legend=Legend(entries=(*entries, *charts.printed_entries(self.printed)), columns=1, handle=2.0),
        )

    def caption(self, results: pd.DataFrame) -> str:
        shares, notes = [], charts.printed_notes(self.printed)
        notes += [f"Cut: {listed(words)}." for words in [cuts(self)] if words]
        for coupling, times in distribution(results).groupby("coupling", sort=False):
            early = times.loc[times["met"] & (times["stopping_time"] <= EARLY), "share"].sum()
            cut = times.loc[~times["met"], "share"].sum()
            words = f"{100 * early:.3g} % met within {EARLY} steps and {100 * cut:.3g} % were cut"
            shares.append(f"{TITLES[coupling]}, {words}")
        return (
            f"Stopping times of pairs of coupled Gibbs chains of one RBM with {count(self.visible)} visible and"
            f" {count(self.hidden)} hidden units, the entries of W, b and c normal with standard deviation"
            f" {self.width:g}; the chains start at fair coins and are cut after {count(self.longest)} steps;"
            f" {count(self.replications)} pairs per coupling. Left: histogram, bins of about equal width on the"
            f" logarithmic axis. Right: share of all pairs that met within so many steps. {'; '.join(shares)}."
        ) + "".join(f" {sentence}" for sentence in [*notes, *variant_notes(self)])

    def evidence(self, results: pd.DataFrame, name: str, **_: object) -> Source | None:
        if name not in [chains.coupling for chains in self.couplings]:
            return None
        of_coupling, budget = results[results["coupling"] == name], {"replications": self.replications}
        fields = {"differences": self.of_part("", name), "place": Place(self.key, "a", name)}
        return Source(label=TITLES[name], frame=of_coupling, budget=budget, **fields)


@KINDS.register
class CouplingTimes(Kind):
    """A figure of the stopping times of coupled chains of one random model, for several couplings."""

    visible: Count = Field(description="visible units of the model")
    hidden: Count = Field(description="hidden units of the model")
    width: NotNegative = Field(description="standard deviation of the normal entries of W, b and c")
    replications: ChainCount = Field(description="pairs of chains per coupling")
    longest: LastStep = Field(description="steps after which a pair is cut")
    printed: tuple[Printed, ...] = Field(
        default=(), description="shares of the chains that met, as the paper prints them, drawn as hollow marks"
    )
    couplings: Annotated[tuple[Coupling, ...], Field(min_length=1)] = Field(
        default=("general", "rbm"),
        description="couplings of the pairs: general (any model), rbm, both_layers, from_start",
    )

    SPEC = CouplingTimesSpec

    @model_validator(mode="after")
    def _couplings_differ(self) -> Self:
        if len(set(self.couplings)) < len(self.couplings):
            raise ValueError(f"couplings: must differ, got {list(self.couplings)}")
        return self

    def names(self, paper: Paper) -> Iterator[str]:
        return iter(self.couplings)

    def plan(self, planner: Planner, key: str) -> Output:
        """Return the figure, its chains added to the plan; all couplings share one model and one start."""
        sizes = self.model_dump(include={"visible", "hidden", "width", "replications", "longest"})
        seed = planner.seed("couplings", self.visible, self.hidden)
        chains = []
        for coupling in self.couplings:
            settings = CouplingSettings(**sizes, coupling=coupling, seed=seed)
            identity = f"{self.visible}v-{self.hidden}h-{coupling}-couple-{settings.digest()}"
            title = f"{coupling} coupling of chains, {self.visible}x{self.hidden}"
            chains.append(planner.plan.add(Job(identity, "couple", settings, title=title)))
        spec = CouplingTimesSpec(
            **planner.heading(key, self),
            **sizes,
            printed=self.printed,
            couplings=[Chains(coupling=job.settings.coupling, folder=planner.plan.folder(job)) for job in chains],
        )
        return planner.output(spec, {("", job.settings.coupling): (job,) for job in chains})


def distribution(times: pd.DataFrame) -> pd.DataFrame:
    """Return the distribution of stopping times: one row for each coupling and each time that occurs.

    Columns are coupling, stopping_time, met, chains (their number), share, and share_within: the share of all chains
    that met within this many steps.
    """
    groups = times.groupby(["coupling", "stopping_time", "met"], sort=False)
    table = groups.size().rename("chains").reset_index()
    table = table.sort_values(["coupling", "stopping_time"], kind="stable", ignore_index=True)
    table["share"] = table["chains"] / table.groupby("coupling")["chains"].transform("sum")
    table["share_within"] = table["share"].where(table["met"], 0.0).groupby(table["coupling"]).cumsum()
    return table
