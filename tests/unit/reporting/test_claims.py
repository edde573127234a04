# SPDX-License-Identifier: BSD-3-Clause
"""Claims: verdicts on both sides of their boundaries, power, notes on what results lack, and variants."""

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from reporting_results import DIFFERENCE, PRINTED, falling, figure, numbers, rising, stand_in, table

from rbmbench.base.errors import ResultsError, SettingsError
from rbmbench.base.parsing import parse
from rbmbench.kinds.bias_variance import Published
from rbmbench.reporting.claims import intervals
from rbmbench.reporting.claims.files import ClaimFile, claims_of, expanded
from rbmbench.reporting.claims.judge import ClaimsSpec, evaluate
from rbmbench.reporting.claims.verdict import (
    COLUMNS,
    INCONCLUSIVE,
    NOT_REPRODUCED,
    REPRODUCED,
    Verdict,
    power,
    read_verdicts,
    verdict,
    write_verdicts,
)
from rbmbench.reporting.claims.verdict import table as table_of
from unit.kinds.test_step_times import step_table

APART = {"cd_1": rising(-6.0), "pop_cd_1": rising(-5.0)}


def judged(*arguments, **options) -> pd.DataFrame:
    return table_of(records(*arguments, **options))


def records(claims, figures=(), tables=(), needs=None, published=None) -> list[Verdict]:
    file = {"claims": list(claims), "needs": needs or {}, "published_tables": published or {}}
    printed = {f"popcd_{key}": {"published": numbers} for key, numbers in (published or {}).items()}
    outputs = [*figures, *(table_spec | printed.get(table_spec["key"], {}) for table_spec in tables)]
    values = {"scale": "tiny", "outputs": outputs, "claims": {"popcd": file}}
    return evaluate(parse(ClaimsSpec, values, "test"))


@pytest.mark.parametrize(
    ("low", "high", "above", "below", "result"),
    [
        (0.1, 0.2, 0.0, math.inf, REPRODUCED),
        (-0.2, -0.1, 0.0, math.inf, NOT_REPRODUCED),
        (-0.1, 0.1, 0.0, math.inf, INCONCLUSIVE),
        (0.0, 0.2, 0.0, math.inf, INCONCLUSIVE),
        (-0.2, 0.0, 0.0, math.inf, INCONCLUSIVE),
        (0.1, 0.2, -math.inf, 0.2, INCONCLUSIVE),
        (0.1, 0.19, -math.inf, 0.2, REPRODUCED),
        (0.21, 0.3, -math.inf, 0.2, NOT_REPRODUCED),
        (0.1, 0.2, 0.05, 0.25, REPRODUCED),
        (0.0, 0.3, 0.05, 0.25, INCONCLUSIVE),
        (None, None, 0.0, math.inf, INCONCLUSIVE),
    ],
)
def test_verdict_by_interval_and_range(low, high, above, below, result):
    assert verdict(low, high, above, below) == result


@pytest.mark.parametrize(
    ("measurement", "bounds", "possible", "result"),
    [
        # The interval is 2 to 5 around 3: at 0 it would hold -1 to 2.
        ((3, 2, 5), (0, math.inf), (-math.inf, math.inf), "below -2"),
        ((3, 2, 5), (-math.inf, 4), (-math.inf, math.inf), "above 5"),
        ((3, 2, 5), (0, 4), (-math.inf, math.inf), "below -2 or above 5"),
        # Of positive numbers 2/3 to 5/3 of them.
        ((3, 2, 5), (1, 12), (0, math.inf), "below 0.6 or above 13"),
        ((3, 2, 5), (0, math.inf), (0, math.inf), "none"),
        # Of a share near 1, where it is narrow.
        ((0.9, 0.8, 0.95), (-math.inf, 0.99), (0, 1), "above 0.995"),
        ((3, None, None), (0, math.inf), (0, math.inf), ""),
        ((3, -math.inf, math.inf), (0, math.inf), (0, math.inf), ""),
        # An end that is not bounded cannot decide.
        ((3, -math.inf, 5), (0, 4), (-math.inf, math.inf), "below -2"),
        ((3, 2, math.inf), (0, 4), (-math.inf, math.inf), "above 5"),
        ((3, 2, math.inf), (0, math.inf), (-math.inf, math.inf), "none"),
        # The interval extends beyond the smallest number: its ratio to the distance from there has no meaning.
        ((0.01, -0.02, 0.04), (-math.inf, 0.05), (0, math.inf), "above 0.08"),
    ],
)
def test_power_is_the_range_that_would_not_be_reproduced(measurement, bounds, possible, result):
    assert power(measurement, bounds, possible) == result


def test_verdicts_are_written_as_a_table(tmp_path):
    spec = figure(tmp_path, {"a": {"curves": APART}})
    judgements = records([DIFFERENCE, DIFFERENCE | {"id": "popcd_1.b", "above": 2.0}], [spec])
    verdicts = table_of(judgements)
    assert list(verdicts.columns) == COLUMNS
    assert verdicts["verdict"].tolist() == [REPRODUCED, NOT_REPRODUCED]
    assert verdicts["class"].tolist() == ["published", "published"]
    assert verdicts["above"].tolist() == [0.0, 2.0]
    assert verdicts["measured"].tolist() == pytest.approx([1.0, 1.0], rel=1e-4)
    assert verdicts["published"].tolist() == ["higher", "higher"]
    write_verdicts(judgements, tmp_path / "claims.csv")
    assert read_verdicts(tmp_path / "claims.json") == tuple(judgements)
    read = pd.read_csv(tmp_path / "claims.csv")
    assert read["low"].tolist() == verdicts["low"].tolist()
    assert read["where"].tolist() == ["Figure 1a", "Figure 1a"]


@pytest.mark.parametrize(
    "change",
    [
        {"above": None},
        {"differences": [{"setting": "trials", "value": "5", "published": 25, "kind": "budget"}]},
        {"missing": [{"setting": "trials", "value": "5", "needed": 25}]},
    ],
)
def test_verdict_without_words_raises_a_one_line_error(tmp_path, change):
    (record,) = records([DIFFERENCE], [figure(tmp_path, {"a": {"curves": APART}})])
    values = record.model_dump(mode="json", by_alias=True) | change
    (tmp_path / "claims.json").write_text(json.dumps({"verdicts": [values]}))
    with pytest.raises(ResultsError, match=r"\A[^\n]*claims\.json: cannot be read[^\n]*\Z"):
        read_verdicts(tmp_path / "claims.json")


def test_difference_within_its_noise_is_inconclusive(tmp_path):
    noise = np.array([0.5, -0.4, 0.3, -0.35])[:, None]
    curves = {"cd_1": np.full((4, 41), -5.0), "pop_cd_1": np.full((4, 41), -5.0) + noise}
    line = judged([DIFFERENCE], [figure(tmp_path, {"a": {"curves": curves}})]).iloc[0]
    assert line["verdict"] == INCONCLUSIVE
    assert "the interval holds the boundary" in line["note"]
    assert line["judged"]


def test_single_trial_gives_no_verdict(tmp_path):
    curves = {"cd_1": rising(-6.0, trials=1), "pop_cd_1": rising(-5.0, trials=1)}
    line = judged([DIFFERENCE], [figure(tmp_path, {"a": {"curves": curves}})]).iloc[0]
    assert line["verdict"] == INCONCLUSIVE
    assert "no interval" in line["note"]
    assert line["measured"] == pytest.approx(1.0, rel=1e-4)


CUT = {"published": {"iterations": 50000}}


@pytest.mark.parametrize(
    ("panel", "needs", "reason"),
    [
        (CUT, {"share_of_iterations": 0.4}, "4 000 of 50 000 iterations, needs 40 % of them"),
        ({}, {"trials": 6}, "needs 6 trials, got 5"),
        ({"meta": stand_in("mnist")}, {}, "stand-in data for MNIST"),
    ],
)
def test_verdict_at_a_scale_below_the_needs_of_a_claim_is_inconclusive(tmp_path, panel, needs, reason):
    spec = figure(tmp_path, {"a": {"curves": APART, **panel}})
    (record,) = records([DIFFERENCE], [spec], needs=needs)
    assert (record.verdict, record.reason, record.lacks) == (INCONCLUSIVE, "lacks", [reason])
    assert not record.judged
    assert record.measured == pytest.approx(1.0, rel=1e-4)
    (claim,) = claims_of(parse(ClaimFile, {"claims": [DIFFERENCE], "needs": needs}, "test"), "test")
    assert record.of(claim) == record
    allowed = {"share_of_iterations": 0.08, "trials": 5, "real_data": False}
    again = judged([DIFFERENCE | {"needs": allowed}], [spec], needs=needs).iloc[0]
    assert again["verdict"] == REPRODUCED
    assert again["judged"]


def test_note_names_reductions_that_a_claim_allows(tmp_path):
    spec = figure(tmp_path, {"a": {"curves": APART, "published": {"iterations": 50000, "trials": 25}}})
    line = judged([DIFFERENCE], [spec]).iloc[0]
    assert line["verdict"] == REPRODUCED
    assert line["note"].endswith("4 000 of 50 000 iterations; 5 of 25 trials")


def test_trial_that_is_not_finite_is_left_out_and_named(tmp_path):
    values = rising(-6.0)
    values[1, 3] = np.nan
    spec = figure(tmp_path, {"a": {"curves": {"cd_1": values, "pop_cd_1": rising(-5.0)}}})
    line = judged([DIFFERENCE], [spec]).iloc[0]
    assert "4 trials" in line["note"]
    assert "left out: CD-1 trial 1 (not finite)" in line["note"]


def test_claims_on_missing_figures_are_inconclusive(tmp_path):
    size = {"id": "popcd_6.size", "where": "Table 1", "text": "size", "kind": "order_of_magnitude"}
    size |= {"entry": "table1.r.cd_1", "quantity": "bias"}
    lines = judged([DIFFERENCE, size], published={"table1": PRINTED})
    assert lines["verdict"].tolist() == [INCONCLUSIVE, INCONCLUSIVE]
    assert lines["note"].tolist() == [
        f"{name} is not part of this scale" for name in ("fig1.a.pop_cd_1", size["entry"])
    ]
    assert lines["published"].tolist() == ["higher", 0.02]
    assert lines["measured"].isna().all()
    assert not lines["judged"].any()


def test_missing_run_of_a_figure_raises(tmp_path):
    spec = figure(tmp_path, {"a": {"curves": APART}})
    spec["panels"][0]["runs"][0]["folder"] = str(tmp_path / "gone")
    with pytest.raises(ResultsError, match=r"gone/meta\.json: is missing"):
        judged([DIFFERENCE], [spec])


def test_name_of_a_curve_without_its_panel_raises(tmp_path):
    with pytest.raises(SettingsError, match=r"must have the form FIGURE.PANEL.ALGORITHM, got 'fig1.cd_1'"):
        judged([DIFFERENCE | {"curve": "fig1.cd_1"}], [figure(tmp_path, {"a": {"curves": APART}})])


def test_claim_with_each_is_expanded_to_all_combinations():
    entry = {"id": "{p}.{k}", "curves": ["{p}.cd_{k}"], "each": [[{"p": "a"}, {"p": "b"}], [{"k": 1}, {"k": 10}]]}
    assert [claim["id"] for claim in expanded(entry)] == ["a.1", "a.10", "b.1", "b.10"]
    assert list(expanded(entry))[1]["curves"] == ["a.cd_10"]
    assert list(expanded(entry | {"iteration": "{k}"}))[1]["iteration"] == 10
    with pytest.raises(SettingsError, match="text: unknown placeholder 'q'"):
        list(expanded(entry | {"text": "{q}"}))


@pytest.fixture(scope="module")
def shipped(repository) -> dict:
    return yaml.safe_load((repository / "config/claims/popcd.yaml").read_text())


def full_results(root: Path) -> tuple[list, list]:
    """Return small figures and tables that agree with the paper."""
    good = {"pop_cd_1": rising(-5.0), "pop_cd_10": rising(-5.0), "pt_10": rising(-5.0)}
    bad = {name: falling(-12.0, -8.0) for name in ("cd_1", "cd_10", "pcd_1")}
    same = {name: rising(-5.0) for name in [*good, *bad]}
    flat = good | {name: rising(-6.0) for name in bad}
    fig1 = figure(root, {name: {"curves": bad | good} for name in "abcd"})
    panels = {"a": {"curves": flat}, "b": {"curves": flat}, "c": {"curves": same}, "d": {"curves": same}}
    fig2 = figure(root, panels, key="popcd_fig2")
    better = {"cd_1": rising(-5.0), "cd_10": rising(-5.0), "pop_cd_1": rising(-6.0), "pop_cd_10": rising(-6.0)}
    diverged = {name: falling(-12.0, -8.0) for name in ("cd_1", "cd_10")}
    slow = {name: np.linspace(-20, -11, 41) + np.linspace(-0.02, 0.02, 5)[:, None] for name in better if "pop" in name}
    alike = diverged | {name: falling(-11.9, -8.0) for name in slow}
    panels = {"a": better, "b": better, "c": diverged | slow, "d": alike}
    panels = {name: {"curves": curves, "effective_particles": 50.0} for name, curves in panels.items()}
    fig3 = figure(root, panels, key="popcd_fig3")
    rows = ("bars_and_stripes_16", "artificial_modes_16", "letters_16", "mnist_16")
    model = {"cd": numbers(1e-4, 1e-2, 1e-4), "pop_cd": numbers(1e-3, 1e-4, 1e-6)}
    entries = {f"{name}_{k}": [model[name]] for name in model for k in (1, 10)}
    seconds = {name: np.full(7, 0.1 + 0.3 * (name == "pt_10")) for name in ("cd_1", "cd_10", *good)}
    times = step_table(root, {"bars": seconds}) | {"key": "popcd_tablea_step_times"}
    biases = {246: 1e-1, 984: 1e-1, 13038: 1e-1, 52152: 1e-4}
    pairs = ({"cd_1": [model["cd"]], "pop_cd_1": [numbers(1e-3, bias, 1e-6)]} for bias in biases.values())
    rows_of_samples = dict(zip((f"letters_{count}" for count in biases), pairs, strict=True))
    samples = table(root, rows_of_samples, key="popcd_tableb_samples")
    wild = {"leave_one_out": {"largest_weight_sum": np.geomspace(1, 1e4, 41) * np.ones((5, 1))}}
    panel = {"curves": {"leave_one_out": rising(-6.0)}, "diagnostics": wild, "metrics": ["largest_weight_sum"]}
    weights = figure(root, dict.fromkeys("abcd", panel), key="popcd_figa_weights")
    return [fig1, fig2, fig3, weights], [table(root, dict.fromkeys(rows, entries)), samples, times]


def test_shipped_claims_have_verdicts_on_small_results(tmp_path, shipped):
    figures, tables = full_results(tmp_path)
    values = {"scale": "tiny", "outputs": [*figures, *tables], "claims": {"popcd": shipped}}
    verdicts = table_of(evaluate(parse(ClaimsSpec, values, "test")))
    assert verdicts["claim"].is_unique
    assert set(verdicts["claim"].str.partition(".")[0]) == {f"popcd_{number}" for number in range(1, 10)}
    open_claims = verdicts[verdicts["verdict"] == INCONCLUSIVE]
    large = open_claims["claim"].str.contains("letters_100|mnist_500")
    # Identical runs for two rates and equal times are inconclusive.
    assert set(open_claims[~large]["claim"].str.partition(".")[0]) <= {"popcd_4", "popcd_5", "popcd_6"}
    decided = r"popcd_[12]\.|popcd_3\..*(steps|pt_10|par)|popcd_6\..*(variance|bias)$"
    assert set(verdicts[verdicts["claim"].str.match(decided)]["verdict"]) == {REPRODUCED, INCONCLUSIVE}
    assert set(verdicts[verdicts["claim"].str.match(r"popcd_[12389]\.")]["verdict"]) == {REPRODUCED}


STEPS = {"settings": {"schedule": [{"estimator": {"options": {"k": 1}}}]}}
SIZE, LOG_40 = "annealing_effective_sample_size", math.log(40)
FINAL = np.arange(41) > 38  # the last 5 % of 4000 iterations


def few_at(where, trials=5):
    """Return effective sample sizes (trials, 41), too small at some evaluations."""
    return {SIZE: np.where(np.broadcast_to(where, (trials, 41)), 1.5, 50.0)}


def test_few_particles_at_unused_evaluations_do_not_change_verdicts(tmp_path):
    panel = {"curves": APART}
    trusted = figure(tmp_path / "trusted", {"a": panel | {"effective_particles": 10.0}})
    expected = records([DIFFERENCE], [trusted])[0]
    assert (expected.verdict, expected.remarks) == (REPRODUCED, ())
    early = dict.fromkeys(panel["curves"], few_at(~FINAL))
    (record,) = records([DIFFERENCE], [figure(tmp_path / "early", {"a": panel | {"effective_particles": early}})])
    assert (record.verdict, record.low, record.high) == (REPRODUCED, expected.low, expected.high)


@pytest.mark.parametrize(("curve", "verdict"), [("pop_cd_1", INCONCLUSIVE), ("cd_1", REPRODUCED)])
def test_interval_of_a_curve_of_few_particles_has_one_end(tmp_path, curve, verdict):
    # At one of the two final evaluations it may be smaller by any number, and larger by log 40.
    panel = {"curves": {"cd_1": rising(-12.0), "pop_cd_1": rising(-5.0)}}
    expected = records([DIFFERENCE], [figure(tmp_path / "sure", {"a": panel})])[0]
    sizes = {name: few_at((np.arange(41) == 40) & (name == curve)) for name in panel["curves"]}
    record = records([DIFFERENCE], [figure(tmp_path / "few", {"a": panel | {"effective_particles": sizes}})])[0]
    beyond = (LOG_40 - 1.96 * 0.25) / 2
    ends = (expected.low - beyond, math.inf) if curve == "cd_1" else (-math.inf, expected.high + beyond)
    assert record.verdict == verdict
    assert (record.low, record.high) == pytest.approx(ends)
    label = {"cd_1": "CD-1", "pop_cd_1": "pop-CD-1"}[curve]
    assert f"fewer than 10 particles count at some evaluations of {label}" in record.note
    few = figure(tmp_path / "1", {"a": panel | {"effective_particles": 1.5}})
    assert records([DIFFERENCE], [few], needs={"effective_particles": 1.5})[0].verdict == REPRODUCED


FALL = DIFFERENCE | {"kind": "decline", "curve": "fig1.a.cd_1", "above": 0.1}
del FALL["against"]


@pytest.mark.parametrize(("final", "verdict"), [(-13.0, REPRODUCED), (-10.0, INCONCLUSIVE)])
def test_decline_is_decided_if_larger_than_the_error_of_few_particles(tmp_path, final, verdict):
    # A rise of 12 nats from -20 to -8, and a fall to an end that is log 40 higher at most, which is then the maximum.
    curves = {"cd_1": falling(final, -8.0, evaluations=41)}
    sizes = {"cd_1": few_at(np.arange(41) > 38)}
    (record,) = records([FALL], [figure(tmp_path, {"a": {"curves": curves, "effective_particles": sizes}})])
    mean = curves["cd_1"].mean(axis=0)
    pairs, raised = (np.convolve(curve, [0.5, 0.5], "valid") for curve in (mean, mean + (LOG_40 - 0.49) * FINAL))
    least = (raised.max() - raised[-1]) / (raised.max() - mean[0])
    assert (record.verdict, record.high) == (verdict, math.inf)
    assert record.measured == pytest.approx((pairs.max() - pairs[-1]) / (pairs.max() - mean[0]))
    assert record.low == pytest.approx(least, abs=2e-3)


@pytest.mark.parametrize(
    ("below", "above", "verdict"), [(0.2, 0.3, REPRODUCED), (0.2, 1.2, INCONCLUSIVE), (1.2, 0.2, INCONCLUSIVE)]
)
def test_annealing_bracket_widens_the_interval_by_its_width(tmp_path, below, above, verdict):
    # log Z is 3, and may be smaller by 0.49 + below and larger by 0.49 + above, for both curves.
    panel = {"curves": APART}
    expected = records([DIFFERENCE], [figure(tmp_path / "sure", {"a": panel})])[0]
    ends = {"log_partition_low": 3 - 0.49 - below, "log_partition_high": 3 + 0.49 + above}
    bracket = dict.fromkeys(panel["curves"], {SIZE: 1.0} | ends)
    (record,) = records([DIFFERENCE], [figure(tmp_path / "bracket", {"a": panel | {"effective_particles": bracket}})])
    assert record.verdict == verdict
    width = below + above
    assert (record.low, record.high) == pytest.approx((expected.low - width, expected.high + width))


def test_final_band_ratio_needs_particles_at_all_evaluations(tmp_path):
    claim = DIFFERENCE | {"kind": "final_band_ratio"}
    panel = {"curves": APART}
    (record,) = records([claim], [figure(tmp_path, {"a": panel | {"effective_particles": 9.5}})])
    assert record.verdict == INCONCLUSIVE
    assert "needs 10 effective particles of annealing, got 9.5" in record.note


PAIR = {"curve": "fig1.a.pop_cd_1", "against": "fig1.a.cd_1"}


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        ("reach_difference", PAIR | {"share": 0.5, "metric": "log_likelihood"}),
        ("smallest_within", {"curves": ["fig1.a.cd_1"], "against": "fig1.a.cd_1", "tolerance": 0.1}),
        ("peak_difference", PAIR),
        ("peak_spread", {"curves": ["fig1.a.cd_1", "fig1.a.pop_cd_1"]}),
        ("final_lead", PAIR),
    ],
)
def test_intervals_of_curves_of_few_particles_are_wider(tmp_path, kind, arguments):
    claim = {key: DIFFERENCE[key] for key in ("id", "where", "text", "published")}
    claim |= {"kind": kind, "above": -1e7} | arguments
    panel, few = {"curves": APART, "meta": STEPS}, dict.fromkeys(APART, few_at(np.arange(41) > 0))
    (exact,) = records([claim], [figure(tmp_path / "sure", {"a": panel})])
    (record,) = records([claim], [figure(tmp_path / "few", {"a": panel | {"effective_particles": few}})])
    assert exact.verdict == REPRODUCED
    assert record.measured == exact.measured
    assert record.low < exact.low or record.high > exact.high


def test_extremes_are_those_over_all_corners():
    # 7 values of two curves, each unchanged or at one of its ends: all 3^7 combinations by brute force.
    rng = np.random.default_rng(3)
    curves, doubts = [rng.normal(size=4), rng.normal(size=3)], [rng.random((2, 4)), rng.random((2, 3))]
    whole, steps = np.concatenate(curves), np.concatenate(doubts, axis=1)
    choices = np.stack([whole, whole - steps[0], whole + steps[1]])
    corners = np.array([choices[list(ends), np.arange(7)] for ends in itertools.product(range(3), repeat=7)])
    for statistic in (
        lambda c: c[:, :4].max(axis=1) - c[:, 4:].max(axis=1),
        lambda c: (c.max(axis=1) - c[:, -1]) / (c.max(axis=1) - c[:, 0] + 5),
        lambda c: c @ np.arange(-3, 4),
    ):
        expected = statistic(whole[None])[0], statistic(corners).min(), statistic(corners).max()
        assert intervals.extremes(curves, doubts, statistic) == pytest.approx(expected)


def test_shipped_table_has_the_published_numbers(shipped):
    file = parse(ClaimFile, shipped, "test")
    printed = parse(Published, file.published_tables["table1"], "test")
    assert len(printed.entries) == 24
    assert printed.value("artificial_modes_16", "pop_cd_1", "bias") == 7.99706e-09
    assert printed.value("letters_100", "cd_10", "variance") == 0.000186199
    assert printed.value("mnist_500", "pop_cd_10", "bias") == 0.00289032
    assert printed.value("mnist_16", "pcd_1", "bias") is None


def test_verdicts_on_other_settings_are_of_class_variant(tmp_path):
    spec = figure(tmp_path, {"a": {"curves": APART, "published": {"rate": 0.02}}, "b": {"curves": APART}})
    untouched = DIFFERENCE | {"id": "popcd_1.b", "curve": "fig1.b.pop_cd_1", "against": "fig1.b.cd_1"}
    across = untouched | {"id": "popcd_1.c", "class": "check", "against": "fig1.a.cd_1"}
    first, second, third = records([DIFFERENCE, untouched, across], [spec])
    assert [first.standing, second.standing, third.standing] == ["variant", "published", "variant"]
    assert {first.verdict, second.verdict} == {REPRODUCED}
    for record in (first, third):
        assert "; variant: rate 0.1 (paper: 0.02)" in record.note
    assert "variant" not in second.note
    (claim,) = claims_of(parse(ClaimFile, {"claims": [DIFFERENCE]}, "test"), "test")
    assert first.of(claim) == first
    wider = first.of(claim.model_copy(update={"above": 2.0, "text": "at least 2 nats"}))
    assert (wider.verdict, wider.measured, wider.text) == (NOT_REPRODUCED, first.measured, "at least 2 nats")
    assert wider.standing == "variant"


def test_reduced_budgets_and_stand_in_data_make_no_variant(tmp_path):
    panel = {"curves": APART, "published": {"iterations": 50000, "trials": 25}, "meta": stand_in("mnist")}
    line = judged([DIFFERENCE], [figure(tmp_path, {"a": panel})], needs={"real_data": False}).iloc[0]
    assert (line["class"], line["verdict"]) == ("published", REPRODUCED)


def test_difference_of_one_curve_affects_only_claims_on_it(tmp_path):
    curves = {"cd_1": rising(-6.0), "pop_cd_1": rising(-5.0), "pt_10": rising(-4.0)}
    spec = figure(tmp_path, {"a": {"curves": curves}})
    other = {"panel": "a", "algorithm": "pt_10", "label": "PT-10", "setting": "estimator.k", "kind": "setting"}
    spec["differences"] = [other | {"value": 2, "published": 1}]
    about = DIFFERENCE | {"id": "popcd_1.pt", "curve": "fig1.a.pt_10"}
    lines = judged([DIFFERENCE, about], [spec])
    assert lines["class"].tolist() == ["published", "variant"]
    assert "variant: estimator k 2 (paper: 1) for PT-10" in lines["note"].iloc[1]


@pytest.mark.parametrize(
    ("setting", "metric", "standing"),
    [("proxy.steps", "log_likelihood", "published"), ("annealing.base", "log_likelihood", "variant")],
)
def test_difference_of_an_evaluation_affects_only_claims_on_its_metrics(tmp_path, setting, metric, standing):
    spec = figure(tmp_path, {"a": {"curves": APART}})
    spec["differences"] = [{"panel": "a", "setting": setting, "value": 3, "published": 7, "kind": "setting"}]
    claim = DIFFERENCE | {"metric": metric}
    assert judged([claim], [spec])["class"].tolist() == [standing]


def test_difference_of_quantiles_affects_only_claims_on_bands(tmp_path):
    spec = figure(tmp_path, {"a": {"curves": APART}})
    spec["differences"] = [{"setting": "quantiles", "value": [0.1, 0.9], "published": [0.25, 0.75], "kind": "setting"}]
    band = DIFFERENCE | {"id": "popcd_1.band", "kind": "final_band_ratio"}
    assert judged([DIFFERENCE, band], [spec])["class"].tolist() == ["published", "variant"]
