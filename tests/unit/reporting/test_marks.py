# SPDX-License-Identifier: BSD-3-Clause
"""Iterations at which curves first reach a share of the largest rise: numbers, vertical lines, measurements."""

import numpy as np
import pytest
from reporting_results import drawn, figure

from rbmbench.base.parsing import parse
from rbmbench.kinds._curves import _marked
from rbmbench.kinds.learning_curves import LearningCurvesSpec
from rbmbench.planning.chart import Series
from rbmbench.reporting.claims.evidence import Evidence, NotRun
from rbmbench.reporting.claims.measurements import MEASUREMENTS
from rbmbench.reporting.frames import first_reached, levels

TRIALS = np.array([[-0.25], [0.0], [0.25]])


def ramp(reaches: int, top: float = -2.0) -> np.ndarray:
    """Return curves (3, 41) that rise linearly from -10 to ``top`` at evaluation ``reaches`` and stay there."""
    return TRIALS + np.interp(np.arange(41), [0, reaches], [-10.0, top])


CURVES = {"slow": ramp(40), "fast": ramp(20), "low": ramp(10, -5.0)}


def spec_of(tmp_path, **more) -> LearningCurvesSpec:
    return parse(LearningCurvesSpec, figure(tmp_path, {"a": {"curves": CURVES, "mark": 0.75, **more}}), "test")


def test_levels_are_a_share_of_the_largest_rise():
    means = np.array([[-10.0, -6.0, -2.0], [-12.0, -9.0, -8.0]])
    assert levels(means, 0.75) == pytest.approx(-11 + 0.75 * 9)
    np.testing.assert_allclose(levels(np.stack([means, means + 1]), 0.5), [-6.5, -5.5])


def test_first_reached_is_the_first_iteration_or_infinite():
    means, iterations = np.array([[0.0, 3.0, 1.0, 4.0], [0.0, 0.0, 1.0, 1.0]]), np.array([0.0, 5.0, 10.0, 15.0])
    np.testing.assert_array_equal(first_reached(means, iterations, 3.0), [5.0, np.inf])
    np.testing.assert_array_equal(first_reached(means, iterations, np.array([4.0, 1.0])), [15.0, 10.0])


def test_marks_are_those_of_the_mean_curves(tmp_path):
    # The level is -4, three quarters of the rise, reached after 30 and after 15 evaluations.
    spec = spec_of(tmp_path)
    (panel,) = spec.chart(spec.read()).panels
    assert {mark.key: mark.at for mark in panel.marks} == {"slow": 3000.0, "fast": 1500.0}


def test_curves_with_different_evaluations_have_marks():
    x, more = (0.0, 10.0, 20.0, 40.0), (0.0, 10.0, 15.0, 20.0, 40.0)
    slow = Series(key="slow", label="slow", x=x, mean=(-10.0, -8.0, -6.0, -2.0))
    fast = Series(key="fast", label="fast", x=more, mean=(-10.0, -6.0, -4.0, -3.0, -2.0))
    assert {mark.key: mark.at for mark in _marked((slow, fast), 0.75)} == {"slow": 40.0, "fast": 15.0}


def test_marks_are_drawn_in_the_colours_of_the_curves(tmp_path):
    spec = spec_of(tmp_path, batch=1000, initial={"kind": "normal", "width": 0.01, "biases": "zero"})
    (ax,) = drawn(spec).axes
    vertical = [line for line in ax.get_lines() if len(set(line.get_xdata())) == 1]
    curves = {line.get_xdata()[0]: line.get_color() for line in vertical}
    colours = [line.get_color() for line in ax.get_lines() if len(set(line.get_xdata())) > 1]
    assert curves == {3000.0: colours[0], 1500.0: colours[1]}
    title = ax.get_title(loc="left").replace("\n", ", ").replace("\N{NO-BREAK SPACE}", " ")
    assert "hidden, batch 1000, normal 0.01, biases zero" in title
    assert "a mean first reaches 75 % of the rise from the common start" in spec.caption(spec.read())


def test_a_panel_without_a_mark_has_no_vertical_line(tmp_path):
    spec = spec_of(tmp_path, mark=None)
    (ax,) = drawn(spec).axes
    assert all(len(set(line.get_xdata())) > 1 for line in ax.get_lines())
    assert "Vertical lines" not in spec.caption(spec.read())


@pytest.mark.parametrize(
    ("curve", "against", "expected"),
    [("fast", "slow", 1500.0), ("slow", "fast", -1500.0), ("fast", "low", np.inf), ("low", "fast", -np.inf)],
)
def test_reach_difference_is_the_difference_of_first_iterations(tmp_path, curve, against, expected):
    source = Evidence("popcd", [spec_of(tmp_path)])
    names = {"curve": f"fig1.a.{curve}", "against": f"fig1.a.{against}", "metric": "log_likelihood"}
    difference = MEASUREMENTS["reach_difference"](source, share=0.75, **names)
    # The trials differ only by a shift, which shifts the level as well.
    assert (difference.value, difference.low, difference.high) == (expected, expected, expected)
    assert difference.what.startswith(f"iterations by which {curve} reaches 75 % of the largest rise of log-likelihood")


@pytest.mark.parametrize("missing", ["curve", "against"])
def test_reach_difference_of_a_missing_curve_is_not_run(tmp_path, missing):
    names = {"curve": "fig1.a.fast", "against": "fig1.a.slow", "metric": "log_likelihood", missing: "fig1.a.none"}
    with pytest.raises(NotRun, match=r"^fig1\.a\.none is not part of this scale$"):
        MEASUREMENTS["reach_difference"](Evidence("popcd", [spec_of(tmp_path)]), share=0.75, **names)


def test_reach_difference_of_curves_below_the_level_is_0(tmp_path):
    spec = parse(LearningCurvesSpec, figure(tmp_path, {"a": {"curves": CURVES | {"flat": ramp(5, -9.0)}}}), "test")
    names = {"curve": "fig1.a.low", "against": "fig1.a.flat", "metric": "log_likelihood"}
    difference = MEASUREMENTS["reach_difference"](Evidence("popcd", [spec]), share=0.75, **names)
    assert (difference.value, difference.low, difference.high) == (0.0, 0.0, 0.0)


def test_lead_and_spread_of_metrics_of_the_test_rows(tmp_path):
    tests = {name: {"test_log_likelihood": values - 1.0} for name, values in CURVES.items()}
    source = Evidence("popcd", [spec_of(tmp_path, diagnostics=tests)])
    pair = {"curve": "fig1.a.fast", "against": "fig1.a.slow", "metric": "test_log_likelihood"}
    # Diagnostics begin at the second evaluation, when the curves have risen by 0.2, 0.4 and 0.5. Halfway
    # the slow curve is at -6; the fast one is at its top, 4 above, except at the first of the three evaluations.
    assert MEASUREMENTS["lead_after"](source, share=0.5, **pair).value == pytest.approx((4 - 0.4 / 3) / 3.8)
    spread = MEASUREMENTS["final_spread"](source, curves=["fig1.a.fast", "fig1.a.low"], metric="test_log_likelihood")
    assert spread.value == pytest.approx(3 / 7.55)
    assert "mean log-likelihood of the test rows" in spread.what
