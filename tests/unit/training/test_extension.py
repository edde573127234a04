# SPDX-License-Identifier: BSD-3-Clause
"""More trials of a run: those that an earlier run has are not trained again, and the whole is as if trained at once."""

import json

import numpy as np
import pandas as pd
import pytest
from core_helpers import binary_data

from rbmbench import datasets
from rbmbench.cli import computing, main
from rbmbench.io import results
from rbmbench.training.run import load_run

M = 11
SETTINGS = {
    "data": {"name": "made"},
    "hidden": 5,
    "batch": 7,
    "schedule": [{"until": 12, "estimator": {"name": "pcd"}, "rate": 0.1}],
    "seed": 3,
    "evaluate_every": 5,
}


@pytest.fixture
def data(tmp_path):
    parts = {"train": binary_data(29, M, 1), "validation": binary_data(3, M), "test": binary_data(3, M)}
    made = datasets.build("made", "Made", **parts, source="test", preprocessing="none", options={})
    datasets.save(made, tmp_path / "data.npz")
    return tmp_path / "data.npz"


@pytest.fixture
def train(data, tmp_path, monkeypatch):
    """Return a function that trains a run, and the trials that were trained then."""
    trained, begun = [], []
    run = computing.trainer.run

    def watched(rows, settings, **options):
        if "begun" in options:  # not so for probes of the code
            trained.extend(range(settings.first_trial, settings.first_trial + settings.trials))
            begun.append(options["begun"] and options["begun"][1].iterations)
        return run(rows, settings, **options)

    monkeypatch.setattr(computing.trainer, "run", watched)

    def train(name, trials, extends=True, keep=False, **changes):
        trained.clear()
        out, settings = tmp_path / "runs" / name, json.dumps(SETTINGS | {"trials": trials} | changes)
        command = ["train", "--data", f"{data}", "--settings", settings, "--out", f"{out}"]
        assert main([*command, *(["--extends", f"{out.parent}"] * extends), *(["--keep-state"] * keep)]) == 0
        return load_run(out), list(trained)

    train.begun = begun
    return train


def until(iterations, estimator="pcd", **options):
    stage = {"estimator": {"name": estimator, "options": options}, "update": {"name": "centered"}, "rate": 0.1}
    return {"schedule": [stage | {"until": iterations}]}


def assert_same(found, expected):
    for name, part in expected.rbm.parameters._asdict().items():
        assert np.array_equal(getattr(found.rbm, name), part)
    assert found.settings == expected.settings
    assert found.snapshots.keys() == expected.snapshots.keys()
    assert all(np.array_equal(found.snapshots[name], part) for name, part in expected.snapshots.items())
    order = ["trial", "iteration", "metric"]
    tables = (one.curve.sort_values(order).reset_index(drop=True) for one in (found, expected))
    pd.testing.assert_frame_equal(*tables, check_exact=True)


@pytest.mark.parametrize("hidden", [5, 29])
def test_only_missing_trials_are_trained_and_the_whole_is_the_same(train, hidden):
    wide = {"data": {"name": "made"}, "hidden": hidden}
    train("few", 2, **wide)
    more, trained = train("more", 5, **wide)
    assert trained == [2, 3, 4]
    whole, everything = train("whole", 5, extends=False, **wide)
    assert everything == [0, 1, 2, 3, 4]
    assert_same(more, whole)
    parts = more.meta["parts"]
    assert [(part["run"], part["first_trial"], part["trials"]) for part in parts] == [("few", 0, 2), ("more", 2, 3)]
    assert all(part["finished"] and "commit" in part for part in parts)


def test_fewer_trials_are_cut_from_an_earlier_run(train):
    train("more", 5)
    few, trained = train("few", 3)
    assert trained == []
    assert_same(few, train("few again", 3, extends=False)[0])
    assert [(part["run"], part["trials"]) for part in few.meta["parts"]] == [("more", 3)]


def test_parts_of_parts_are_named(train):
    train("one", 1)
    train("three", 3)
    four, trained = train("four", 4)
    assert trained == [3]
    parts = [(part["run"], part["first_trial"], part["trials"]) for part in four.meta["parts"]]
    assert parts == [("one", 0, 1), ("three", 1, 2), ("four", 3, 1)]


@pytest.mark.parametrize("change", [{"seed": 4}, {"batch": 6}, {"evaluate_every": 4}, {"first_trial": 1}])
def test_runs_that_differ_in_anything_else_are_left_alone(train, change):
    train("other", 2, **change)
    run, trained = train("run", 3)
    assert trained == [0, 1, 2]
    assert "parts" not in run.meta


def test_runs_of_other_code_rows_or_damaged_ones_are_left_alone(train, tmp_path):
    train("other", 2)
    folder = tmp_path / "runs" / "other"
    meta = {key: value for key, value in results.read_meta(folder).items() if key not in ("checksums", "checksum")}
    for key, value in (("code", "0123456789"), ("data", {}), ("backend", "cupy")):
        results.write_meta(folder, ("curve.parquet", "model.npz"), meta | {key: value})
        assert train(f"run {key}", 3)[1][:2] == [0, 1]
        for file in (tmp_path / "runs" / f"run {key}").iterdir():
            file.unlink()
    results.write_meta(folder, ("curve.parquet", "model.npz"), meta)
    (folder / "model.npz").write_bytes(b"damaged")
    assert train("run", 3)[1] == [0, 1, 2]


@pytest.mark.parametrize(
    ("estimator", "hidden"),
    [("pcd", 5), ("fpcd", 5), ("trajectory_tempering", 5), ("parallel_tempering", 5), ("pcd", 29)],
)
def test_more_iterations_go_on_from_a_kept_state(train, estimator, hidden):
    short, long = ({"hidden": hidden, "evaluate_every": 5} | until(end, estimator) for end in (10, 23))
    train("short", 2, keep=True, **short)
    more, _ = train("more", 2, keep=True, **long)
    whole, _ = train("whole", 2, extends=False, **long)
    assert train.begun == [None, 10, None]
    assert_same(more, whole)
    assert [(part["run"], part["iterations"]) for part in more.meta["parts"]] == [("short", 10), ("more", 13)]
    train("last", 2, **long | until(30, estimator))
    assert train.begun[-1] == 10  # iteration 23, the end of "more", is no evaluation of this one


@pytest.mark.parametrize("changes", [{"seed": 4}, {"evaluate_every": 4}, {"batch": 6}])
def test_a_state_of_another_run_is_left_alone(train, changes):
    train("short", 2, keep=True, **until(10) | changes)
    train("long", 2, **until(20))
    assert train.begun == [None, None]


def test_a_run_without_its_state_is_trained_anew(train):
    train("short", 2, **until(10))
    train("long", 2, **until(20))
    assert train.begun == [None, None]


WIDE, ANNEALING = 29, {"particles": 7, "temperatures": 5, "seed": 3}


@pytest.fixture
def evaluate(train, tmp_path, monkeypatch):
    """Return a function that trains trials of a run with snapshots and anneals them, and the trials annealed then."""
    annealed = []
    parts = {"train": binary_data(31, WIDE), "test": binary_data(5, WIDE, 2)}
    wide = datasets.build("wide", "Wide", **parts, source="test", preprocessing="none", options={})
    datasets.save(wide, tmp_path / "data.npz")
    curve = computing.annealed_curve

    def watched(snapshots, *rest, first_trial, **options):
        annealed.extend(range(first_trial, first_trial + snapshots["snapshot_W"].shape[1]))
        return curve(snapshots, *rest, first_trial=first_trial, **options)

    monkeypatch.setattr(computing, "annealed_curve", watched)

    def evaluate(name, trials, extends=True, **changes):
        annealed.clear()
        train(f"wide-{name}", trials, hidden=WIDE, data={"name": "wide"}, test_likelihood=True)
        out = tmp_path / "evaluations" / f"wide-ais-{name}"
        command = [
            "job",
            "evaluate",
            "--data",
            f"{tmp_path / 'data.npz'}",
            "--model",
            f"{tmp_path / 'runs' / f'wide-{name}'}",
        ]
        command += ["--settings", json.dumps(ANNEALING | changes), "--out", f"{out}"]
        assert main([*command, *(["--extends", f"{out.parent}"] * extends)]) == 0
        return results.read_table(out, "curve.parquet"), results.read_meta(out), list(annealed)

    return evaluate


def test_only_missing_trials_are_annealed_and_the_whole_is_the_same(evaluate):
    _, one, annealed = evaluate("one", 1)
    assert annealed == [0]
    more, meta, annealed = evaluate("more", 3)
    assert annealed == [1, 2]
    whole, alone, annealed = evaluate("whole", 3, extends=False)
    assert annealed == [0, 1, 2]
    assert {"log_likelihood", "test_log_likelihood", "log_partition"} < set(more["metric"])
    pd.testing.assert_frame_equal(more, whole, check_exact=True)
    parts = [(part["run"], part["first_trial"], part["trials"]) for part in meta["evaluation"]["parts"]]
    assert parts == [("wide-one", 0, 1), ("wide-more", 1, 2)]
    assert meta["wall"]["annealing_seconds"] > one["wall"]["annealing_seconds"]
    assert "parts" not in alone["evaluation"]
    two, meta, annealed = evaluate("two", 2)
    assert annealed == []
    assert set(two["trial"]) == {0, 1}
    assert two.equals(whole[whole["trial"] < 2].reset_index(drop=True))
    assert meta["evaluation"]["parts"][-1]["trials"] == 1


@pytest.mark.parametrize("change", [{"seed": 4}, {"particles": 8}, {"base": "uniform"}])
def test_evaluations_with_another_budget_are_left_alone(evaluate, change):
    evaluate("one", 1, **change)
    _, meta, annealed = evaluate("two", 2)
    assert annealed == [0, 1]
    assert "parts" not in meta["evaluation"]
