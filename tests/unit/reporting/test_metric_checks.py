# SPDX-License-Identifier: BSD-3-Clause
"""Measurements of diagnostics, bands, references, stopping times and run times, on made results."""

import numpy as np
import pytest
from reporting_results import differences, evidence, figure, make_run, rising
from scipy import stats

from rbmbench import datasets
from rbmbench.base.errors import SettingsError
from rbmbench.base.parsing import parse
from rbmbench.kinds import parse_spec
from rbmbench.reporting.claims.evidence import Evidence, NotRun
from rbmbench.reporting.claims.judge import ClaimsSpec, evaluate
from rbmbench.reporting.claims.measurements import MEASUREMENTS
from rbmbench.reporting.claims.verdict import REPRODUCED
from unit.kinds.test_coupling_times import coupling_figure
from unit.kinds.test_run_times import SECONDS, times_table


def flat(final: float, trials: int = 3) -> np.ndarray:
    return np.full((trials, 41), final)


def diagnostic(values, **more) -> dict:
    """Return settings of a panel of one curve that shows stopping_time (trials, evaluations)."""
    return {"diagnostics": {"ucd": {"stopping_time": values}}, "metrics": ["stopping_time"], **more}


def test_final_gap_is_to_the_reference_line_of_the_panel(tmp_path):
    file = tmp_path / "toy.npz"
    built = datasets.build("toy", "Toy", train=np.eye(5, dtype=int), source="rule", preprocessing="none", options={})
    datasets.save(built, file)
    values = -np.log(5) - 0.25 + np.array([-0.1, 0.0, 0.1])[:, None] + np.zeros(41)
    source = evidence(tmp_path, {"ucd": values}, references=["maximum"], data_file=str(file))
    gap = MEASUREMENTS["final_gap"](source, curve="fig1.a.ucd", reference="maximum")
    half = 0.1 / np.sqrt(3) * stats.t.ppf(0.975, 2)
    assert (gap.value, gap.low, gap.high) == pytest.approx((-0.25, -0.25 - half, -0.25 + half))
    with pytest.raises(SettingsError, match="has no reference 'true_model'; got maximum"):
        MEASUREMENTS["final_gap"](source, curve="fig1.a.ucd", reference="true_model")


def test_band_ratio_is_that_of_the_figure_s_quantiles(tmp_path):
    spread = np.random.default_rng(7).normal(size=(101, 1)) + np.zeros(41)
    source = evidence(tmp_path, {"ucd": spread / 4, "cd_1": spread - 3}, band={"quantiles": [0.025, 0.975]})
    ratio = MEASUREMENTS["final_band_ratio"](source, curve="fig1.a.ucd", against="fig1.a.cd_1")
    # Equal in every resample, for the trials are paired.
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((0.25, 0.25, 0.25))
    assert ratio.what.startswith("width of the 2.5 to 97.5 % band of final values, ucd over CD-1, 101 trials")


def test_differences_and_declines_are_of_the_requested_metric(tmp_path):
    proxy = np.concatenate([np.linspace(-10, -5, 21), np.linspace(-5, -7.5, 20)]) + np.zeros((3, 1))
    panel = {
        "curves": {"ucd": flat(-3.0), "cd_1": flat(-4.0)},
        "diagnostics": {
            "ucd": {"reconstruction_log_likelihood": proxy + 0.5},
            "cd_1": {"reconstruction_log_likelihood": proxy},
        },
    }
    source = evidence(tmp_path, **panel)
    names = {"curve": "fig1.a.ucd", "against": "fig1.a.cd_1"}
    proxied = MEASUREMENTS["final_difference"](source, **names, metric="reconstruction_log_likelihood")
    assert (MEASUREMENTS["final_difference"](source, **names).value, proxied.value) == pytest.approx((1.0, 0.5))
    assert proxied.what.startswith("final reconstruction log-likelihood, no bound, ucd minus CD-1, nats per sample")
    fall = MEASUREMENTS["decline"](source, curve="fig1.a.cd_1", metric="reconstruction_log_likelihood")
    assert fall.value == pytest.approx((-5 - proxy[0, -2:].mean()) / (-5 - proxy[0, 1]))


def test_metric_mean_is_over_all_iterations(tmp_path):
    values = np.where(np.arange(41) <= 20, 2.0, 5.0) + np.array([[0.0], [0.5], [1.0]])
    source = evidence(tmp_path, {"ucd": flat(-5.0)}, **diagnostic(values))
    mean = MEASUREMENTS["metric_mean"](source, curve="fig1.a.ucd")
    assert mean.value == pytest.approx(3.5 + 0.5)
    assert mean.low < 3.5 < 4.5 < mean.high
    assert mean.what == "mean stopping time τ (Gibbs steps) of ucd, mean over all iterations"
    late = MEASUREMENTS["metric_mean"](source, curve="fig1.a.ucd", after=2000)
    assert late.value == pytest.approx(5.5)
    assert MEASUREMENTS["metric_mean"](source, curve="fig1.a.ucd", metric="log_likelihood").value == pytest.approx(-5.0)
    with pytest.raises(NotRun, match="ends at iteration 4000, the claim is on iterations after 4000"):
        MEASUREMENTS["metric_mean"](source, curve="fig1.a.ucd", after=4000)


@pytest.mark.parametrize(
    ("iterations", "settings", "mean"),
    [
        # 100 iterations at 2 and 20 at 8.
        ([0, 100, 120], {}, 3.0),
        # A stage that begins at 80 and halts at 100: 20 iterations at 2, as many at 8.
        ([0, 100, 120], {"evaluate_every": 100, "schedule": [{"until": 80}, {"until": 120}]}, 5.0),
        # An evaluation in between, at 60: 40 iterations at 2, 20 at 8.
        ([0, 100, 120], {"evaluate_every": 100, "evaluate_at": [60], "schedule": [{"until": 120}]}, 4.0),
        # The evaluation before is at 150: 50 iterations at 2, 150 at 8.
        ([0, 200, 350], {"evaluate_every": 150, "schedule": [{"until": 350}]}, 6.5),
    ],
)
def test_metric_mean_weighs_evaluations_by_their_iterations(tmp_path, iterations, settings, mean):
    values = np.array([[0.0, 2.0, 8.0]])
    meta = {"settings": settings}
    more = {"iterations": iterations, "diagnostics": {"stopping_time": values}, "meta": meta}
    folder = make_run(tmp_path / "run", values, **more)
    spec = figure(tmp_path, {"a": {"curves": {"ucd": flat(-5.0)}, "metrics": ["stopping_time"]}})
    spec["panels"][0]["runs"][0]["folder"] = folder
    source = Evidence("popcd", [parse_spec(spec, "test")])
    assert MEASUREMENTS["metric_mean"](source, curve="fig1.a.ucd").value == pytest.approx(mean)


def violating():
    """Return values of three trials with three values outside 0 to 1 in the second and third."""
    values = np.full((3, 41), 0.5)
    values[1, [7, 9]], values[2, 40], values[0, 0] = -0.25, 1.5, 99.0  # the first evaluation has no diagnostic
    return values


EVALUATIONS = np.arange(41)
COUNTED = np.tile(EVALUATIONS.astype(float), (3, 1))
AROUND = np.array([[0.0], [0.1], [-0.1]])
PEAK = np.concatenate([np.linspace(1.0, 8.0, 21), np.linspace(8.0, 2.0, 21)[1:]]) * np.array([[1.0], [0.9], [1.1]])
CLIMB = 3 + np.tanh((100 * EVALUATIONS - 1200) / 150) + 1e-2 * EVALUATIONS + AROUND
# Climbs faster and faster to iteration 1300, and falls slowly.
SUDDEN = np.where(EVALUATIONS < 13, np.exp(EVALUATIONS / 3), np.exp(13 / 3 - (EVALUATIONS - 13) / 90)) + AROUND
KNOWN = [
    # Iterations 31 to 40 of 40; of shifted trials the mean moves by less than Student's half width, 2.48 iterations.
    ("metric_share", COUNTED, {"limit": 30.0}, (0.25, 0.25, 0.25)),
    ("metric_share", COUNTED + np.array([[-1.0], [0.0], [1.0]]), {"limit": 30.0}, (0.25, 8 / 40, 13 / 40)),
    ("metric_violations", violating(), {"at_least": 0.0, "at_most": 1.0}, (3.0, 3.0, 3.0)),
    ("metric_violations", violating(), {"at_least": 0.0}, (2.0, 2.0, 2.0)),
    ("metric_violations", violating(), {"at_most": 1.5}, (0.0, 0.0, 0.0)),
    ("metric_share_of_peak", PEAK, {"iteration": 4000}, (0.25, 0.25, 0.25)),
    ("steepest_rise", CLIMB, {}, (1200.0, 1200.0, 1200.0)),
    *(
        ("steepest_rise", SUDDEN, {"window": window}, 3 * (middle,))
        for window, middle in ((1, 1250), (100, 1250), (400, 1100), (1000, 800), (None, 1200))
    ),
]


@pytest.mark.parametrize(("kind", "values", "options", "expected"), KNOWN)
def test_measurements_of_known_values(tmp_path, kind, values, options, expected):
    source = evidence(tmp_path, {"ucd": flat(-5.0)}, **diagnostic(values))
    measurement = MEASUREMENTS[kind](source, curve="fig1.a.ucd", **options)
    assert (measurement.value, measurement.low, measurement.high) == pytest.approx(expected)


def test_metric_ratio_is_robust_against_an_outlier(tmp_path):
    values = np.full((3, 41), 2.0)
    extreme = np.where(EVALUATIONS == 7, 1e6, 3 * values)
    more = {"diagnostics": {"ucd": {"variance": extreme}, "cd_1": {"variance": values}}}
    source = evidence(tmp_path, {"ucd": flat(-5.0), "cd_1": flat(-6.0)}, **more)
    ratio = MEASUREMENTS["metric_ratio"](source, curve="fig1.a.ucd", against="fig1.a.cd_1", metric="variance")
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((3.0, 3.0, 3.0))


def test_metric_at_an_iteration_is_the_mean_over_trials(tmp_path):
    values = np.arange(41.0) + np.array([-3.0, 0.0, 3.0])[:, None]
    source = evidence(tmp_path, {"ucd": flat(-5.0)}, **diagnostic(values))
    mean = MEASUREMENTS["metric_at"](source, curve="fig1.a.ucd", iteration=1700)
    half = 3 / np.sqrt(3) * stats.t.ppf(0.975, 2)
    assert (mean.value, mean.low, mean.high) == pytest.approx((17.0, 17.0 - half, 17.0 + half))
    assert mean.what == "mean stopping time τ (Gibbs steps) of ucd at iteration 1700, mean over the trials"
    with pytest.raises(NotRun, match=r"fig1\.a\.ucd has no evaluation at iteration 4100; its last one is at 4000"):
        MEASUREMENTS["metric_at"](source, curve="fig1.a.ucd", iteration=4100)


def test_metric_quantile_is_robust_against_a_stuck_trial(tmp_path):
    values = np.linspace(1.0, 3.0, 101)[:, None] + np.zeros(41)
    values[-1] = 1e6
    source = evidence(tmp_path, {"ucd": flat(-5.0, 101)}, **diagnostic(values))
    quantile = MEASUREMENTS["metric_quantile"](source, curve="fig1.a.ucd", iteration=4000, quantile=0.5)
    assert quantile.value == pytest.approx(2.0)
    assert 1.6 < quantile.low < 2.0 < quantile.high < 2.4
    assert "50 % quantile over the trials" in quantile.what
    assert quantile.notes == ("10 to 90 % of the 101 trials: 1.2 to 2.8",)


def with_k(k: int) -> dict:
    return {"settings": {"schedule": [{"estimator": {"name": "cd", "options": {"k": k}}}]}}


def several_k(tmp_path, finals: dict[int, float]) -> Evidence:
    """Return a figure of CD-k with these final values, and of UCD with -5."""
    panels = {"ucd": figure(tmp_path, {"a": {"curves": {"ucd": rising(-5.0)}}})["panels"][0]}
    for k, final in finals.items():
        cd_figure = figure(tmp_path / str(k), {"a": {"curves": {f"cd_{k}": rising(final)}, "meta": with_k(k)}})
        panels["ucd"]["runs"] += cd_figure["panels"][0]["runs"]
    spec = figure(tmp_path / "whole", {"a": {"curves": {"ucd": rising(-5.0)}}}) | {"panels": [panels["ucd"]]}
    return Evidence("popcd", [parse_spec(spec, "test")])


@pytest.mark.parametrize(
    ("finals", "smallest"),
    [({2: -7.0, 10: -5.1, 20: -4.9}, 10), ({2: -7.0, 20: -4.0, 10: -6.0}, 20), ({2: -7.0, 10: -6.0}, np.inf)],
)
def test_smallest_within_is_the_least_k_within_a_share_of_the_rise(tmp_path, finals, smallest):
    source = several_k(tmp_path, finals)
    names = [f"fig1.a.cd_{k}" for k in finals]
    # The rise is 15, so that 0.02 of it is 0.3.
    measurement = MEASUREMENTS["smallest_within"](source, curves=names, against="fig1.a.ucd", tolerance=0.02)
    assert (measurement.value, measurement.low, measurement.high) == (smallest, smallest, smallest)


def test_smallest_within_of_a_curve_without_k_raises(tmp_path):
    source = several_k(tmp_path, {2: -5.0})
    source.of("fig1.a.cd_2").meta["settings"]["schedule"][-1]["estimator"]["options"] = {}
    with pytest.raises(SettingsError, match=r"fig1\.a\.cd_2: its estimator must have the option k, got none"):
        MEASUREMENTS["smallest_within"](source, curves=["fig1.a.cd_2"], against="fig1.a.ucd", tolerance=0.1)


def test_share_of_stopping_times_has_the_exact_interval(tmp_path):
    spec = coupling_figure(tmp_path, rbm=[*[3] * 13, *[17] * 7], general=[29] * 20)
    source = Evidence("ucd", [parse_spec(spec, "test")])
    share = MEASUREMENTS["stopping_time_share"](source, times="fig5.rbm", within=10)
    ends = stats.beta.ppf([0.025, 0.975], [13, 14], [8, 7])
    assert (share.value, share.low, share.high) == pytest.approx((0.65, *ends))
    # No chains met within the longest time.
    cut = MEASUREMENTS["stopping_time_share"](source, times="fig5.general", within=29)
    assert (cut.value, cut.low) == (0.0, 0.0)
    assert 0 < cut.high < 0.2
    with pytest.raises(NotRun, match=r"fig5\.maximal is not part of this scale"):
        MEASUREMENTS["stopping_time_share"](source, times="fig5.maximal", within=10)


def timed(tmp_path, **more) -> Evidence:
    return Evidence("ucd", [parse_spec(times_table(tmp_path, SECONDS, **more), "test")])


def test_run_time_magnitude_is_compared_with_the_published_ratio(tmp_path):
    ratio = MEASUREMENTS["run_time_magnitude"](timed(tmp_path / "a"), table="table1", algorithm="ucd", factor=5.0)
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((7.0, 7.0, 7.0))
    assert ratio.published == pytest.approx(19.0)
    assert ratio.bounds == pytest.approx((3.8, 95.0))
    with pytest.raises(NotRun, match="no published time of ucd in table1"):
        MEASUREMENTS["run_time_magnitude"](timed(tmp_path / "b", published={}), table="table1", algorithm="ucd")
    with pytest.raises(NotRun, match="table1 has no ratio of cd_5"):
        MEASUREMENTS["run_time_magnitude"](timed(tmp_path / "c"), table="table1", algorithm="cd_5")


def test_claims_on_times_have_verdicts(tmp_path):
    claims = [
        {"id": "ucd_5", "kind": "stopping_time_share", "times": "fig5.rbm", "within": 10, "above": 0.3},
        {"id": "ucd_8", "kind": "run_time_magnitude", "table": "table1", "algorithm": "ucd", "needs": {"trials": 7}},
        {"id": "ucd_9", "kind": "stopping_time_share", "times": "fig5.rbm", "within": 10, "above": 0.3}
        | {"needs": {"replications": 1000}},
    ]
    file = {"claims": [{"where": "here", "text": "so"} | claim for claim in claims]}
    times = coupling_figure(tmp_path, rbm=[*[3] * 15, *[17] * 5]) | {"replications": 20}
    times["differences"] = differences(times, {"replications": 1000})
    spec = {"scale": "tiny", "outputs": [times, times_table(tmp_path)], "claims": {"ucd": file}}
    first, second, third, *_ = evaluate(parse(ClaimsSpec, spec, "test"))
    assert (first.verdict, second.verdict) == (REPRODUCED, REPRODUCED)
    assert "20 of 1 000 replications" in first.note
    assert "needs 1000 replications, got 20" in third.note
