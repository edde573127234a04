# SPDX-License-Identifier: BSD-3-Clause
"""Comparison of own methods with those of a kept arena."""

import json

import pandas as pd
import pytest
from reporting_results import make_run

import rbmbench
from rbmbench.base.errors import ResultsError, SettingsError
from rbmbench.cli import main
from rbmbench.io.layout import Layout
from rbmbench.planning.specs import read_spec
from rbmbench.reporting.compare import _arena_in, compare
from rbmbench.reporting.text_tables import write_csv

KINDS = {
    "arena_fig1": "arena_curves",
    "arena_fig2": "arena_ranks",
    "arena_fig3": "arena_targets",
    "arena_fig4": "arena_rates",
    "arena_table1": "arena_results",
}
TRIALS = 5
WORSE = [[-9.0, -8.0, -7.0 - 0.01 * trial] for trial in range(TRIALS)]
BETTER = [[-9.0, -6.0, -5.0 - 0.01 * trial] for trial in range(TRIALS)]
CD = {"until": 20, "rate": 0.1, "estimator": {"name": "cd"}}


def arena(root, algorithms, **changes):
    """Write a folder of a scale with an arena of two contests."""
    contests = []
    for name in ("bars", "letters"):
        entries = []
        for key, values in algorithms.items():
            settings = {"batch": 7, "hidden": 3, "first_trial": 0, "schedule": [CD]}
            folder = root / "runs" / f"{name}-{key}"
            make_run(folder, values, iterations=[0, 10, 20], meta={"settings": settings})
            entries.append({"algorithm": key, "label": key.upper(), "rate": 0.1, "folder": str(folder)})
        contest = {"name": name, "data": "toy", "hidden": 3, "products": 100.0, "tuning_trials": 2, "entries": entries}
        contests.append(contest | {"tuned_by": "log_likelihood", "judged_by": "log_likelihood"} | changes)
    for key, kind in KINDS.items():
        spec = {"key": key, "paper": "arena", "title": "An arena", "kind": kind, "scale": "made", "contests": contests}
        file = root / "specs" / f"{key}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(spec))


@pytest.fixture
def kept(tmp_path):
    """A folder as `rbmbench keep` writes it: numbers without runs."""
    arena(tmp_path / "made", {"cd": WORSE, "pcd": BETTER})
    made, folder = tmp_path / "made", tmp_path / "kept"
    spec = read_spec(made / "specs" / "arena_fig1.json")
    write_csv(spec.numbers(spec.read()), Layout(str(folder)).numbers("arena_fig1"))
    for key in KINDS:
        values = json.loads((made / "specs" / f"{key}.json").read_text())
        file = folder / "specs" / f"{key}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values))
    (made / "runs").rename(tmp_path / "runs_that_are_gone")
    return folder


@pytest.mark.slow
def test_compare_ranks_an_own_method_among_the_kept_ones(kept, tmp_path, capsys):
    between = [[-9.0, -7.0, -6.0 - 0.01 * trial] for trial in range(TRIALS)]
    arena(tmp_path / "mine", {"mine": between})
    capsys.readouterr()
    out = tmp_path / "out"
    assert main(["compare", str(tmp_path / "mine"), "--with", str(kept), "--out", str(out)]) == 0
    assert capsys.readouterr().out.splitlines() == [f"{key}: written below {out}" for key in KINDS]
    ranks = pd.read_csv(Layout(str(out)).numbers("arena_fig2"))
    overall = ranks[(ranks["contest"] == "all contests") & (ranks["cost"] == "products")]
    assert overall.set_index("algorithm")["rank"].to_dict() == {"pcd": 1.0, "mine": 2.0, "cd": 3.0}
    labels = overall.set_index("algorithm")["label"]
    assert (labels["cd"], labels["mine"]) == ("CD", "MINE (own, 0123456)")
    table = (out / "tables" / "arena_table1.md").read_text()
    assert "MINE (own, 0123456)" in table
    assert (out / "figures" / "arena_fig1.png").stat().st_size > 10_000


def test_kept_curves_are_a_tidy_frame(kept):
    frame = rbmbench.results("arena", kept)
    assert len(frame) == 2 * 2 * TRIALS * 3
    assert frame.groupby("algorithm")["value"].max().to_dict() == {"cd": -7.0, "pcd": -5.0}


def test_specs_of_an_arena_are_those_of_its_study(kept):
    values = json.loads((kept / "specs" / "arena_fig1.json").read_text())
    (kept / "specs" / "own_fig1.json").write_text(json.dumps(values | {"key": "own_fig1", "paper": "own"}))
    assert [spec.key for spec in _arena_in(kept)[1]] == list(KINDS)
    assert [spec.key for spec in _arena_in(kept, "own")[1]] == ["own_fig1"]


@pytest.mark.parametrize(
    ("algorithms", "changes", "message"),
    [
        ({"cd": BETTER}, {}, "algorithm 'cd' is in the kept arena, too; give yours another key"),
        ({"mine": BETTER}, {"products": 50.0}, "contest 'bars': products: must be 100.0, got 50.0"),
        ({"mine": BETTER[:3]}, {}, "contest 'bars': must be those of the kept arena, 5, got 3 trials"),
    ],
)
def test_incomparable_arenas_raise(kept, tmp_path, algorithms, changes, message):
    arena(tmp_path / "mine", algorithms, **changes)
    with pytest.raises(SettingsError, match=message):
        compare(tmp_path / "mine", kept, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_folder_without_an_arena_raises(kept, tmp_path):
    with pytest.raises(ResultsError, match=r"must have curves of 'arena', got none"):
        compare(tmp_path, kept, tmp_path / "out")
