# SPDX-License-Identifier: BSD-3-Clause
"""Numbers, names and differences from the papers in words."""

import pandas as pd

from rbmbench.planning.jobs import data_name
from rbmbench.planning.specs import Trained

FEW_PARTICLES = 10
"""Effective sample size of an annealing below which no verdict rests on it."""


def count(number: float) -> str:
    """Return a whole number with its thousands set apart: 50000 gives "50 000" (no-break space)."""
    return unbroken(f"{int(number):_}".replace("_", " "))


def unbroken(words: str) -> str:
    """Return words that stay on one line."""
    return words.replace(" ", "\N{NO-BREAK SPACE}")


def listed(words: list[str]) -> str:
    """Return words as a list in a sentence: "a", "a and b", "a, b and c"."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def reductions(found: float | None, published: float | None, what: str) -> list[str]:
    """Return a phrase such as "500 of 50 000 iterations" when the budget is below the paper's, else nothing."""
    if not found or not published or found >= published:
        return []
    return [f"{count(found)} of {count(published)} {what}"]


def panel_reductions(panel: Trained) -> list[str]:
    """Return what a panel has less of than the paper's."""
    return [
        *reductions(panel.iterations, panel.paper_iterations, "iterations"),
        *reductions(panel.trials, panel.paper_trials, "trials"),
        *reductions(panel.hidden, panel.paper_hidden, "hidden units"),
        *(
            phrase
            for name, found, published in panel.option_reductions
            for phrase in reductions(found, published, name)
        ),
    ]


def stand_ins(frame: pd.DataFrame) -> list[str]:
    """Return a phrase for each data set that stands in for another: "Digits in place of MNIST"."""
    pairs = frame[["data_title", "stand_in"]].drop_duplicates()
    return [
        f"{title} in place of {data_name(other)}"
        for title, other in pairs.itertuples(index=False)
        if isinstance(other, str) and other
    ]
