# SPDX-License-Identifier: BSD-3-Clause
"""Small runs of the workflow: shared jobs, messages, all files of a paper, and failures."""

import json

import pytest
from tiny_paper import FILES, PAPER

from rbmbench.planning.specs import parse_spec

SHOWN = {"data": "bars", "hidden": 5, "rate": 0.1, "iterations": 20}
CURVES = {
    "kind": "learning_curves",
    "title": "Schedules, metrics and lines",
    "band": {"quantiles": [0.025, 0.975], "sample_paths": 1},
    "panels": {
        "a": SHOWN | {"algorithms": ["cd_1", "staged"], "references": ["maximum"]},
        "b": SHOWN | {"algorithms": ["staged"], "metric": "effective_sample_size", "axis": "log"},
    },
}
TIMES = {"kind": "run_times", "title": "Run times", "panel": "fig2.a", "reference": "cd_1"}
DIGITS = {"name": "digits", "options": {"validation": 300, "test": 400}, "rows": 1097, "visible": 64, "batch": 97}
SAMPLERS = {
    "gibbs": {"label": "Gibbs", "sampler": "gibbs"},
    "rates": {"label": "rates-FPCD", "sampler": "rates_fpcd", "grid": {"fast_rate": [0.01, 0.1]}},
}
COVERED = {"data": "digits", "hidden": 5, "rate": 0.1, "iterations": 20, "algorithm": "cd_1"}
COVERED |= {"samples": 30, "points": 4, "shown": 12}
COVERAGE = {"kind": "isl_curves", "title": "Coverage", "panels": {"a": COVERED}}
SHEETS = {"kind": "sample_sheets", "title": "Sheets", "panel": "fig6.a", "columns": 4, "lines": 3}


@pytest.fixture
def sampled(tiny):
    """The tiny paper with two figures of samples."""
    tiny.edit("config/papers/tiny.yaml", "data", "digits", DIGITS)
    tiny.edit("config/papers/tiny.yaml", "samplers", SAMPLERS)
    tiny.edit("config/papers/tiny.yaml", "figures", "fig6", COVERAGE)
    tiny.edit("config/papers/tiny.yaml", "figures", "fig7", SHEETS)
    return tiny


def test_unlock_removes_a_lock(tiny):
    lock = tiny.folder / ".snakemake/locks/0.output.lock"
    lock.parent.mkdir(parents=True)
    lock.write_text("results/tiny/datasets/bars.npz\n")
    tiny.plan("--unlock", *FILES)
    assert not lock.exists()


@pytest.mark.slow
def test_workflow_writes_figures_of_samples(sampled):
    sampled.snakemake(*FILES, "--", "tiny_fig6", "tiny_fig7", "claims", "report")
    results = sampled.folder / "results/tiny"
    expected = [f"figures/tiny_fig{number}.{ending}" for number in (6, 7) for ending in ("pdf", "png", "svg")]
    expected += [f"data/tiny_fig{number}.csv" for number in (6, 7)] + ["claims.csv", "report/index.html"]
    assert [name for name in expected if not (results / name).stat().st_size] == []


@pytest.mark.slow
def test_a_workflow_prints_one_line_per_job(tiny):
    lines = tiny.snakemake(*FILES, "--", "claims", "report").splitlines()
    start = next(number for number, line in enumerate(lines) if " jobs to run, about " in line)
    *jobs, last = lines[start + 1 :]
    count = len(jobs)
    assert lines[start].startswith(f"{count} jobs to run, about ")
    assert [line.partition("/")[0].strip() for line in jobs] == [str(number + 1) for number in range(count)]
    assert sum(f"/{count} tiny Figure 1: training, 2 jobs, " in job for job in jobs) == 1
    assert sum(f"/{count} tiny Table 1: CD-1, bars and stripes, 5 hidden, rate 0.1, " in job for job in jobs) == 1
    assert all(", about " in line for line in jobs[:-1])
    assert last.startswith("Done: open results/tiny/report/index.html; verdicts: 1 ")
    # The last line is the same without jobs.
    assert tiny.snakemake(*FILES, "--", "claims", "report").splitlines()[-1] == last
    # Snakemake's own messages.
    assert "Building DAG of jobs..." in tiny.snakemake(*FILES, "--logger-rbmbench-all-messages", "--", "report")


@pytest.mark.slow
def test_workflow_writes_all_files_of_a_paper(tiny):
    tiny.edit("config/papers/tiny.yaml", "figures", "fig2", CURVES)
    tiny.edit("config/papers/tiny.yaml", "tables", "table2", TIMES)
    tiny.snakemake(*FILES, "--", "all")
    results = tiny.folder / "results/tiny"
    expected = [f"figures/tiny_fig{number}.{ending}" for number in (1, 2) for ending in ("pdf", "png", "svg")]
    expected += [f"tables/tiny_table{number}.{ending}" for number in (1, 2) for ending in ("csv", "md", "tex")]
    expected += [f"data/tiny_fig{number}.csv" for number in (1, 2)]
    expected += ["claims.csv", "report/index.html", "benchmarks/run_times.csv"]
    for key in ("tiny_fig1", "tiny_fig2", "tiny_table1", "tiny_table2", "claims"):
        expected += [f"notebooks/{key}.ipynb", f"notebooks/{key}.html"]
    assert [name for name in expected if not (results / name).stat().st_size] == []
    assert tiny.jobs(*FILES) == {}
    # No checkpoints and half-written files.
    assert not list(results.glob("checkpoints/*"))
    assert not list(results.rglob(".*"))

    table = results / "tables/tiny_table1.csv"
    before = table.read_bytes()
    table.unlink()
    others = {file: file.stat().st_mtime_ns for file in results.glob("runs/*/*")}
    tiny.snakemake(*FILES, "--", "tiny_table1")
    assert table.read_bytes() == before
    assert {file: file.stat().st_mtime_ns for file in others} == others


def test_a_failed_job_does_not_stop_the_others(tiny):
    # The data set has other than 17 rows.
    tiny.edit("config/papers/tiny.yaml", "data", "more", PAPER["data"]["bars"] | {"rows": 17})
    panel = PAPER["figures"]["fig1"]["panels"]["a"] | {"data": "more"}
    tiny.edit("config/papers/tiny.yaml", "figures", "fig1", "panels", "b", panel)
    runs = ["results/tiny/datasets/bars.npz", "results/tiny/datasets/more.npz"]
    output = tiny.snakemake(*FILES, "--keep-going", "--", *runs, code=1)
    log = "results/tiny/logs/data/more.log"
    error = "rbmbench: error: data set 'bars_and_stripes': rows: must be 17, as in the configuration, got 16"
    failed = "failed: data set bars and stripes (rule prepare_data, returned non-zero exit status 2)"
    assert f"{failed}\n  log: {log}\n    {error}\n" in output
    assert (tiny.folder / runs[0]).exists()
    assert not (tiny.folder / runs[1]).exists()
    # With the right number, only the failed job is run.
    tiny.edit("config/papers/tiny.yaml", "data", "more", "rows", 16)
    assert tiny.jobs(*FILES, "--", *runs) == {"prepare_data": 1}


def test_a_spec_too_long_for_an_argument_is_read_from_a_file(tiny):
    panels = {f"a{number}": SHOWN | {"hidden": number + 1} for number in range(29)}
    figure = {"kind": "learning_curves", "title": "Many", "algorithms": ["cd_1", "pop_cd_1"], "panels": panels}
    tiny.edit("config/papers/tiny.yaml", "figures", "fig3", figure)
    tiny.edit("config/papers/tiny.yaml", "algorithms", "cd_1", "label", "CD-1 " * 1009)
    tiny.snakemake(*FILES, "--", "results/tiny/specs.json")
    spec = json.loads((tiny.folder / "results/tiny/specs.json").read_text())["tiny_fig3"]
    assert len(parse_spec(spec, "tiny_fig3").panels) == 29
    assert len(json.dumps(spec)) > 2**17
    commands = tiny.plan("--dry-run", "--printshellcmds", *FILES, "--", "tiny_fig3")
    assert "rbmbench render tiny_fig3 --spec results/tiny/specs.json " in commands
