# SPDX-License-Identifier: BSD-3-Clause
"""Recorded jobs: work, time and memory of each; read from ``meta.json``, or timed."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from rbmbench.base.errors import RbmbenchError, ResultsError
from rbmbench.base.settings import RunSettings
from rbmbench.io import provenance
from rbmbench.io.layout import META, Layout
from rbmbench.io.meta import SAME_AS, STOPPING_TIME
from rbmbench.io.results import read_json, read_kept_metas
from rbmbench.jobs import Sizes, kind_of_meta, kinds, of_name
from rbmbench.jobs.train import is_countable
from rbmbench.kernels import backend_name
from rbmbench.model.work import Work
from rbmbench.training.timing import best_seconds, step_settings, training_step

KEPT = ("meta/*.json", "*/meta/*.json", "reference/*/meta/*.json")

CALIBRATION_SECONDS = 0.2
CALIBRATION_ROWS = 1000
# Visible and hidden units, batch, trials, estimator and its options: large and small, few calls and many.
STEPS = (
    (16, 16, 32, 25, "cd", {"k": 1}),
    (16, 16, 500, 5, "pop_cd", {"k": 1}),
    (784, 16, 100, 1, "parallel_tempering", {"temperatures": 10}),
    (784, 16, 500, 1, "cd", {"k": 1}),
    (784, 500, 500, 1, "cd", {"k": 1}),
)

StoppingTimes = dict[tuple[str, int], float]
"""Mean stopping times of the coupled chains of runs, by data set and number of hidden units."""


@dataclass(frozen=True)
class Record:
    """Time and memory of one job."""

    name: str
    machine: str  # processor and kernels, as `this_machine` returns them
    work: Work
    seconds: dict[str, float]  # processor seconds of the timed stages
    megabytes: float  # peak memory in MB of 2**20 bytes
    jitter: float = 1.0  # error of the seconds of a stage, whatever its length
    met: StoppingTimes = field(default_factory=dict)  # of a run with coupled chains


def read_records(folders: Iterable[str | Path]) -> tuple[list[Record], list[str]]:
    """Return the records below folders like ``results`` or ``results/reference``, and a line for each unusable one.

    Raises a `ResultsError` if a folder does not exist.
    """
    recorded: dict[tuple[str, object], Record] = {}
    notes: list[str] = []
    for folder in map(Path, folders):
        if not folder.is_dir():
            raise ResultsError(f"{folder}: must be a folder of results")
        for place, meta in _metas(folder, notes):
            try:
                records = records_of(meta)
            except (KeyError, TypeError, ValueError, AttributeError, RbmbenchError) as error:
                reason = f"{error} is missing" if isinstance(error, KeyError) else " ".join(str(error).split())
                notes.append(f"{place}: skipped ({reason})")
                continue
            # Kept results may be recorded twice: here and in the folder of the jobs.
            for record in records:
                recorded.setdefault((record.name, meta.get("finished")), record)
    return list(recorded.values()), notes


def records_of(meta: Mapping[str, Any]) -> list[Record]:
    """Return the records in a meta: a run, a measurement, or a run and the annealing that evaluated it.

    Stages of unknown processor time, and coupled chains of unknown stopping time, have none.
    Errors are of several types, see `read_records`.
    """
    if not isinstance(meta, Mapping):
        raise TypeError(f"must be a mapping, got a {type(meta).__name__}")
    kind, settings = kind_of_meta({key: value for key, value in meta.items() if key != "evaluation"})
    wall = meta["wall"]
    # Results of early versions had dense products alone; random models have no data, and no record of their steps.
    if not meta["data"] or "backend_products" not in meta.get("evaluation", meta):
        return []
    held_out, m = meta["data"]["rows"], meta["data"]["visible"]
    train = held_out["train"]
    if not isinstance(settings, RunSettings):
        if "hidden" not in meta:  # the same early versions
            return []
        work = kind.work(settings, Sizes(train, m, meta["hidden"], meta["trials"], held_out))
        startup = wall["total_seconds"] - wall["measuring_seconds"]
        # Kept results of early code: after an interruption the total was that of the last process.
        elapsed = ({"startup": startup} if startup > 0 else {}) | {"measuring": wall["measuring_seconds"]}
        return _records(meta, f"{meta['run']} {settings.digest()}", work, elapsed, wall, "measuring")
    records, met = [], meta.get(STOPPING_TIME)
    sizes = Sizes(train, m, settings.hidden, settings.trials, held_out, settings, {STOPPING_TIME: met} if met else {})
    if is_countable(settings, sizes.expected):
        # Training and evaluation alternate, so other work on the machine slows both down alike. Of runs that were not
        # the first of their process, the startup is not known.
        startups = ("startup",) * ("startup_seconds" in wall)
        elapsed = {stage: wall[f"{stage}_seconds"] for stage in (*startups, "training", "evaluation")}
        runs = _records(meta, f"{meta['run']} training", kind.work(settings, sizes), elapsed, wall, "training")
        times = {(settings.data.name, settings.hidden): met} if met else {}
        records += [replace(record, met=times) for record in runs]
    if "evaluation" in meta:
        evaluation = meta["evaluation"]
        kind, annealing = kind_of_meta(evaluation)
        name, elapsed = f"{meta['run']} annealing {evaluation['settings']}", {"measuring": wall["annealing_seconds"]}
        records += _records(evaluation, name, kind.work(annealing, sizes), elapsed, wall, "annealing")
    return records


def stopping_times(records: Iterable[Record]) -> StoppingTimes:
    """Return the mean stopping times of recorded runs."""
    recorded = defaultdict(list)
    for record in records:
        for problem, time in record.met.items():
            recorded[problem].append(time)
    return {problem: float(np.mean(times)) for problem, times in recorded.items()}


def this_machine() -> str:
    """Return the kind of this machine, as records name it: processor and kernels."""
    return f"{provenance.hardware()['cpu']}, {backend_name(np.empty(0))} kernels"


def calibration_records() -> list[Record]:
    """Return records of a few training steps, timed now on one thread: two seconds, and the compilation of kernels."""
    rows, records = CALIBRATION_ROWS, []
    with threadpool_limits(1):
        for visible, hidden, batch, trials, estimator, options in STEPS:
            settings = step_settings(hidden, batch, estimator, options, trials)
            counts = of_name("train").work(settings, Sizes(rows, visible, hidden, trials)).stages["training"]
            step = training_step(visible, hidden, batch, estimator, options, trials, rows, steps=1)
            (seconds,) = best_seconds(step, seconds=CALIBRATION_SECONDS)
            name = f"{estimator} {options}, {visible}x{hidden}, batch {batch}, {trials} trials"
            records.append(Record(name, this_machine(), Work({"timed": counts}, {}), {"timed": seconds}, 0.0, jitter=0))
    return records


def _records(
    meta: Mapping[str, Any], name: str, work: Work, elapsed: dict[str, float], wall: Mapping[str, float], timed: str
) -> list[Record]:
    """Return the record from the elapsed seconds of stages, none if ``wall`` has no processor seconds of ``timed``.

    Elapsed seconds alone are not the cost of a job: the machine may have had other work.
    """
    if not (of_processor := wall.get(f"{timed}_cpu_seconds")):
        return []
    factor = wall[f"{timed}_seconds"] / of_processor
    if meta["threads"] == 1:
        factor = max(1.0, factor)
    # Each block of a job has started, and one start is counted.
    starts = len(meta.get("blocks", ())) or 1
    seconds = {stage: value / (starts if stage == "startup" else factor) for stage, value in elapsed.items()}
    if not all(math.isfinite(value) and value > 0 for value in seconds.values()):
        raise ValueError(f"seconds: must be above 0, got {seconds}")
    machine = f"{meta['hardware']['cpu']}, {meta['backend']} kernels"
    return [Record(name, machine, work, seconds, float(meta["peak_memory_mb"]))]


def _metas(folder: Path, notes: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    names = [Layout("*").job(kind.folder, "*", META) for kind in kinds()]
    for patterns, kept in ((dict.fromkeys(names), False), (KEPT, True)):
        for file in sorted(path for pattern in patterns for path in folder.glob(pattern)):
            try:
                content = read_kept_metas(file) if kept else read_json(file)
            except ResultsError as error:
                notes.append(f"{error}: skipped")
                continue
            if kept and SAME_AS in content:
                continue  # the file it refers to contains them
            if kept:
                yield from ((f"{file}: {name}", meta) for name, meta in content.items())
            else:
                yield str(file), content
