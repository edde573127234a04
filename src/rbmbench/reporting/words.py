# SPDX-License-Identifier: BSD-3-Clause
"""Numbers, names and differences from the papers in words."""

from collections.abc import Collection, Iterable, Mapping
from textwrap import wrap

import pandas as pd

from rbmbench.planning.differences import Difference
from rbmbench.planning.jobs import data_name
from rbmbench.planning.specs import Shown

FEW_PARTICLES = 10
"""Least effective sample size of an annealing for a verdict."""


def count(number: float) -> str:
    """Return a whole number with its thousands set apart: 50000 gives "50 000" (no-break space)."""
    return unbroken(f"{int(number):_}".replace("_", " "))


def counts(numbers: Collection[float]) -> str:
    """Return the smallest and the largest of whole numbers: "25" if they are equal, or "1 to 5"."""
    return " to ".join(map(count, sorted({min(numbers), max(numbers)})))


def short_commit(commit: str | None, digits: int) -> str:
    """Return the first digits of a commit, with its "+changes" if it has them; "" for none."""
    head, plus, changes = (commit or "").partition("+")
    return head[:digits] + plus + changes


def unbroken(words: str) -> str:
    """Return words that stay on one line."""
    return words.replace(" ", "\N{NO-BREAK SPACE}")


def listed(words: list[str]) -> str:
    """Return words as a list in a sentence: "a", "a and b", "a, b and c"."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


UNITS = {
    "hidden": "hidden units",
    "longest": "steps at most",
    "estimate.estimates": "estimates",
    "annealing.particles": "particles",
    "annealing.temperatures": "temperatures",
    "ground_truth.chains": "inverse temperatures of the ground truth",
    "ground_truth.burn_in": "steps before the ground truth",
    "ground_truth.samples": "ground-truth samples of parallel tempering",
    "proxy.chains": "chains of the reconstruction log-likelihood",
    "proxy.rows": "rows of the reconstruction log-likelihood",
}
"""Settings in words, unless these are their names."""
TITLED = ("iterations", "trials", "samples", "replications", "longest")
"""Budgets that titles contain; captions and notes contain all."""
LONG = 45
"""Number of characters from which a phrase may be broken into lines."""
MOST_LINES = 2
"""Most lines of a title for settings that are not the paper's."""


def phrase(difference: Difference, units: Mapping[str, str] = UNITS) -> str:
    """Return a difference in words: "500 of 50 000 iterations", "rate 0.02 (paper: 0.1)"; "" for a larger budget."""
    setting, value, published = difference.setting, difference.value, difference.published
    if setting in ("figure", "table"):
        return "not in the paper"
    if difference.is_part:
        noun = f"{setting} " * (not difference.algorithm)
        return f"no {noun}{published}" if value is None else f"with {noun}{value}"
    name = units.get(setting, setting.replace("samplers.grid", "tried").replace(".", " ").replace("_", " "))
    if difference.kind != "budget" or value is None or published is None:
        words = f"{name} {_value(value)} (paper: {_value(published)})"
        return unbroken(words) if len(words) < LONG else words
    if isinstance(value, list):
        return f"{len(value)} of {len(published)} values of {name.rpartition(' ')[2]}"
    return f"{count(value)} of {count(published)} {name}" if value < published else ""


def _value(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "on", False: "off", None: "none"}[value]
    if isinstance(value, list):
        return ", ".join(map(_value, value))
    if isinstance(value, float):
        return f"{value:g}"
    return count(value) if isinstance(value, int) else str(value)


def phrases(differences: Iterable[Difference], units: Mapping[str, str] = UNITS) -> list[str]:
    """Return differences in words, each once, with their algorithms unless they apply to all.

    Stand-in data are omitted: see `stand_ins`.
    """
    labels: dict[str, dict[str, None]] = {}
    for difference in differences:
        if difference.kind != "data" and (words := phrase(difference, units)):
            names = labels.setdefault(words, {})
            if difference.label and not difference.is_part:
                names[difference.label] = None
    return [f"{words} for {listed(list(names))}" if names else words for words, names in labels.items()]


def reductions(differences: Iterable[Difference], titled: bool = True) -> list[str]:
    """Return the budgets below the paper's in words; ``titled``: only those for titles."""
    budgets = [difference for difference in differences if difference.kind == "budget" and not difference.is_part]
    return phrases(budget for budget in budgets if budget.setting in TITLED or not titled)


def cuts(spec: Shown, panel: str | None = None, titled: bool = True, only: str = "") -> list[str]:
    """Return the `reductions` of a figure or table, or of one panel, in settings whose name begins with ``only``."""
    return reductions((change for change in spec.of_part(panel) if change.setting.startswith(only)), titled)


def shared_cuts(spec: Shown) -> list[str]:
    """Return the `cuts` common to all of several panels; nothing for a single one."""
    first, *further = [cuts(spec, panel.name) for panel in spec.panels]
    return [words for words in first if further and all(words in panel for panel in further)]


def missing(spec: Shown, panel: str) -> list[str]:
    """Return the labels of the paper's curves that a panel lacks."""
    return [item.published for item in spec.of_part(panel) if item.setting == "algorithm" and item.value is None]


def variants(spec: Shown) -> list[str]:
    """Return the settings of a figure or table that are not the paper's, in words, with their panels."""
    noun = next((noun for noun in ("panel", "row", "contest") if hasattr(spec, f"{noun}s")), "panel")
    panels = {panel.name for panel in getattr(spec, f"{noun}s", ())}
    by_panel: dict[str, list[Difference]] = {}
    for difference in spec.changed:
        is_panel = difference.is_part and not difference.algorithm
        by_panel.setdefault("" if is_panel else difference.panel, []).append(difference)
    places: dict[str, list[str]] = {}
    for panel, changes in by_panel.items():
        for words in phrases(changes):
            places.setdefault(words, []).append(panel)
    everywhere = [words for words, names in places.items() if set(names) >= panels or "" in names]
    elsewhere = [(words, names) for words, names in places.items() if words not in everywhere]
    return everywhere + [f"{noun}{'s' * (len(names) > 1)} {listed(names)}: {words}" for words, names in elsewhere]


def summarised(spec: Shown) -> list[str]:
    """Return all differences in a few words: other settings, the largest cut of each budget, omitted parts."""
    least: dict[str, tuple[float, str]] = {}
    for budget in (item for item in spec.differences if item.kind == "budget" and not item.is_part):
        if words := phrase(budget):
            sizes = [
                len(value) if isinstance(value, list) else value or 0 for value in (budget.value, budget.published)
            ]
            cut = sizes[0] / sizes[1] if sizes[1] else 0.0, words
            least[budget.setting] = min(least.get(budget.setting, cut), cut)
    missing = [item for item in spec.differences if item.is_part and item.value is None]
    omitted = [f"no {item.setting} {item.panel}" for item in missing if not item.algorithm]
    curves = sum(bool(item.algorithm) for item in missing)
    omitted += [f"{curves} curve{'s' * (curves > 1)} left out"] * bool(curves)
    stand_in = ["stand-in data"] * any(difference.kind == "data" for difference in spec.differences)
    return [*variants(spec), *(words for _, words in least.values()), *omitted, *stand_in]


def variant_lines(spec: Shown, letters: int = 100) -> list[str]:
    """Return the lines of a title with the settings that are not the paper's, as many as fit; the caption has all."""
    words = variants(spec)
    for number in range(len(words), -1, -1):
        hint = ["more differences: see the caption"] * (number < len(words))
        lines = wrap("; ".join([*words[:number], *hint]), letters, break_on_hyphens=False)
        if len(lines) <= MOST_LINES:
            break
    return lines


def variant_notes(spec: Shown) -> list[str]:
    """Return the first sentences of captions and notes: another reading of the paper, and other settings."""
    words = variants(spec)
    return [*spec.notes, *[f"A variant, not the published settings: {'; '.join(words)}."] * bool(words)]


def stand_ins(frame: pd.DataFrame) -> list[str]:
    """Return a phrase for each stand-in data set: "Digits in place of MNIST"."""
    pairs = frame[["data_title", "stand_in"]].drop_duplicates()
    return [
        f"{title} in place of {data_name(other)}"
        for title, other in pairs.itertuples(index=False)
        if isinstance(other, str) and other
    ]
