# SPDX-License-Identifier: BSD-3-Clause
"""Blocks of jobs: their number and size, and equality of joined blocks with the undivided job."""

import json

import pytest
from core_helpers import binary_data
from planned import planned_here

from rbmbench import datasets
from rbmbench.base.settings import RunSettings
from rbmbench.cli import main
from rbmbench.io import results
from rbmbench.io.layout import BIAS
from rbmbench.jobs import Sizes, of_name
from rbmbench.measurements import sampling
from rbmbench.planning.blocks import MOST_SECONDS, blocks_of
from rbmbench.planning.forecast.costs import UNFITTED

TRIALS = 5
STAGE = {"until": 12, "estimator": {"name": "pcd"}, "rate": 0.1}
RUN = {"data": {"name": "made"}, "hidden": 29, "batch": 7, "schedule": [STAGE], "seed": 3, "evaluate_every": 5}
ANNEALING = {"particles": 11, "temperatures": 23}
COMPARED = ANNEALING | {"tempering": {"products": 500}, "compared": 3}


@pytest.fixture
def compute(tmp_path):
    """Return a function that computes a job or joins its blocks, and returns their folder."""
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
def test_joined_blocks_of_a_run_equal_the_undivided_run(compute, first_trial):
    settings = RUN | {"trials": TRIALS, "first_trial": first_trial, "test_likelihood": True}
    whole = compute("train", settings, "whole")
    one_trial = settings | {"trials": 1}
    blocks = [compute("train", one_trial, block, "--block", block) for block in ("0-2", "2-2", "4-1")]
    joined = compute("train", settings, "joined", "--blocks", *blocks)
    assert same_bytes(joined, whole, "train")
    meta, expected = results.read_meta(joined), results.read_meta(whole)
    keys = ("settings", "trials", "iterations", "code", "data", "backend", "job")
    assert {key: meta[key] for key in keys} == {key: expected[key] for key in keys}
    assert [block["block"] for block in meta["blocks"]] == [[0, 2], [2, 2], [4, 1]]
    wall = [results.read_meta(block)["wall"]["training_seconds"] for block in blocks]
    assert meta["wall"]["training_seconds"] == pytest.approx(sum(wall))


@pytest.mark.parametrize(
    ("evaluation", "blocks"),
    [(ANNEALING, ("0-12", "12-8")), (ANNEALING, ("0-3", "3-1", "4-4", "8-12")), (COMPARED, ("0-3", "3-1", "4-16"))],
)
def test_joined_blocks_of_an_annealing_equal_the_undivided_job(compute, evaluation, blocks):
    stages = [STAGE | {"until": 8}, STAGE]
    settings = RUN | {"trials": TRIALS, "test_likelihood": True, "schedule": stages, "evaluate_every": 6}
    run = compute("train", settings, "run")
    whole = compute("evaluate", evaluation, "whole", "--model", run)
    planned = of_name("evaluate").parts(evaluation, Sizes(trials=TRIALS, run=RunSettings.model_validate(settings)))
    assert planned == (TRIALS, len(results.read_snapshots(run)["snapshot_iterations"]))  # 0, 6, 8 and 12
    folders = [compute("evaluate", evaluation, f"b{block}", "--model", run, "--block", block) for block in blocks]
    joined = compute("evaluate", evaluation, "joined", "--model", run, "--blocks", *folders)
    assert same_bytes(joined, whole, "evaluate")
    meta = results.read_meta(joined)
    assert meta["trials"] == TRIALS
    assert [block["block"] for block in meta["evaluation"]["blocks"]] == [list(map(int, b.split("-"))) for b in blocks]
    walls = [results.read_meta(folder)["wall"]["annealing_seconds"] for folder in folders]
    assert meta["wall"]["annealing_seconds"] == pytest.approx(sum(walls))


BUDGET = {"chains": 4, "ladder": 3, "sweeps": 131, "walkers": 7, "steps": 8, "particles": 11, "temperatures": 23}
GRID = {"name": "rates_fpcd", "grid": {"fast_rate": [0.01, 0.03, 0.1]}}
SAMPLERS = {"fpcd": GRID, "gibbs": {"name": "gibbs", "grid": {"k": [1, 2]}}}
MEASURED = {
    "certificate": (BUDGET | {"first_model": 2, "models": 3}, 3),
    "couple": ({"visible": 17, "hidden": 13, "coupling": "general", "replications": 601, "longest": 50}, 3),
    "exact": ({"method": "exact"}, TRIALS),
    "ground_truth": ({"method": "parallel_tempering", "chains": 5, "burn_in": 7, "samples": 43}, TRIALS),
    "sample": ({"samplers": SAMPLERS, "samples": 23, "points": 5, "shown": 3}, TRIALS),
}


@pytest.mark.parametrize("kind", MEASURED)
def test_joined_blocks_of_a_measurement_equal_the_undivided_job(compute, kind, monkeypatch):
    monkeypatch.setattr(sampling, "COUNT_BYTES", 8 * TRIALS * 6 * 32 * 2)  # counts of two settings
    settings, parts = MEASURED[kind]
    run = compute("train", RUN | {"trials": TRIALS, "hidden": 5 if kind == "exact" else 29}, "run")
    kind = kind.replace("exact", "ground_truth")
    whole = compute(kind, settings, "whole", "--model", run)
    blocks = ("0-1", f"1-{parts - 1}")
    folders = [compute(kind, settings, block, "--model", run, "--block", block) for block in blocks]
    joined = compute(kind, settings, "joined", "--model", run, "--blocks", *folders)
    assert same_bytes(joined, whole, kind)
    meta, expected = results.read_meta(joined), results.read_meta(whole)
    assert [block["block"] for block in meta["blocks"]] == [[0, 1], [1, parts - 1]]
    assert set(meta) - {"blocks"} == set(expected)
    keys = set(expected) & {"settings", "trials", "hidden", "run", "code", "data", "grids", "job"}
    assert {key: meta[key] for key in keys} == {key: expected[key] for key in keys}
    if kind == "sample":
        one, others = (results.read_meta(folder)["seconds_per_sample"]["gibbs"][1] for folder in folders)
        assert meta["seconds_per_sample"]["gibbs"][1] == pytest.approx((one + (parts - 1) * others) / parts)


@pytest.mark.parametrize(("hidden", "methods"), [(5, ["exact", "parallel_tempering"]), (421, ["parallel_tempering"])])
def test_joined_blocks_of_estimates_equal_the_undivided_job(compute, hidden, methods):
    run = compute("train", RUN | {"trials": TRIALS, "hidden": hidden}, "run")
    inputs = ["--model", run, "--needs"]
    for method in methods:
        budget = {} if method == "exact" else {"chains": 5, "burn_in": 7, "samples": 43}
        inputs.append(compute("ground_truth", {"method": method} | budget, method, "--model", run))
    settings = {"estimator": {"name": "pop_cd"}, "batch": 7, "estimates": 41}
    whole = compute("estimate", settings, "whole", *inputs)
    blocks = [compute("estimate", settings, block, *inputs, "--block", block) for block in ("0-2", "2-1", "3-2")]
    joined = compute("estimate", settings, "joined", *inputs, "--blocks", *blocks)
    table, expected = (results.read_table(folder, BIAS) for folder in (joined, whole))
    assert table.drop(columns="value").equals(expected.drop(columns="value"))
    is_time = expected["quantity"] == "seconds_per_estimate"
    assert table[~is_time].equals(expected[~is_time])


@pytest.mark.parametrize("kind", ["evaluate", "sample"])
def test_a_block_beyond_the_last_part_raises(compute, kind, capsys):
    run = compute("train", RUN | {"trials": 2}, "run")
    parts = 2 * (4 if kind == "evaluate" else 1)  # evaluated at 0, 5, 10 and 12
    settings = ANNEALING if kind == "evaluate" else MEASURED[kind][0]
    with pytest.raises(AssertionError):
        compute(kind, settings, "block", "--model", run, "--block", f"{parts - 1}-2")
    assert f"--block: must end at part {parts} or before" in capsys.readouterr().err
    if kind == "evaluate":
        with pytest.raises(AssertionError):
            compute(kind, settings, "block", "--model", run, "--block", "1-6")
        assert "--block: must be whole trials, of 4 snapshots, or part of one, got 1-6" in capsys.readouterr().err


@pytest.fixture(scope="module")
def paper():
    return planned_here()


def test_blocks_cover_long_jobs_and_take_an_hour_at_most(paper):
    divided = set()
    for job in paper.jobs.values():
        kind, sizes = of_name(job.kind), paper.sizes(job)
        blocks, (trials, each) = blocks_of(paper, job), kind.parts(job.settings, sizes)
        seconds = UNFITTED.seconds_of(kind.work(job.settings, sizes))
        if not blocks:
            assert trials * each == 1 or seconds <= MOST_SECONDS * trials / max(trials - 1, 1)
            continue
        divided.add(job.kind)
        assert [block.first for block in blocks] == [sum(b.count for b in blocks[:n]) for n in range(len(blocks))]
        assert sum(block.count for block in blocks) == trials * each
        assert sum(block.share for block in blocks) == pytest.approx(1)
        for block in blocks:
            whole_trials = block.first % each == block.count % each == 0
            assert whole_trials or block.first // each == (block.first + block.count - 1) // each
            assert block.share * seconds <= MOST_SECONDS or block.count == (each if whole_trials and each == 1 else 1)
    assert divided == {"train", "evaluate", "sample"}


def test_blocks_of_fewer_trials_are_blocks_of_more_trials(paper):
    job = next(job for job in paper.of_kind("train").values() if len(blocks_of(paper, job)) > 1)
    blocks = blocks_of(paper, job)
    settings: RunSettings = job.settings.model_copy(update={"trials": job.settings.trials + 3})
    longer = job.__class__(f"{job.id.rpartition('-')[0]}-0123456789", "train", settings, job.data)
    paper.jobs[longer.id] = longer
    ids = {block.id for block in blocks_of(paper, longer)}
    del paper.jobs[longer.id]
    whole = [block.id for block in blocks if block.count == blocks[0].count]
    assert whole
    assert set(whole) <= ids
