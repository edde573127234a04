# SPDX-License-Identifier: BSD-3-Clause
"""Parts of the page: thinned curves, strips of claims, reduced budgets, names of papers."""

import math

import numpy as np
import pandas as pd
import pytest
from reporting_results import CLAIM, figure, rising

from rbmbench.planning.chart import Axis, ChartPanel
from rbmbench.planning.specs import parse_spec
from rbmbench.reporting import charts
from rbmbench.reporting.frames import RunData
from rbmbench.reporting.page.html import strip
from rbmbench.reporting.page.model import Claim, Paper
from rbmbench.reporting.page.panels import MOST_POINTS, MOST_POINTS_OF_A_CURVE, MOST_POINTS_OF_A_TRIAL, panel_of
from rbmbench.reporting.page.reader import order
from rbmbench.reporting.text_tables import interval
from rbmbench.reporting.words import short_commit, summarised


def curves(iterations, trials=5, **more):
    """Return a curve of a chart."""
    x = np.asarray(iterations, float)
    values = {"mean": -x / 3, "low": -x - 2.0, "high": -x + 2.0} | more
    return charts.curve("cd_1", "CD-1", pd.DataFrame(values | {"trials": trials}, index=x))


def panel(*series, log=False):
    chart = ChartPanel(name="a", title="Toy", x=Axis(title="iteration", log=log), y=Axis(title="y"), series=series)
    return panel_of(chart)


@pytest.mark.parametrize("log", [False, True])
def test_thinned_points_are_points_of_the_chart(log):
    curve = curves(range(0, 5003 * 13, 13))
    drawn = panel(curve, log=log)
    assert MOST_POINTS / 2 < len(drawn.x) <= MOST_POINTS
    assert (drawn.x[0], drawn.x[-1]) == (0, 5002 * 13)
    places = [curve.x.index(at) for at in drawn.x]
    for name, digits in (("mean", 5), ("low", 4)):
        expected = tuple(float(f"{getattr(curve, name)[place]:.{digits}g}") for place in places)
        assert getattr(drawn.series[0], name) == expected
    gaps = np.diff(np.log(drawn.x[1:]) if log else drawn.x)
    assert gaps.max() / np.median(gaps) < (200 if log else 1.2)


def test_curves_are_null_at_iterations_of_other_curves():
    drawn = panel(curves([0, 10, 20]), curves([5, 20]))
    assert drawn.x == (0, 5, 10, 20)
    assert drawn.series[1].mean == (None, float(f"{-5 / 3:.5g}"), None, float(f"{-20 / 3:.5g}"))


def test_long_curves_of_different_iterations_all_have_points():
    drawn = panel(curves(range(0, 3001, 3)), curves(range(1, 3001, 3)))
    counts = [sum(value is not None for value in series.mean) for series in drawn.series]
    assert counts == [MOST_POINTS_OF_A_CURVE] * 2


def test_a_single_trial_has_no_band_and_nonfinite_values_are_null():
    mean = [1.0, np.inf, 3.0]
    drawn = panel(curves([0, 1, 2], trials=1, mean=mean, low=mean, high=mean))
    assert drawn.series[0].mean == (1.0, None, 3.0)
    assert drawn.series[0].low == drawn.series[0].high == ()


def run_of(*stages, **wall):
    """Return a run of 20 iterations and 5 trials; stages are (until, estimator, options, update, its options)."""
    schedule = [
        {"until": until, "estimator": {"name": name, "options": options}, "update": {"name": rule, "options": inner}}
        for until, name, options, rule, inner in stages
    ]
    meta = {"run": "r", "iterations": 20, "trials": 5, "threads": 1, "backend": "numba", "hardware": {"cpu": "x"}}
    meta |= {"settings": {"schedule": schedule}, "wall": {"training_seconds": 7.0} | wall}
    return RunData("folder", meta, pd.DataFrame())


@pytest.mark.parametrize(
    ("stage", "steps"),
    [
        (("cd", {"k": 3}, "sgd", {}), 3),
        (("pop_cd", {}, "sgd", {}), 1),
        (("fpcd", {"k": 2, "decay": 0.9}, "sgd", {}), 2),
        (("parallel_tempering", {"temperatures": 7}, "sgd", {}), 7),
        (("parallel_tempering", {}, "centered", {}), 10),
        (("cd", {"k": 4}, "sdcp", {"inner_steps": 3}), 12),
        (("pcd", {"k": 2}, "cs_dcp", {}), 12),
    ],
)
def test_gibbs_steps_of_an_iteration(stage, steps):
    (pace,) = charts.of_run(run_of((20, *stage)))["steps"]
    assert (pace.until, pace.steps) == (20, steps)


@pytest.mark.parametrize("name", ["ucd", "exact", "expected_cd"])
def test_stages_of_a_variable_number_of_gibbs_steps_have_no_pace(name):
    stages = (5, "pcd", {"k": 1}, "sgd", {}), (20, name, {}, "sgd", {})
    paces = charts.of_run(run_of(*stages))["steps"]
    assert [(pace.until, pace.steps) for pace in paces] == [(5, 1)]


def test_seconds_are_per_iteration_and_trial():
    assert charts.of_run(run_of())["seconds"] == 0.07
    assert charts.of_run(run_of(training_cpu_seconds=3.0))["seconds"] == 0.03


def test_single_trials_are_points_of_the_chart():
    curve = curves(range(0, 1009 * 13, 13))
    values = -np.add.outer(np.arange(3) * 1.2345678, np.array(curve.x) / 7)
    curve = curve.model_copy(update={"singles": tuple(charts.numbers(trial, 4) for trial in values)})
    drawn = panel(curve)
    assert MOST_POINTS_OF_A_TRIAL / 2 < len(drawn.places) <= MOST_POINTS_OF_A_TRIAL
    shown = [curve.x.index(drawn.x[place]) for place in drawn.places]
    expected = [tuple(float(f"{value:.4g}") for value in trial[shown]) for trial in values]
    assert list(drawn.series[0].singles) == expected


def test_strip_places_numbers_in_order():
    layout = strip(Claim(**CLAIM | {"measured": 2.0, "low": 1.0, "high": 3.0, "above": 0.0, "published": "4.0"}))
    assert layout == ({"a": 8.0, "l": 29.0, "m": 50.0, "h": 71.0, "p": 92.0}, False)


def test_strip_of_numbers_of_many_magnitudes_is_logarithmic():
    numbers = {"measured": 1e-3, "above": 1e-5, "below": 1e-1, "published": "much larger"}
    assert strip(Claim(**CLAIM | numbers)) == ({"a": 8.0, "b": 92.0, "m": 50.0}, True)


def test_infinite_end_of_an_interval_is_at_the_edge_of_the_strip():
    numbers = {"measured": 2.0, "low": 1.0, "high": math.inf, "above": 3.0}
    claim = Claim.model_validate_json(Claim(**CLAIM | numbers).model_dump_json())
    assert strip(claim) == ({"a": 92.0, "l": 8.0, "m": 50.0, "h": 100.0}, False)
    assert interval(claim.low, claim.high) == "1.00 or more"


@pytest.mark.parametrize("missing", [{"measured": None, "above": 0.0}, {"measured": 1.0}, {"measured": math.inf}])
def test_strip_without_a_number_or_a_range_is_none(missing):
    assert strip(Claim(**CLAIM | missing)) is None


def test_figures_are_in_the_order_of_the_paper():
    keys = ["ucd_table1", "ucd_fig10", "ucd_fig2", "ucd_fig2_program"]
    assert sorted(keys, key=order) == ["ucd_fig2", "ucd_fig2_program", "ucd_fig10", "ucd_table1"]


@pytest.mark.parametrize(
    ("citation", "name"),
    [
        ("Oswin Krause, Asja Fischer, Christian Igel. Pattern Recognition 102, 2018, 1-7.", "Krause et al. 2018"),
        ("Vidyadhar Upadhya, P. S. Sastry. Asian Conference, PMLR 77, 2017.", "Upadhya and Sastry 2017"),
        ("V. Upadhya, P. S. Sastry, Neurocomputing, 2017", "key"),
        ("Someone, in preparation", "key"),
        ("", "key"),
    ],
)
def test_papers_are_named_as_in_citations(citation, name):
    assert Paper(key="key", citation=citation).name == name


def test_summarised_names_largest_reductions_and_changed_settings(tmp_path):
    curves = {"cd_1": rising(-5.0)}
    panels = {"a": {"curves": curves, "published": {"iterations": 50000, "trials": 25}, "without": ["PT-10"]}}
    panels["b"] = {"curves": curves, "published": {"iterations": 8000, "rate": 0.02}}
    spec = parse_spec(figure(tmp_path, panels), "test")
    assert [text.replace("\N{NO-BREAK SPACE}", " ") for text in summarised(spec)] == [
        "panel b: rate 0.1 (paper: 0.02)",
        "4 000 of 50 000 iterations",
        "5 of 25 trials",
        "1 curve left out",
    ]


def test_a_short_commit_shows_that_files_differed():
    assert [short_commit(commit, 4) for commit in ("abcdef", "abcdef+changes", None)] == ["abcd", "abcd+changes", ""]
