# SPDX-License-Identifier: BSD-3-Clause
"""Table of run times: ratios, measured times and notes on the machine."""

import pandas as pd
import pytest
from reporting_results import differences, make_run, rising, stand_in

from rbmbench.base.parsing import parse
from rbmbench.kinds.run_times import RunTimesSpec
from rbmbench.reporting import charts, text_tables

PUBLISHED = {
    "unit": "minutes",
    "machine": "a large one",
    "entries": [
        {"algorithm": "cd_1", "time": 2.0, "time_with_log_likelihood": 5.0},
        {"algorithm": "ucd", "time": 38.0},
    ],
}
SECONDS = {
    "cd_1": {"training_seconds": 70.0, "training_cpu_seconds": 50.0, "evaluation_seconds": 35.0},
    "ucd": {"training_seconds": 400.0, "training_cpu_seconds": 350.0, "evaluation_seconds": 30.0},
}


def times_table(tmp_path, wall=SECONDS, *, published=PUBLISHED, meta=None, metas=None) -> dict:
    """Write runs of 5 trials and 4000 iterations, and return the spec of a table of their times."""
    spec = {"key": "ucd_table1", "paper": "ucd", "title": "Run times", "kind": "run_times", "scale": "tiny"}
    spec |= {"panel": "fig2.a", "reference": "cd_1", "evaluate_every": 100, "published": published}
    spec |= {"data": "toy", "hidden": 3, "rate": 0.1, "iterations": 4000, "trials": 5}
    spec |= {"differences": differences(spec, {"iterations": 10000})}
    labels = {"cd_1": "CD-1", "ucd": "UCD"}
    runs = [
        {
            "algorithm": name,
            "label": labels[name],
            "folder": make_run(
                tmp_path / name, rising(-5.0), meta={"wall": seconds, **(meta or {}), **((metas or {}).get(name, {}))}
            ),
        }
        for name, seconds in wall.items()
    ]
    return spec | {"runs": runs}


def table_of(values) -> pd.DataFrame:
    spec = parse(RunTimesSpec, values, "test")
    return spec.numbers(spec.read())


def test_seconds_are_processor_times_of_one_trial(tmp_path):
    table = table_of(times_table(tmp_path))
    assert table["label"].tolist() == ["CD-1", "UCD", "CD-1 with log-likelihoods"]
    assert table["seconds"].tolist() == pytest.approx([10.0, 70.0, 17.0])
    assert table["seconds_per_1000_iterations"].tolist() == pytest.approx([2.5, 17.5, 4.25])
    assert table["ratio"].tolist() == pytest.approx([1.0, 7.0, 1.7])
    assert table["published_seconds"].tolist() == [120.0, 2280.0, 300.0]
    assert table["published_ratio"].tolist() == [1.0, 19.0, 2.5]


def test_seconds_are_wall_times_on_a_gpu_or_without_processor_times(tmp_path):
    keys = "training_seconds", "evaluation_seconds"
    clock = {name: {key: wall[key] for key in keys} for name, wall in SECONDS.items()}
    assert table_of(times_table(tmp_path / "a", clock))["seconds"].tolist() == pytest.approx([14.0, 80.0, 21.0])
    table = table_of(times_table(tmp_path / "b", meta={"backend": "cupy"}))
    assert table["seconds"].tolist() == pytest.approx([14.0, 80.0, 21.0])


def test_runs_of_other_lengths_are_compared_by_iteration(tmp_path):
    table = table_of(times_table(tmp_path, metas={"ucd": {"iterations": 2000}}))
    assert table["ratio"].tolist() == pytest.approx([1.0, 14.0, 1.7])


def test_runs_on_another_machine_have_no_ratio(tmp_path):
    values = times_table(tmp_path, metas={"ucd": {"threads": 2}})
    table = table_of(values)
    assert table["ratio"].isna().tolist() == [False, True, False]
    words = parse(RunTimesSpec, values, "test").table(table).notes
    assert words[-1] == "Without a ratio, run on another machine or with other trials: UCD."


def test_annealing_counts_as_evaluation(tmp_path):
    folder = make_run(tmp_path / "annealed", rising(-5.0), meta={"wall": {"annealing_seconds": 500.0}})
    table = table_of(times_table(tmp_path) | {"evaluation": {"folder": folder}})
    assert table["seconds"].tolist() == pytest.approx([10.0, 70.0, 10.0 + 107.0])


def test_layout_without_published_times(tmp_path):
    values = times_table(tmp_path, published={})
    (part,) = parse(RunTimesSpec, values, "test").table(table_of(values)).parts
    assert list(part.columns) == ["algorithm", "iterations", "training, s", "s per 1000 iterations", "ratio"]


def test_markdown_tex_and_csv_have_the_same_cells(tmp_path):
    spec = parse(RunTimesSpec, times_table(tmp_path, meta=stand_in("mnist")), "test")
    table = spec.numbers(spec.read())
    for ending, write in (("md", text_tables.write_markdown), ("tex", text_tables.write_tex)):
        write(charts.table_of(spec, table), tmp_path / f"table.{ending}")
    markdown = (tmp_path / "table.md").read_text().replace("\N{NO-BREAK SPACE}", " ")
    assert markdown.startswith("# Table 1 of ucd: Run times\n")
    cells = [cell.strip() for cell in markdown.split("| UCD")[1].splitlines()[0].split("|")[1:-1]]
    assert cells == ["4 000", "70.0", "17.5", "7.00", "2280", "228", "19.0", "0.0768"]
    for note in (
        "- Scale: tiny. Timed on: a processor, 1 thread, numpy kernels.",
        "- Published times: a large one.",
        "- Iterations and trials: 4 000 of 10 000 iterations.",
        "- Stand-in data: Digits 8x8 in place of MNIST.",
    ):
        assert note in markdown
    tex = (tmp_path / "table.tex").read_text()
    assert r"UCD & 4~000 & 70.0 & 17.5 & 7.00 & 2280 & 228 & 19.0 & 0.0768 \\" in tex
    text_tables.write_csv(table, tmp_path / "table.csv")
    read = pd.read_csv(tmp_path / "table.csv")
    assert spec.table(read) == spec.table(table)
