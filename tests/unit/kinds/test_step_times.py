# SPDX-License-Identifier: BSD-3-Clause
"""Times of iterations: ratios, tables, jobs and plans."""

import json

import numpy as np
import pandas as pd
import pytest
from core_helpers import binary_data
from planned import planned_here
from reporting_results import differences
from scipy import stats

from rbmbench import datasets
from rbmbench.base.parsing import parse
from rbmbench.cli import main
from rbmbench.io import results
from rbmbench.kinds.step_times import StepTimesSpec
from rbmbench.planning.specs import parse_spec
from rbmbench.reporting import charts, text_tables
from rbmbench.reporting.claims import intervals
from rbmbench.reporting.claims.evidence import Evidence
from rbmbench.reporting.claims.judge import ClaimsSpec, evaluate
from rbmbench.reporting.claims.measurements import MEASUREMENTS

META = {"data": {"title": "Toy", "rows": 29}, "hardware": {"cpu": "a processor"}, "backend": "numba", "threads": 1}
META |= {"settings": {"batch": 29}}
LABELS = {"cd_1": "CD-1", "pop_cd_1": "pop-CD-1", "pt_10": "PT-10"}
AGAINST = {"pop_cd_1": "cd_1", "pt_10": "pop_cd_1"}
ROUNDS = 31


def turns(rng, ratio: float, rounds: int = ROUNDS) -> tuple[np.ndarray, np.ndarray]:
    """Return times of two algorithms (rounds,) with a common load and heavy-tailed noise of each."""
    load, own = rng.lognormal(0, 0.7, rounds), 0.05 * rng.standard_t(3, (2, rounds))
    return ratio * load * np.exp(own[0]), load * np.exp(own[1])


def step_table(tmp_path, rows: dict[str, dict[str, np.ndarray]], hidden: int = 16) -> dict:
    """Write times by row and algorithm, and return the spec of their table, of models with 16 hidden units."""
    spec = {"key": "popcd_tablea", "paper": "popcd", "title": "Step times", "kind": "step_times", "scale": "tiny"}
    spec |= {"against": AGAINST, "labels": LABELS, "differences": differences({"hidden": 16}, {"hidden": hidden})}
    row_specs = []
    for name, times in rows.items():
        frames = [
            pd.DataFrame({"algorithm": key, "round": range(len(seconds)), "seconds_per_iteration": seconds})
            for key, seconds in times.items()
        ]
        results.write_table(tmp_path / name / "times.parquet", pd.concat(frames).assign(iterations=7))
        results.write_meta(tmp_path / name, ("times.parquet",), META)
        row_specs.append({"name": name, "data": "toy", "hidden": 16, "trials": 5, "folder": str(tmp_path / name)})
    return spec | {"rows": row_specs}


def ratio_of(spec: dict, algorithm: str, against: str):
    evidence = Evidence("popcd", [parse_spec(spec, "test")])
    return MEASUREMENTS["step_time_ratio"](evidence, table="tablea", algorithm=algorithm, against=against)


def test_interval_of_the_ratio_has_its_coverage_and_load_cancels():
    rng, ratio, trials = np.random.default_rng(5), 1.3, 2003
    ratios = np.array([intervals.ratio_of_times([turns(rng, ratio), turns(rng, ratio)]) for _ in range(trials)])
    missed = ((ratios[:, 1] > ratio) | (ratios[:, 2] < ratio)).sum()
    # Error rate 1/5000 for intervals that miss the ratio in 3.5 to 5 % of the trials: heavy tails make them wider.
    assert stats.binom.ppf(1e-4, trials, 0.035) <= missed <= stats.binom.ppf(1 - 1e-4, trials, 0.05)
    # Unpaired, the load would make the interval 25 % wide.
    assert np.median(ratios[:, 2] / ratios[:, 1]) < 1.06


def test_ratio_is_the_mean_over_rows_with_both_algorithms(tmp_path):
    rng = np.random.default_rng(7)
    first, second = turns(rng, 1.5), turns(rng, 6.0)
    bars, modes = (dict(zip(("pop_cd_1", "cd_1"), times, strict=True)) for times in (first, second))
    rows = {"bars": bars, "modes": modes | {"pt_10": 4 * second[0]}}
    ratio = ratio_of(step_table(tmp_path, rows), "pop_cd_1", "cd_1")
    logs = np.log([first[0] / first[1], second[0] / second[1]]).mean(axis=0)
    half = logs.std(ddof=1) / np.sqrt(ROUNDS) * stats.t.ppf(0.975, ROUNDS - 1)
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx(np.exp(logs.mean() + half * np.array([0, -1, 1])))
    alone = ratio_of(step_table(tmp_path, rows), "pt_10", "pop_cd_1")
    assert (alone.value, alone.low, alone.high) == pytest.approx((4.0, 4.0, 4.0))


def test_verdicts_on_smaller_models_and_missing_algorithms(tmp_path):
    rows = {"bars": dict(zip(("pop_cd_1", "cd_1"), turns(np.random.default_rng(1), 2.0), strict=True))}
    claim = {"where": "here", "text": "so", "kind": "step_time_ratio", "table": "tablea", "above": 1.5}
    claims = [claim | {"id": name, "algorithm": name, "against": "cd_1"} for name in ("pop_cd_1", "pt_10")]
    for hidden, standing in ((16, "published"), (500, "variant")):
        outputs = [step_table(tmp_path / str(hidden), rows, hidden)]
        spec = {"scale": "tiny", "outputs": outputs, "claims": {"popcd": {"claims": claims}}}
        timed, missing = evaluate(parse(ClaimsSpec, spec, "test"))
        assert (timed.verdict, timed.standing, timed.shown) == ("reproduced", standing, "popcd_tablea")
        assert (missing.reason, missing.what) == ("not run", "no row of tablea has both pt_10 and cd_1")


def test_the_table_has_a_line_for_each_algorithm_of_each_row(tmp_path):
    seconds = np.full(ROUNDS, 0.01)
    values = step_table(tmp_path, {"bars": {"cd_1": seconds, "pop_cd_1": 1.25 * seconds}, "modes": {"cd_1": seconds}})
    spec = parse(StepTimesSpec, values, "test")
    numbers = spec.numbers(spec.read())
    assert numbers[["row", "algorithm", "against", "rounds"]].to_numpy().tolist() == [
        ["bars", "cd_1", "", ROUNDS],
        ["bars", "pop_cd_1", "cd_1", ROUNDS],
        ["modes", "cd_1", "", ROUNDS],
    ]
    assert numbers["milliseconds"].tolist() == pytest.approx([2.0, 2.5, 2.0])  # of one of five trials
    assert numbers[["ratio", "ratio_low", "ratio_high"]].to_numpy()[1] == pytest.approx([1.25] * 3)
    text_tables.write_markdown(charts.table_of(spec, numbers), tmp_path / "table.md")
    line = next(line for line in (tmp_path / "table.md").read_text().splitlines() if "| pop-CD-1" in line)
    cells = ["Toy", "16", "29", "pop-CD-1", "2.50", "CD-1", "1.25", "1.25 to 1.25"]
    assert [cell.strip() for cell in line.split("|")[1:-1]] == cells


STEP = {"rate": 0.1, "estimator": {"name": "cd", "options": {"k": 1}}}
SLOW = {"rate": 0.1, "estimator": {"name": "cd", "options": {"k": 97}}}
SETTINGS = {"data": {"name": "made"}, "hidden": 11, "batch": 23, "trials": 2, "rounds": 7, "seconds": 0.002}
SETTINGS |= {"algorithms": {"fast": STEP, "slow": SLOW}}


@pytest.fixture
def job(tmp_path):
    """Return a function that times algorithms and returns the exit code."""
    data = datasets.build("made", "Made", train=binary_data(29, 13), source="test", preprocessing="none", options={})
    datasets.save(data, tmp_path / "data.npz")
    files = ["--data", str(tmp_path / "data.npz"), "--out", str(tmp_path / "out")]
    return lambda **changes: main(["job", "timing", "--settings", json.dumps(SETTINGS | changes), *files])


def test_a_job_times_its_algorithms_in_all_rounds(job, tmp_path):
    assert job() == 0
    table = results.read_table(tmp_path / "out", "times.parquet")
    expected = [[number, name] for number in range(7) for name in ("fast", "slow")]
    assert table[["round", "algorithm"]].to_numpy().tolist() == expected
    assert (table.groupby("algorithm")["iterations"].nunique() == 1).all()
    seconds = table.pivot(index="round", columns="algorithm", values="seconds_per_iteration")
    assert (seconds > 0).all().all()
    # An iteration of 97 steps takes some thirty times as long as that of one.
    assert (seconds["slow"] > 3 * seconds["fast"]).sum() >= 6
    meta = results.read_meta(tmp_path / "out")
    assert (meta["job"], meta["trials"], len(meta["code"])) == ("timing", 2, 10)
    assert meta["settings"]["algorithms"]["slow"]["estimator"] == SLOW["estimator"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rounds": 0}, "rounds: must be greater than or equal to 1, got 0"),
        ({"algorithms": {}}, "algorithms: must"),
        ({"seconds": -1.0}, "seconds: must be greater than 0, got -1.0"),
        ({"algorithms": {"a": STEP | {"estimator": {"name": "cdd"}}}}, "unknown estimator 'cdd'; nearest: 'cd'"),
        ({"batch": 31}, "got 31"),
    ],
)
def test_error_of_invalid_settings_is_one_line(job, capsys, changes, message):
    assert job(**changes) != 0
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("scale", ["paper", "desktop"])
def test_planned_timings_have_the_settings_of_runs(scale):
    planned = planned_here(*([] if scale == "paper" else [scale]))
    output, figure = planned.tables["sdcp_tablea_step_times"], planned.figures["sdcp_fig1"]
    job, run = planned.jobs[output.jobs[0]], planned.jobs[figure.parts["a", "sdcp_3x4"][0].id].settings
    assert (job.kind, list(job.settings.algorithms)) == ("timing", ["cd_12", "sdcp_3x4", "cd_14"])
    timed, evaluation = job.settings.run("sdcp_3x4"), {"schedule", "evaluate_every", "test_likelihood"}
    assert timed.model_dump(exclude=evaluation) == run.model_dump(exclude=evaluation)
    assert timed.schedule[0] == run.schedule[0].model_copy(update={"until": 1})
    # Fewer trials do not make it a variant.
    assert not output.spec.changed
