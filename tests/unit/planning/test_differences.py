# SPDX-License-Identifier: BSD-3-Clause
"""Differences between the settings of a scale and the published ones."""

from dataclasses import replace

import pytest

from rbmbench.base.settings import (
    AnnealingSettings,
    CertificateSettings,
    CouplingSettings,
    EstimateSettings,
    GroundTruthSettings,
    RunSettings,
    SamplingSettings,
    Settings,
)
from rbmbench.config.loading import load, merged
from rbmbench.planning.differences import differences, settings_of
from rbmbench.planning.jobs import Job, Output, Plan
from rbmbench.planning.plan import plan
from rbmbench.planning.runs import Planner
from rbmbench.reporting.words import phrases, variants

SAME = None
"""Expected of changes without effect on compared numbers."""


def panel(**settings):
    return {"figures": {"fig1": {"panels": {"a": settings}}}}


def samples(**settings):
    return {"figures": {"fig2": {"panels": {"a": settings}}}}


def table(**settings):
    return {"tables": {"table1": settings}}


BUDGET, SETTING, DATA = "budget", "setting", "data"
CD = "expected_cd_1"
STAGE = {"estimator": "expected_cd", "options": {"k": 1}}
TWO_STAGES = {"estimator": None, "options": None, "schedule": [STAGE | {"until": 100}, STAGE]}
RUN = {
    "data": [
        (panel(data="one_d_ball", batch=7), ("data", SETTING)),
        ({"data": {"diag": {"name": "diag", "options": {"d": 5}}}}, ("data.d", SETTING)),
    ],
    "hidden": [(panel(hidden=5), ("hidden", SETTING)), (panel(hidden=7), ("hidden", SETTING))],
    "batch": [(panel(batch=3), ("batch", SETTING)), ({"data": {"diag": {"batch": 3}}}, ("batch", SETTING))],
    "schedule": [
        (panel(rate=0.02), ("rate", SETTING)),
        (panel(iterations=40000), ("iterations", BUDGET)),
        (panel(iterations=60000), ("iterations", SETTING)),
        ({"algorithms": {CD: {"options": {"k": 3}}}}, ("estimator.k", SETTING)),
        ({"algorithms": {CD: {"estimator": "exact", "options": None}}}, ("estimator", SETTING)),
        ({"algorithms": {CD: {"update": {"name": "weight_decay"}}}}, ("update", SETTING)),
        ({"algorithms": {CD: {"rate": 0.7}}}, ("rate", SETTING)),
        ({"algorithms": {CD: TWO_STAGES}}, ("stages.1", SETTING)),
    ],
    "trials": [(panel(trials=5), ("trials", BUDGET)), ({"defaults": {"trials": 31}}, ("trials", BUDGET))],
    "first_trial": [],
    "seed": [({"defaults": {"seed": 7}}, SAME)],
    "initial": [
        (panel(initial={"kind": "uniform", "width": 0.3, "biases": "zero"}), ("initial.width", SETTING)),
        ({"defaults": {"initial": {"kind": "normal"}}}, ("initial.kind", SETTING)),
        ({"algorithms": {CD: {"initial": {"width": 0.5, "biases": "drawn"}}}}, ("initial.biases", SETTING)),
    ],
    "precision": [({"defaults": {"precision": "float32"}}, ("precision", SETTING))],
    "evaluate_every": [(panel(evaluate_every=50), SAME)],
    "evaluate_at": [(panel(evaluate_at=[3, 7]), SAME)],
    "proxy": [(panel(proxy={"chains": 3}), ("proxy", SETTING))],
    "bias_bound": [(panel(bias_bound={"k": 3}), ("bias_bound.k", SETTING))],
    "validation_likelihood": [(panel(validation_likelihood=True), SAME)],
    "test_likelihood": [(panel(test_likelihood=True), SAME)],
    "patience": [],
    "products": [(panel(products=1000.0), ("products", BUDGET))],
    "evaluate_at_products": [(panel(products=1000.0, evaluate_at_products=[3.0, 7.0]), ("products", BUDGET))],
}
ANNEALING = {
    "particles": [({"defaults": {"annealing": {"particles": 17}}}, ("annealing.particles", BUDGET))],
    "temperatures": [({"defaults": {"annealing": {"temperatures": 19}}}, ("annealing.temperatures", BUDGET))],
    "spacing": [({"defaults": {"annealing": {"spacing": "dense"}}}, SAME)],
    "base": [({"defaults": {"annealing": {"base": "uniform"}}}, ("annealing.base", SETTING))],
    "tempering": [({"defaults": {"annealing": {"tempering": {}, "particles": 17}}}, SAME)],
    "bracket": [({"defaults": {"annealing": {"bracket": {}}}}, SAME)],
    "compared": [({"defaults": {"annealing": {"tempering": {}, "compared": 3}}}, SAME)],
    "seed": [({"defaults": {"seed": 7}}, SAME)],
}
TRUTH = {
    "method": [],  # follows from the size of the model
    "chains": [(table(ground_truth={"chains": 17}), ("ground_truth.chains", BUDGET))],
    "burn_in": [(table(ground_truth={"burn_in": 19}), ("ground_truth.burn_in", BUDGET))],
    "samples": [(table(ground_truth={"samples": 23}), ("ground_truth.samples", BUDGET))],
    "seed": [({"defaults": {"seed": 7}}, SAME)],
}
ESTIMATE = {
    "estimator": [
        ({"algorithms": {"pop_cd_10": {"options": {"k": 3}}}}, ("estimate.estimator.k", SETTING)),
        ({"algorithms": {"cd_1": {"options": {"k": 3}}}}, ("estimator.k", SETTING)),
    ],
    "batch": [({"data": {"bars_and_stripes": {"batch": 29}}}, ("batch", SETTING))],
    "estimates": [(table(estimates=31), ("estimate.estimates", BUDGET))],
    "seed": [({"defaults": {"seed": 7}}, SAME)],
}
COUPLING = {
    **{name: [({"figures": {"fig5": {name: 13}}}, (name, SETTING))] for name in ("visible", "hidden")},
    "width": [({"figures": {"fig5": {"width": 0.3}}}, ("width", SETTING))],
    "coupling": [
        ({"figures": {"fig5": {"couplings": ["rbm"]}}}, ("algorithm", BUDGET)),
        ({"figures": {"fig5": {"couplings": ["general", "rbm", "both_layers"]}}}, ("algorithm", SETTING)),
    ],
    **{name: [({"figures": {"fig5": {name: 13}}}, (name, BUDGET))] for name in ("replications", "longest")},
    "seed": [({"defaults": {"seed": 7}}, SAME)],
}
RATES = "samplers.grid.fast_rate"
SAMPLING = {
    "samplers": [
        ({"samplers": {"rates_herding": {"grid": {"fast_rate": [0.01]}}}}, (RATES, BUDGET)),
        ({"samplers": {"rates_herding": {"grid": {"fast_rate": [0.01, 0.3]}}}}, (RATES, SETTING)),
        ({"samplers": {"rates_herding": {"grid": {"fast_rate": [0.01, [0.1]]}}}}, (RATES, SETTING)),
        ({"samplers": {"parallel_tempering": {"options": {"temperatures": 5}}}}, ("samplers.temperatures", SETTING)),
    ],
    "samples": [(samples(samples=500), ("samples", BUDGET)), (samples(samples=300_000), ("samples", SETTING))],
    "points": [(samples(points=7), SAME)],
    "rows": [(samples(rows=100), ("rows", BUDGET))],
    "shown": [(samples(shown=300), SAME)],
    "seed": [({"defaults": {"seed": 7}}, SAME)],
}
CASES = [
    (RunSettings, "cd_bias_bound", "cd_bias_bound_fig1", "a", RUN),
    (AnnealingSettings, "popcd", "popcd_fig3", "c", ANNEALING),
    (GroundTruthSettings, "popcd", "popcd_table1", "bars_and_stripes_16", TRUTH),
    (EstimateSettings, "popcd", "popcd_table1", "bars_and_stripes_16", ESTIMATE),
    (CouplingSettings, "ucd", "ucd_fig5", "", COUPLING),
    (SamplingSettings, "rates_fpcd", "rates_fpcd_fig2", "a", SAMPLING),
]
CHANGES = [
    pytest.param(paper, key, part, change, expected, id=f"{model.__name__}.{field}-{number}")
    for model, paper, key, part, fields in CASES
    for field, changes in fields.items()
    for number, (change, expected) in enumerate(changes)
]


@pytest.fixture(scope="module")
def published(repository):
    """The published settings of all papers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(repository)
        return load(["config/config.yaml"])


def changed(configuration, key, change=None):
    """Return the configuration of one paper, changed as by an overlay."""
    paper = configuration.published[key]
    values = merged(paper.model_dump(mode="json"), change or {})
    for algorithm in values["algorithms"].values():
        algorithm["options"] = algorithm["options"] or {}
    other = type(paper).model_validate(values)
    return replace(configuration, papers=(other,))


@pytest.mark.parametrize(("model", "fields"), [(model, fields) for model, *_, fields in CASES])
def test_every_field_of_the_settings_has_cases(model, fields):
    assert list(fields) == list(model.model_fields)


@pytest.mark.parametrize(("paper", "key", "part", "change", "expected"), CHANGES)
def test_a_changed_setting_gives_one_difference(published, paper, key, part, change, expected):
    spec = plan(changed(published, paper, change)).outputs[key].spec
    diffs = spec.of_part(part)
    assert [(diff.setting, diff.kind) for diff in diffs] == ([expected] if expected else [])
    if expected not in (SAME, ("proxy", SETTING)):  # no panel shows metrics of the proxy
        assert spec.origin.startswith("Variant of ") == (expected[1] == SETTING)


def test_published_settings_have_no_differences(published):
    assert {
        key: output.spec.differences for key, output in plan(published).outputs.items() if output.spec.differences
    } == {}
    for key in ("popcd", "ucd", "cd_bias_bound", "rates_fpcd", "sdcp"):
        other = plan(changed(published, key, {"title": "other words, so that everything is compared"}))
        assert {
            name: output.spec.differences for name, output in other.outputs.items() if output.spec.differences
        } == {}


def test_a_changed_rate_and_an_added_curve_make_a_variant(published):
    names = [*published.published["cd_bias_bound"].figures["fig2"].algorithms, "weak_decay_1"]
    change = {"figures": {"fig2": {"panels": {"b": {"algorithms": names}, "d": {"rate": 0.02}}}}}
    other = plan(changed(published, "cd_bias_bound", change)).outputs
    spec = other["cd_bias_bound_fig2"].spec
    assert spec.which == "Variant of Figure 2 of cd_bias_bound, paper scale"
    assert [words.replace("\N{NO-BREAK SPACE}", " ") for words in variants(spec)] == [
        "panel b: with expected CD-1, weight decay 0.001",
        "panel d: rate 0.02 (paper: 0.1)",
    ]
    # Other curves of the panel and another panel of these data are as published.
    assert spec.of_part("b", "expected_cd_1") == spec.of_part("c") == ()
    assert [diff.kind for diff in spec.of_part("b", "weak_decay_1")] == ["setting"]
    assert other["cd_bias_bound_fig1"].spec.which == "Figure 1 of cd_bias_bound, paper scale"


def test_added_and_left_out_panels_and_figures_are_named(published):
    figure = published.published["cd_bias_bound"].figures["fig1"].model_dump(mode="json")
    change = {"figures": {"fig1": {"panels": {"x": figure["panels"]["a"]}}, "fig9": figure}}
    configuration = changed(published, "cd_bias_bound", change)
    del configuration.papers[0].figures["fig2"].panels["b"]
    outputs = plan(configuration).outputs
    assert variants(outputs["cd_bias_bound_fig1"].spec) == ["with panel x"]
    assert outputs["cd_bias_bound_fig2"].spec.which == "Figure 2 of cd_bias_bound, paper scale, without panel b"
    assert variants(outputs["cd_bias_bound_fig9"].spec) == ["not in the paper"]


def test_differences_of_some_curves_of_a_panel_name_them(published):
    change = {"algorithms": {"cd_10": {"options": {"k": 7}}, "pop_cd_10": {"options": {"k": 7}}}}
    spec = plan(changed(published, "popcd", change)).outputs["popcd_fig1"].spec
    assert phrases(diff for diff in spec.differences if diff.panel == "a") == [
        "estimator k 7 (paper: 10)".replace(" ", "\N{NO-BREAK SPACE}") + " for CD-10 and pop-CD-10"
    ]
    assert spec.of_part("a", "cd_1") == ()


def test_differences_of_stand_in_data_are_of_kind_data(published):
    entry = {"name": "digits", "options": {"stands_in_for": "mnist"}, "rows": 1797, "visible": 64, "batch": 599}
    spec = plan(changed(published, "popcd", {"data": {"mnist": entry}})).outputs["popcd_fig2"].spec
    assert {(diff.setting, diff.kind) for diff in spec.of_part("a")} == {("data", DATA), ("batch", DATA)}
    assert spec.origin == "Figure 2 of popcd"


def test_settings_of_certificates_are_no_difference(published):
    budget = dict.fromkeys(CertificateSettings.model_fields.keys() & {"particles", "chains", "walkers", "steps"}, 64)
    budget |= {"sweeps": 200, "ladder": 5, "models": 1}
    change = {"figures": {"fig1": {"certificate": budget}}}
    assert plan(changed(published, "arena", change)).outputs["arena_fig1"].spec.differences == ()


def test_contests_differ_by_their_budgets_rates_and_metrics(published):
    contest = {"products": 1000.0, "rates": [0.01, 0.03], "tuning_trials": 2}
    change = {"rates": contest["rates"], "products": contest["products"], "judged_by": "validation_log_likelihood"}
    spec = plan(changed(published, "arena", {"figures": {"fig1": {"contests": {"letters": change}}}})).outputs
    for key in ("arena_fig1", "arena_fig2", "arena_table1"):
        kinds = {diff.setting: diff.kind for diff in spec[key].spec.of_part("letters")}
        assert kinds == {"products": BUDGET, "rates": BUDGET, "judged_by": SETTING}
        assert spec[key].spec.of_part("mnist") == ()


def test_differences_of_a_kind_without_parts_have_no_panel(published):
    # Kinds of plug-ins return ids of jobs without parts.
    plans = []
    for configuration in (changed(published, "popcd", panel(rate=0.02)), changed(published, "popcd")):
        planner = Planner(Plan("tiny", ()), configuration.papers[0])
        item = planner.paper.figures["fig1"]
        output = item.plan(planner, "popcd_fig1")
        plans.append((item, Output(output.spec, output.jobs[:1]), planner))
    (diff,) = differences(*plans[0], plans[1])
    assert (diff.panel, diff.algorithm, diff.setting, diff.value, diff.published) == ("", "", "rate", 0.02, 0.1)


def test_settings_of_a_job_of_a_plug_in_are_its_fields():
    class OwnSettings(Settings):
        chains: int = 3
        seed: int = 5
        inner: dict

    settings = dict(settings_of(Job("own", "own", OwnSettings(inner={"steps": 7}))))
    assert settings == {"chains": 3, "inner": True, "inner.steps": 7}
