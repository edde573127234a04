"""The forecast of a plan: what every figure and table still takes, each job counted once in the total."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import heapify, heapreplace
from pathlib import Path
from typing import Any

import pandas as pd

from rbmbench.planning.forecast import work
from rbmbench.planning.forecast.model import CostModel
from rbmbench.planning.jobs import Plan, Result

__all__ = ["COLUMNS", "TOTAL", "Job", "forecast", "jobs_of", "makespan"]

TOTAL = "total"
COLUMNS = (
    "result",
    "jobs",
    "done",
    "processor_seconds",
    "wall_seconds",
    "cores",
    "memory_mb",
    "off_median",
    "off_90",
    "new_off_median",
    "new_off_90",
    "basis",
)


@dataclass(frozen=True)
class Job:
    """A run, ground truth, measurement or evaluation of a plan, and the jobs that have to be done before it."""

    id: str
    stages: work.Stages
    memory: work.Counts
    done: bool
    needs: tuple[str, ...] = ()


def jobs_of(plan: Plan) -> dict[str, Job]:
    """Return all jobs of a plan by their ids; one is done when its files are there."""
    found = {}
    for run in plan.runs.values():
        entry, settings = plan.data[run.data], run.settings
        counts = work.memory_of_run(settings, entry.rows, entry.visible)
        done = _there(plan.run_folder(run.id), "curve.parquet", "model.npz", "meta.json")
        found[run.id] = Job(run.id, work.training(settings, entry.rows, entry.visible), counts, done)
    for truth in plan.ground_truths.values():
        done = _there(plan.gradient_folder(truth.id), "ground_truth.npz", "meta.json")
        found[truth.id] = _measurement(plan, truth, work.ground_truth, done, (truth.run,))
    for estimate in plan.estimates.values():
        done = _there(plan.gradient_folder(estimate.id), "bias.parquet", "meta.json")
        needs = (estimate.run, *estimate.ground_truths)
        found[estimate.id] = _measurement(plan, estimate, work.estimates, done, needs)
    # A plan has evaluations where its models are too large for an exact likelihood.
    for evaluation in plan.evaluations.values():
        found[evaluation.id] = _annealing(plan, evaluation)
    return found


def forecast(plan: Plan, model: CostModel, cores: int) -> pd.DataFrame:
    """Return what every figure and table of a plan still takes, and all together.

    Parameters
    ----------
    plan : Plan
    model : CostModel
        The costs of the machine.
    cores : int
        Jobs that run at a time, each on one core that does nothing else.

    Returns
    -------
    DataFrame
        Columns `COLUMNS`: the key of the result, all jobs and those done; processor seconds and wall seconds left;
        the memory that the largest jobs take together, in MB of 2**20 bytes; how far forecasts were off for recorded
        jobs (see `CostModel`) and what the costs were fitted to. The last line is the total.
    """
    jobs = jobs_of(plan)
    wanted = {key: list(_ids(plan, result)) for key, result in (plan.figures | plan.tables).items()}
    wanted[TOTAL] = list(dict.fromkeys(job for ids in wanted.values() for job in ids))
    lines = []
    for key, ids in wanted.items():
        left = [jobs[job] for job in ids if not jobs[job].done]
        seconds = {job.id: model.seconds_of(job.stages) for job in left}
        largest = sorted((model.megabytes_of(job.memory) for job in left), reverse=True)[:cores]
        wall = makespan(left, seconds, cores)
        amounts = (sum(seconds.values()), wall, cores, sum(largest))
        lines.append((key, len(ids), len(ids) - len(left), *amounts, *model.off_alike, *model.off_new, model.basis))
    return pd.DataFrame(lines, columns=COLUMNS)


def makespan(jobs: Iterable[Job], seconds: dict[str, float], cores: int) -> float:
    """Return the wall time of jobs on so many cores: the longest first, and no less than the longest chain of needs."""
    ends = [0.0] * cores
    heapify(ends)
    for job in sorted(seconds.values(), reverse=True):
        heapreplace(ends, ends[0] + job)
    needs = {job.id: job.needs for job in jobs}

    def chain(job: str) -> float:
        return seconds.get(job, 0.0) + max(map(chain, needs.get(job, ())), default=0.0)

    return max([*ends, *map(chain, needs)])


def _ids(plan: Plan, result: Result) -> Iterator[str]:
    """Yield the ids of all jobs that a figure or table needs, each once."""
    yield from result.runs
    yield from result.estimates
    yield from dict.fromkeys(truth for part in result.estimates for truth in plan.estimates[part].ground_truths)
    yield from result.evaluations


def _measurement(plan: Plan, part: Any, count: Any, done: bool, needs: tuple[str, ...]) -> Job:
    """Return the job of something that is measured on a run's models."""
    run = plan.runs[part.run]
    entry = plan.data[run.data]
    sizes = (entry.rows, entry.visible, run.settings.hidden, run.settings.trials)
    counts = work.memory_of_measurement(*sizes, getattr(part.settings, "batch", 1))
    return Job(part.id, count(part.settings, *sizes), counts, done, needs)


def _annealing(plan: Plan, evaluation: Any) -> Job:
    """Return the job of annealed likelihoods of a run's snapshots."""
    run = plan.runs[evaluation.run]
    entry, settings = plan.data[run.data], evaluation.settings
    stages = work.annealing(settings, run.settings, entry.rows, entry.visible)
    counts = work.memory_of_annealing(settings, run.settings, entry.rows, entry.visible)
    done = _there(plan.evaluation_folder(evaluation.id), "curve.parquet", "meta.json")
    return Job(evaluation.id, stages, counts, done, (evaluation.run,))


def _there(folder: str, *files: str) -> bool:
    """Return whether all files of a job are there."""
    return all((Path(folder) / file).is_file() for file in files)
