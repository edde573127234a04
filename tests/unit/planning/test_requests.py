# SPDX-License-Identifier: BSD-3-Clause
"""What jobs ask a scheduler for is enough for the jobs that were recorded, and grows."""

import pytest
from planned import planned_here

from rbmbench.planning.forecast import jobs
from rbmbench.planning.forecast.jobs import Request, jobs_of, request
from rbmbench.planning.forecast.records import read_records


@pytest.fixture(scope="module")
def kept(repository):
    """The recorded jobs that come with the project."""
    records, _ = read_records([repository / "results/reference"])
    assert len(records) > 100
    return records


def test_first_attempts_are_enough_for_all_recorded_jobs(kept):
    for record in kept:
        asked = request(record.work, gpus=record.machine.endswith(", cupy kernels"))
        assert record.megabytes <= asked.megabytes, record.name
        assert sum(record.seconds.values()) <= 60 * asked.minutes, record.name


def test_short_jobs_were_short(kept):
    short = [record for record in kept if request(record.work).short]
    assert short
    assert max(sum(record.seconds.values()) for record in short) < 4 * jobs.SHORT_SECONDS


@pytest.mark.parametrize("overlays", [[], ["desktop"], ["smoke"]])
def test_everything_that_is_planned_asks_for_something(overlays):
    asked = planned_here(*overlays)
    requests = {name: request(job.work) for name, job in jobs_of(asked).items()}
    assert requests.keys() == asked.jobs.keys()
    assert all(jobs.LEAST_MINUTES <= each.minutes <= jobs.MOST_MINUTES for each in requests.values())
    assert all(each.megabytes >= jobs.LEAST_MEGABYTES for each in requests.values())


def test_more_is_asked_for_at_each_attempt_and_never_more_than_a_day():
    asked = Request(minutes=600, megabytes=1700, short=False)
    assert [asked.minutes_at(attempt) for attempt in (1, 2, 3)] == [600, 1200, 1440]
    assert [asked.megabytes_at(attempt) for attempt in (1, 2, 3)] == [1700, 3400, 5100]
