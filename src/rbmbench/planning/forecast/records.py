# SPDX-License-Identifier: BSD-3-Clause
"""Recorded jobs: what each was, and the time and memory it took; read from ``meta.json``, or timed now."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from rbmbench import datasets
from rbmbench.base.errors import RbmbenchError, ResultsError
from rbmbench.base.parsing import parse
from rbmbench.base.settings import CouplingSettings, RunSettings, SamplingSettings, Settings
from rbmbench.base.streams import Purpose, Stream
from rbmbench.io import provenance
from rbmbench.io.layout import META, Layout
from rbmbench.io.meta import SAME_AS, STOPPING_TIME
from rbmbench.io.results import read_json
from rbmbench.jobs import JobKind, Sizes, kind_of_meta, kinds, of_name
from rbmbench.jobs._costs import evaluation as evaluation_work
from rbmbench.jobs.sample import ASSUMED_ROWS
from rbmbench.jobs.train import is_countable
from rbmbench.kernels import backend_name
from rbmbench.likelihood import exact_log_partition, log_likelihood
from rbmbench.measurements.meeting_times import coupled_stopping_times
from rbmbench.measurements.sampling import sampled
from rbmbench.model.rbm import RBM, initial_rbm
from rbmbench.model.work import Counts, Work
from rbmbench.training.timing import best_seconds, made_data, step_settings, training_step

KEPT = ("meta/*.json", "*/meta/*.json", "reference/*/meta/*.json")

CALIBRATION_SECONDS = 0.1
CALIBRATION_ROWS = 1000
# Visible and hidden units, batch, trials, estimator and its options: large and small, few calls and many.
STEPS = (
    (16, 16, 32, 25, "cd", {"k": 1}),
    (16, 16, 32, 25, "cd", {"k": 10}),
    (16, 16, 500, 5, "pop_cd", {"k": 1}),
    (16, 16, 32, 5, "parallel_tempering", {"temperatures": 10}),
    (784, 16, 500, 1, "cd", {"k": 1}),
    (784, 16, 100, 1, "parallel_tempering", {"temperatures": 10}),
    (784, 16, 500, 1, "pop_cd", {"k": 1}),
    (784, 500, 100, 1, "cd", {"k": 1}),
    (784, 500, 500, 1, "cd", {"k": 1}),
)
EVALUATIONS = ((16, 16), (784, 16))
# Visible and hidden units, samples, numbers of samples with a likelihood, and the sampler with its options.
STREAMS = (
    (256, 200, 500, 5, "gibbs", {}),
    (256, 200, 500, 5, "rates_fpcd", {}),
    (256, 200, 500, 5, "parallel_tempering", {}),
    (64, 30, 500, 60, "rates_fpcd", {}),
)
COUPLED = {"visible": 500, "hidden": 100, "coupling": "general", "replications": 200, "longest": 50}


StoppingTimes = dict[tuple[str, int], float]
"""Mean stopping times of the coupled chains of runs, by data set and number of hidden units."""


@dataclass(frozen=True)
class Record:
    """What one job took."""

    name: str
    problem: str  # data set and number of hidden units
    machine: str  # processor and kernels, as `this_machine` returns them
    work: Work
    seconds: dict[str, float]  # processor seconds of the timed stages
    megabytes: float  # peak memory in MB of 2**20 bytes
    clock: float = math.nan  # elapsed / processor seconds of one thread: 1 on an idle machine, NaN where unknown
    jitter: float = 1.0  # seconds that a stage may be off whatever its length
    met: StoppingTimes = field(default_factory=dict)  # of a run with coupled chains


def read_records(folders: Iterable[str | Path]) -> tuple[list[Record], list[str]]:
    """Return the records below folders like ``results`` or ``results/reference``, and a line for each unusable one.

    Raises a `ResultsError` if a folder does not exist.
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
                notes.append(f"{place}: skipped ({reason})")
                continue
            # Kept results may be recorded twice: once where they were made.
            for record in records:
                found.setdefault((record.name, meta.get("finished")), record)
    return list(found.values()), notes


def records_of(meta: dict[str, Any]) -> list[Record]:
    """Return the records in a meta: a run, a measurement, or a run and the annealing that evaluated it.

    There are none of stages whose processor time is not known, and of coupled chains whose stopping times are not.
    Errors are of several types, see `read_records`.
    """
    if not isinstance(meta, dict):
        raise TypeError(f"holds a {type(meta).__name__}, not a mapping")
    kind, settings = kind_of_meta({key: value for key, value in meta.items() if key != "evaluation"})
    wall = meta["wall"]
    # Results of early versions had dense products alone; random models have no data, and no record of their steps.
    if not meta["data"] or "backend_products" not in meta.get("evaluation", meta):
        return []
    rows = meta["data"]["rows"]
    held_out = rows if isinstance(rows, dict) else {}
    train, m = rows["train"] if held_out else rows, meta["data"]["visible"]
    if not isinstance(settings, RunSettings):
        return _measurement(meta, kind, settings, Sizes(train, m, meta["hidden"], meta["trials"], held_out))
    found, met = [], meta.get(STOPPING_TIME)
    sizes = Sizes(train, m, settings.hidden, settings.trials, held_out, settings, {STOPPING_TIME: met} if met else {})
    if is_countable(settings, sizes.expected):
        # Training and evaluation alternate, so other work on the machine slows both down alike. Of runs that were not
        # the first of their process, the startup is not known.
        startup = ("startup",) * ("startup_seconds" in wall)
        elapsed = {stage: wall[f"{stage}_seconds"] for stage in (*startup, "training", "evaluation")}
        name, work = f"{meta['run']} training", kind.work(settings, sizes)
        records = _records(meta, name, settings.hidden, work, elapsed, wall, "training")
        found += [replace(one, met={(settings.data.name, settings.hidden): met} if met else {}) for one in records]
    if "evaluation" in meta:
        own = meta["evaluation"]
        kind, annealing = kind_of_meta(own)
        name, elapsed = f"{meta['run']} annealing {own['settings']}", {"measuring": wall["annealing_seconds"]}
        work = kind.work(annealing, sizes)
        found += _records(own, name, settings.hidden, work, elapsed, wall, "annealing")
    return found


def stopping_times(records: Iterable[Record]) -> StoppingTimes:
    """Return the mean stopping times of recorded runs."""
    found = defaultdict(list)
    for record in records:
        for problem, time in record.met.items():
            found[problem].append(time)
    return {problem: float(np.mean(times)) for problem, times in found.items()}


def this_machine() -> str:
    """Return the kind of this machine, as records name it: processor and kernels."""
    return f"{provenance.hardware()['cpu']}, {backend_name(np.empty(0))} kernels"


def calibration_records() -> list[Record]:
    """Return records of a few steps, evaluations, samples and coupled chains, timed now on one thread.

    It takes 5 seconds, and the compilation of kernels.
    """
    rows, found = CALIBRATION_ROWS, []
    with threadpool_limits(1):
        for visible, hidden, batch, trials, estimator, options in STEPS:
            settings = step_settings(hidden, batch, estimator, options, trials)
            counted = of_name("train").work(settings, Sizes(rows, visible, hidden, trials))
            step = training_step(visible, hidden, batch, estimator, options, trials, rows, steps=1)
            name = f"{estimator} {options}, {visible}x{hidden}, batch {batch}, {trials} trials"
            found.append(_timed(name, counted.stages["training"], step))
        for visible, hidden in EVALUATIONS:
            rbm = initial_rbm(visible, hidden, Stream(0, range(1), Purpose.INITIAL_PARAMETERS))
            evaluate = partial(_evaluate, rbm, made_data(rows, visible))
            found.append(_timed(f"evaluation, {visible}x{hidden}", evaluation_work(rows, visible, hidden), evaluate))
        found += [_timed_samples(*stream) for stream in STREAMS]
        chains = parse(CouplingSettings, COUPLED, "chains to be timed")
        steps = coupled_stopping_times(chains).mean()
        counts = _without_first_call(of_name("couple").work(chains, Sizes(expected={STOPPING_TIME: steps})))
        found.append(_timed("coupled chains", counts, partial(coupled_stopping_times, chains)))
    return found


def _timed_samples(visible: int, hidden: int, samples: int, points: int, sampler: str, options: dict) -> Record:
    """Return the record of one stream of samples, timed now."""
    values = {"samplers": {"timed": {"name": sampler, "options": options}}, "samples": samples, "points": points}
    settings = parse(SamplingSettings, values | {"shown": 1}, "stream to be timed")
    rows = made_data(ASSUMED_ROWS, visible)
    about = dict.fromkeys(("source", "preprocessing"), "") | {"options": {}}
    data = datasets.build("made", "made", train=rows, validation=rows, test=rows, **about)
    rbm = initial_rbm(visible, hidden, Stream(0, range(1), Purpose.INITIAL_PARAMETERS))
    counts = _without_first_call(of_name("sample").work(settings, Sizes(len(rows), visible, hidden)))
    return _timed(f"samples by {sampler}, {visible}x{hidden}", counts, partial(sampled, rbm, data, settings))


def _without_first_call(counted: Work) -> Counts:
    return {name: count for name, count in counted.stages["measuring"].items() if name != "first call"}


def _evaluate(rbm: RBM, rows: np.ndarray) -> None:
    log_likelihood(rbm, rows, exact_log_partition(rbm))


def _timed(name: str, counts: Counts, function: Callable[[], object]) -> Record:
    """Return the record of a function call, timed now."""
    (seconds,) = best_seconds(function, seconds=CALIBRATION_SECONDS)
    return Record(name, name, this_machine(), Work({"timed": counts}, {}), {"timed": seconds}, 0.0, jitter=0.0)


def _measurement(meta: dict[str, Any], kind: JobKind, settings: Settings, sizes: Sizes) -> list[Record]:
    """Return the record of a job that measures trained models."""
    wall, name = meta["wall"], f"{meta['run']} {settings.digest()}"
    startup = wall["total_seconds"] - wall["measuring_seconds"]
    # Kept results of early code: after an interruption the total was that of the last process, whose start is unknown.
    elapsed = ({"startup": startup} if startup > 0 else {}) | {"measuring": wall["measuring_seconds"]}
    return _records(meta, name, sizes.n, kind.work(settings, sizes), elapsed, wall, "measuring")


def _records(
    meta: dict[str, Any], name: str, hidden: int, counted: Work, elapsed: dict[str, float], wall: dict, what: str
) -> list[Record]:
    """Return the record from the elapsed seconds of stages, none without the processor seconds of ``what`` in ``wall``.

    Elapsed seconds alone do not tell what a job costs: the machine may have had other work.
    """
    if not (of_processor := wall.get(f"{what}_cpu_seconds")):
        return []
    slower = wall[f"{what}_seconds"] / of_processor
    if meta["threads"] == 1:
        slower = max(1.0, slower)
    # Each block of a job has started, and one start is counted.
    starts = len(meta.get("blocks", ())) or 1
    seconds = {stage: value / (starts if stage == "startup" else slower) for stage, value in elapsed.items()}
    if not all(math.isfinite(value) and value > 0 for value in seconds.values()):
        raise ValueError(f"seconds {seconds}; should be above 0")
    problem, on = f"{meta['data']['title']}, {hidden} hidden", f"{meta['hardware']['cpu']}, {meta['backend']} kernels"
    clock, memory = slower if meta["threads"] == 1 else math.nan, float(meta["peak_memory_mb"])
    return [Record(name, problem, on, counted, seconds, memory, clock)]


def _metas(folder: Path, notes: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield place and meta of all recorded jobs below a folder; note files that cannot be read."""
    own = [Layout("*").job(kind.folder, "*", META) for kind in kinds()]
    for patterns, kept in ((dict.fromkeys(own), False), (KEPT, True)):
        for file in sorted(path for pattern in patterns for path in folder.glob(pattern)):
            try:
                content = read_json(file)
            except ResultsError as error:
                notes.append(f"{error}: skipped")
                continue
            if kept and isinstance(content, dict) and SAME_AS in content:
                continue  # told where they are kept
            if kept and isinstance(content, dict):
                yield from ((f"{file}: {name}", meta) for name, meta in content.items())
            else:
                yield str(file), content
