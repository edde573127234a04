# SPDX-License-Identifier: BSD-3-Clause
"""Blocks: a long job is computed as several jobs, each of some of its trials, that are joined into the job's folder.

A trial does not depend on the other trials, so blocks can run at the same time, and a job of more trials takes the
blocks of one of fewer. Where single trials are long, and consist of parts that do not depend on each other, such as
the snapshots of an annealing, these are divided. The size of a block follows from the forecast with default costs
alone, which is the same on every machine.
"""

import math
from itertools import pairwise
from typing import NamedTuple

from rbmbench.io.layout import BLOCKS
from rbmbench.jobs import of_name
from rbmbench.planning.jobs import Job, Plan, digest_of

LITTLE_SECONDS = 300.0  # processor seconds up to which a job is one block: small models share calls
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
    trials, each = kind.parts(job.settings, plan.sizes(job))
    if trials * each == 1 or (seconds := plan.default_seconds(job)) <= LITTLE_SECONDS:
        return []
    cuts = _cuts(trials, each, seconds / trials)
    if len(cuts) == 2:
        return []
    folder, name, blocks = f"{BLOCKS}/{kind.folder}", _name(plan, job), []
    for number, (first, stop) in enumerate(pairwise(cuts), 1):
        count, title = stop - first, f"part {number} of {len(cuts) - 1}"
        blocks.append(Block(job, folder, f"{name}/{first}-{count}", first, count, count / (trials * each), title))
    return blocks


def _cuts(trials: int, each: int, seconds: float) -> list[int]:
    """Return the first parts of blocks, and the number of all parts; a trial has ``each`` parts and takes ``seconds``.

    A trial is divided evenly, since its number of parts does not grow; trials are not, since theirs may.
    """
    if seconds > MOST_SECONDS and each > 1:
        of_trial = min(each, math.ceil(seconds / PART_SECONDS))
        starts = [each * block // of_trial for block in range(of_trial)]
        return [*(trial * each + start for trial in range(trials) for start in starts), trials * each]
    return [*range(0, trials * each, each * max(1, int(MOST_SECONDS / seconds))), trials * each]


def _name(plan: Plan, job: Job) -> str:
    """Return the id of a job without its number of trials, nor those of the jobs that it reads."""
    kind, name = of_name(job.kind), job.id.rpartition("-")[0]
    read = [_name(plan, plan.jobs[other]) for other in plan.before(job)] or [job.data]
    return f"{name}-{digest_of(*read, kind.of_any_trials(job.settings).canonical())}"
