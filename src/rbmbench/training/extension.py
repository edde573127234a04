# SPDX-License-Identifier: BSD-3-Clause
"""What an earlier run has that a run of more trials, or of more iterations, need not make again.

A trial depends on its own number, not on which others there are, and on the iterations before, not on those to come. So
a run whose settings differ in the number of trials alone, made by code that computes the same from the same rows, has
trials of this one; and one that differs in its last iteration alone, and has kept its final state, has its beginning.
The same holds for trials whose snapshots have been annealed.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rbmbench.base.errors import RbmbenchError, ResultsError
from rbmbench.base.parsing import parse
from rbmbench.base.settings import RunSettings
from rbmbench.io import results
from rbmbench.io.layout import CURVE, META, STATE
from rbmbench.model.rbm import RBM
from rbmbench.training.loop import boundaries
from rbmbench.training.run import TrainingResult, load_run

ALIKE = ("settings", "code", "data", "backend")
"""What earlier and later runs have in common in ``meta.json``; of settings all but the number of trials."""
OF_PART = ("run", "commit", "finished", "backend")
"""What ``meta.json`` says of each part of a run that was made in parts."""


def earlier_run(folder: Path, like: str, settings: RunSettings, meta: Mapping[str, Any]) -> TrainingResult | None:
    """Return the run among those in a folder that has most trials of this one, cut to at most so many; else None.

    ``like`` is a pattern of the names of runs that are looked at; ``meta`` has the code, the data and the backend of
    this run. Runs that are incomplete or damaged are passed over.
    """
    asked = meta | {"settings": settings.model_dump(mode="json")}
    best = max(_alike(folder, like, asked), default=None, key=lambda found: found[0])
    if best is None:
        return None
    try:
        return _first_trials(load_run(best[1]), settings.trials)
    except ResultsError:
        return None


@dataclass(frozen=True)
class EarlierEvaluation:
    """The annealed curve of the first ``trials`` trials of a run, and the meta of the evaluation that has it."""

    curve: pd.DataFrame
    trials: int
    meta: Mapping[str, Any]

    @property
    def spent(self) -> dict[str, float]:
        """The share of these trials in the times that the annealing took."""
        share = self.trials / self.meta["settings"]["trials"]
        return {name: share * took for name, took in self.meta["wall"].items() if name.startswith("annealing_")}

    def parts(self, run: Mapping[str, Any], now: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return for ``meta.json`` which trials were evaluated when and by what: earlier, and now."""
        first, trials = run["settings"]["first_trial"], run["settings"]["trials"]
        made = self.meta["evaluation"]
        known = made.get("parts") or [_part(self.meta | made, first, self.trials)]
        kept = _cut(known, first + self.trials)
        return kept + ([_part(run | now, first + self.trials, trials - self.trials)] if trials > self.trials else [])


def earlier_evaluation(
    folder: Path, like: str, run: Mapping[str, Any], evaluation: Mapping[str, Any], metrics: Iterable[str]
) -> EarlierEvaluation | None:
    """Return the evaluation in a folder that has most trials of a run, cut to at most so many; None if there is none.

    ``like`` is a pattern of the names of evaluations that are looked at, ``run`` the meta of the run, ``evaluation``
    has the settings, the code, the data and the backend of this evaluation, and ``metrics`` are those of training.
    """
    best = None
    for there, path in _alike(folder, like, run):
        try:
            meta = results.read_meta(path)
            made = meta.get("evaluation") or {}
            if any(made.get(key) != evaluation[key] for key in ALIKE) or (best and there <= best.trials):
                continue
            curve = results.read_table(path, CURVE)
        except ResultsError:
            continue
        last = meta["settings"]["first_trial"] + there
        annealed = curve[~curve["metric"].isin(set(metrics)) & (curve["trial"] < last)]
        best = EarlierEvaluation(annealed, there, meta)
    return best


def _alike(folder: Path, like: str, asked: Mapping[str, Any]) -> Iterator[tuple[int, Path]]:
    """Yield the trials of each run in a folder that is made like the one that is asked for, and its path."""
    for file in sorted(folder.glob(f"{like}/{META}")):
        try:
            meta = results.read_meta(file.parent)
        except ResultsError:
            continue
        if _made(meta) == _made(asked):
            yield min(meta["settings"]["trials"], asked["settings"]["trials"]), file.parent


def _made(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return what decides whether trials of two runs are the same."""
    settings = meta.get("settings")
    of_trial = {key: value for key, value in settings.items() if key != "trials"} if settings else None
    return {key: meta.get(key) for key in ALIKE} | {"settings": of_trial}


def _first_trials(result: TrainingResult, trials: int) -> TrainingResult:
    """Return the first trials of a run; times are the share of these trials."""
    if trials >= result.settings.trials:
        return result
    share, last = trials / result.settings.trials, result.settings.first_trial + trials
    return replace(
        result,
        rbm=result.rbm[:trials],
        curve=result.curve[result.curve["trial"] < last].reset_index(drop=True),
        settings=result.settings.model_copy(update={"trials": trials}),
        timings={name: share * seconds for name, seconds in result.timings.items()},
        snapshots=of_trials(result.snapshots, slice(trials)),
    )


def of_trials(snapshots: Mapping[str, np.ndarray], chosen: slice) -> dict[str, np.ndarray]:
    """Return the snapshots of some of the trials."""
    return {name: part if part.ndim == 1 else part[:, chosen] for name, part in snapshots.items()}


def earlier_state(
    folder: Path, like: str, settings: RunSettings, meta: Mapping[str, Any]
) -> tuple[Path, RunSettings] | None:
    """Return the longest run in a folder that is the beginning of this one: the file of its final state, its settings.

    Only runs that were evaluated at iterations at which this one is evaluated can be gone on from. For the others see
    `earlier_run`.
    """
    asked, found = meta | {"settings": settings.model_dump(mode="json")}, []
    for file in sorted(folder.glob(f"{like}/{STATE}")):
        try:
            known = results.read_meta(file.parent)
            shorter = parse(RunSettings, dict(known["settings"]), f"{file.parent / META}: settings")
        except RbmbenchError:
            continue
        until = shorter.iterations
        longer = known | {"settings": _until(shorter, settings.iterations)}
        same = all(longer.get(key) == asked.get(key) for key in ALIKE)
        if same and until < settings.iterations and set(boundaries(shorter)) <= set(boundaries(settings)):
            found.append((until, (file, shorter)))
    return max(found, default=(0, None), key=lambda one: one[0])[1]


def _until(settings: RunSettings, iterations: int) -> dict[str, Any]:
    """Return the settings, as plain data, with another last iteration."""
    values = settings.model_dump(mode="json")
    values["schedule"][-1]["until"] = iterations
    return values


def missing(settings: RunSettings, earlier: TrainingResult) -> RunSettings | None:
    """Return the settings of the trials that an earlier run has not; None if it has all."""
    there = earlier.settings.trials
    if there == settings.trials:
        return None
    return settings.model_copy(update={"first_trial": settings.first_trial + there, "trials": settings.trials - there})


def joined(earlier: TrainingResult, later: TrainingResult) -> TrainingResult:
    """Return a run of the trials of two, the second of which has those that come next."""
    both = earlier.rbm.parameters, later.rbm.parameters
    snapshots = {
        name: part if part.ndim == 1 else np.concatenate([part, later.snapshots[name]], axis=1)
        for name, part in earlier.snapshots.items()
    }
    times = {name: seconds + later.timings.get(name, 0.0) for name, seconds in earlier.timings.items()}
    return replace(
        later,
        rbm=RBM(*(np.concatenate(parts) for parts in zip(*both, strict=True))),
        curve=pd.concat([earlier.curve, later.curve]).sort_values(["metric", "iteration", "trial"], ignore_index=True),
        settings=earlier.settings.model_copy(update={"trials": earlier.settings.trials + later.settings.trials}),
        timings=times,
        snapshots=snapshots,
    )


def parts_of(earlier: TrainingResult, trials: int, now: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return for ``meta.json`` which trials were made when and by what: those of an earlier run, and of this one."""
    first, there = earlier.settings.first_trial, earlier.settings.trials
    known = earlier.meta.get("parts") or [_part(earlier.meta, first, there)]
    kept = _cut(known, first + there)
    return kept + ([_part(now, first + there, trials - there)] if trials > there else [])


def parts_in_time(begun: tuple[Path, RunSettings], meta: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return for ``meta.json`` which iterations were made when and by what: those of a shorter run, and of this one."""
    earlier = results.read_meta(begun[0].parent)
    first = {"iterations": begun[1].iterations} | {key: earlier.get(key) for key in OF_PART}
    rest = {"iterations": meta["iterations"] - begun[1].iterations} | {key: meta.get(key) for key in OF_PART}
    before = [part for part in earlier.get("parts", []) if "iterations" in part]
    return [*(before or [first]), rest]


def _cut(parts: Iterable[Mapping[str, Any]], last: int) -> list[dict[str, Any]]:
    """Return the parts that have trials before ``last``, with only those."""
    cut = [{**part, "trials": min(part["trials"], last - part["first_trial"])} for part in parts]
    return [part for part in cut if part["trials"] > 0]


def _part(meta: Mapping[str, Any], first_trial: int, trials: int) -> dict[str, Any]:
    return {"first_trial": first_trial, "trials": trials} | {key: meta.get(key) for key in OF_PART}
