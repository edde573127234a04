# SPDX-License-Identifier: BSD-3-Clause
"""Blocks of trials: their number, and that joined blocks are the files of one job, byte for byte."""

import json

import pytest
from core_helpers import binary_data

from rbmbench import datasets
from rbmbench.base.settings import RunSettings
from rbmbench.cli import main
from rbmbench.config.loading import load
from rbmbench.io import results
from rbmbench.jobs import of_name
from rbmbench.planning.blocks import LITTLE_SECONDS, MOST_SECONDS, blocks_of
from rbmbench.planning.forecast.costs import UNFITTED
from rbmbench.planning.plan import plan

TRIALS = 5
STAGE = {"until": 12, "estimator": {"name": "pcd"}, "rate": 0.1}
RUN = {"data": {"name": "made"}, "hidden": 29, "batch": 7, "schedule": [STAGE], "seed": 3, "evaluate_every": 5}
ANNEALING = {"particles": 11, "temperatures": 23}


@pytest.fixture
def compute(tmp_path):
    """Return a function that computes a job, or joins its blocks, into a folder."""
    parts = {"train": binary_data(29, 31, 1), "validation": binary_data(3, 31), "test": binary_data(3, 31)}
    made = datasets.build("made", "Made", **parts, source="test", preprocessing="none", options={})
    datasets.save(made, tmp_path / "data.npz")

    def compute(kind, settings, name, *more):
        command = ["job", kind, "--settings", json.dumps(settings), "--data", tmp_path / "data.npz", *more]
        assert main([str(part) for part in [*command, "--out", tmp_path / name]]) == 0
        return tmp_path / name

    return compute


def same_bytes(folder, other, kind):
    return all((folder / name).read_bytes() == (other / name).read_bytes() for name in of_name(kind).files)


@pytest.mark.parametrize("first_trial", [0, 2])
def test_joined_blocks_of_a_run_have_the_bytes_of_the_whole(compute, first_trial):
    settings = RUN | {"trials": TRIALS, "first_trial": first_trial, "test_likelihood": True}
    whole = compute("train", settings, "whole")
    each = settings | {"trials": 1}
    blocks = [compute("train", each, block, "--block", block) for block in ("0-2", "2-2", "4-1")]
    joined = compute("train", settings, "joined", "--run-id", "joined", "--blocks", *blocks)
    assert same_bytes(joined, whole, "train")
    meta, expected = results.read_meta(joined), results.read_meta(whole)
    alike = ("settings", "trials", "iterations", "code", "data", "backend", "job")
    assert {key: meta[key] for key in alike} == {key: expected[key] for key in alike}
    assert [block["block"] for block in meta["blocks"]] == [[0, 2], [2, 2], [4, 1]]
    wall = [results.read_meta(block)["wall"]["training_seconds"] for block in blocks]
    assert meta["wall"]["training_seconds"] == pytest.approx(sum(wall))


def test_joined_blocks_of_an_annealing_have_the_bytes_of_the_whole(compute):
    run = compute("train", RUN | {"trials": TRIALS, "test_likelihood": True}, "run")
    whole = compute("evaluate", ANNEALING, "whole", "--model", run)
    blocks = [compute("evaluate", ANNEALING, f"b{block}", "--model", run, "--block", block) for block in ("0-3", "3-2")]
    joined = compute("evaluate", ANNEALING, "joined", "--model", run, "--blocks", *blocks)
    assert same_bytes(joined, whole, "evaluate")
    meta = results.read_meta(joined)
    assert meta["trials"] == TRIALS
    assert [block["trials"] for block in meta["evaluation"]["blocks"]] == [3, 2]
    walls = [results.read_meta(block)["wall"]["annealing_seconds"] for block in blocks]
    assert meta["wall"]["annealing_seconds"] == pytest.approx(sum(walls))


@pytest.fixture(scope="module")
def paper(repository):
    return plan(load([repository / "config/config.yaml"]))


def test_blocks_cover_the_trials_of_long_jobs_and_take_an_hour_at_most(paper):
    divided = 0
    for job in paper.jobs.values():
        kind, sizes = of_name(job.kind), paper.sizes(job)
        blocks, trials = blocks_of(paper, job), kind.trials(job.settings, sizes)
        seconds = UNFITTED.seconds_of(kind.work(job.settings, sizes))
        if not blocks:
            assert trials == 1 or seconds <= max(LITTLE_SECONDS, MOST_SECONDS * trials / (trials - 1))
            continue
        divided += 1
        assert [block.first for block in blocks] == [sum(b.trials for b in blocks[:n]) for n in range(len(blocks))]
        assert sum(block.trials for block in blocks) == trials
        assert all(block.trials == 1 or block.share * seconds <= MOST_SECONDS for block in blocks)
    assert divided > 50


def test_more_trials_take_the_blocks_of_fewer(paper):
    job = next(job for job in paper.of_kind("train").values() if len(blocks_of(paper, job)) > 1)
    blocks = blocks_of(paper, job)
    settings: RunSettings = job.settings.model_copy(update={"trials": job.settings.trials + 3})
    longer = job.__class__(f"{job.id.rpartition('-')[0]}-0123456789", "train", settings, job.data)
    paper.jobs[longer.id] = longer
    more = {block.id for block in blocks_of(paper, longer)}
    del paper.jobs[longer.id]
    whole = [block.id for block in blocks if block.trials == blocks[0].trials]
    assert whole
    assert set(whole) <= more
