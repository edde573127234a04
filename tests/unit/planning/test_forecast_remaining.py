# SPDX-License-Identifier: BSD-3-Clause
"""Estimated time left of a running workflow."""

import json
import math

import pytest
from planned import planned_here

from rbmbench.planning.blocks import blocks_of
from rbmbench.planning.forecast.costs import UNFITTED
from rbmbench.planning.forecast.jobs import jobs_of
from rbmbench.planning.forecast.remaining import Expected, Remaining, expected_seconds
from rbmbench.planning.jobs import Plan


def after(remaining: Remaining, jobs: list[int], seconds: float, now: float) -> float:
    """Return the time at which jobs that start at `now` and run one after the other end."""
    for job in jobs:
        remaining.started(job, now)
        now += seconds
        assert remaining.finished(job, now) == pytest.approx(seconds)
    return now


def test_time_left_before_the_first_job_ends_is_the_expected_one():
    jobs = {number: Expected("train", 3.0) for number in range(10)}
    assert Remaining(jobs, 5, 0.0).seconds(0.0) == pytest.approx(6.0)
    # The longest job is a lower bound.
    assert Remaining(jobs | {10: Expected("train", 70.0)}, 50, 0.0).seconds(0.0) == pytest.approx(70.0)
    assert Remaining({}, 2, 0.0).seconds(7.0) == 0.0


def test_times_of_finished_jobs_correct_those_of_their_kind():
    jobs = {number: Expected("train", 2.0) for number in range(101)} | {200: Expected("draw", 7.0)}
    remaining = Remaining(jobs, 1, 0.0)
    now = after(remaining, list(range(100)), 6.0, 0.0)
    # 100 jobs of 2 seconds took 600, and one of prior weight 2: a factor of 602 / 202.
    assert remaining.seconds(now) == pytest.approx(2.0 * 602 / 202 + 7.0)


def test_elapsed_time_of_a_running_job_is_subtracted():
    remaining = Remaining({1: Expected("train", 11.0)}, 1, 0.0)
    remaining.started(1, 0.0)
    assert remaining.seconds(4.0) == pytest.approx(7.0)
    assert remaining.seconds(40.0) == 0.0


def test_time_between_jobs_is_included():
    jobs = {number: Expected("train", 2.0) for number in range(5)}
    remaining, now = Remaining(jobs, 1, 0.0), 0.0
    for job in range(3):
        now = after(remaining, [job], 2.0, now) + 2.0
    # Two jobs of 2 seconds, each followed by a pause of 2.
    assert remaining.seconds(now) == pytest.approx(8.0)


def test_an_unknown_job_does_not_change_the_time_left():
    remaining = Remaining({1: Expected("train", 11.0)}, 1, 0.0)
    assert after(remaining, [5], 3.0, 0.0) == 3.0
    assert remaining.seconds(3.0) == pytest.approx(11.0)


def test_expected_seconds_need_no_records(tmp_path):
    (tmp_path / "results").mkdir()
    assert expected_seconds(Plan("tiny", ()), [tmp_path / "results"]) == {}
    (tmp_path / "results/meta").mkdir()
    (tmp_path / "results/meta/x.json").write_text(json.dumps({"a": {"settings": math.pi}}))
    assert expected_seconds(Plan("tiny", ()), [tmp_path / "results"]) == {}


def test_expected_seconds_of_a_divided_job_are_those_of_its_blocks():
    paper = planned_here()
    whole, expected, divided = jobs_of(paper), expected_seconds(paper, []), 0
    for job in paper.jobs.values():
        blocks, seconds = blocks_of(paper, job), UNFITTED.seconds_of(whole[job.id].work)
        assert (job.id in expected) is not bool(blocks)
        assert sum(expected[part.id] for part in blocks or [job]) == pytest.approx(seconds)
        divided += bool(blocks)
    assert divided > 50
