# SPDX-License-Identifier: BSD-3-Clause
"""Picture and table of measured speed, and the script that measures it."""

import json
import subprocess
import sys

import pandas as pd
import pytest

from rbmbench.base.errors import ResultsError
from rbmbench.reporting import speed

META = {
    "hardware": {"cpu": "Slow & Steady", "cores": 3},
    "threads": 1,
    "precision": "float32",
    "finished": "2026-01-02T03:04:05+00:00",
    "left_out": ["Not installed: a_peer"],
}
TABLE = pd.DataFrame(
    [
        ("step A", 12.0, "its matrix products", "floor", 10.0, 1.2, "<= 1.10"),
        ("step B", 13.0, "step A", "other", 12.0, 13 / 12, ""),
        ("step A", 12.0, "a program", "peer", 30.0, 0.4, "< 1"),
        ("step A", 12.0, "its fast products", "products", 8.0, 1.5, ""),
        ("step C", 7.0, "its matrix products", "floor", 5.0, 1.4, ""),
    ],
    columns=speed.COLUMNS,
)


def test_bars_are_relative_to_the_floor_of_their_step():
    bars = speed.step_bars(TABLE)
    rows = [tuple(bar) for bar in bars.itertuples(index=False)]
    assert rows[:4] == [
        ("step A", "floor", "matrix products", 10.0, 1.0),
        ("step A", "products", "fast products", 8.0, 0.8),
        ("step A", "rbmbench", "rbmbench", 12.0, 1.2),
        ("step A", "peer", "a program", 30.0, 3.0),
    ]
    # Without a floor of its own, step B has no bar.
    assert list(bars["step"].unique()) == ["step A", "step C"]


def test_picture_has_ratios_machine_threads_and_date():
    figure = speed.bars(TABLE, META)
    written = [text.get_text() for ax in figure.axes for text in ax.texts]
    assert written == ["10.0 ms", "8.00 ms, 0.80 ×", "12.0 ms, 1.20 ×", "30.0 ms, 3.00 ×", "5.00 ms", "7.00 ms, 1.40 ×"]
    widths = [[bar.get_width() for bar in ax.patches] for ax in figure.axes]
    assert widths == [[10.0, 8.0, 12.0, 30.0], [5.0, 7.0]]
    for part in ("1 thread of Slow & Steady (3 cores)", "2026-01-02"):
        assert part in figure.get_suptitle()
    for text in figure.axes[0].texts:
        assert text.get_window_extent().x1 <= figure.axes[0].get_window_extent().x1


def test_caption_and_table_name_peers_left_out():
    assert speed.caption(META).endswith(" Not installed: a_peer.")
    text = speed.markdown(TABLE, META)
    assert "Not installed: a_peer." in text
    assert "| step B | 13.0" in text


def test_invalid_tables_raise_a_one_line_error(tmp_path):
    with pytest.raises(ResultsError, match=r"none\.csv: is missing"):
        speed.read_steps(tmp_path / "none.csv")
    TABLE.drop(columns="kind").to_csv(tmp_path / "old.csv", index=False)
    with pytest.raises(ResultsError, match=r"old\.csv: column 'kind' is missing"):
        speed.read_steps(tmp_path / "old.csv")
    with pytest.raises(ResultsError, match="none was measured against a floor"):
        speed.step_bars(TABLE[TABLE["kind"] == "other"])


def measure(repository, *arguments) -> subprocess.CompletedProcess:
    script = str(repository / "benchmarks" / "measure.py")
    return subprocess.run([sys.executable, script, *map(str, arguments)], capture_output=True, text=True)


@pytest.mark.slow
def test_script_writes_steps_table_and_meta(repository, tmp_path):
    done = measure(repository, "--rounds", 1, "--only", "large_steps", "enumeration", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    table = speed.read_steps(tmp_path / "steps.csv")
    steps = {f"{name} step, 784x500, batch 500" for name in ("CD-1", "CD-10", "pop-CD-1", "pop-CD-10", "PCD-1")}
    steps.add("CD-24 step, 784x500, batch 200")
    assert set(table[table["kind"] == "floor"]["what"]) == set(table[table["kind"] == "products"]["what"]) == steps
    assert "scikit-learn BernoulliRBM" in set(table[table["kind"] == "peer"]["against"])
    assert "Exact log Z, 784x16" in set(table["what"])
    assert (table["ratio"] - table["milliseconds"] / table["reference_milliseconds"]).abs().max() < 1e-9
    # A CD-10 step has over four times the products of a CD-1 step.
    floors = table[table["kind"] == "floor"].set_index("what")["reference_milliseconds"]
    assert floors["CD-10 step, 784x500, batch 500"] > floors["CD-1 step, 784x500, batch 500"]
    meta = json.loads((tmp_path / "steps.meta.json").read_text())
    assert meta["threads"] == 1
    assert any("GPU" in why for why in meta["left_out"]) or any("GPU" in what for what in table["what"])
    assert speed.bars(table, meta).axes
    assert meta["hardware"]["cpu"] in (tmp_path / "steps.md").read_text()


def test_unknown_group_raises(repository, tmp_path):
    done = measure(repository, "--only", "large_stepz", "--out", tmp_path)
    assert done.returncode == 2
    assert "unknown group 'large_stepz'; allowed: large_steps" in done.stderr
