"""The stopping times of coupled chains: their distribution as numbers, as a figure, and in words."""

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rbmbench.base.errors import ResultsError
from rbmbench.io.results import read_stopping_times
from rbmbench.reporting.plots import LOOK, page
from rbmbench.reporting.specs import Coupling, CouplingTimesSpec
from rbmbench.reporting.style import BLUE, GREEN, VERMILLION
from rbmbench.reporting.words import count, cuts, listed

__all__ = ["caption", "distribution", "figure", "read_times", "stopping_times"]

TITLES = {
    "general": "general coupling (Algorithm 1)",
    "rbm": "coupling for RBMs (Algorithm 3)",
    "both_layers": "coupling of both layers",
}
LOOKS = {
    "general": {"color": VERMILLION, "linestyle": "solid", "linewidth": 1.8},
    "rbm": {"color": GREEN, "linestyle": (0, (4, 1.5)), "linewidth": 1.8},
    "both_layers": {"color": BLUE, "linestyle": (0, (1, 1)), "linewidth": 1.8},
}
BINS = 30
EARLY = 10
"""The paper says which share of the stopping times is no larger."""


def read_times(coupling: Coupling, longest: int) -> pd.DataFrame:
    """Return the stopping times of one coupling: columns coupling, chain, stopping_time, and met.

    A pair that was cut after ``longest`` steps has that number, and has not met.

    Raises
    ------
    ResultsError
        If the folder is missing or damaged, or a time is below 1.
    """
    times = read_stopping_times(coupling.folder)
    if times.empty or (times["stopping_time"] < 1).any():
        found = "none" if times.empty else times["stopping_time"].min()
        raise ResultsError(f"{coupling.folder}/stopping_times.parquet: found {found}; should be times of at least 1")
    met = times["stopping_time"] < longest
    times = times.assign(coupling=coupling.coupling, met=met, stopping_time=times["stopping_time"].clip(upper=longest))
    return times[["coupling", "chain", "stopping_time", "met"]]


def stopping_times(spec: CouplingTimesSpec) -> pd.DataFrame:
    """Return the stopping times of all couplings of a figure in one tidy frame; see `read_times`."""
    return pd.concat([read_times(coupling, spec.longest) for coupling in spec.couplings], ignore_index=True)


def distribution(times: pd.DataFrame) -> pd.DataFrame:
    """Return the numbers that the figure shows: one line for each coupling and each time that occurs.

    Returns
    -------
    DataFrame
        Columns coupling, stopping_time, met, chains (how many have this time), share, and share_within: the share of
        all chains that met within this many steps.
    """
    groups = times.groupby(["coupling", "stopping_time", "met"], sort=False)
    table = groups.size().rename("chains").reset_index()
    table = table.sort_values(["coupling", "stopping_time"], kind="stable", ignore_index=True)
    table["share"] = table["chains"] / table.groupby("coupling")["chains"].transform("sum")
    table["share_within"] = table["share"].where(table["met"], 0.0).groupby(table["coupling"]).cumsum()
    return table


def figure(spec: CouplingTimesSpec, times: pd.DataFrame) -> Figure:
    """Draw a histogram of the stopping times, and beside it the share of chains that met within so many steps.

    Parameters
    ----------
    spec : CouplingTimesSpec
    times : DataFrame
        As `stopping_times` returns them.
    """
    with mpl.rc_context(LOOK):
        drawn = page(1)
        left, right = drawn.subplots(1, 2)
        for coupling, chains in times.groupby("coupling", sort=False):
            _draw_histogram(left, chains, spec.longest, LOOKS[coupling])
            met = np.sort(chains.loc[chains["met"], "stopping_time"])
            shares = np.arange(len(met) + 1) / len(chains)
            steps = np.concatenate([[1], met, [spec.longest]])
            label = f"{TITLES[coupling]}: {100 * len(met) / len(chains):.3g} % met in less than {count(spec.longest)}"
            right.step(steps, np.append(shares, shares[-1]), where="post", label=label, **LOOKS[coupling])
        left.set_ylabel("share of the chains in a bin")
        right.set_ylabel("share of the chains that met")
        right.set_ylim(0, 1.02)
        for ax in (left, right):
            ax.set_xscale("log")
            ax.set_xlim(1, spec.longest)
            ax.set_xlabel("stopping time τ (Gibbs steps)")
            ax.grid(color="0.9", linewidth=0.5)
            ax.set_axisbelow(True)
            ax.spines["right"].set_visible(False)
        drawn.suptitle("\n".join([spec.title, spec.which, *_cuts(spec)]))
        drawn.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=1, frameon=False)
    return drawn


def _draw_histogram(ax: Axes, chains: pd.DataFrame, longest: int, look: dict) -> None:
    """Draw the share of all chains in bins of about equal width on a logarithmic axis; cut chains are in none."""
    # Edges between whole numbers: no bin can be empty for lack of a number in it.
    edges = np.unique(np.geomspace(1, longest, BINS + 1).round()) - 0.5
    counts, _ = np.histogram(chains.loc[chains["met"], "stopping_time"], edges)
    ax.stairs(counts / len(chains), np.maximum(edges, 1.0), **look)
    ax.stairs(counts / len(chains), np.maximum(edges, 1.0), fill=True, color=look["color"], alpha=0.13)


def _cuts(spec: CouplingTimesSpec) -> list[str]:
    """Return what the figure has less of than the paper's."""
    phrases = cuts(spec.replications, spec.paper_replications, "replications")
    phrases += cuts(spec.longest, spec.paper_longest, "steps at most")
    return [listed(phrases)] if phrases else []


def caption(spec: CouplingTimesSpec, times: pd.DataFrame) -> str:
    """Return the caption of the figure."""
    shares = [
        f"{TITLES[coupling]}, {100 * (chains['met'] & (chains['stopping_time'] <= EARLY)).mean():.3g} % met within"
        f" {EARLY} steps and {100 * (~chains['met']).mean():.3g} % were cut"
        for coupling, chains in times.groupby("coupling", sort=False)
    ]
    return (
        f"Stopping times of pairs of coupled Gibbs chains of one RBM with {count(spec.visible)} visible and"
        f" {count(spec.hidden)} hidden units, the entries of W, b and c normal with standard deviation {spec.width:g};"
        f" the chains start at fair coins and are cut after {count(spec.longest)} steps; {count(spec.replications)}"
        " pairs a coupling. Left: histogram, bins of about equal width on the logarithmic axis. Right: share of all"
        f" pairs that met within so many steps. {'; '.join(shares)}."
        + "".join(f" Cut: {phrase}." for phrase in _cuts(spec))
    )
