# SPDX-License-Identifier: BSD-3-Clause
"""Measurements of claims on curves, tables and run times, and their intervals, on made results."""

import math
from contextlib import suppress
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from reporting_results import PRINTED, evidence, figure, numbers, rising, table
from scipy import stats

from rbmbench.kinds import parse_spec
from rbmbench.reporting.claims import intervals
from rbmbench.reporting.claims.evidence import Evidence, NotRun
from rbmbench.reporting.claims.measurements import MEASUREMENTS
from rbmbench.reporting.claims.verdict import NOT_REPRODUCED, REPRODUCED, verdict


def entries(tmp_path, rows, published=None) -> Evidence:
    spec = parse_spec(table(tmp_path, rows, published=published), "test")
    return Evidence("popcd", [spec], {"table1": published} if published else {})


def steps(*values):
    """Return three trials with the same values."""
    return np.tile(np.array(values, float), (3, 1))


ONE, TWO = "fig1.a.one", "fig1.a.two"
PAIR, REVERSED, CURVES = {"curve": ONE, "against": TWO}, {"curve": TWO, "against": ONE}, {"curves": [ONE, TWO]}
TRIALS = np.array([0.0, 3.0, -4.0, 7.0])[:, None] + np.zeros(41)
FALLING = {"one": steps(-20, -10, -15), "two": steps(-20, -14, -12)}
SLOPES = {"one": np.linspace(-21, -1, 201) + np.zeros((3, 1)), "two": np.linspace(-21, -3, 201) + np.zeros((3, 1))}
BEHIND = {"one": steps(-20, -17, -12, -11, -13), "two": steps(-20, -14, -12, -10, -10)}  # by 3 of 10, 0, 1 and 3
KNOWN = [
    ("decline", {"one": steps(-20, *[-10] * 10, *[-12] * 30)}, {"curve": ONE}, 0.2),
    ("decline", {"one": steps(*np.linspace(-1, -9, 41))}, {"curve": ONE}, math.inf),
    # A single high evaluation is no maximum: the final value is the mean of two.
    ("decline", {"one": steps(-20, *[-10] * 20, -8, *[-10] * 19)}, {"curve": ONE}, 1 / 11),
    ("decline_difference", FALLING | {"two": steps(-20, -10, -12)}, PAIR, 0.5 - 0.2),
    # Paired by trial.
    ("final_difference", {"one": TRIALS - 9, "two": TRIALS - 7}, REVERSED, 2.0),
    ("final_lead", {"one": rising(-5.2, start=-25.0), "two": rising(-5.0, start=-25.0)}, PAIR, -0.2 / 20),
    ("final_spread", SLOPES, CURVES, ((-1 - 20 * 4.5 / 200) - (-3 - 18 * 4.5 / 200)) / (20 - 20 * 4.5 / 200)),
    # Both end below their start.
    ("final_spread", {"one": steps(-5, -8), "two": steps(-5, -9)}, CURVES, math.inf),
    # Leads beside a curve that falls are infinite.
    ("final_lead", {"one": steps(-20, -10), "two": steps(-20, -30)}, PAIR, math.inf),
    ("gain_after", {"one": steps(-10, *[-30] * 20, *[-18] * 20)}, {"curve": ONE, "after": 1000}, math.inf),
    ("gain_after", {"one": steps(-30, *[-10] * 20, *[-9] * 20)}, {"curve": ONE, "after": 1000}, 1 / 20),
    ("peak_difference", FALLING, PAIR, 2.0),
    ("peak_spread", FALLING, CURVES, 2 / 10),
    ("peak_iteration", FALLING, {"curve": ONE}, 100.0),
    ("peak_iteration", FALLING, {"curve": TWO}, 200.0),
    ("falls_behind", BEHIND, PAIR | {"share": 0.05}, 300.0),
    ("falls_behind", BEHIND, PAIR | {"share": 0.2}, 400.0),
    ("falls_behind", BEHIND, PAIR | {"share": 0.5}, math.inf),
    ("rising_share", {"one": steps(-9, -8, -8.5, -7, -6)}, {"curve": ONE}, 0.75),
]


@pytest.mark.parametrize(("kind", "curves", "options", "expected"), KNOWN)
def test_measurements_of_known_values(tmp_path, kind, curves, options, expected):
    measurement = MEASUREMENTS[kind](evidence(tmp_path, curves), **options)
    assert (measurement.value, measurement.low, measurement.high) == pytest.approx(3 * (expected,), rel=1e-3)


def test_reach_difference_beside_a_curve_of_one_trial_is_that_of_all_other_trials(tmp_path):
    slopes = np.array([1.0, 1.25, 1.5, 2.0, 2.25])[:, None] * np.arange(21)
    curves = {"one": np.minimum(slopes, 20) - 20, "two": np.minimum(slopes / 2, 20) - 20}
    options = {"share": 0.5, "metric": "log_likelihood"} | PAIR
    alone = MEASUREMENTS["reach_difference"](evidence(tmp_path / "alone", curves), **options)
    best = np.linspace(-20, 0, 21)[None]  # the level stays -10
    measurement = MEASUREMENTS["reach_difference"](evidence(tmp_path / "beside", curves | {"best": best}), **options)
    assert (measurement.value, measurement.low, measurement.high) == (alone.value, alone.low, alone.high)
    assert measurement.high > measurement.low
    assert sorted(source.budget["trials"] for source in measurement.sources) == [1, 5, 5]


def test_difference_from_a_curve_of_one_trial_has_the_interval_of_its_estimates(tmp_path):
    values = {"one": rising(-5.0, 1), "two": rising(-6.0, 1)}
    annealed = {"effective_particles": 50}
    single = MEASUREMENTS["final_difference"](evidence(tmp_path / "single", values, **annealed), **PAIR)
    several = values | {"one": np.concatenate([values["one"], rising(-4.0, 4)])}
    paired = MEASUREMENTS["final_difference"](evidence(tmp_path / "several", several, **annealed), **PAIR)
    assert single.low < 1.0 < single.high
    assert (paired.value, paired.low, paired.high) == (single.value, single.low, single.high)


def test_gain_after_the_last_iteration_is_not_run(tmp_path):
    with pytest.raises(NotRun, match="ends at iteration 4000"):
        MEASUREMENTS["gain_after"](evidence(tmp_path, {"one": steps(*range(41))}), curve=ONE, after=4000)


def test_lead_after_a_share_of_the_paper_s_iterations(tmp_path):
    line = np.linspace(-20.0, -10.0, 11)[None].repeat(3, axis=0)
    curves = {"cd_1": line, "pop_cd_1": (line + 20) / 2 - 20}
    source = evidence(tmp_path, curves, published={"iterations": 2000})
    names = {"curve": "fig1.a.pop_cd_1", "against": "fig1.a.cd_1"}
    # At iteration 500 of 1000 CD-1 has risen by 5, pop-CD-1 by half of that.
    assert MEASUREMENTS["lead_after"](source, **names, share=0.25).value == pytest.approx(-0.5)
    with pytest.raises(NotRun, match="ends at iteration 1000, the claim is on iteration 1500"):
        MEASUREMENTS["lead_after"](source, **names, share=0.75)


def falls(mean, trials, repetitions):
    """Yield measured declines of a mean curve in trials with noise within and between them, for a rise of 1."""
    generator, times = np.random.default_rng(5), np.linspace(0, 1, len(mean))
    for _ in range(repetitions):
        levels, slopes = generator.standard_normal((2, trials, 1))
        noise = generator.standard_normal((trials, len(mean) + 4))
        within = np.lib.stride_tricks.sliding_window_view(noise, 5, axis=1).sum(axis=-1) / np.sqrt(5)
        values = mean + 0.02 * within + 0.05 * (levels * np.minimum(3 * times, 1) + slopes * times)
        curves = pd.DataFrame(values, columns=100 * np.arange(len(mean)))
        source = SimpleNamespace(trials=curves, mean=curves.mean(), late=times >= 0.95, label="CD-1")
        source.of_trials = lambda _, values=values: values
        yield MEASUREMENTS["decline"](SimpleNamespace(of=lambda *_, _source=source, **__: _source), curve="cd_1")


@pytest.mark.parametrize("trials", [3, 25])
def test_declines_are_detected_and_excluded_at_the_nominal_rates(trials):
    times, repetitions = np.linspace(0, 1, 41), 200
    rise = np.minimum(times / 0.2, 1.0)
    # At an error rate of 2.5 % more than 15 of 200 have a chance of 5e-5.
    most = 15
    level = list(falls(rise, trials, repetitions))
    assert sum(fall.low > 0.005 for fall in level) <= most
    slope = np.clip((times - 0.5) / 0.5, 0, 1)
    at_the_bound = 0.01 / np.mean(slope[times >= 0.95])
    bounds = list(falls(rise - at_the_bound * slope, trials, repetitions))
    assert sum(fall.low > 0.01 for fall in bounds) <= most
    assert sum(fall.high < 0.01 for fall in bounds) <= most
    # Large declines are detected, small ones excluded.
    assert sum(fall.low > 0.01 for fall in falls(rise - slope, trials, 20)) > 15
    if trials == 25:
        assert sum(fall.high < 0.05 for fall in level) > 100


def timed(seconds: float, **more) -> dict:
    return {"wall": {"training_seconds": seconds}, **more}


def test_interval_of_the_run_time_ratio_spans_the_panels(tmp_path):
    times = [("a", "cd_1", 2.0), ("a2", "pt_10", 12.0), ("b", "cd_1", 1.0), ("b2", "pt_10", 24.0)]
    specs = [
        figure(tmp_path / panel, {panel: {"curves": {name: rising(-5.0)}, "meta": timed(seconds)}})
        for panel, name, seconds in times
    ]
    panels = [spec["panels"][0] for spec in specs]
    joined = [
        cd_panel | {"runs": cd_panel["runs"] + pt_panel["runs"]}
        for cd_panel, pt_panel in zip(panels[::2], panels[1::2], strict=True)
    ]
    source = Evidence("popcd", [parse_spec(specs[0] | {"panels": joined}, "test")])
    measurement = MEASUREMENTS["run_time_ratio"](source, algorithm="pt_10", against="cd_1", figures=["fig1", "fig2"])
    assert (measurement.value, measurement.low, measurement.high) == pytest.approx((12.0, 6.0, 24.0))


def test_run_times_of_smaller_models_than_published_are_not_run(tmp_path):
    curves = {"cd_1": rising(-5.0), "pt_10": rising(-5.0)}
    for hidden, raises in ((3, False), (500, True)):
        panel = {"curves": curves, "meta": timed(1.0), "published": {"hidden": hidden}}
        spec = figure(tmp_path / str(hidden), {"a": panel})
        source = Evidence("popcd", [parse_spec(spec, "test")])
        names = {"algorithm": "pt_10", "against": "cd_1", "figures": ["fig1"]}
        if raises:
            with pytest.raises(NotRun, match=r"fig1\.a left out: 3 of 500 hidden units"):
                MEASUREMENTS["run_time_ratio"](source, **names)
        else:
            assert MEASUREMENTS["run_time_ratio"](source, **names).value == pytest.approx(1.0)


def test_run_times_of_different_machines_are_not_run(tmp_path):
    spec = figure(tmp_path / "one", {"a": {"curves": {"cd_1": rising(-5.0)}, "meta": timed(1.0)}})
    two = figure(tmp_path / "two", {"a": {"curves": {"pt_10": rising(-5.0)}, "meta": timed(9.0, threads=4)}})
    spec["panels"][0]["runs"] += two["panels"][0]["runs"]
    source = Evidence("popcd", [parse_spec(spec, "test")])
    with pytest.raises(NotRun, match="different machines, settings or trials"):
        MEASUREMENTS["run_time_ratio"](source, algorithm="pt_10", against="cd_1", figures=["fig1"])


def test_variance_ratio_of_one_model_and_of_several(tmp_path):
    single_model = entries(tmp_path / "1", {"r": {"cd_1": [numbers(1e-4, 0, 0)], "pop_cd_1": [numbers(1e-3, 0, 0)]}})
    measurement = MEASUREMENTS["variance_ratio"](single_model, entry="table1.r.cd_1", against="table1.r.pop_cd_1")
    edge = stats.f.ppf(0.975, 1999, 1999)
    assert (measurement.value, measurement.low, measurement.high) == pytest.approx((0.1, 0.1 / edge, 0.1 * edge))
    ratios = (1e-1, 1e-2, 10**-1.5)
    several = {"cd_1": [numbers(1e-4, 0, 0)] * 3, "pop_cd_1": [numbers(1e-4 / r, 0, 0) for r in ratios]}
    several = entries(tmp_path / "2", {"r": several})
    measurement = MEASUREMENTS["variance_ratio"](several, entry="table1.r.cd_1", against="table1.r.pop_cd_1")
    assert measurement.value == pytest.approx(10**-1.5)
    assert measurement.high / measurement.value == pytest.approx(10 ** (0.5 / np.sqrt(3) * stats.t.ppf(0.975, 2)))


def test_bias_difference_of_one_model_adds_both_intervals(tmp_path):
    rows = {"r": {"cd_1": [numbers(1e-4, 0.02, 0.001)], "pop_cd_1": [numbers(1e-3, 0.005, 0.002)]}}
    measurement = MEASUREMENTS["bias_difference"](
        entries(tmp_path, rows), entry="table1.r.cd_1", against="table1.r.pop_cd_1"
    )
    assert (measurement.value, measurement.low, measurement.high) == pytest.approx((0.015, 0.012, 0.018))


def test_bias_ratio_is_that_of_means_over_models(tmp_path):
    biases = {"cd_1": (0.02, 0.03, 0.07), "pop_cd_1": (0.002, -0.001, 0.005)}
    rows = {name: [numbers(1e-4, bias, 1e-3) for bias in values] for name, values in biases.items()}
    evidence = entries(tmp_path, {"r": rows | {"pcd_1": rows["cd_1"][:1]}})
    measurement = MEASUREMENTS["bias_ratio"](evidence, entry="table1.r.pop_cd_1", against="table1.r.cd_1")
    assert measurement.value == pytest.approx(0.006 / 0.12)
    assert measurement.low < 0 < measurement.value < measurement.high
    single = MEASUREMENTS["bias_ratio"](evidence, entry="table1.r.pcd_1", against="table1.r.cd_1")
    assert single.value == pytest.approx(1.0)
    assert np.isnan(single.low)


def test_evidence_of_a_source_is_read_once(tmp_path, monkeypatch):
    evidence = entries(tmp_path, {"r": {"cd_1": [numbers(1e-4, 0.02, 0.001)]}})
    names = []
    kind = type(evidence.spec("table1"))
    original = kind.evidence
    monkeypatch.setattr(kind, "evidence", lambda *args, **options: names.append(args[2]) or original(*args, **options))
    for name in ("table1.r.cd_1", "table1.r.cd_1", "table1.r.pcd_1", "table1.r.pcd_1"):
        with suppress(NotRun):
            evidence.of(name, "bias_variance")
    assert names == ["r.cd_1", "r.pcd_1"]


def magnitude(tmp_path, model, algorithm, quantity):
    source = entries(tmp_path, {"r": {algorithm: [model]}}, PRINTED)
    return MEASUREMENTS["order_of_magnitude"](source, entry=f"table1.r.{algorithm}", quantity=quantity)


def test_order_of_magnitude_is_a_factor_of_ten(tmp_path):
    measurement = magnitude(tmp_path, numbers(2e-4, 0.05, 0.001), "cd_1", "bias")
    assert (measurement.value, measurement.low, measurement.high) == pytest.approx((0.05, 0.049, 0.051))
    assert measurement.bounds == pytest.approx((0.002, 0.2))
    assert measurement.published == 0.02


def test_order_of_magnitude_of_a_variance_has_the_chi_squared_interval(tmp_path):
    measurement = magnitude(tmp_path, numbers(2e-4, 0.05, 0.001), "cd_1", "variance")
    assert (measurement.value, measurement.low, measurement.high) == pytest.approx(intervals.variance(2e-4, 2000))


def test_published_bias_at_its_floor_has_no_lower_bound(tmp_path):
    measurement = magnitude(tmp_path, numbers(4e-4, 1e-8, 2e-8), "pop_cd_1", "bias")
    assert measurement.bounds == (-math.inf, pytest.approx(8e-8))
    assert verdict(measurement.low, measurement.high, *measurement.bounds) == REPRODUCED
    assert "at its floor" in measurement.what


@pytest.mark.parametrize(("scale", "expected"), [(1.0, REPRODUCED), (30.0, NOT_REPRODUCED), (1 / 30, NOT_REPRODUCED)])
def test_typical_model_compares_a_printed_bias_with_those_of_models(tmp_path, scale, expected):
    # Biases from a tenth to ten times the printed 0.02, the median of 25 at the printed one.
    biases = 0.02 * scale * np.geomspace(0.1, 10, 25)
    source = entries(tmp_path, {"r": {"cd_1": [numbers(2e-4, bias, 0.0) for bias in biases]}}, PRINTED)
    measurement = MEASUREMENTS["typical_model"](source, entry="table1.r.cd_1", quantity="bias")
    assert measurement.value == pytest.approx(0.02 * scale)
    assert biases[0] < measurement.low < measurement.value < measurement.high < biases[-1]
    low, high = np.quantile(biases, [0.05, 0.95])
    assert measurement.bounds == pytest.approx((0.02 * 0.02 * scale / high, 0.02 * 0.02 * scale / low))
    assert verdict(measurement.low, measurement.high, *measurement.bounds) == expected


def test_typical_model_with_quantiles_below_0_has_no_upper_bound(tmp_path):
    biases = 0.02 * np.linspace(-0.5, 2, 25)
    source = entries(tmp_path, {"r": {"cd_1": [numbers(2e-4, bias, 0.0) for bias in biases]}}, PRINTED)
    measurement = MEASUREMENTS["typical_model"](source, entry="table1.r.cd_1", quantity="bias")
    assert measurement.bounds == (pytest.approx(0.02 * measurement.value / np.quantile(biases, 0.95)), math.inf)
    negative = entries(tmp_path / "-", {"r": {"cd_1": [numbers(2e-4, -bias, 0.0) for bias in biases]}}, PRINTED)
    with pytest.raises(NotRun, match="which has no ratio to a printed one"):
        MEASUREMENTS["typical_model"](negative, entry="table1.r.cd_1", quantity="bias")


def test_a_single_annealed_trial_has_the_interval_of_its_annealing(tmp_path):
    # Rises by 10, falls by 5; errors of 0.25 nats give 0.25 sqrt(2) / 10 for the fall, and a little for the rise.
    values = np.array([[-20.0, -10.0, -15.0]])
    source = evidence(tmp_path, {"cd_1": values}, effective_particles=64.0)
    measurement = MEASUREMENTS["decline"](source, curve="fig1.a.cd_1")
    error = np.hypot(0.025, np.hypot(0.0125, 0.0125))
    assert measurement.value == pytest.approx(0.5)
    assert (measurement.low, measurement.high) == pytest.approx((0.5 - 1.96 * error, 0.5 + 1.96 * error), abs=0.01)
    assert measurement.notes == ("one trial: the interval is that of its estimates",)
    exact = MEASUREMENTS["decline"](evidence(tmp_path / "exact", {"cd_1": values}), curve="fig1.a.cd_1")
    assert math.isnan(exact.low)


def test_usual_variance_ratio_is_the_median_of_the_pairs(tmp_path):
    variances = {"cd_1": 1.0, "pop_cd_1": 20.0, "cd_10": 4.0, "pop_cd_10": 12.0}
    source = entries(tmp_path, {"r": {name: [numbers(variance, 0, 0)] for name, variance in variances.items()}})
    names = [f"table1.r.{name}" for name in ("pop_cd_1", "pop_cd_10", "cd_10")]
    other = [f"table1.r.{name}" for name in ("cd_1", "cd_10", "cd_1")]
    measurement = MEASUREMENTS["usual_variance_ratio"](source, entries=names, against=other)
    # The ratios are 20, 3 and 4; the interval is that of the middle one.
    assert (measurement.value, measurement.low, measurement.high) == pytest.approx(intervals.variance_ratio(4, 1, 2000))
    with pytest.raises(NotRun, match="must have as many entries in against, got 3 and 2"):
        MEASUREMENTS["usual_variance_ratio"](source, entries=names, against=other[:2])
