# SPDX-License-Identifier: BSD-3-Clause
"""Keep jobs of a SLURM that does not answer or accepts no more: the Snakefile installs this over the executor plugin.

Up to its version 2.8 the plugin drops its running jobs when it cannot query them, and Snakemake waits for ever (issue
207 of https://github.com/snakemake/snakemake-executor-plugin-slurm). It also waits for ever for a job that has left the
queue meanwhile, and for a preempted one that SLURM does not requeue. A submission that SLURM refuses fails the job
(issues 313 and 320): Snakemake repeats it within a second, requesting more time and memory, until no retries are left.

Here, jobs that cannot be queried keep their state. Submissions refused for a temporary reason, and preempted jobs,
are repeated with the same request and without using up a retry; after a refusal, nothing is submitted for the timespan
of ``max-jobs-per-timespan``. A submission refused for another reason fails at once.
"""

import re
import sys
import time
from collections.abc import Awaitable, Callable
from logging import Logger
from typing import TYPE_CHECKING

from rbmbench.cli.output import write_now

if TYPE_CHECKING:
    from snakemake.jobs import Job
    from snakemake.workflow import Workflow
    from snakemake_executor_plugin_slurm import Executor
    from snakemake_interface_executor_plugins.executors.base import SubmittedJobInfo

PLUGIN = "snakemake_executor_plugin_slurm"
LOOKS = 3
"""Queries of ``squeue`` in succession after which a job that was listed and is missing, or is preempted, has ended."""
ENDED_MISSING, ENDED_PREEMPTED = "UNKNOWN", "BOOT_FAIL"
"""States for which the plugin looks for the outputs of a job, and reports an error."""
PASSING = re.compile(
    r"\w*SubmitJob\w*|Unable to contact slurm controller|timed out|[Tt]emporarily un\w+|Connection (?:refused|reset)"
    r"|Unexpected message received|inactive or drain"
)
"""Temporary reasons: limits on the jobs of a user, account or quality of service; a missing controller or partition."""

Query = Callable[[str, Logger], Awaitable[tuple[dict[str, str] | None, float | None]]]


def install() -> None:
    """Replace parts of the plugin, if Snakemake has loaded it; print a warning if its version is unknown."""
    plugin = sys.modules.get(PLUGIN)
    if plugin is None:
        return
    from snakemake.workflow import JobScheduler

    relied_upon = (
        (plugin.Executor, "run_job", {"_report_job_error_threadsafe"}),
        (plugin.Executor, "check_active_jobs", {"query_job_status", "report_job_error"}),
        (JobScheduler, "_handle_error", {"running", "_free_resources", "dag", "_ready_jobs"}),
    )
    for owner, name, names in relied_upon:
        code = getattr(getattr(owner, name, None), "__code__", None)
        if not code or not names <= {*code.co_names}:
            write_now(f"rbmbench: warning: unknown version of {PLUGIN} or Snakemake ({name}); jobs may get lost\n")
            return
    plugin.query_job_status = lenient(plugin.query_job_status)
    plugin.Executor.run_job = _unless_refused(plugin.Executor.run_job)
    plugin.Executor.report_job_error = _unless_passing(plugin.Executor.report_job_error)


def lenient(query: Query) -> Query:
    """Return the plugin's query of the states of jobs, by id, which lists none if it fails."""
    missed: dict[str, int] = {}

    async def query_job_status(command: str, logger: Logger) -> tuple[dict[str, str], float]:
        states, seconds = await query(command, logger)
        if states is None or seconds is None:
            return {}, 0.0
        if not command.startswith("squeue"):
            return states, seconds
        for job in missed.keys() | states.keys():
            missed[job] = missed.get(job, 0) + 1 if states.get(job, "PREEMPTED") == "PREEMPTED" else 0
        ended = [job for job, looks in missed.items() if looks >= LOOKS]
        return states | {job: ENDED_PREEMPTED if job in states else ENDED_MISSING for job in ended}, seconds

    return query_job_status


def _unless_refused(run_job: Callable) -> Callable:
    """Return the method that submits a job, which puts it back while submissions are refused."""

    def run(self: "Executor", job: "Job") -> None:
        if time.monotonic() < getattr(self, "refused_until", 0.0):
            _put_back(self.workflow, job)
        else:
            run_job(self, job)

    return run


def _unless_passing(report: Callable) -> Callable:
    """Return the method that reports a failed job, which puts it back if the failure is not its own."""

    def report_job_error(self: "Executor", info: "SubmittedJobInfo", msg: str | None = None, **options: object) -> None:
        text, is_refused = (msg or "").partition("sbatch call:")[0], info.external_jobid is None
        if is_refused and (reason := PASSING.search(text)):
            if time.monotonic() >= getattr(self, "refused_until", 0.0):
                limiter = self.workflow.scheduler.job_rate_limiter
                self.refused_until = time.monotonic() + limiter.timespan
                limiter.register_jobs(limiter.max_jobs)
                self.logger.warning(f"waiting: SLURM accepts no jobs ({reason[0]}); next try in {limiter.timespan:g} s")
            _put_back(self.workflow, info.job)
        elif not is_refused and f"'{ENDED_PREEMPTED}'" in text:
            self.logger.warning(f"preempted: SLURM job {info.external_jobid}; it is submitted again")
            _put_back(self.workflow, info.job)
        else:
            if is_refused:
                info.job.attempt = info.job.restart_times + 1
            report(self, info, msg, **options)

    return report_job_error


def _put_back(workflow: "Workflow", job: "Job") -> None:
    """Let the scheduler start a job again like a failed one, but as the same attempt."""
    scheduler = workflow.scheduler
    with scheduler._lock:
        scheduler.running.remove(job)
        scheduler._free_resources(job)
        workflow.dag._ready_jobs.add(job)
    scheduler._open_jobs.release()
