# SPDX-License-Identifier: BSD-3-Clause
"""Time and memory that jobs request from a scheduler, against those of recorded jobs."""

import pytest
from planned import planned_here

from rbmbench.planning.forecast import jobs
from rbmbench.planning.forecast.jobs import Request, jobs_of, request
from rbmbench.planning.forecast.records import read_records


@pytest.fixture(scope="module")
def recorded(repository):
    """The jobs recorded in results/reference."""
    records, _ = read_records([repository / "results/reference"])
    assert len(records) > 100
    return records


def test_requests_of_first_attempts_suffice_for_recorded_jobs(recorded):
    for record in recorded:
        requested = request(record.work, gpus=record.machine.endswith(", cupy kernels"))
        assert record.megabytes <= requested.megabytes, record.name
        assert sum(record.seconds.values()) <= 60 * requested.minutes, record.name


def test_recorded_jobs_requested_as_short_were_short(recorded):
    short = [record for record in recorded if request(record.work).short]
    assert short
    assert max(sum(record.seconds.values()) for record in short) < 4 * jobs.SHORT_SECONDS


@pytest.mark.parametrize("overlays", [[], ["desktop"], ["smoke"]])
def test_all_planned_jobs_have_requests_within_the_limits(overlays):
    planned = planned_here(*overlays)
    requests = {name: request(job.work) for name, job in jobs_of(planned).items()}
    assert requests.keys() == planned.jobs.keys()
    assert all(jobs.LEAST_MINUTES <= each.minutes <= jobs.MOST_MINUTES for each in requests.values())
    assert all(each.megabytes >= jobs.LEAST_MEGABYTES for each in requests.values())


def test_requests_grow_with_each_attempt_to_a_day_at_most():
    requested = Request(minutes=600, megabytes=1700, short=False)
    assert [requested.minutes_at(attempt) for attempt in (1, 2, 3)] == [600, 1200, 1440]
    assert [requested.megabytes_at(attempt) for attempt in (1, 2, 3)] == [1700, 3400, 5100]
