"""Recorded runs and measurements, read from their ``meta.json``: what they were, and what they took."""

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from rbmbench.base.errors import RbmbenchError, ResultsError
from rbmbench.base.parsing import parse
from rbmbench.base.settings import EstimateSettings, GroundTruthSettings, RunSettings
from rbmbench.io.results import read_json
from rbmbench.planning.forecast import work

__all__ = ["Record", "machine", "read_records", "records_of"]

OWN = ("*/runs/*/meta.json", "*/gradients/*/meta.json", "*/evaluations/*/meta.json")
KEPT = ("meta/*.json", "*/meta/*.json", "reference/*/meta/*.json")
MEASUREMENTS = {"method": (GroundTruthSettings, work.ground_truth), "estimator": (EstimateSettings, work.estimates)}


@dataclass(frozen=True)
class Record:
    """What one job took: the operations and the processor seconds of each stage.

    ``problem`` names data set and hidden units, ``machine`` processor and backend; ``clock`` is how many
    seconds went by for each second of the processor, 1 on a machine that does nothing else (NaN where not known);
    ``jitter`` is how many seconds a stage may be off whatever its length.
    """

    name: str
    problem: str
    machine: str
    stages: work.Stages
    seconds: dict[str, float]
    memory: work.Counts
    megabytes: float
    clock: float = math.nan
    jitter: float = 1.0


def read_records(folders: Iterable[str | Path]) -> tuple[list[Record], list[str]]:
    """Return the records below folders of results, and a line for each that cannot be used.

    Parameters
    ----------
    folders : iterable of path
        Each like ``results`` or ``results/reference``.

    Raises
    ------
    ResultsError
        If a folder is not there.
    """
    found, notes = {}, []
    for folder in map(Path, folders):
        if not folder.is_dir():
            raise ResultsError(f"{folder}: is missing; should be a folder of results")
        for place, meta in _metas(folder, notes):
            try:
                records = records_of(meta)
            except (KeyError, TypeError, ValueError, AttributeError, RbmbenchError) as error:
                reason = f"{error} is missing" if isinstance(error, KeyError) else " ".join(str(error).split())
                notes.append(f"{place}: passed over ({reason})")
                continue
            # Kept results are also where they were made, as long as these are there.
            for record in records:
                found.setdefault((record.name, meta.get("finished")), record)
    return list(found.values()), notes


def records_of(meta: dict[str, Any]) -> list[Record]:
    """Return what a meta tells: a run, a measurement, a run and the annealing that has evaluated it, or nothing.

    Samples are not forecast, and runs of coupled chains take what chance decides, which no record foretells.

    Raises
    ------
    KeyError, TypeError, ValueError, SettingsError
        If the meta lacks something, or holds what cannot be.
    """
    if {"coupling", "samplers"} & set(meta["settings"]):
        return []
    if "schedule" in meta["settings"]:
        return [*_run(meta), *([_annealing(meta)] if "evaluation" in meta else [])]
    return [_measurement(meta)]


def _run(meta: dict[str, Any]) -> list[Record]:
    """Return the record of a training run, none if its chains are coupled."""
    settings, wall, (rows, visible) = parse(RunSettings, meta["settings"], "settings"), meta["wall"], _sizes(meta)
    if any(work.is_coupled(stage.estimator) for stage in settings.schedule):
        return []
    clock = _clock(meta["wall"], "training", meta["threads"])
    seconds = {
        "startup": wall["startup_seconds"],
        "training": _undisturbed(wall["training_seconds"], clock),
        # Training and evaluation take turns, so the same other work slows both down alike.
        "evaluation": _undisturbed(wall["evaluation_seconds"], clock),
    }
    stages = work.training(settings, rows, visible)
    memory = work.memory_of_run(settings, rows, visible)
    return [_record(meta, f"{meta['run']} training", settings.hidden, stages, seconds, memory, clock)]


def _annealing(meta: dict[str, Any]) -> Record:
    """Return the record of the annealing that has evaluated a run."""
    own, (rows, visible) = meta["evaluation"], _sizes(meta)
    run, settings = parse(RunSettings, meta["settings"], "settings"), SimpleNamespace(**own["settings"])
    stages = {"measuring": work.annealing(settings, run, rows, visible)["measuring"]}
    memory = work.memory_of_annealing(settings, run, rows, visible)
    name = f"{meta['run']} annealing {own['settings']}"
    wall = meta["wall"]
    clock = _clock(wall, "annealing", own["threads"])
    seconds = {"measuring": _undisturbed(wall["annealing_seconds"], clock)}
    return _record(own, name, run.hidden, stages, seconds, memory, clock)


def _measurement(meta: dict[str, Any]) -> Record:
    """Return the record of a ground truth or of estimates."""
    key = next((key for key in MEASUREMENTS if key in meta["settings"]), None)
    if key is None:
        raise ValueError("settings of an unknown kind")
    (model, count), wall, (rows, visible) = MEASUREMENTS[key], meta["wall"], _sizes(meta)
    settings, hidden, trials = parse(model, meta["settings"], "settings"), _hidden(meta["run"]), meta["trials"]
    measuring, clock = wall["measuring_seconds"], _clock(wall, "measuring", 1)
    seconds = {"startup": wall["total_seconds"] - measuring, "measuring": _undisturbed(measuring, clock)}
    stages = count(settings, rows, visible, hidden, trials)
    memory = work.memory_of_measurement(rows, visible, hidden, trials, getattr(settings, "batch", 1))
    return _record(meta, f"{meta['run']} {settings.digest()}", hidden, stages, seconds, memory, clock)


def _record(
    meta: dict[str, Any],
    name: str,
    hidden: int,
    stages: work.Stages,
    seconds: dict[str, float],
    memory: work.Counts,
    clock: float = math.nan,
) -> Record:
    """Return a record, its times checked; ``meta`` tells data, machine and memory."""
    if not all(math.isfinite(value) and value > 0 for value in seconds.values()):
        raise ValueError(f"seconds {seconds}; should be above 0")
    problem, on = f"{meta['data']['title']}, {hidden} hidden", machine(meta["hardware"]["cpu"], meta["backend"])
    return Record(name, problem, on, stages, seconds, memory, float(meta["peak_memory_mb"]), clock)


def _sizes(meta: dict[str, Any]) -> tuple[int, int]:
    """Return training rows and visible units."""
    rows = meta["data"]["rows"]
    return (rows["train"] if isinstance(rows, dict) else rows), meta["data"]["visible"]


def machine(cpu: str, backend: str) -> str:
    """Return the name of a kind of machine: processor and backend."""
    return f"{cpu}, {backend} kernels"


def _metas(folder: Path, notes: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield place and meta of all recorded jobs below a folder; note the files that cannot be read."""
    for patterns, kept in ((OWN, False), (KEPT, True)):
        for file in sorted(path for pattern in patterns for path in folder.glob(pattern)):
            try:
                content = read_json(file)
            except ResultsError as error:
                notes.append(f"{error}: passed over")
                continue
            if not isinstance(content, dict):
                notes.append(f"{file}: passed over (holds a {type(content).__name__}, not a mapping)")
            elif kept:
                yield from ((f"{file}: {name}", meta) for name, meta in content.items())
            else:
                yield str(file), content


def _clock(wall: dict[str, float], what: str, threads: int) -> float:
    """Return the seconds by the clock for each second of the processor; NaN where not known, as on several threads."""
    of_processor = wall.get(f"{what}_cpu_seconds")
    if threads != 1 or not of_processor:
        return math.nan
    return max(1.0, wall[f"{what}_seconds"] / of_processor)


def _undisturbed(seconds: float, clock: float) -> float:
    """Return what seconds by the clock would have been on an idle machine; the same where that is not known."""
    return seconds if math.isnan(clock) else seconds / clock


def _hidden(run: str) -> int:
    """Return the number of hidden units that the id of a run tells."""
    found = re.search(r"-(\d+)h-", run)
    if not found:
        raise ValueError(f"run {run!r}; its id should tell the hidden units")
    return int(found[1])
