# SPDX-License-Identifier: BSD-3-Clause
"""Own methods in a kept arena: its figures and table again, with runs of another folder beside the kept ones."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from rbmbench.base.errors import ResultsError, SettingsError
from rbmbench.io.layout import FIGURE_ENDINGS, KEPT_ARENA, TABLE_ENDINGS, Layout
from rbmbench.io.results import numbers_file, read_csv, read_json
from rbmbench.planning.specs import FigureSpec, parse_spec, read_spec
from rbmbench.reporting import charts
from rbmbench.reporting.contests import COLUMNS

ALIKE = ("data", "hidden", "products", "tuning_trials", "tuned_by", "judged_by")
"""What a contest must share with the kept one of its name."""


def compare(folder: str | Path, kept: str | Path, out: str | Path) -> list[str]:
    """Draw the figures of a kept arena, and lay out its table, with the algorithms of another folder as well.

    Parameters
    ----------
    folder : path
        Folder of a scale, results/SCALE, with the curves of an arena and its runs.
    kept : path
        Folder of kept results with the same arena; its runs are not needed.
    out : path
        Folder to write.

    Returns
    -------
    list of str
        Keys of what was written.

    Raises
    ------
    ResultsError
        If one of the folders has no curves of an arena, or runs are missing or damaged.
    SettingsError
        If contests differ, or an algorithm has a key that the kept arena has.
    """
    own, theirs = _curves_of(folder), _curves_of(kept)
    _check_alike(own, theirs, f"{folder}")
    found, added = own.read(), {}
    commits = found.groupby("algorithm")["commit"].first()
    for contest in own.model_dump(mode="json")["contests"]:
        for entry in contest["entries"]:
            entry["label"] += f" (own, {commits[entry['algorithm']]})"
        added[contest["name"]] = contest["entries"]
    labels = {entry["algorithm"]: entry["label"] for entries in added.values() for entry in entries}
    curves = results(theirs.paper, kept)
    _check_trials(found, curves, f"{folder}")
    curves = pd.concat([curves, found.assign(label=found["algorithm"].map(labels))], ignore_index=True)
    target = Layout(str(out))
    return [_shown(spec, added, curves, target) for spec in _arenas(kept)]


def results(study: str, folder: str | Path = KEPT_ARENA) -> pd.DataFrame:
    """Return the curves of all trials, rates and algorithms of an arena.

    Parameters
    ----------
    study : str
        Key of the study, "arena".
    folder : path, optional
        Folder of a scale, or of kept results. By default that of the kept desktop scale, in a copy of the repository.

    Returns
    -------
    DataFrame
        See `rbmbench.reporting.contests.contest_curves`.

    Raises
    ------
    ResultsError
        If the folder has no curves of that study.
    """
    spec = _curves_of(folder, study)
    return read_csv(numbers_file(Layout(str(folder)), spec.key), COLUMNS)


def _arenas(folder: str | Path) -> Iterator[Any]:
    """Yield the specs of a folder that show contests."""
    for file in sorted(Path(Layout(str(folder)).spec("x")).parent.glob("*.json")):
        values = read_json(file)
        if isinstance(values, dict) and "contests" in values:
            yield read_spec(file)


def _curves_of(folder: str | Path, study: str = "arena") -> Any:
    """Return the spec of the anytime curves of a study in a folder."""
    for spec in _arenas(folder):
        if spec.kind == "arena_curves" and spec.paper == study:
            return spec
    raise ResultsError(f"{folder}: found no curves of {study!r}; `snakemake {study}` makes those of the arena")


def _check_alike(own: Any, kept: Any, where: str) -> None:
    known = {contest.name: contest for contest in kept.contests}
    for contest in own.contests:
        if contest.name not in known:
            raise SettingsError(f"{where}: contest {contest.name!r}; the kept arena has {', '.join(known)}")
        for name in ALIKE:
            found, allowed = getattr(contest, name), getattr(known[contest.name], name)
            if found != allowed:
                raise SettingsError(f"{where}: contest {contest.name!r}: {name}: found {found}; allowed: {allowed}")
    if shared := sorted(own.labels.keys() & kept.labels.keys()):
        raise SettingsError(f"{where}: algorithm {shared[0]!r} is in the kept arena, too; give yours another key")


def _check_trials(own: pd.DataFrame, kept: pd.DataFrame, where: str) -> None:
    """Refuse trials other than the kept ones, for ranks are those of the algorithms in one trial."""
    for contest, found in own.groupby("contest")["trial"]:
        allowed = set(kept.loc[kept["contest"] == contest, "trial"])
        if set(found) != allowed:
            text = f"found {found.nunique()} trials; allowed: those of the kept arena, {len(allowed)}"
            raise SettingsError(f"{where}: contest {contest!r}: {text}")


def _shown(spec: Any, added: dict[str, list], curves: pd.DataFrame, target: Layout) -> str:
    """Write a figure or table with further entries, and return its key."""
    values = spec.model_dump(mode="json")
    for contest in values["contests"]:
        contest["entries"] += added.get(contest["name"], [])
    both = parse_spec(values, spec.key)
    if isinstance(both, FigureSpec):
        files = {ending: target.figure(both.key, ending) for ending in FIGURE_ENDINGS}
        charts.write_figure(both, curves, csv=target.numbers(both.key), **files)
    else:
        charts.write_table(
            both, both.numbers(curves), **{ending: target.table(both.key, ending) for ending in TABLE_ENDINGS}
        )
    return both.key
