# SPDX-License-Identifier: BSD-3-Clause
"""Parts of the page: thinned curves, strips of claims, tables of text, what was cut, names of papers."""

import numpy as np
import pandas as pd
import pytest
from reporting_results import figure, rising

from rbmbench.planning.specs import parse_spec
from rbmbench.reporting.frames import RunData
from rbmbench.reporting.page.curves import MOST_POINTS, MOST_POINTS_OF_A_TRIAL, MOST_TRIALS, panels
from rbmbench.reporting.page.facts import PanelFacts, RunFacts
from rbmbench.reporting.page.model import Claim, Paper
from rbmbench.reporting.page.reader import order, part
from rbmbench.reporting.page.strips import strip
from rbmbench.reporting.words import summarised

CLAIM = dict.fromkeys(("claim", "paper", "where", "text", "published", "fails", "verdict", "note", "discussed"), "")
CLAIM |= dict.fromkeys(("measured", "low", "high", "above", "below")) | {"standing": "published"}


def curves(iterations, **more):
    """Return the numbers of a figure of one panel and one curve."""
    x = np.asarray(iterations)
    labels = {"panel": "a", "data_title": "Toy", "hidden": 7, "rate": 0.1, "algorithm": "cd_1", "label": "CD-1"}
    numbers = {"rows": 11, "metric": "log_likelihood", "trials": 5, "low": -x - 2.0, "high": -x + 2.0}
    return pd.DataFrame(labels | numbers | {"iteration": x, "mean": -x / 3, "stand_in": np.nan} | more)


@pytest.mark.parametrize("log", [False, True])
def test_points_that_are_left_are_points_of_the_csv(log):
    numbers = curves(range(0, 5003 * 13, 13))
    (panel,) = panels(numbers, {"a": PanelFacts(log_x=log)})
    assert 100 < len(panel.x) <= MOST_POINTS
    assert (panel.x[0], panel.x[-1]) == (0, 5002 * 13)
    found = numbers.set_index("iteration").loc[list(panel.x)]
    assert panel.series[0].mean == tuple(float(f"{value:.5g}") for value in found["mean"])
    assert panel.series[0].low == tuple(float(f"{value:.5g}") for value in found["low"])
    gaps = np.diff(np.log(panel.x[1:]) if log else panel.x)
    assert gaps.max() / np.median(gaps) < (200 if log else 1.2)


def test_curves_of_other_iterations_are_null_where_they_have_no_point():
    numbers = pd.concat([curves([0, 10, 20]), curves([5, 20], algorithm="ucd", label="UCD")])
    (panel,) = panels(numbers, {})
    assert panel.x == (0, 5, 10, 20)
    assert panel.series[1].mean == (None, float(f"{-5 / 3:.5g}"), None, float(f"{-20 / 3:.5g}"))


def test_a_single_trial_has_no_band_and_values_that_are_not_finite_are_null():
    mean = [1.0, np.inf, 3.0]
    (panel,) = panels(curves([0, 1, 2], mean=mean, low=mean, high=mean, trials=1), {})
    assert panel.series[0].mean == (1.0, None, 3.0)
    assert panel.series[0].low == panel.series[0].high == ()


def test_an_uninformative_bound_is_not_drawn():
    (panel,) = panels(curves([0, 1], metric="older_bias_bound", mean=[1.5, 0.5]), {})
    assert panel.series[0].mean == (None, 0.5)
    assert panel.rows is None


def test_iterations_are_counted_in_epochs_where_the_figure_does():
    (panel,) = panels(curves([0, 30, 60]), {"a": PanelFacts(epoch=30, words=("mini-batches of 5",))})
    assert (panel.x, panel.x_title) == ((0, 1, 2), "epoch")
    assert panel.title.endswith("rate 0.1, mini-batches of 5")


def run_of(*stages, **wall):
    """Return a run of 20 iterations and 5 trials; stages are until, estimator, its options, and those of the rule."""
    schedule = [
        {"until": until, "estimator": {"name": name, "options": options}, "update": {"name": rule, "options": inner}}
        for until, name, options, rule, inner in stages
    ]
    meta = {"run": "r", "iterations": 20, "trials": 5, "threads": 1, "backend": "numba", "hardware": {"cpu": "x"}}
    return meta | {"settings": {"schedule": schedule}, "wall": {"training_seconds": 7.0} | wall}


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
def test_gibbs_steps_of_an_iteration(stage, steps, tmp_path):
    (pace,) = RunFacts.of(run_of((20, *stage)), tmp_path).steps
    assert (pace.until, pace.steps) == (20, steps)


@pytest.mark.parametrize("name", ["ucd", "exact", "expected_cd"])
def test_estimators_without_a_fixed_number_of_gibbs_steps_have_none(name, tmp_path):
    stages = (5, "pcd", {"k": 1}, "sgd", {}), (20, name, {}, "sgd", {})
    found = RunFacts.of(run_of(*stages), tmp_path).steps
    assert [(pace.until, pace.steps) for pace in found] == [(5, 1)]


def test_seconds_are_those_of_the_processor_of_an_iteration_of_a_trial(tmp_path):
    assert RunFacts.of(run_of(), tmp_path).seconds == 0.07
    assert RunFacts.of(run_of(training_cpu_seconds=3.0), tmp_path).seconds == 0.03


def test_single_trials_are_points_of_the_first_trials():
    iterations, trials = np.arange(0, 1009 * 13, 13), 29
    values = -np.add.outer(np.arange(trials) * 1.2345678, iterations / 7)
    tidy = [
        {"trial": trial, "iteration": iteration, "metric": "log_likelihood", "value": values[trial, place]}
        for trial in range(trials)
        for place, iteration in enumerate(iterations)
    ]
    run = RunFacts("r", files=RunData("folder", {"trials": trials}, pd.DataFrame(tidy)))
    (panel,) = panels(curves(iterations), {"a": PanelFacts(runs={"cd_1": run})})
    (series,) = panel.series
    assert len(series.singles) == MOST_TRIALS
    assert 30 < len(panel.places) <= MOST_POINTS_OF_A_TRIAL
    shown = [list(iterations).index(panel.x[place]) for place in panel.places]
    expected = [tuple(float(f"{value:.4g}") for value in values[trial, shown]) for trial in range(MOST_TRIALS)]
    assert list(series.singles) == expected


def test_curves_without_files_have_no_single_trials():
    (panel,) = panels(curves([0, 10]), {"a": PanelFacts(runs={"cd_1": RunFacts("r", seconds=0.5)})})
    assert (panel.places, panel.series[0].singles) == ((), ())
    assert (panel.series[0].run, panel.series[0].seconds) == ("r", 0.5)


def test_strip_places_numbers_in_order():
    found = strip(Claim(**CLAIM | {"measured": 2.0, "low": 1.0, "high": 3.0, "above": 0.0, "published": "4.0"}))
    assert found.range == (8.0, 100.0)
    assert found.interval == (29.0, 71.0)
    assert (found.measured, found.printed, found.log) == (50.0, 92.0, False)


def test_strip_of_numbers_of_many_magnitudes_is_logarithmic():
    found = strip(Claim(**CLAIM | {"measured": 1e-3, "above": 1e-5, "below": 1e-1, "published": "much larger"}))
    assert found.log
    assert (found.range, found.measured, found.printed) == ((8.0, 92.0), 50.0, None)


@pytest.mark.parametrize("missing", [{"measured": None, "above": 0.0}, {"measured": 1.0}])
def test_no_strip_without_a_number_or_a_range(missing):
    assert strip(Claim(**CLAIM | missing)) is None


def test_words_of_a_table_come_before_its_numbers():
    found = part("c", ["name", "k", "value", "interval"], [["a", "1", "2.5e-03", "1 to 2"], ["b", "10", "", ""]])
    assert found.words == 1
    assert part("c", ["name", "other"], [["a", "b"], ["short"]]).lines == (("a", "b"), ("short", ""))


def test_figures_are_in_the_order_of_the_paper():
    keys = ["ucd_table1", "ucd_fig10", "ucd_fig2", "ucd_fig2_program"]
    assert sorted(keys, key=order) == ["ucd_fig2", "ucd_fig2_program", "ucd_fig10", "ucd_table1"]


@pytest.mark.parametrize(
    ("citation", "name"),
    [
        (
            "Oswin Krause, Asja Fischer, Christian Igel. Pattern Recognition Letters 102, 2018, 1-7.",
            "Krause et al. 2018",
        ),
        ("Vidyadhar Upadhya, P. S. Sastry. Asian Conference, PMLR 77, 2017.", "Upadhya and Sastry 2017"),
        ("Someone, in preparation", "key"),
        ("", "key"),
    ],
)
def test_papers_are_named_as_in_citations(citation, name):
    assert Paper(key="key", citation=citation).name == name


def test_a_page_names_the_largest_cut_of_each_budget_and_other_settings(tmp_path):
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


def test_curves_of_another_form_have_no_charts():
    """Those of an arena: all trials by cost, of several contests."""
    assert panels(pd.DataFrame({"contest": ["toy"], "iteration": [3], "value": [-2.0]}), {}) == ()
