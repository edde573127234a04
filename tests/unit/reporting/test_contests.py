# SPDX-License-Identifier: BSD-3-Clause
"""Arenas: costs of runs, choice of rates, ranks, targets, figures and tables, and planned runs."""

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest
from core_helpers import binary_data, random_rbm
from planned import ids_shown
from reporting_results import cells_of, drawn, make_run

from rbmbench.base.errors import SettingsError
from rbmbench.base.settings import CertificateSettings
from rbmbench.config.loading import load
from rbmbench.io import results
from rbmbench.measurements.certificate import certificate
from rbmbench.measurements.verdicts import verdict
from rbmbench.planning.plan import plan
from rbmbench.planning.specs import parse_spec
from rbmbench.reporting import contests
from rbmbench.reporting.claims.evidence import Evidence, NotRun
from rbmbench.reporting.claims.intervals import student
from rbmbench.reporting.claims.measurements import MEASUREMENTS
from rbmbench.reporting.style import PAGE, PUBLICATION

ITERATIONS = [0, 10, 20]
BATCH = 7
CD_PRODUCTS = 5.0


def curve(contest, algorithm, rate, trial, values, *, judged=True, tuning=None, products=(0, 50, 100), seconds=1.0):
    products = np.asarray(products, dtype=float)
    of_contest = {"contest": contest, "data": "toy", "data_title": "Toy", "stand_in": "", "hidden": 3, "budget": 100.0}
    of_run = {"algorithm": algorithm, "label": algorithm.upper(), "rate": rate, "trial": trial, "judged": judged}
    costs = {"iteration": ITERATIONS, "products": products, "seconds": seconds * products / products[-1]}
    values = {"tuning": values if tuning is None else tuning, "value": values, "certificate": ""}
    return pd.DataFrame(of_contest | of_run | costs | values)


def field(entries):
    """Return curves of tuning trials 0 and 1 and of judged trials 2, 3 and 4, by algorithm and rate."""
    parts = []
    for contest, algorithm, rate, tuning, ends in entries:
        for trial in (0, 1):
            parts.append(curve(contest, algorithm, rate, trial, [-9.0, -8.0, tuning], judged=False))
        for trial, end in zip((2, 3, 4), ends, strict=True):
            parts.append(curve(contest, algorithm, rate, trial, [-9.0, -8.0, end]))
    return pd.concat(parts, ignore_index=True)


TWO = field(
    [
        ("toy", "cd", 0.1, -5.0, [-6.0, -6.5, -6.1]),
        ("toy", "cd", 0.3, -5.5, [-3.0, -3.0, -3.0]),  # better only in judged trials
        ("toy", "pcd", 0.1, -7.0, [-6.2, -6.2, -6.1]),
    ]
)


def test_rates_are_chosen_by_the_tuning_trials():
    standings = contests.standings(TWO)
    products = standings[standings["cost"] == "products"]
    assert set(products.loc[products["algorithm"] == "cd", "rate"]) == {0.1}
    assert products.loc[products["algorithm"] == "cd", "value"].tolist() == [-6.0, -6.5, -6.1]


def test_ranks_are_computed_per_trial_with_means_for_ties():
    standings = contests.standings(TWO).query("cost == 'products'")
    ranks = standings.pivot(index="trial", columns="algorithm", values="rank")
    assert ranks.to_dict("list") == {"cd": [1.0, 2.0, 1.5], "pcd": [2.0, 1.0, 1.5]}
    overall = contests.overall_ranks(contests.standings(TWO)).query("cost == 'products'").set_index("algorithm")
    assert overall["rank"].to_dict() == {"cd": 1.5, "pcd": 1.5}
    assert (overall["rank_low"] < 1.5).all()
    assert (overall["rank_high"] > 1.5).all()


def test_a_failed_trial_has_the_last_rank():
    failed = field([("toy", "cd", 0.1, -5.0, [np.nan, -6.0, -6.0]), ("toy", "pcd", 0.1, -5.0, [-70.0, -7.0, -7.0])])
    standings = contests.standings(failed).query("cost == 'products' and algorithm == 'cd'").sort_values("trial")
    assert standings["rank"].tolist() == [2.0, 1.0, 1.0]


def dense(algorithm, trial, end, seconds=1.0, rate=0.1, tuning=None, evaluations=101):
    """Return a curve that rises linearly from -9 to its end, with equidistant evaluations."""
    values = np.linspace(-9.0, end, evaluations)
    iterations = np.arange(evaluations)
    rows = curve("toy", algorithm, rate, trial, [0.0] * 3, judged=trial > 0).iloc[[0] * evaluations]
    costs = {"products": np.linspace(0, 100, evaluations), "seconds": np.linspace(0, seconds, evaluations)}
    tunes = values if tuning is None else np.linspace(-9.0, tuning, evaluations)
    return rows.assign(iteration=iterations, value=values, tuning=tunes, **costs)


def test_budget_of_seconds_is_the_least_time_for_the_products():
    slow = [dense("slow", t, -4.0, seconds=8.0) for t in range(4)]
    fast = [dense("fast", t, -6.0, seconds=2.0) for t in range(4)]
    curves = pd.concat([*slow, *fast], ignore_index=True)
    budgets = {under.cost: under.budgets for under in contests.under_budgets(curves)}
    assert budgets == {"products": {"toy": 100.0}, "seconds": {"toy": 2.0}}
    values = contests.contest_results(curves).set_index(["cost", "algorithm"])["value"]
    assert values["products", "slow"] == -4.0
    assert values["seconds", "slow"] == pytest.approx(-9 + 0.25 * 5)  # after a quarter of its time
    assert values["seconds", "fast"] == -6.0


COSTS = np.array([0.0, 8.0, 20.0, 90.0, 100.0])
VALUES = np.array([-9.0, -8.0, -7.0, -3.0, -1.0])


def test_values_at_are_interpolated_between_near_evaluations():
    # Near: within 10, a tenth of a budget of 100.
    at = np.array([0.0, 2.0, 8.0, 14.0, 20.0, 55.0, 90.0, 95.0, 100.0, 100.0 + 1e-5, 101.0])
    values = contests.values_at(at, COSTS, np.stack([VALUES, 2 * VALUES]), 10.0)
    nan = np.nan  # evaluations 12 and 70 apart, and none beyond 100
    expected = [-9.0, -8.75, -8.0, nan, -7.0, nan, -3.0, -2.0, -1.0, -1.0, nan]
    np.testing.assert_allclose(values, [expected, np.multiply(2, expected)])


def test_a_run_that_ends_before_the_budget_has_no_value():
    short = curve("toy", "cd", 0.1, 3, [-9.0, -8.0, -4.0], products=(0, 50, 75))
    row = contests.at_cost(short, "products", {"toy": 100.0})
    assert np.isnan(row["value"].item())
    assert row["refused"].item()
    early = contests.at_cost(curve("toy", "cd", 0.1, 3, [-9.0, -8.0, -4.0]), "products", {"toy": 75.0})
    assert np.isnan(early["value"].item())  # a straight line over half of the budget


def test_contests_without_evaluations_near_the_budget_have_no_ranks():
    # The fast algorithm ends at half the products of the slow one, between two of its evaluations.
    slow = [curve("toy", "slow", 0.1, t, [-9.0, -8.0, -5.0], judged=t > 1, seconds=3.0) for t in range(5)]
    fast = [dense("fast", t, -6.0, seconds=1.0) for t in range(5)]
    curves = pd.concat([*slow, *fast], ignore_index=True)
    curves["judged"] = curves["trial"] > 1
    standings = contests.standings(curves).set_index(["cost", "algorithm"])
    assert standings.loc["products", "rank"].groupby("algorithm").mean().to_dict() == {"slow": 1.0, "fast": 2.0}
    assert standings.loc["seconds", "rank"].isna().all()
    assert standings.loc[("seconds", "fast"), "value"].notna().all()
    results = contests.contest_results(curves).set_index(["cost", "algorithm"])
    assert results.loc["seconds", "missing"].to_dict() == {"slow": contests.REFUSED, "fast": ""}
    overall = contests.overall_ranks(contests.standings(curves)).set_index(["cost", "algorithm"])
    assert overall.loc["products", "contests"].tolist() == [1, 1]
    assert overall.loc["seconds", "contests"].tolist() == [0, 0]
    assert overall.loc["seconds", "rank"].isna().all()
    assert set(contests.reached_targets(curves)["cost"]) == {"products"}
    shown = contests.anytime_curves(curves).query("algorithm == 'slow' and cost == 'products'")
    assert shown.dropna()["spent"].tolist() == [0.0, 50.0, 100.0]  # no line between
    entries = [{"algorithm": name, "label": name, "rate": 0.1, "folder": "runs"} for name in ("slow", "fast")]
    contest = {"name": "toy", "data": "toy", "hidden": 3, "products": 100.0, "tuning_trials": 2, "entries": entries}
    contest |= {"tuned_by": "log_likelihood", "judged_by": "log_likelihood"}
    ranks, targets = spec_of("arena_ranks", contest), spec_of("arena_targets", contest)
    assert [series.key for series in ranks.chart(curves).panels[0].series] == ["products"]
    assert [panel.name for panel in targets.chart(curves).panels] == ["products"]
    assert targets.caption(curves).endswith("are left out; under equal processor seconds none is left.")


def test_reached_targets_agree_with_values_at_the_same_cost():
    trials = [dense(name, t, end) for name, end in (("cd", -1.0), ("pcd", -5.0)) for t in range(4)]
    curves = pd.concat(trials, ignore_index=True)
    targets = contests.reached_targets(curves).query("cost == 'products' and algorithm == 'pcd'")
    levels = -1 - 8 * np.geomspace(1, contests.NEAREST_TARGET, contests.TARGETS)[1:]
    for spent, reached in targets[["spent", "reached"]].to_numpy():
        [value] = set(contests.at_cost(trials[-1], "products", {"toy": 100 * spent})["value"])
        assert reached == (value >= levels - 1e-9).mean()


def test_rates_are_chosen_by_the_last_evaluation_if_none_is_near():
    # At equal seconds, the larger rate has a slower run, with only the initial evaluation before the end.
    slow = [curve("toy", "cd", 0.3, t, [-9.0, -6.0, -5.0], judged=t > 0, seconds=3.0) for t in range(4)]
    dense_curves = [dense("cd", t, -7.0) for t in range(4)]
    fast = [dense("pcd", t, -8.0, seconds=0.4) for t in range(4)]
    products, seconds = contests.under_budgets(pd.concat([*slow, *dense_curves, *fast], ignore_index=True))
    assert products.rates.set_index("algorithm")["rate"].to_dict() == {"cd": 0.3, "pcd": 0.1}
    assert seconds.rates.set_index("algorithm")["rate"].to_dict() == {"cd": 0.1, "pcd": 0.1}
    assert set(seconds.reached.query("rate == 0.3")["tuning"]) == {-9.0}


def test_a_method_whose_first_iteration_exceeds_the_budget_is_last(tmp_path):
    tempering = {"until": 20, "rate": 0.1, "estimator": {"name": "trajectory_tempering"}}
    settings = {"products": 100.0, "schedule": [tempering]}
    products = {"products": [[0, 300.0, 310.0], [0, 320.0, 330.0], [0, 20.0, 110.0]]}
    dear = contest_of(tmp_path / "dear", iterations=[0, 1, 2], settings=settings, diagnostics=products)
    cheap = contest_of(tmp_path / "cheap")
    cheap["entries"][0] |= {"algorithm": "other", "label": "Other"}
    contest = dear | {"entries": dear["entries"] + cheap["entries"]}
    curves = spec_of("arena_curves", contest).read()
    trials = curves[curves["algorithm"] == "one"].pivot(index="trial", columns="iteration")
    assert trials["value"].notna().to_numpy().tolist() == [[True, False, False]] * 2 + [[True] * 3]
    assert trials["products"].to_numpy().tolist() == [[0, 100, 100], [0, 100, 100], [0, 20, 100]]
    ranks = contests.standings(curves).query("cost == 'products' and algorithm == 'one'").set_index("trial")["rank"]
    assert ranks.to_dict() == {1: 2.0, 2: 1.5}
    spec = spec_of("arena_results", contest)
    [part] = spec.table(spec.numbers(curves)).parts
    cells = cells_of(part).set_index("algorithm")
    assert cells.loc["One", "log-likelihood"] == contests.TOO_DEAR
    assert cells.loc["Other", "log-likelihood"] == "-7.00"


def test_seconds_are_proportional_to_all_products_of_the_run(tmp_path):
    # Trials that have ended are computed until the last one ends; their seconds exclude this.
    settings = {"products": 100.0, "schedule": [{"until": 20, "rate": 0.1, "estimator": {"name": "ucd"}}]}
    products = {"products": [[0, 50.0, 110.0], [0, 60.0, 150.0], [0, 90.0, 140.0]]}
    curves = spec_of("arena_curves", contest_of(tmp_path / "run", settings=settings, diagnostics=products)).read()
    seconds = curves.pivot(index="trial", columns="iteration", values="seconds").to_numpy()
    np.testing.assert_allclose(seconds, 2 / 400 * np.array([[0, 50, 100], [0, 60, 100], [0, 90, 100]]), atol=1e-6)


def test_results_mark_rates_at_an_end_of_the_grid():
    table = contests.contest_results(TWO).query("cost == 'products'").set_index("algorithm")
    assert table["at_edge"].to_dict() == {"cd": True, "pcd": False}  # a grid of one rate has no ends
    assert table["trials"].tolist() == [3, 3]


def test_reached_targets_are_the_share_of_levels_below_the_curve():
    best, never, half = [-9.0, -9.0, -1.0], [-9.0, -9.0, -9.0], [-9.0, -5.0, -5.0]
    values = {"cd": best, "pcd": never, "ucd": half}
    curves = [curve("toy", name, 0.1, t, values[name], judged=t > 0) for name in values for t in range(4)]
    targets = contests.reached_targets(pd.concat(curves)).query("cost == 'products'")
    end = targets[targets["spent"] == 1.0].set_index("algorithm")["reached"]
    distances = np.geomspace(1, contests.NEAREST_TARGET, contests.TARGETS)[1:]
    assert end.to_dict() == {"cd": 1.0, "pcd": 0.0, "ucd": pytest.approx((distances >= 0.5).mean())}
    early = targets[(targets["algorithm"] == "ucd") & (targets["spent"] < 0.49)]["reached"]
    assert (early == 0).all()


def test_intervals_of_ranks_cover_differences_between_contests():
    # Two algorithms win two of four contests each: the mean rank is 1.5.
    winners = ["cd", "cd", "pcd", "pcd"]
    entries = [
        (f"toy{i}", name, 0.1, -5.0, [-5.0] * 3 if name == winner else [-6.0] * 3)
        for i, winner in enumerate(winners)
        for name in ("cd", "pcd")
    ]
    ranks = contests.overall_ranks(contests.standings(field(entries))).query("cost == 'products'")
    assert ranks["rank"].tolist() == [1.5, 1.5]
    assert (ranks["rank_low"] <= 1.25).all()
    assert (ranks["rank_high"] >= 1.75).all()


def test_intervals_over_three_contests_are_those_of_student():
    index = pd.MultiIndex.from_product([list("abc"), [5, 6]], names=["contest", "trial"])
    values = pd.Series([1.0, 3.0, 2.0, 6.0, 4.0, 8.0], index)
    assert contests.over_contests(values) == student([2.0, 4.0, 6.0])
    two = values.loc[["a", "b"]]
    assert contests.over_contests(two)[0] == 3.0
    assert np.isnan(contests.over_contests(two)[1])


def test_rank_difference_is_the_mean_over_shared_contests(tmp_path):
    # CD is one rank above PCD in two contests and below it in the third; UCD is in one contest only.
    ends = {"cd": (-4.0, -4.0, -6.0), "pcd": (-5.0, -5.0, -5.0), "ucd": (-9.0,)}
    settings = []
    for place, name in enumerate("abc"):
        entries = []
        for key in [key for key, values in ends.items() if place < len(values)]:
            contest = contest_of(tmp_path / f"{name}-{key}", values=[[-9.0, -8.0, ends[key][place]]] * 5)
            entries.append(contest["entries"][0] | {"algorithm": key, "label": key.upper()})
        settings.append(contest | {"name": name, "tuning_trials": 2, "entries": entries})
    evidence = Evidence("arena", [spec_of("arena_ranks", *settings)])
    difference = MEASUREMENTS["rank_difference"](evidence, ranks="fig1.cd", against="fig1.pcd")
    assert (difference.value, difference.low, difference.high) == pytest.approx(student([-1.0, -1.0, 1.0]))
    assert difference.what == "mean rank of CD minus that of PCD at equal matrix products (a, b, c)"
    assert [source.budget for source in difference.sources] == [{"trials": 3}] * 2
    difference = MEASUREMENTS["rank_difference"](evidence, ranks="fig1.ucd", against="fig1.pcd", cost="seconds")
    assert difference.value == 1.0
    assert difference.what.endswith(" at equal processor seconds (a)")
    with pytest.raises(NotRun):
        MEASUREMENTS["rank_difference"](evidence, ranks="fig1.fpcd", against="fig1.pcd")


def test_rank_difference_without_ranks_is_not_run(tmp_path, monkeypatch):
    contest = contest_of(tmp_path / "run")
    evidence = Evidence("arena", [spec_of("arena_ranks", contest)])
    slow = [curve("toy", "one", 0.1, t, [-9.0, -8.0, -5.0], judged=t > 0, seconds=3.0) for t in range(4)]
    fast = [dense("two", t, -6.0, seconds=1.0) for t in range(4)]
    monkeypatch.setattr("rbmbench.reporting.contests.OfContestsSpec.read", lambda _: pd.concat([*slow, *fast]))
    monkeypatch.setattr("rbmbench.reporting.contests.OfContestsSpec.labels", {"one": "One", "two": "Two"})
    measure = partial(MEASUREMENTS["rank_difference"], evidence, ranks="fig1.one", against="fig1.two")
    assert measure(cost="products").value == -1.0
    with pytest.raises(NotRun, match="no contest has ranks at equal processor seconds"):
        measure(cost="seconds")


def test_results_count_certified_models_at_the_chosen_rate():
    texts = {("cd", 0.1, 2): "certified", ("cd", 0.1, 3): "doubtful: it swims", ("cd", 0.3, 2): "not certified: no"}
    keys = zip(TWO["algorithm"], TWO["rate"], TWO["trial"], strict=True)
    column = pd.Series([texts.get(key, "") for key in keys], TWO.index)
    curves = TWO.assign(certificate=column.where(TWO["iteration"] == ITERATIONS[-1], ""))
    table = contests.contest_results(curves).query("cost == 'products'").set_index("algorithm")
    assert table["rate"].to_dict() == {"cd": 0.1, "pcd": 0.1}
    assert table[["examined", "certified"]].T.to_dict("list") == {"cd": [2, 1], "pcd": [0, 0]}
    assert table["doubts"].to_dict() == {"cd": "doubtful: it swims", "pcd": ""}


# Costs of runs.


def contest_of(folder, **meta):
    schedule = [{"until": 20, "rate": 0.1, "estimator": {"name": "cd"}}]
    settings = {"batch": BATCH, "hidden": 3, "first_trial": 0, "schedule": schedule} | meta.pop("settings", {})
    values = meta.pop("values", [[-9.0, -8.0, -7.0]] * 3)
    path = make_run(folder, values, iterations=meta.pop("iterations", ITERATIONS), meta={"settings": settings}, **meta)
    if "diagnostics" in meta:
        curve = pd.read_parquet(f"{path}/curve.parquet")
        start = curve.query("iteration == 0 and metric == 'log_likelihood'").assign(metric="products", value=0.0)
        pd.concat([curve, start]).to_parquet(f"{path}/curve.parquet", index=False)
    entry = {"algorithm": "one", "label": "One", "rate": 0.1, "folder": path}
    contest = {"name": "toy", "data": "toy", "hidden": 3, "products": 100.0, "tuning_trials": 1, "entries": [entry]}
    return contest | {"tuned_by": "log_likelihood", "judged_by": "log_likelihood"}


def spec_of(kind, *contest_settings):
    heading = {"key": f"arena_{'table' if kind == 'arena_results' else 'fig'}1", "paper": "arena", "title": "An arena"}
    return parse_spec(heading | {"kind": kind, "scale": "made", "contests": list(contest_settings)}, "test")


def test_costs_are_the_products_of_the_estimator_and_the_time_of_a_trial(tmp_path):
    curves = spec_of("arena_curves", contest_of(tmp_path / "run")).read()
    trial = curves[curves["trial"] == 2]
    assert trial["products"].tolist() == [0.0, 10 * CD_PRODUCTS, 20 * CD_PRODUCTS]
    np.testing.assert_allclose(trial["seconds"], [0.0, 1 / 3, 2 / 3], atol=1e-6)  # 2 s for three trials
    assert curves.groupby("trial")["judged"].first().tolist() == [False, True, True]


SHEETS = PAGE, PUBLICATION["3.3"], PUBLICATION["6.9"], PUBLICATION["3.3"]
FIGURES = "arena_curves", "arena_ranks", "arena_targets", "arena_rates"


@pytest.mark.parametrize(("kind", "sheet"), list(zip(FIGURES, SHEETS, strict=True)))
def test_figures_are_drawn_on_all_sheets(tmp_path, kind, sheet):
    spec = spec_of(kind, contest_of(tmp_path / "run"))
    assert len(drawn(spec, sheet).axes) >= 1
    caption = spec.caption(spec.read())
    assert caption.endswith(".")
    rows = "mean log-likelihood of the training rows"
    assert kind == "arena_targets" or f"{rows} at the end of the budget" in caption
    assert kind == "arena_targets" or f"judged by the {rows}." in caption


def test_the_table_has_a_part_for_each_contest(tmp_path):
    spec = spec_of("arena_results", contest_of(tmp_path / "run"))
    [part] = spec.table(spec.numbers(spec.read())).parts
    assert part.caption == "toy: Toy & Bars, 3 hidden units, 100 products"
    cells = dict(zip(part.columns, *part.lines, strict=True))
    assert (cells["algorithm"], cells["log-likelihood"]) == ("One", "-7.00")


def test_certificates_are_at_the_last_evaluation_of_judged_trials(tmp_path):
    contest = contest_of(tmp_path / "run")
    rbm = random_rbm(5, 3, (3,), seed=1, dtype=np.float32)
    budget = CertificateSettings(sweeps=128, temperatures=10, first_model=1, models=2)
    table = certificate(rbm, binary_data(17, 5), budget)
    folder = tmp_path / "certificate"
    results.write_table(folder / "certificate.parquet", table)
    results.write_meta(folder, ("certificate.parquet",), {"settings": {}})
    contest["entries"][0]["certificate"] = f"{folder}"
    spec = spec_of("arena_curves", contest)
    assert f"{folder}/certificate.parquet" in spec.files()
    read = spec.read().set_index(["trial", "iteration"])["certificate"]
    assert (read.drop(index=[(1, 20), (2, 20)]) == "").all()
    assert read[2, 20] == str(verdict(table[table["trial"] == 2]))
    assert spec_of("arena_results", contest).numbers(spec.read())["examined"].tolist() == [2, 2]


# Planned runs.


@pytest.fixture
def changed(repository, tmp_path, monkeypatch):
    """Return a function that loads the smoke scale with more values of the arena."""
    monkeypatch.chdir(repository)

    def loaded(**values):
        overlay = tmp_path / "overlay.yaml"
        overlay.write_text(json.dumps({"scale": "made", "overrides": {"arena": values}}))
        return load(["config/config.yaml", "config/smoke.yaml", overlay])

    return loaded


def test_all_rates_and_algorithms_have_one_budget(changed):
    planned = plan(changed())
    spec = planned.figures["arena_fig1"].spec
    contest = spec.contests[0]
    names = {(entry.algorithm, entry.rate) for entry in contest.entries}
    assert len(names) == len(contest.entries) == 8
    runs = [planned.jobs[identity].settings for identity in ids_shown(planned, planned.figures["arena_fig1"])]
    bars = [run for run in runs if run.data.name == "bars_and_stripes"]
    iterations = {run.schedule[0].estimator.name: run.iterations for run in bars}
    assert iterations == {"cd": 2000, "pcd": 1666, "pop_cd": 2000}  # of a budget of 10 000, 5 and 6 each
    assert not any(run.test_likelihood for run in bars)
    assert all(run.test_likelihood and run.validation_likelihood for run in runs if run.data.name == "held_out")
    arena = [key for key in planned.outputs if key.startswith("arena")]
    assert arena == [*(f"arena_fig{number}" for number in range(1, 6)), "arena_table1"]


def test_an_algorithm_with_a_rate_of_its_own_is_tried_at_that_rate_alone(changed):
    for contest in plan(changed(algorithms={"cd_1": {"rate": 0.02}})).figures["arena_fig1"].spec.contests:
        entries = [entry for entry in contest.entries if entry.algorithm == "cd_1"]
        assert [entry.rate for entry in entries] == [0.02]


def test_runs_of_variable_cost_have_iterations_for_the_least_cost(changed):
    # An iteration costs at least 7 products with UCD, and 8 with PTT-1.
    planned = plan(changed(figures={"fig1": {"algorithms": ["cd_1", "ucd", "ptt_1"]}}))
    runs = [planned.jobs[name].settings for name in ids_shown(planned, planned.figures["arena_fig1"])]
    bars = {run.schedule[0].estimator.name: run for run in runs if run.data.name == "bars_and_stripes"}
    iterations = {"cd": 2000, "ucd": 10_000 // 7 + 1, "trajectory_tempering": 10_000 // 8 + 1}
    assert {name: run.iterations for name, run in bars.items()} == iterations
    assert [run.products for run in bars.values()] == [None, 1e4, 1e4]
    for run in bars.values():
        shares = np.array(run.evaluate_at_products) / 1e4 if run.products else np.array(run.evaluate_at) / 2000
        late = np.append(shares[shares >= 0.1], 1.0)
        assert (np.diff(late) <= contests.WIDEST * late[:-1]).all()
        assert late[0] < 0.11
        assert run.evaluate_every == run.iterations  # the last one


STAGED = {"label": "Two", "schedule": [{"estimator": "cd", "until": 5}, {"estimator": "pcd"}]}
TWO_STAGES = {"algorithms": {"two": STAGED}, "figures": {"fig1": {"algorithms": ["two"]}}}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"defaults": {"trials": 3}}, "got 3, of which 3 tune the rate"),
        ({"figures": {"fig1": {"algorithms": ["cd_3"]}}}, "unknown algorithm 'cd_3'"),
        ({"figures": {"fig2": {"of": "fig3"}}}, "unknown figure with contests 'fig3'"),
        ({"figures": {"fig1": {"rates": [0.1, 0.1]}}}, "must differ"),
        ({"figures": {"fig1": {"certificate": {"models": 5}}}}, "must be at most 4, the judged trials, got 5 models"),
        (TWO_STAGES, "must be algorithms of one estimator, got 'two'"),
        ({"figures": {"fig1": {"contests": {"letters": {"data": "lettres"}}}}}, "unknown data set 'lettres'"),
        ({"figures": {"fig1": {"contests": {"letters": {"hidden": 2**20}}}}}, "hidden"),
    ],
)
def test_invalid_contests_raise_a_one_line_error(changed, values, message):
    with pytest.raises(SettingsError, match=rf"\A[^\n]*{message}[^\n]*\Z"):
        changed(**values)
