# SPDX-License-Identifier: BSD-3-Clause
"""Bundles of short jobs: one process computes several, one after the other.

Imports and compiled kernels cost a process two seconds, which is more than most jobs of a small scale take. A bundle
has jobs of one kind that the same figures and tables need, so that no target computes jobs that it does not show.
Bundles follow from the plan and from default costs alone, which are the same on every machine.
"""

from collections import defaultdict
from typing import NamedTuple

from rbmbench.jobs import of_name
from rbmbench.model.work import SECONDS
from rbmbench.planning.blocks import blocks_of
from rbmbench.planning.jobs import Job, Plan

SHORT_SECONDS = 5.0  # processor seconds of a short job, the start of its process included
MOST_JOBS = 12  # jobs of a bundle: with more, fewer cores are used
MOST_CHARACTERS = 4000
"""Characters of the settings of a short job: the commands of a bundle are one argument of a shell."""


class Bundle(NamedTuple):
    """Jobs that one process computes."""

    id: str
    jobs: tuple[Job, ...]
    seconds: float  # of a processor by default costs; the process starts once

    @property
    def title(self) -> str:
        """The kind and number of the jobs."""
        return f"{of_name(self.jobs[0].kind).title}, {len(self.jobs)} jobs"


def bundles_of(plan: Plan) -> list[Bundle]:
    """Return the bundles of a plan; the other jobs have a process each."""
    needed_by, groups = defaultdict(list), defaultdict(list)
    for key, output in plan.outputs.items():
        for name in plan.needed(output):
            needed_by[name].append(key)
    for job in plan.jobs.values():
        seconds = plan.default_seconds(job)
        is_short = seconds <= SHORT_SECONDS and len(job.settings.canonical()) <= MOST_CHARACTERS
        if is_short and not blocks_of(plan, job):
            groups[job.kind, tuple(needed_by[job.id])].append((job, seconds - SECONDS["start"]))
    bundles = []
    for group in groups.values():
        for first in range(0, len(group), MOST_JOBS):
            jobs, seconds = zip(*group[first : first + MOST_JOBS], strict=True)
            if len(jobs) > 1:
                bundles.append(Bundle(f"bundle_{jobs[0].id}", jobs, SECONDS["start"] + sum(seconds)))
    return bundles
