# SPDX-License-Identifier: BSD-3-Clause
"""New methods in a kept arena: its figures and table with runs of another folder beside the kept ones."""

from pathlib import Path

import pandas as pd

from rbmbench.base.errors import ResultsError, SettingsError
from rbmbench.io.layout import FIGURE_ENDINGS, KEPT_ARENA, TABLE_ENDINGS, Layout
from rbmbench.io.results import numbers_file, read_csv
from rbmbench.planning.specs import FigureSpec, read_spec
from rbmbench.reporting import charts
from rbmbench.reporting.contests import COLUMNS, OfContestsSpec

SHARED = ("data", "hidden", "products", "tuning_trials", "tuned_by", "judged_by")
"""Settings that a contest must share with the kept one of its name."""


def compare(folder: str | Path, kept: str | Path, out: str | Path) -> list[str]:
    """Draw the figures of a kept arena and write its table, with the algorithms of another folder added.

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
        Keys of the written figures and tables.

    Raises
    ------
    ResultsError
        If one of the folders has no curves of an arena, or runs are missing or damaged.
    SettingsError
        If contests differ, or an algorithm has a key of the kept arena.
    """
    (new, _), (kept_spec, specs) = _arena_in(folder), _arena_in(kept)
    curves = results(kept_spec.paper, kept)
    added = new.read()
    _check_alike(new, kept_spec, added, curves, f"{folder}")
    commits = added.groupby("algorithm")["commit"].first()
    met = added.groupby("algorithm")["contest"].nunique()
    every = len(kept_spec.contests)
    shares = {key: f", {met[key]} of {every} contests" * bool(met[key] < every) for key in new.labels}
    own = {key: ", ".join(filter(None, ["own", commit])) for key, commit in commits.items()}
    labels = {key: f"{label} ({own[key]}{shares[key]})" for key, label in new.labels.items()}
    curves = pd.concat([curves, added.assign(label=added["algorithm"].map(labels))], ignore_index=True)
    entries = {
        contest.name: [entry.model_copy(update={"label": labels[entry.algorithm]}) for entry in contest.entries]
        for contest in new.contests
    }
    target = Layout(str(out))
    for spec in specs:
        contests = [
            contest.model_copy(update={"entries": (*contest.entries, *entries.get(contest.name, ()))})
            for contest in spec.contests
        ]
        joined = spec.model_copy(update={"contests": tuple(contests)})
        if isinstance(joined, FigureSpec):
            files = {ending: target.figure(joined.key, ending) for ending in FIGURE_ENDINGS}
            charts.write_figure(joined, curves, csv=target.numbers(joined.key), **files)
        else:
            files = {ending: target.table(joined.key, ending) for ending in TABLE_ENDINGS}
            charts.write_table(joined, joined.numbers(curves), **files)
    return [spec.key for spec in specs]


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
        See `rbmbench.reporting.contests.OfContestsSpec.read`.

    Raises
    ------
    ResultsError
        If the folder has no curves of that study.
    """
    spec, _ = _arena_in(folder, study)
    return read_csv(numbers_file(Layout(str(folder)), spec.key), COLUMNS)


def _arena_in(folder: str | Path, study: str = "arena") -> tuple[OfContestsSpec, list[OfContestsSpec]]:
    """Return the spec of the anytime curves of a study in a folder, and all its specs with contests."""
    files = sorted(Path(Layout(str(folder)).spec("x")).parent.glob(f"{study}_*.json"))
    specs = [spec for spec in map(read_spec, files) if isinstance(spec, OfContestsSpec) and spec.paper == study]
    for spec in specs:
        if spec.kind == "arena_curves":
            return spec, specs
    raise ResultsError(
        f"{folder}: must have curves of {study!r}, got none; `snakemake {study}` makes those of the arena"
    )


def _check_alike(
    new: OfContestsSpec, kept: OfContestsSpec, added: pd.DataFrame, curves: pd.DataFrame, where: str
) -> None:
    """Refuse other contests, keys in use, and other trials, since ranks compare the algorithms of a trial."""
    contests = {contest.name: contest for contest in kept.contests}
    for contest in new.contests:
        if contest.name not in contests:
            raise SettingsError(f"{where}: contest {contest.name!r}; the kept arena has {', '.join(contests)}")
        pairs = {name: (getattr(contest, name), getattr(contests[contest.name], name)) for name in SHARED}
        for name, (value, allowed) in pairs.items():
            if value != allowed:
                raise SettingsError(f"{where}: contest {contest.name!r}: {name}: must be {allowed}, got {value}")
    if shared := sorted(new.labels.keys() & kept.labels.keys()):
        raise SettingsError(f"{where}: algorithm {shared[0]!r} is in the kept arena, too; give yours another key")
    trials = {name: set(numbers) for name, numbers in curves.groupby("contest")["trial"]}
    for name, numbers in added.groupby("contest")["trial"]:
        if set(numbers) != trials[name]:
            text = f"must be those of the kept arena, {len(trials[name])}, got {numbers.nunique()} trials"
            raise SettingsError(f"{where}: contest {name!r}: {text}")
