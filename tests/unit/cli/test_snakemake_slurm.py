# SPDX-License-Identifier: BSD-3-Clause
"""States of SLURM jobs after failed queries, and of jobs that are no longer listed."""

import asyncio
import sys
from types import SimpleNamespace

import pytest

from rbmbench.cli.snakemake_slurm import ENDED_MISSING, ENDED_PREEMPTED, LOOKS, PASSING, PLUGIN, install, lenient

COMMAND = "squeue --name 7"


def answers(command, *replies):
    """Return the states of jobs after each reply of SLURM, None for a failed query."""
    remaining = iter(replies)

    async def query(command, logger):
        states = next(remaining)
        return (None, None) if states is None else (states, 0.5)

    lenient_query = lenient(query)
    return [asyncio.run(lenient_query(command, None))[0] for _ in replies]


def test_a_failed_query_lists_no_jobs():
    assert answers(COMMAND, None, {"11": "RUNNING"}, None) == [{}, {"11": "RUNNING"}, {}]


def test_failed_queries_end_no_job():
    assert answers(COMMAND, {"11": "RUNNING"}, *[None] * 2 * LOOKS, {"11": "RUNNING"})[-1] == {"11": "RUNNING"}


def test_a_job_that_is_no_longer_listed_has_ended():
    without_11 = [{"13": "RUNNING"}] * (LOOKS - 1)
    states = answers(COMMAND, {"11": "RUNNING", "13": "RUNNING"}, *without_11, None, *without_11)
    assert states[: LOOKS + 1] == [{"11": "RUNNING", "13": "RUNNING"}, *without_11, {}]
    assert states[LOOKS + 1 :] == [{"11": ENDED_MISSING, "13": "RUNNING"}] * len(without_11)


def test_a_job_that_is_listed_again_has_not_ended():
    gone = [{}] * (LOOKS - 1)
    assert answers(COMMAND, {"11": "PENDING"}, *gone, {"11": "RUNNING"}, *gone)[-1] == {}


def test_a_preempted_job_has_ended_unless_it_is_requeued():
    preempted = [{"11": "PREEMPTED"}] * (LOOKS - 1)
    assert answers(COMMAND, *preempted, {"11": "PENDING"}, *preempted)[-1] == {"11": "PREEMPTED"}
    assert answers(COMMAND, *preempted, {"11": "PREEMPTED"})[-1] == {"11": ENDED_PREEMPTED}


def test_a_job_missing_in_sacct_has_not_ended():
    gone = [{}] * 2 * LOOKS
    assert answers("sacct --name 7", {"11": "RUNNING"}, *gone)[-1] == {}


class OtherExecutor:
    """An executor that submits jobs in another way."""

    def run_job(self, job):
        self.submit(job)


def test_an_unknown_version_of_the_plugin_is_unchanged(monkeypatch, capfd):
    pytest.importorskip("snakemake.api")
    plugin = SimpleNamespace(Executor=OtherExecutor, query_job_status=None)
    monkeypatch.setitem(sys.modules, PLUGIN, plugin)
    install()
    assert f"rbmbench: warning: unknown version of {PLUGIN} or Snakemake (run_job)" in capfd.readouterr().err
    assert vars(plugin) == {"Executor": OtherExecutor, "query_job_status": None}
    monkeypatch.delitem(sys.modules, PLUGIN)
    install()
    assert capfd.readouterr().err == ""


# As SLURM prints them, see slurm_errno.c and the reasons of pending jobs in its documentation.
@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("error: QOSMaxSubmitJobPerUserLimit\nsbatch: error: Batch job", "QOSMaxSubmitJobPerUserLimit"),
        ("sbatch: error: AssocMaxSubmitJobLimit", "AssocMaxSubmitJobLimit"),
        ("sbatch: error: AssocGrpSubmitJobsLimit", "AssocGrpSubmitJobsLimit"),
        ("Unable to contact slurm controller (connect failure)", "Unable to contact slurm controller"),
        ("Socket timed out on send/recv operation", "timed out"),
        ("Resource temporarily unavailable", "temporarily unavailable"),
        ("Required partition not available (inactive or drain)", "inactive or drain"),
        ("Invalid account or account/partition combination specified", None),
        ("Requested time limit is invalid (missing or exceeds some limit)", None),
        ("Requested node configuration is not available", None),
    ],
)
def test_temporary_reasons_of_failed_submissions(message, reason):
    match = PASSING.search(message)
    assert (match and match[0]) == reason
