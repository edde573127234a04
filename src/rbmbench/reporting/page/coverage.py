# SPDX-License-Identifier: BSD-3-Clause
"""What is below the published settings in a figure or a table, as far as its numbers and metas tell."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pandas as pd

from rbmbench.config.paper import Paper
from rbmbench.reporting.words import reductions


def cuts(kind: Any, paper: Paper, numbers: pd.DataFrame, metas: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return phrases such as "1 of 24 curves" and "5 of 25 trials": the largest cut of each budget.

    Parameters
    ----------
    kind : Kind
        The figure or the table with the published settings.
    paper : Paper
        The paper with the published settings.
    numbers : DataFrame
        The numbers of the figure or the table.
    metas : iterable of mapping
        The metas of the results that it rests on.
    """
    found: dict[str, tuple[float, float]] = {}
    for what, here, published in _budgets(kind, paper, numbers, metas):
        if published and here / published <= (found[what][0] / found[what][1] if what in found else 1.0):
            found[what] = (here, published)
    phrases = [phrase for what, pair in found.items() for phrase in reductions(*pair, what)]
    return phrases + ["stand-in data"] * bool("stand_in" in numbers and numbers["stand_in"].notna().any())


def _budgets(kind: Any, paper: Paper, numbers: pd.DataFrame, metas: Iterable) -> Iterator[tuple[str, float, float]]:
    """Yield a budget, what was used of it, and what was published."""
    column = next((name for name in ("panel", "row") if name in numbers), None)
    parts = getattr(kind, f"{column}s", None)
    if not isinstance(parts, dict):
        return
    here = numbers[numbers[column].astype(str).isin(list(parts))]
    if "iteration" in here:
        curves = [(name, algorithm) for name, part in parts.items() for algorithm in kind.algorithms_of(paper, part)]
        shown = set(here[["panel", "algorithm"]].astype(str).itertuples(index=False, name=None))
        yield "curves", len(shown.intersection(curves)), len(curves)
    else:
        yield f"{column}s", here[column].nunique(), len(parts)
    for name, of_part in here.groupby(here[column].astype(str)):
        part = parts[name]
        if "iteration" in of_part:
            yield "iterations", of_part["iteration"].max(), part.iterations
        if "trials" in of_part:
            yield "trials", of_part["trials"].max(), part.trials or paper.defaults.trials
    for what in ("iterations", "estimates", "truth_samples"):
        if f"paper_{what}" in here:
            pairs = here[[what, f"paper_{what}"]].dropna()
            yield from ((what.replace("_", " "), *pair) for pair in pairs.itertuples(index=False, name=None))
    budget = paper.defaults.annealing
    for settings in ((meta.get("evaluation") or {}).get("settings") or {} for meta in metas):
        if budget and "particles" in settings:
            yield "particles of annealing", settings["particles"], budget.particles
            yield "temperatures of annealing", settings["temperatures"], budget.temperatures
