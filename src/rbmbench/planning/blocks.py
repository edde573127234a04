# SPDX-License-Identifier: BSD-3-Clause
"""Blocks of trials: a long job is computed in parts, each a job of its own, that are joined into the job's folder.

A trial does not depend on the other trials, so blocks can run at the same time, and a job of more trials takes the
blocks of one of fewer. The number of trials of a block follows from the forecast with default costs alone, which is
the same on every machine.
"""

from typing import NamedTuple

from rbmbench.io.layout import BLOCKS
from rbmbench.jobs import of_name
from rbmbench.model.work import default_seconds
from rbmbench.planning.jobs import Job, Plan, digest_of

LITTLE_SECONDS = 300.0
"""Processor seconds up to which a job is one block: small models share calls."""
MOST_SECONDS = 3600.0
"""Processor seconds of a block of several trials."""


class Block(NamedTuple):
    """Consecutive trials of a job."""

    job: Job
    folder: str
    """Folder of the blocks of this kind of job in the results of a scale."""
    id: str
    first: int
    """First trial, counted from that of the job."""
    trials: int
    share: float
    """Share of the trials of the job."""


def blocks_of(plan: Plan, job: Job) -> list[Block]:
    """Return the blocks of a job, in the order of their trials; none for a job that is computed at once."""
    kind, sizes = of_name(job.kind), plan.sizes(job)
    trials = kind.trials(job.settings, sizes)
    if trials == 1 or (seconds := default_seconds(kind.work(job.settings, sizes))) <= LITTLE_SECONDS:
        return []
    size = max(1, int(MOST_SECONDS * trials / seconds))
    if size >= trials:
        return []
    folder, name, blocks = f"{BLOCKS}/{kind.folder}", _name(plan, job), []
    for first in range(0, trials, size):
        count = min(size, trials - first)
        blocks.append(Block(job, folder, f"{name}/{first}-{count}", first, count, count / trials))
    return blocks


def _name(plan: Plan, job: Job) -> str:
    """Return the id of a job without its number of trials, nor that of the run whose models it measures."""
    kind, name = of_name(job.kind), job.id.rpartition("-")[0]
    run = _name(plan, plan.jobs[job.run]) if job.run else job.data
    return f"{name}-{digest_of(run, kind.of_any_trials(job.settings).canonical())}"
