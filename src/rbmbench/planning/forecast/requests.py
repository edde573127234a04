"""What to ask a scheduler for: memory and time of jobs, from a count of their work.

The costs are those of a usual core, not of the machine at hand: a request shall be the same on all nodes, and be known
at once. So it is generous, and what is too little is asked for again, more of it, after a failure.
"""

import math
from dataclasses import dataclass

from rbmbench.planning.forecast.model import UNFITTED
from rbmbench.planning.forecast.plans import Job, jobs_of
from rbmbench.planning.jobs import Plan

__all__ = ["Request", "request", "requests"]

SHORT_SECONDS = 60.0
"""Forecasts up to which jobs are short: a scheduler takes 5 to 15 seconds for each."""
TIMES_THE_FORECAST = 4.0
"""Forecasts without records of the machine are off by 2.5 for one job in ten, and busy nodes are slow."""
LEAST_MINUTES = 20
MOST_MINUTES = 1440
"""A day, which most partitions allow. Training and annealing go on from there at the next attempt."""
MEMORY_TIMES_THE_FORECAST = 1.5
LEAST_MEGABYTES = 1000


@dataclass(frozen=True)
class Request:
    """What one job asks for at its first attempt, and whether it is short enough to share a place in the queue."""

    minutes: int
    megabytes: int
    short: bool

    def minutes_at(self, attempt: int) -> int:
        """Return the minutes to ask for at an attempt, the first being 1: as many times more, up to a day."""
        return min(attempt * self.minutes, MOST_MINUTES)

    def megabytes_at(self, attempt: int) -> int:
        """Return the megabytes to ask for at an attempt, the first being 1: as many times more."""
        return attempt * self.megabytes


def requests(plan: Plan) -> dict[str, Request]:
    """Return what the runs, ground truths, measurements and evaluations of a plan ask for, by their ids."""
    return {name: request(job) for name, job in jobs_of(plan).items()}


def request(job: Job) -> Request:
    """Return what one job asks for."""
    seconds, megabytes = UNFITTED.seconds_of(job.stages), UNFITTED.megabytes_of(job.memory)
    minutes = min(max(LEAST_MINUTES, math.ceil(TIMES_THE_FORECAST * seconds / 60)), MOST_MINUTES)
    memory = max(LEAST_MEGABYTES, 100 * math.ceil(MEMORY_TIMES_THE_FORECAST * megabytes / 100))
    return Request(minutes, memory, seconds <= SHORT_SECONDS)
