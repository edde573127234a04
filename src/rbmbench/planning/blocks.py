# SPDX-License-Identifier: BSD-3-Clause
"""Blocks: a long job is computed as several jobs of some of its trials each, which are joined in the job's folder.

A trial does not depend on the other trials, so blocks can run at the same time, and a job of more trials reuses the
blocks of a job of fewer. Long trials of independent parts, such as the snapshots of an annealing, are divided. The size
of a block follows from the forecast with default costs alone, which is the same on every machine.
"""

import math
from itertools import pairwise
from typing import NamedTuple

from rbmbench.io.layout import BLOCKS
from rbmbench.jobs import of_name
from rbmbench.planning.jobs import Job, Plan, digest_of

MOST_SECONDS = 3600.0  # processor seconds of a block of several trials
PART_SECONDS = 900.0  # processor seconds of a block of several parts of a trial that takes more than `MOST_SECONDS`


class Block(NamedTuple):
    """Consecutive parts of a job, see `rbmbench.jobs.JobKind.parts`: whole trials, or parts of one trial."""

    job: Job
    folder: str  # folder of the blocks of this kind of job in the results of a scale
    id: str
    first: int  # first part, counted trial by trial from the first trial of the job
    count: int
    share: float  # share of the parts of the job
    title: str


def blocks_of(plan: Plan, job: Job) -> list[Block]:
    """Return the blocks of a job, in the order of their parts; none for a job that is computed at once."""
    kind = of_name(job.kind)
    trials, parts = kind.parts(job.settings, plan.sizes(job))
    if trials * parts == 1:
        return []
    cuts = _cuts(trials, parts, plan.default_seconds(job) / trials)
    if len(cuts) == 2:
        return []
    folder, name, blocks = f"{BLOCKS}/{kind.folder}", _name(plan, job), []
    for number, (first, stop) in enumerate(pairwise(cuts), 1):
        count, title = stop - first, f"part {number} of {len(cuts) - 1}"
        blocks.append(Block(job, folder, f"{name}/{first}-{count}", first, count, count / (trials * parts), title))
    return blocks


def _cuts(trials: int, parts: int, seconds: float) -> list[int]:
    """Return the first parts of blocks, and the number of all parts; a trial has ``parts`` parts and takes ``seconds``.

    A trial is divided evenly, since its number of parts does not grow; trials are not, since theirs may.
    """
    if seconds > MOST_SECONDS and parts > 1:
        blocks = min(parts, math.ceil(seconds / PART_SECONDS))
        starts = [parts * block // blocks for block in range(blocks)]
        return [*(trial * parts + start for trial in range(trials) for start in starts), trials * parts]
    return [*range(0, trials * parts, parts * max(1, int(MOST_SECONDS / seconds))), trials * parts]


def _name(plan: Plan, job: Job) -> str:
    """Return the id of a job without its number of trials, nor those of the jobs that it reads."""
    kind, name = of_name(job.kind), job.id.rpartition("-")[0]
    read = [_name(plan, plan.jobs[other]) for other in plan.before(job)] or [job.data]
    return f"{name}-{digest_of(*read, kind.of_any_trials(job.settings).canonical())}"
