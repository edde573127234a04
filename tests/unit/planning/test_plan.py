# SPDX-License-Identifier: BSD-3-Clause
import re
from dataclasses import replace

import pytest
from planned import ids_shown, planned_here

from rbmbench.base.errors import SettingsError
from rbmbench.config.layers import Layers
from rbmbench.config.loading import load, merged
from rbmbench.planning.jobs import derived_seed
from rbmbench.planning.plan import plan
from rbmbench.reporting.claims import files


@pytest.fixture(scope="module")
def popcd(repository):
    """The paper scale of popcd."""
    configuration = load([repository / "config/config.yaml"])
    papers = tuple(paper for paper in configuration.papers if paper.key == "popcd")
    return replace(configuration, papers=papers, studies=())


@pytest.fixture(scope="module")
def paper(popcd):
    return plan(popcd)


def changed(configuration, change):
    """Return the configuration with values of popcd changed."""
    paper = configuration.papers[0]
    other = type(paper).model_validate(merged(paper.model_dump(mode="json"), change))
    return replace(configuration, papers=(other,))


def test_paper_scale_is_as_published(paper):
    ids = [run for key in ("popcd_fig1", "popcd_fig2") for run in ids_shown(paper, paper.figures[key])]
    runs = [paper.jobs[run].settings for run in ids]
    assert len(runs) == 8 * 6
    assert {run.trials for run in runs} == {25}
    assert {run.hidden for run in runs} == {16}
    assert {(run.data.name, run.batch, run.schedule[0].rate, run.iterations) for run in runs} == {
        ("bars_and_stripes", 32, 0.1, 50_000),
        ("bars_and_stripes", 32, 0.01, 50_000),
        ("artificial_modes", 500, 0.1, 10_000),
        ("artificial_modes", 500, 0.01, 10_000),
        ("mnist", 500, 0.1, 5_000),
        ("mnist", 500, 0.01, 20_000),
        ("letters", 246, 0.1, 10_000),
        ("letters", 246, 0.01, 30_000),
    }
    assert {run.evaluate_every for run in runs} == {100}


def test_table_is_as_published(paper):
    table = paper.tables["popcd_table1"]
    assert {
        (run.data.name, run.hidden, run.iterations, run.trials, run.schedule[0].rate, run.schedule[0].estimator.name)
        for run in (paper.jobs[run].settings for run in ids_shown(paper, table))
    } == {
        ("bars_and_stripes", 16, 10_000, 1, 0.1, "cd"),
        ("artificial_modes", 16, 10_000, 1, 0.1, "cd"),
        ("letters", 16, 10_000, 1, 0.1, "cd"),
        ("mnist", 16, 5_000, 1, 0.1, "cd"),
        ("letters", 100, 100_000, 1, 0.1, "cd"),
        ("mnist", 500, 15_000, 1, 0.01, "cd"),
    }
    estimates = [paper.jobs[job_id] for job_id in ids_shown(paper, table, "estimate")]
    assert len(estimates) == 24
    assert {estimate.settings.estimates for estimate in estimates} == {50_000}
    methods = [sorted(paper.jobs[truth].settings.method for truth in estimate.needs) for estimate in estimates]
    assert methods == [["exact", "parallel_tempering"]] * 16 + [["parallel_tempering"]] * 8
    truths = {truth for estimate in estimates for truth in estimate.needs}
    settings = [paper.jobs[truth].settings for truth in truths]
    tempered = [ground_truth for ground_truth in settings if ground_truth.method == "parallel_tempering"]
    assert {(t.chains, t.burn_in, t.samples) for t in tempered} == {(100, 50_000, 200_000)}


def test_large_models_are_trained_and_evaluated_as_published(paper):
    figure = paper.figures["popcd_fig3"]
    runs = [paper.jobs[run].settings for run in ids_shown(paper, figure)]
    assert len(runs) == len(ids_shown(paper, figure, "evaluate")) == 16
    assert {(run.data.name, run.hidden, run.schedule[0].rate, run.iterations, run.trials) for run in runs} == {
        ("letters", 100, 0.1, 500_000, 10),
        ("letters", 100, 0.01, 5_000_000, 10),
        ("mnist", 500, 0.01, 40_000, 1),
        ("mnist", 500, 0.001, 400_000, 1),
    }
    assert {run.schedule[0].estimator.name for run in runs} == {"cd", "pop_cd"}
    evaluations = [paper.jobs[job_id] for job_id in ids_shown(paper, figure, "evaluate")]
    assert [evaluation.run for evaluation in evaluations] == list(ids_shown(paper, figure))
    assert {(evaluation.settings.particles, evaluation.settings.temperatures) for evaluation in evaluations} == {
        (512, 50_000)
    }
    folders = [run.folder for panel in figure.spec.panels for run in panel.runs]
    assert folders == [f"results/paper/evaluations/{job_id}" for job_id in ids_shown(paper, figure, "evaluate")]
    assert len(paper.of_kind("evaluate")) == 16


def test_other_annealing_settings_do_not_change_training_jobs(popcd, paper):
    other = plan(changed(popcd, {"defaults": {"annealing": {"particles": 7}}}))
    assert set(other.of_kind("train")) == set(paper.of_kind("train"))
    assert not set(other.of_kind("evaluate")) & set(paper.of_kind("evaluate"))


def test_algorithms_and_rates_of_a_panel_have_one_seed(paper):
    seeds = {}
    for run in paper.of_kind("train").values():
        seeds.setdefault((run.data, run.settings.hidden), set()).add(run.settings.seed)
    assert all(len(group) == 1 for group in seeds.values())
    assert len(set.union(*seeds.values())) == len(seeds) == 6


def test_purposes_have_different_seeds(paper):
    jobs = [job for job in paper.jobs.values() if (job.run or job.id).startswith("letters-16h")]
    seeds = {
        kind: {job.settings.seed for job in jobs if job.kind == kind and getattr(job.settings, "method", "") != "exact"}
        for kind in ("train", "estimate", "ground_truth")
    }
    assert [len(of_kind) for of_kind in seeds.values()] == [1, 1, 1]
    assert len(set.union(*seeds.values())) == 3
    assert seeds["train"] == {derived_seed(2018, "train", "letters", 16)}


def test_plans_are_deterministic(popcd, paper):
    again = plan(popcd)
    assert again == paper
    assert again.figures["popcd_fig1"].spec.canonical() == paper.figures["popcd_fig1"].spec.canonical()


def test_ids_do_not_change_by_accident(paper):
    # A run's id names its folder: a change makes the results of every user stale.
    assert "bars_and_stripes-16h-cd_1-0.1-be5407cdca" in paper.of_kind("train")


def test_a_changed_setting_changes_only_dependent_jobs(popcd, paper):
    longer = {"figures": {"fig1": {"panels": {"a": {"iterations": 60_000}}}}}
    other = plan(changed(popcd, longer))
    before, after = set(paper.of_kind("train")), set(other.of_kind("train"))
    removed, added = before - after, after - before
    assert len(removed) == len(added) == 6
    assert all(run.startswith("bars_and_stripes-16h-") and "-0.1-" in run for run in removed | added)
    assert set(other.of_kind("estimate")) == set(paper.of_kind("estimate"))
    assert other.tables == paper.tables
    assert other.figures["popcd_fig2"] == paper.figures["popcd_fig2"]


def test_estimates_depend_on_model_and_ground_truth(popcd, paper):
    for change in ({"ground_truth": {"samples": 7}}, {"rows": {"mnist_16": {"iterations": 7}}}):
        other = plan(changed(popcd, {"tables": {"table1": change}}))
        added = set(other.of_kind("estimate")) - set(paper.of_kind("estimate"))
        data = {other.jobs[estimate].run.split("-")[0] for estimate in added}
        expected = {"mnist"} if "rows" in change else {"mnist", "letters", "bars_and_stripes", "artificial_modes"}
        assert data == expected


def test_runs_of_two_figures_are_planned_once(popcd):
    figure = popcd.papers[0].figures["fig1"].model_dump(mode="json")
    other = plan(changed(popcd, {"figures": {"fig9": figure}}))
    assert ids_shown(other, other.figures["popcd_fig9"]) == ids_shown(other, other.figures["popcd_fig1"])
    assert set(other.of_kind("train")) == set(plan(popcd).of_kind("train"))


def test_targets_of_papers_leave_out_studies():
    smoke = planned_here("smoke")
    own = [key for key in smoke.outputs if key.startswith("arena_")]
    assert smoke.targets["arena"] == own != []
    assert smoke.targets["all_figures"] == [key for key in smoke.figures if key not in own]
    assert smoke.targets["all_tables"] == [key for key in smoke.tables if key not in own]
    assert smoke.targets["all"] == list(smoke.outputs)
    figures = [f"cd_bias_bound_{name}" for name in ("fig1", "fig1_100_trials", "fig2", "fig3")]
    assert smoke.targets["paper_cd_bias_bound"] == figures
    assert smoke.targets["popcd_table1"] == ["popcd_table1"]


def test_a_plan_of_targets_has_only_their_jobs():
    whole = planned_here("smoke")
    for target in ("popcd_table1", "ucd_fig5", "paper_sdcp", "arena"):
        keys = set(whole.targets[target])
        part = whole.only([target])
        assert set(part.outputs) == keys
        assert set(part.jobs) == {job for key in keys for job in whole.needed(whole.outputs[key])}
        # Jobs before these are included.
        assert {name for job in part.jobs.values() for name in part.before(job)} <= set(part.jobs)
    assert whole.only(["all"]) == whole


def test_targets_of_a_configuration_limit_its_plan(popcd, paper):
    chosen = popcd.main.model_copy(update={"targets": ("popcd_table1", "popcd_fig1")})
    assert plan(replace(popcd, main=chosen)) == paper.only(["popcd_fig1", "popcd_table1"])
    unknown = popcd.main.model_copy(update={"targets": ("popcd_tabel1",)})
    layers = Layers((*popcd.layers.parts, ("own.yaml", {"targets": ["popcd_tabel1"]})))
    message = r"^own\.yaml: targets: unknown target 'popcd_tabel1'; nearest: 'popcd_table1'; "
    with pytest.raises(SettingsError, match=message):
        plan(replace(popcd, main=unknown, layers=layers))


def test_error_of_an_unknown_target_names_the_nearest():
    with pytest.raises(SettingsError, match=r"^unknown target 'paper_popdc'; nearest: 'paper_popcd'; allowed: all, "):
        planned_here("smoke").only(["popcd_fig1", "paper_popdc"])


def test_specs_have_settings_reduced_from_the_paper():
    smoke = planned_here("smoke").outputs
    budgets = {change.setting: change for change in smoke["popcd_fig2"].spec.of_part("a")}
    assert (budgets["iterations"].published, budgets["trials"].published) == (5000, 25)
    assert {change.kind for change in budgets.values()} == {"budget", "data"}
    reduced = {change.setting: change for change in smoke["popcd_table1"].spec.of_part("bars_and_stripes_16")}
    for name, published in {"estimate.estimates": 50_000, "ground_truth.samples": 200_000}.items():
        assert reduced[name].published == published > reduced[name].value
    sizes = {change.setting: change for change in smoke["ucd_fig3"].spec.of_part("a")}
    for name, pair in {"hidden": (11, 100), "estimator.chains": (60, 1000)}.items():
        assert (sizes[name].value, sizes[name].published, sizes[name].kind) == (*pair, "setting")


def test_rows_of_different_numbers_of_samples_share_their_model(paper):
    table = paper.tables["popcd_tableb_samples"]
    estimates = [paper.jobs[job_id] for job_id in ids_shown(paper, table, "estimate")]
    assert sorted(estimate.settings.batch for estimate in estimates) == [246, 246, 984, 984, 13038, 13038, 52152, 52152]
    assert {(estimate.run, estimate.needs) for estimate in estimates} == {(estimates[0].run, estimates[0].needs)}
    assert {estimates[0].run} < set(ids_shown(paper, paper.tables["popcd_table1"]))
    assert [row.samples for row in table.spec.rows] == [246, 984, 13038, 52152]


def test_specs_have_the_folders_of_jobs(paper):
    spec = paper.figures["popcd_fig1"].spec
    assert (spec.key, spec.paper, spec.kind, spec.scale) == ("popcd_fig1", "popcd", "learning_curves", "paper")
    folders = [run.folder for panel in spec.panels for run in panel.runs]
    assert folders == [f"results/paper/runs/{run}" for run in ids_shown(paper, paper.figures["popcd_fig1"])]
    tables = [table.spec for table in paper.tables.values() if table.spec.kind == "bias_variance"]
    assert "popcd_table1" in {table.key for table in tables}
    estimates = [e for table in tables for row in table.rows for e in row.estimates]
    assert [e.k for e in estimates[:4]] == [1, 10, 1, 10]
    assert {e.folder.rpartition("/")[2] for e in estimates} == set(paper.of_kind("estimate"))


def test_data_of_the_smoke_scale_need_no_download():
    local = {"bars_and_stripes", "artificial_modes", "digits", "simulated_rbm", "diag", "one_d_ball", "shifting_bar"}
    data = planned_here("smoke").data
    names = {entry.options["data"] if entry.name == "held_out" else entry.name for entry in data.values()}
    assert names <= local
    stand_ins = {entry.options["stands_in_for"] for entry in data.values() if "stands_in_for" in entry.options}
    assert stand_ins == {"letters", "mnist", "Fashion-MNIST", "USPS", "MNIST", "OpenTable", "OMNIGLOT"}


def test_two_data_sets_of_one_key_raise(popcd):
    other = changed(popcd, {"key": "other", "data": {"letters": {"name": "digits"}}}).papers[0]
    parts = {"published": {**popcd.published, "other": other}, "published_tables": {"popcd": {}, "other": {}}}
    configuration = replace(popcd, papers=(*popcd.papers, other), **parts)
    with pytest.raises(SettingsError, match=r"other\.yaml: data\.letters: must be .*, got digits"):
        plan(configuration)


def test_a_schedule_of_stages_is_that_of_the_run(popcd):
    stages = [{"estimator": "pcd", "until": 500}, {"estimator": "cd", "options": {"k": 3}, "rate": 0.02}]
    staged = {"label": "PCD, then CD", "schedule": stages}
    change = {"algorithms": {"staged": staged}, "figures": {"fig1": {"algorithms": ["staged"]}}}
    other = plan(changed(popcd, change))
    run = other.jobs[ids_shown(other, other.figures["popcd_fig1"])[0]].settings
    schedule = [(s.until, s.estimator.name, s.estimator.options, s.rate) for s in run.schedule]
    assert schedule == [(500, "pcd", {}, 0.1), (50_000, "cd", {"k": 3}, 0.02)]


def test_a_schedule_of_one_stage_gives_the_same_run(popcd, paper):
    single_stage = {"estimator": None, "options": {}, "schedule": [{"estimator": "cd", "options": {"k": 1}}]}
    values = popcd.papers[0].model_dump(mode="json")
    values["algorithms"]["cd_1"] |= single_stage
    other = replace(popcd, papers=(type(popcd.papers[0]).model_validate(values),))
    assert set(plan(other).of_kind("train")) == set(paper.of_kind("train"))


def test_an_algorithm_overrides_rate_and_initial_parameters(popcd, paper):
    start = {"kind": "normal", "width": 0.5, "biases": "zero"}
    algorithms = {
        name: {"label": name, "estimator": "cd", "options": {"k": 1}} | more
        for name, more in {"fast": {"rate": 0.7}, "started": {"initial": start}, "slow": {"rate": 0.01}}.items()
    }
    figures = {"fig1": {"panels": {"a": {"algorithms": ["cd_1", *algorithms]}}}}
    other = plan(changed(popcd, {"algorithms": algorithms, "figures": figures}))
    panel = other.figures["popcd_fig1"].spec.panels[0]
    plain, fast, started, slow = (other.jobs[run.folder.rpartition("/")[2]].settings for run in panel.runs)
    assert (plain.schedule[0].rate, fast.schedule[0].rate) == (0.1, 0.7)
    assert started.initial.model_dump() == start
    # Algorithms of equal settings share a run.
    other_panel = other.figures["popcd_fig1"].spec.panels[1]
    assert slow == other.jobs[other_panel.runs[0].folder.rpartition("/")[2]].settings
    assert panel.rates == (0.1, 0.7, 0.01)


def test_curves_of_an_algorithm_may_have_fewer_trials_than_their_panel(popcd, paper):
    few = changed(popcd, {"algorithms": {"cd_1": {"trials": 3}, "pcd_1": {"trials": 1009}}})
    output = plan(few).figures["popcd_fig1"]
    panel = output.spec.panels[0]
    trials = {run.algorithm: plan(few).jobs[run.folder.rpartition("/")[2]].settings.trials for run in panel.runs}
    published = paper.figures["popcd_fig1"].spec.panels[0].trials
    assert panel.trials == published
    assert trials == dict.fromkeys(trials, published) | {"cd_1": 3}
    assert {(item.algorithm, item.setting, item.value) for item in output.spec.differences} == {("cd_1", "trials", 3)}


def test_panels_may_have_their_own_evaluations_and_proxies(popcd):
    panels = {"a": {"evaluate_at": []}, "b": {"evaluate_at": [1, 4], "proxy": {"rows": 7}}}
    defaults = {"evaluate_at": [2, 3], "proxy": {"chains": 5, "steps": 2}}
    other = plan(changed(popcd, {"defaults": defaults, "figures": {"fig1": {"panels": panels}}}))
    folders = [panel.runs[0].folder for panel in other.figures["popcd_fig1"].spec.panels[:3]]
    a, b, c = (other.jobs[folder.rpartition("/")[2]].settings for folder in folders)
    assert [run.evaluate_at for run in (a, b, c)] == [(), (1, 4), (2, 3)]
    proxies = [(run.proxy.chains, run.proxy.steps, run.proxy.rows) for run in (a, b, c)]
    assert proxies == [(5, 2, None), (30, 10, 7), (5, 2, None)]


def test_notes_of_a_spec_have_the_reading_of_its_figure(popcd):
    change = {"figures": {"fig1": {"reading": "rates divided by ten"}}}
    spec = plan(changed(popcd, change)).figures["popcd_fig1"].spec
    assert spec.notes == ["Another reading of the paper: rates divided by ten."]


def test_panels_of_other_metrics_share_their_runs(popcd, paper):
    shown = {"metric": "effective_sample_size", "axis": "log", "algorithms": ["pop_cd_1"]}
    panel = popcd.papers[0].figures["fig1"].panels["a"].model_dump(mode="json")
    other = plan(changed(popcd, {"figures": {"fig1": {"panels": {"e": panel | shown}}}}))
    assert set(other.of_kind("train")) == set(paper.of_kind("train"))
    spec = other.figures["popcd_fig1"].spec.panels[-1]
    assert (spec.metrics, spec.axis) == (("effective_sample_size",), "log")
    assert [run.algorithm for run in spec.runs] == ["pop_cd_1"]


def test_compared_annealing_is_a_further_metric_of_its_panels(popcd, paper):
    other = plan(changed(popcd, {"defaults": {"annealing": {"tempering": {"products": 7000}, "compared": 3}}}))
    before, after = (each.figures["popcd_fig3"].spec.panels for each in (paper, other))
    assert {panel.metrics for panel in before} == {("log_likelihood",)}
    assert {panel.metrics for panel in after if panel.annealing} == {("log_likelihood", "compared_log_likelihood")}
    assert {panel.metrics for panel in after if not panel.annealing} <= {("log_likelihood",)}
    budgets = [panel.annealing for panel in before if panel.annealing]
    assert [panel.annealing for panel in after if panel.annealing] == [{"products": 7000} | each for each in budgets]


def test_a_panel_of_a_diagnostic_needs_no_annealing(popcd, paper):
    shown = {"metric": "effective_sample_size", "algorithms": ["pop_cd_1"]}
    panel = popcd.papers[0].figures["fig3"].panels["a"].model_dump(mode="json")
    figure = {"kind": "learning_curves", "title": "t", "panels": {"a": panel | shown}}
    other = plan(changed(popcd, {"figures": {"fig9": figure}}))
    assert ids_shown(other, other.figures["popcd_fig9"], "evaluate") == ()
    folder = other.figures["popcd_fig9"].spec.panels[0].runs[0].folder
    assert folder == f"results/paper/runs/{ids_shown(other, other.figures['popcd_fig9'])[0]}"
    figure["panels"]["a"]["metric"] = ["log_likelihood", "reconstruction_log_likelihood"]
    two_metrics = plan(changed(popcd, {"figures": {"fig9": figure}}))
    annealed = set(ids_shown(paper, paper.figures["popcd_fig3"], "evaluate"))
    assert set(ids_shown(two_metrics, two_metrics.figures["popcd_fig9"], "evaluate")) < annealed


def test_a_panel_with_a_reference_line_has_a_data_file(popcd):
    panel = {"references": ["maximum"]}
    other = plan(changed(popcd, {"figures": {"fig1": {"panels": {"a": panel}}}}))
    spec = other.figures["popcd_fig1"].spec
    assert spec.panels[0].data_file == "results/paper/datasets/bars_and_stripes.npz"
    assert spec.files()[-1] == spec.panels[0].data_file


COUPLED = {"kind": "coupling_times", "title": "t", "visible": 7, "hidden": 5, "width": 0.1}
COUPLED |= {"replications": 11, "longest": 13}


def test_couplings_share_a_model_and_have_different_ids(popcd):
    other = plan(changed(popcd, {"figures": {"fig5": COUPLED}}))
    first, second = (job.settings for job in other.of_kind("couple").values())
    assert (first.coupling, second.coupling) == ("general", "rbm")
    assert first.seed == second.seed
    assert ids_shown(other, other.figures["popcd_fig5"], "couple") == tuple(other.of_kind("couple"))
    reduced = COUPLED | {"replications": 3}
    fewer = plan(changed(popcd, {"figures": {"fig5": reduced}}))
    assert not set(fewer.of_kind("couple")) & set(other.of_kind("couple"))


def test_a_table_of_run_times_has_the_runs_of_its_panel(popcd, paper):
    table = {"kind": "run_times", "title": "t", "panel": "fig3.c", "reference": "cd_1"}
    other = plan(changed(popcd, {"tables": {"table2": table}}))
    assert set(other.of_kind("train")) == set(paper.of_kind("train"))
    assert set(other.of_kind("evaluate")) == set(paper.of_kind("evaluate"))
    result = other.tables["popcd_table2"]
    assert len(ids_shown(other, result)) == 4
    assert len(ids_shown(other, result, "evaluate")) == 1
    assert result.spec.evaluation.folder == f"results/paper/evaluations/{ids_shown(other, result, 'evaluate')[0]}"
    assert (result.spec.panel, result.spec.evaluate_every) == ("fig3.c", 2000)


def test_the_bias_of_cd_is_measured_as_published():
    planned = planned_here().only(["paper_cd_bias_bound"])
    runs = [planned.jobs[run].settings for run in ids_shown(planned, planned.figures["cd_bias_bound_fig1"])]
    sizes = {(run.data.name, run.data.options["d"], run.batch, run.hidden) for run in runs}
    assert sizes == {("diag", 6, 7, 6), ("one_d_ball", 6, 6, 6)}
    for run in runs:
        (stage,) = run.schedule
        assert (stage.estimator.name, stage.estimator.options, stage.update.name) == ("expected_cd", {"k": 1}, "sgd")
        assert (stage.rate, run.iterations, run.trials) == (0.1, 50_000, 25)
        assert run.initial.model_dump() == {"kind": "uniform", "width": 0.5, "biases": "zero"}
        assert run.bias_bound is not None
        assert run.evaluate_at[0] == 1
    other_settings = [planned.jobs[run].settings for run in ids_shown(planned, planned.figures["cd_bias_bound_fig2"])]
    assert {run.schedule[0].estimator.options["k"] for run in other_settings} == {1, 2, 5, 10}
    assert {run.data.options["d"] for run in other_settings} == {4, 6, 8}
    assert {run.schedule[0].update.options.get("decay") for run in other_settings} == {None, 0.001, 0.01}
    constant = [planned.jobs[run].settings for run in ids_shown(planned, planned.figures["cd_bias_bound_fig3"])]
    sizes = {(run.data.name, run.bias_bound is None) for run in constant}
    assert sizes == {("diag", False), ("one_d_ball", False), ("bars_and_stripes", True)}  # 32 units are too many
    panel = planned.figures["cd_bias_bound_fig1"].spec.panels[0]
    assert (panel.metrics, panel.iteration_axis) == (("cd_bias", "bias_bound", "older_bias_bound"), "log")


def test_dc_programming_is_run_as_published():
    planned = planned_here().only(["paper_sdcp"])
    assert {run.settings.seed for run in planned.of_kind("train").values() if run.data == "shifting_bar"} == {
        derived_seed(2017, "train", "shifting_bar", 4)
    }
    own = ids_shown(planned, planned.figures["sdcp_figa_one_inner_step"])  # not in the paper
    early = ids_shown(planned, planned.figures["sdcp_fig1_early"])
    for name, run in ((name, job.settings) for name, job in planned.of_kind("train").items()):
        (stage,) = run.schedule
        # Gibbs steps per iteration are equal for all update rules.
        steps = stage.estimator.options["k"] * stage.update.options.get("inner_steps", 1)
        small = run.hidden == 4
        assert steps == (12 if small else 25 if "25" in str(stage.estimator.options) else 24)
        assert run.trials >= (25 if small else 10)  # Figures 1 and 2 have more
        assert run.test_likelihood
        longest = 5_000 if name in own else 4_500 if name in early else 50_000
        assert run.iterations == (longest if small else run.iterations)
    epochs = {
        run.settings.iterations / (planned.data[run.data].rows // run.settings.batch)
        for run in planned.of_kind("train").values()
        if run.settings.hidden == 500
    }
    assert epochs == {200.0, 250.0}
    shared = [set(ids_shown(planned, planned.figures[f"sdcp_{name}"])) for name in ("fig3", "fig6", "fig7")]
    assert len(shared[0] & shared[1]) == 4
    assert len(shared[0] & shared[2]) == 2
    panel = planned.figures["sdcp_fig5"].spec.panels[0]
    assert (panel.batch, panel.mark, panel.annealing["temperatures"]) == (1000, None, 10_000)
    assert panel.epoch == 60000 // 1000
    assert {panel.epoch for panel in planned.figures["sdcp_fig4"].spec.panels} == {24345 // 200}
    assert {panel.epoch for panel in planned.figures["sdcp_fig1"].spec.panels} == {1}


def test_rows_of_a_table_have_the_rate_of_their_models(popcd):
    planned = plan(changed(popcd, {"algorithms": {"cd_1": {"rate": 0.02}}}))
    assert {row.rate for row in planned.tables["popcd_table1"].spec.rows} == {0.02}


@pytest.fixture
def overlaid(repository, tmp_path, monkeypatch):
    """Return a function that loads the paper scale with overrides."""
    monkeypatch.chdir(repository)

    def loaded(overrides: str):
        (tmp_path / "part.yaml").write_text(f"overrides: {overrides}")
        return load(["config/config.yaml", tmp_path / "part.yaml"])

    return loaded


def test_an_overlay_leaves_out_panels_rows_and_curves_by_name(overlaid):
    figures = "{fig3: {algorithms: [pop_cd_1, cd_1], panels: {a: null, b: null, d: null}}}"
    tables = "{table1: {rows: {letters_100: null, mnist_500: null}}}"
    small = plan(overlaid(f"{{popcd: {{figures: {figures}, tables: {tables}}}}}"))
    figure, table = small.figures["popcd_fig3"], small.tables["popcd_table1"]
    assert [panel.name for panel in figure.spec.panels] == ["c"]
    assert figure.spec.which == "Figure 3 of popcd, paper scale, without panels a, b and d"
    left_out = [difference.published for difference in figure.spec.of_part("c")]
    assert left_out == ["CD-10", "pop-CD-10"]
    assert [run.partition("-0.01")[0] for run in ids_shown(small, figure)] == ["mnist-500h-pop_cd_1", "mnist-500h-cd_1"]
    assert table.spec.lacks == ", without rows letters_100 and mnist_500"
    assert not {run for run in ids_shown(small, table) if "500h" in run or "100h" in run}
    whole = planned_here()
    assert set(ids_shown(small, figure)) <= set(ids_shown(whole, whole.figures["popcd_fig3"]))
    specs = [output.spec for output in (whole.figures | whole.tables).values()]
    assert not [spec.key for spec in specs if spec.differences]


def test_an_overlay_leaves_out_figures_and_tables_by_name(repository, overlaid):
    configuration = overlaid("{popcd: {figures: {fig1: null, fig3: null}, tables: {table1: null}}}")
    whole = planned_here()
    files.check(repository / "config/claims", configuration)
    left_out = {"popcd_fig1", "popcd_fig3", "popcd_table1"}
    assert plan(configuration).outputs.keys() == whole.outputs.keys() - left_out


@pytest.mark.parametrize(
    ("overlay", "place"),
    [
        ("{popcd: {figures: {fig3: {panels: {z: null}}}}}", "part.yaml: overrides.popcd: figures.fig3.panels.z"),
        ("{popcd: {figures: {fig9: null}}}", "overrides.popcd: figures.fig9"),
        ("{popcd: {tables: {table9: null}}}", "overrides.popcd: tables.table9"),
        ("{rates_fpcd: {figures: {fig2_mnist: null}}}", "figures.fig1.panel: unknown panel 'fig2_mnist.a'"),
    ],
)
def test_error_of_an_overlay_names_the_unknown_key(overlaid, overlay, place):
    with pytest.raises(SettingsError, match=re.escape(place)):
        overlaid(overlay)
