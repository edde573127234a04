# SPDX-License-Identifier: BSD-3-Clause
"""Time and memory of the jobs of a plan on a machine, and their requests to a scheduler."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from heapq import heappop, heappush
from typing import NamedTuple

import pandas as pd

from rbmbench.io.meta import STOPPING_TIME
from rbmbench.jobs import of_name
from rbmbench.model.work import Work
from rbmbench.planning.blocks import blocks_of
from rbmbench.planning.forecast.costs import UNFITTED, CostModel
from rbmbench.planning.forecast.records import StoppingTimes
from rbmbench.planning.jobs import Plan

TOTAL = "total"
SHORT_SECONDS = 60.0  # forecast up to which a job is short: a scheduler adds 5 to 15 seconds to each
# Minutes requested, relative to the forecast: one job in ten is off by a factor of 2.5, and nodes may be busy.
TIMES_THE_FORECAST, LEAST_MINUTES = 4.0, 20
MOST_MINUTES = 1440  # a day, which most partitions allow; training and annealing resume at the next attempt
MEMORY_TIMES_THE_FORECAST, LEAST_MEGABYTES = 1.5, 1000
GPU_MEGABYTES = 800  # of the host, for CUDA and CuPy: runs on an H200 took about 450 more than those on processors


@dataclass(frozen=True)
class CountedJob:
    """A job of a plan, whether its files exist, the ids of the jobs that it needs, and shares of its blocks by id."""

    id: str
    work: Work
    done: bool
    needs: tuple[str, ...] = ()
    shares: Mapping[str, float] = field(default_factory=dict)


class Request(NamedTuple):
    """The request of a job at its first attempt, and whether it is short enough to be batched with others."""

    minutes: int
    megabytes: int
    short: bool

    def minutes_at(self, attempt: int) -> int:
        """Return the minutes to request at an attempt, counted from 1: proportional to it, at most a day."""
        return min(attempt * self.minutes, MOST_MINUTES)

    def megabytes_at(self, attempt: int) -> int:
        """Return the MB to request at an attempt, counted from 1: proportional to it."""
        return attempt * self.megabytes


def jobs_of(plan: Plan, met: StoppingTimes | None = None, pilot: bool = False) -> dict[str, CountedJob]:
    """Return the jobs of a plan by id, except for data sets and figures; a job is done when its files exist.

    ``met`` has the stopping times of coupled chains in training, where known. With ``pilot``, short computations are
    made for costs that do not follow from settings and sizes.
    """
    counted = {}
    for job in plan.jobs.values():
        done, run = plan.is_done(job), plan.jobs.get(job.run, job).settings
        steps = (met or {}).get((run.data.name, run.hidden)) if job.data else None
        sizes = plan.sizes(job, {} if steps is None else {STOPPING_TIME: steps})
        work = of_name(job.kind).work(job.settings, sizes, pilot and not done)
        shares = {block.id: block.share for block in blocks_of(plan, job)}
        counted[job.id] = CountedJob(job.id, work, done, plan.before(job), shares)
    return counted


def forecast(plan: Plan, jobs: Mapping[str, CountedJob], model: CostModel, cores: int) -> pd.DataFrame:
    """Return the remaining jobs, time and memory of a plan, ``cores`` jobs at a time, each on an idle core.

    One row per figure or table: its key; number of its jobs, and of those that are done; processor and wall seconds
    left; memory of the ``cores`` largest jobs in MB of 2**20 bytes; basis of the forecast (see
    `CostModel`). The last row is the total, in which each job counts once.
    """
    wanted = {key: plan.needed(output) for key, output in plan.outputs.items()}
    wanted[TOTAL] = list(dict.fromkeys(job for ids in wanted.values() for job in ids))
    rows = []
    for key, ids in wanted.items():
        remaining = [jobs[job] for job in ids if not jobs[job].done]
        seconds = {job.id: model.seconds_of(job.work) for job in remaining}
        largest = sorted((model.megabytes_of(job.work) for job in remaining), reverse=True)[:cores]
        times = sum(seconds.values()), makespan(remaining, seconds, cores)
        rows.append((key, len(ids), len(ids) - len(remaining), *times, cores, sum(largest), model.basis))
    times = "processor_seconds", "wall_seconds"
    return pd.DataFrame(rows, columns=["result", "jobs", "done", *times, "cores", "memory_mb", "basis"])


def paths(jobs: Mapping[str, CountedJob], seconds: Mapping[str, float]) -> dict[str, float]:
    """Return the seconds from the start of each job to the end of the last one that needs it, on any number of cores.

    Jobs with a longer path should start first.
    """
    after, lengths = _after(jobs), {}
    for name in TopologicalSorter(after).static_order():  # the last ones first
        duration = max(jobs[name].shares.values(), default=1.0) * seconds[name]
        lengths[name] = duration + max((lengths[later] for later in after[name]), default=0.0)
    return lengths


def makespan(jobs: Iterable[CountedJob], seconds: Mapping[str, float], cores: int) -> float:
    """Return the wall time of jobs on some cores, if the ready job of the longest path starts first."""
    jobs = {job.id: job for job in jobs}
    path, after, now, running = paths(jobs, seconds), _after(jobs), 0.0, []
    unfinished = {name: len(job.shares) or 1 for name, job in jobs.items()}  # blocks
    waits = Counter(name for names in after.values() for name in names)
    ready: list[tuple[float, str, float]] = []  # a heap, as is running

    def release(names: Iterable[str]) -> None:
        for name in names:
            for share in jobs[name].shares.values() or (1.0,):
                heappush(ready, (-path[name], name, share * seconds[name]))

    release(name for name in jobs if not waits[name])
    while ready or running:
        while ready and len(running) < cores:
            _, name, duration = heappop(ready)
            heappush(running, (now + duration, name))
        now, name = heappop(running)
        unfinished[name] -= 1
        if not unfinished[name]:
            waits.subtract(after[name])
            release(later for later in after[name] if not waits[later])
    return now


def _after(jobs: Mapping[str, CountedJob]) -> dict[str, list[str]]:
    after: dict[str, list[str]] = {name: [] for name in jobs}
    for job in jobs.values():
        for needed in job.needs:
            if needed in jobs:
                after[needed].append(job.id)
    return after


def makespans(jobs: Mapping[str, CountedJob], model: CostModel, cores: Iterable[int]) -> dict[int, float]:
    """Return the wall seconds left of all jobs of a plan on some numbers of cores."""
    remaining = [job for job in jobs.values() if not job.done]
    seconds = {job.id: model.seconds_of(job.work) for job in remaining}
    return {number: makespan(remaining, seconds, number) for number in cores}


def priorities(jobs: Mapping[str, CountedJob]) -> dict[str, float]:
    """Return the `paths` of the jobs of a plan from default costs, scaled to less than 1."""
    lengths = paths(jobs, {name: UNFITTED.seconds_of(job.work) for name, job in jobs.items()})
    longest = max(lengths.values(), default=0.0)
    return {name: length / (longest + 1) for name, length in lengths.items()}


def request(work: Work, gpus: int = 0) -> Request:
    """Return the request of a job to a scheduler, from default costs: the same on all nodes, and generous."""
    seconds, megabytes = UNFITTED.seconds_of(work), UNFITTED.megabytes_of(work)
    minutes = min(max(LEAST_MINUTES, math.ceil(TIMES_THE_FORECAST * seconds / 60)), MOST_MINUTES)
    memory = max(LEAST_MEGABYTES, 100 * math.ceil(MEMORY_TIMES_THE_FORECAST * megabytes / 100))
    return Request(minutes, memory + GPU_MEGABYTES * gpus, seconds <= SHORT_SECONDS)
