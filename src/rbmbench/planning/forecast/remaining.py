# SPDX-License-Identifier: BSD-3-Clause
"""Time left of a workflow under way: forecasts of its jobs, corrected by the times of finished jobs."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rbmbench.planning.bundles import bundles_of
from rbmbench.planning.forecast.costs import fitted_model
from rbmbench.planning.forecast.jobs import jobs_of
from rbmbench.planning.forecast.records import read_records, this_machine
from rbmbench.planning.jobs import Plan

UNCOUNTED_SECONDS = 5.0
"""Assumed time of jobs without a forecast, such as notebooks, until a job of their kind has finished."""
LEAST_EFFICIENCY = 0.1


def expected_seconds(plan: Plan, results: Iterable[str | Path]) -> dict[str, float]:
    """Return the seconds that jobs and blocks of a plan are expected to take, by id, fitted to records in ``results``.

    Nothing is timed. Bundles have default costs. Data sets, notebooks, reports and joining blocks are not counted.
    """
    model, expected = fitted_model(read_records(results)[0], this_machine()), {}
    for job in jobs_of(plan, model.met).values():
        seconds = model.seconds_of(job.work)
        expected |= {name: share * seconds for name, share in job.shares.items()} or {job.id: seconds}
    expected |= {bundle.id: bundle.seconds for bundle in bundles_of(plan)}
    return expected


@dataclass(frozen=True)
class Expected:
    """The kind of a job, such as its rule, and the seconds that it is expected to take."""

    kind: str
    seconds: float = UNCOUNTED_SECONDS


class Remaining:
    """Time left of ``jobs``, of which ``cores`` run at a time, the first from ``begun`` on; in seconds of one clock.

    Jobs of a kind are slower or faster than expected by a common factor, which is estimated from finished ones. Time
    between jobs counts by the share of the cores' time that finished jobs have used.
    """

    def __init__(self, jobs: Mapping[int, Expected], cores: int, begun: float):
        self._left, self._cores, self._begun = dict(jobs), max(cores, 1), begun
        self._running: dict[int, float] = {}
        self._taken: dict[str, float] = defaultdict(float)
        self._expected: dict[str, float] = defaultdict(float)
        seconds: dict[str, list[float]] = defaultdict(list)
        for job in jobs.values():
            seconds[job.kind].append(job.seconds)
        self._typical = {kind: sum(values) / len(values) for kind, values in seconds.items()}

    def started(self, job: int, now: float) -> None:
        """Note that a job starts."""
        self._running[job] = now

    def finished(self, job: int, now: float) -> float:
        """Note that a job has finished; return the seconds it took."""
        seconds = now - self._running.pop(job, now)
        if expected := self._left.pop(job, None):
            self._taken[expected.kind] += seconds
            self._expected[expected.kind] += expected.seconds
        return seconds

    def seconds(self, now: float) -> float:
        """Return the wall-clock seconds that are left."""
        remaining = []  # processor seconds of each job
        for job, expected in self._left.items():
            kind, typical = expected.kind, self._typical[expected.kind]
            factor = (self._taken[kind] + typical) / (self._expected[kind] + typical) if typical else 1.0
            elapsed = now - self._running[job] if job in self._running else 0.0
            remaining.append(max(0.0, factor * expected.seconds - elapsed))
        used, running = sum(self._taken.values()), sum(now - start for start in self._running.values())
        offered = (now - self._begun) * self._cores
        efficiency = min(1.0, max(LEAST_EFFICIENCY, (used + running) / offered)) if used and offered > 0 else 1.0
        return max([sum(remaining) / (self._cores * efficiency), *remaining], default=0.0)
