# SPDX-License-Identifier: BSD-3-Clause
"""Tidy frames of runs, their summaries and captions."""

import json

import numpy as np
import pandas as pd
import pytest
from reporting_results import figure, make_run, numbers, rising, stand_in, table

from rbmbench.base.errors import ResultsError, SettingsError
from rbmbench.base.parsing import parse
from rbmbench.kinds import read_spec
from rbmbench.kinds._curves import figure_heading
from rbmbench.kinds.bias_variance import BiasVarianceSpec
from rbmbench.kinds.learning_curves import LearningCurvesSpec
from rbmbench.planning.specs import number_of
from rbmbench.reporting import frames
from rbmbench.reporting.frames import Band
from rbmbench.reporting.words import count, listed


def figure_spec(values) -> LearningCurvesSpec:
    return parse(LearningCurvesSpec, values, "test")


def test_tidy_frame_has_the_papers_labels(tmp_path):
    spec = figure_spec(figure(tmp_path, {"a": {"curves": {"cd_1": rising(-5.0), "pop_cd_1": rising(-4.0)}}}))
    frame = spec.read().frame
    assert list(frame.columns) == [*frames.PANEL_COLUMNS, "trial", "iteration", "metric", "value"]
    assert set(frame["metric"]) == {"log_likelihood"}
    assert len(frame) == 2 * 5 * 41
    first = frame.iloc[0]
    assert (first["panel"], first["data"], first["data_title"], first["rows"]) == ("a", "toy", "Toy & Bars", 13)
    assert (first["label"], first["stand_in"], first["value"]) == ("CD-1", "", pytest.approx(-20.02))


def test_summary_is_mean_and_quantiles_over_trials(tmp_path):
    values = np.arange(11.0)[:, None] * [1.0, 10.0] - 200
    summary = frames.summarise(figure_spec(figure(tmp_path, {"a": {"curves": {"cd_1": values}}})).read().frame, Band())
    last = summary.iloc[-1]
    assert last["trials"] == 11
    assert [last[name] for name in ("mean", "low", "high")] == pytest.approx([-150.0, -190.0, -110.0])
    assert [last[f"sum_{name}"] for name in ("mean", "low", "high")] == pytest.approx([-1950.0, -2470.0, -1430.0])


def test_trial_with_a_non_finite_value_is_left_out_and_named(tmp_path):
    values = rising(-5.0)
    values[3, 7:] = np.nan
    spec = figure_spec(figure(tmp_path, {"a": {"curves": {"cd_1": values}}}))
    summary = frames.summarise(spec.read().frame, Band())
    assert set(summary["trials"]) == {4}
    assert summary["mean"].iloc[0] == pytest.approx(np.delete(values, 3, axis=0)[:, 0].mean())
    assert "left out of the means: CD-1 trial 3 (not finite at iteration 700)" in spec.caption(spec.read())


def test_trial_that_is_missing_from_the_file_is_named(tmp_path):
    make_run(tmp_path / "run", rising(-5.0, trials=3), meta={"trials": 4})
    trials = frames.RunData.read(str(tmp_path / "run")).trials()
    assert list(trials.index) == [0, 1, 2, 3]
    assert trials.loc[3].isna().all()


def test_stand_in_is_named_once(tmp_path):
    panel = {"curves": {"cd_1": rising(-5.0)}, "meta": stand_in("mnist")}
    spec = figure_spec(figure(tmp_path, {"a": panel}))
    frame = spec.read().frame
    assert set(frame["data_title"]) == {"Digits 8x8"}
    lines = ["Curves", "Figure 1 of popcd, tiny scale", "stand-in data: Digits 8x8 in place of MNIST"]
    assert figure_heading(spec, frame) == lines


def test_caption_names_only_reduced_budgets(tmp_path):
    reduced, full = {"iterations": 50000, "trials": 25}, {"iterations": 4000, "trials": 5}
    panels = {name: {"curves": {"cd_1": rising(-5.0)}, "published": of} for name, of in (("a", reduced), ("b", full))}
    spec = figure_spec(figure(tmp_path, panels))
    caption = spec.caption(spec.read())
    assert f"Panel a: 4{count(50000)[2]}000 of {count(50000)} iterations and 5 of 25 trials." in caption
    assert " of 4" not in caption
    assert "Panel b" not in caption


@pytest.mark.parametrize(
    ("folder", "message"), [("nowhere", r"nowhere/meta\.json: is missing"), ("run", r"key 'data\.rows' is missing")]
)
def test_missing_run_or_provenance_raises_a_one_line_error(tmp_path, folder, message):
    make_run(tmp_path / "run", rising(-5.0), meta={"data": {"title": "x"}})
    values = figure(tmp_path, {"a": {"curves": {"cd_1": rising(-5.0)}}})
    values["panels"][0]["runs"][0]["folder"] = str(tmp_path / folder)
    with pytest.raises(ResultsError, match=rf"\A.*{message}.*\Z"):
        figure_spec(values).read()


def test_final_means_are_those_of_the_last_evaluation(tmp_path):
    panels = {"a": {"curves": {"cd_1": rising(-5.0), "pop_cd_1": rising(-4.0)}}}
    summary = frames.summarise(figure_spec(figure(tmp_path, panels)).read().frame, Band())
    means = frames.final_means(summary)
    assert list(means.columns) == ["CD-1", "pop-CD-1"]
    assert means.iloc[0].tolist() == pytest.approx([rising(-5.0)[:, -1].mean(), rising(-4.0)[:, -1].mean()])


def test_run_settings_are_those_of_each_panel(tmp_path):
    spec = figure_spec(figure(tmp_path, {"a": {"curves": {"cd_1": rising(-5.0)}}}))
    settings = frames.run_settings(spec.panels, spec.read().runs).loc["a"]
    assert (settings["batch"], settings["seed"], settings["initial parameters"]) == (7, 11, "uniform 0.1")


def test_measurements_include_estimators_without_k(tmp_path):
    values = table(tmp_path, {"toy_3": {"cd_1": [numbers(1e-3, 2e-2, 1e-3)], "ucd": [numbers(5e-3, 0.0, 1e-3)]}})
    values["rows"][0]["estimates"][1]["k"] = None
    models = parse(BiasVarianceSpec, values, "test").read()
    assert models["algorithm"].tolist() == ["cd_1", "ucd"]
    assert models["variance"].tolist() == [1e-3, 5e-3]
    assert pd.isna(models["k"].iloc[1])


def test_relative_folders_of_a_spec_are_found_from_any_directory(tmp_path, monkeypatch):
    values = figure(tmp_path / "results" / "tiny", {"a": {"curves": {"cd_1": rising(-5.0)}}})
    relative = "results/tiny/runs/popcd_fig1-a-cd_1"
    values["panels"][0]["runs"][0]["folder"] = relative
    path = tmp_path / "results" / "tiny" / "specs" / "popcd_fig1.json"
    path.parent.mkdir()
    path.write_text(json.dumps(values))
    monkeypatch.chdir(tmp_path)
    assert read_spec(path).panels[0].runs[0].folder == relative
    monkeypatch.chdir(path.parent)
    assert len(read_spec(path).read().frame) == 5 * 41


@pytest.mark.parametrize("folder", ["n" * 300, "a\0b"], ids=["long name", "null character"])
def test_invalid_name_of_a_folder_raises_a_one_line_error(tmp_path, folder):
    values = figure(tmp_path, {"a": {"curves": {"cd_1": rising(-5.0)}}})
    values["panels"][0]["runs"][0]["folder"] = folder
    path = tmp_path / "popcd_fig1.json"
    path.write_text(json.dumps(values))
    with pytest.raises(ResultsError, match=r"\A[^\n]*/meta\.json: cannot be read[^\n]*\Z"):
        read_spec(path).read()


def test_spec_with_a_missing_key_raises_a_one_line_error(tmp_path):
    path = tmp_path / "popcd_fig1.json"
    path.write_text(json.dumps({"key": "popcd_fig1", "kind": "learning_curves"}))
    with pytest.raises(SettingsError, match=r"popcd_fig1\.json: paper: is missing"):
        read_spec(path)


def test_figure_and_table_numbers_come_from_the_key(tmp_path):
    spec = figure_spec(figure(tmp_path, {"a": {"curves": {"cd_1": rising(-5.0)}}}, key="popcd_fig2"))
    assert number_of(spec.key) == "Figure 2"
    assert number_of("popcd_fig2_more_data") == "Figure 2 (more data)"


@pytest.mark.parametrize(("words", "text"), [(["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")])
def test_listed_joins_words_with_commas_and_and(words, text):
    assert listed(words) == text


def test_caption_has_the_certainty_of_annealing(tmp_path):
    curves = {"cd_1": rising(-5.0), "pop_cd_1": rising(-5.0)}
    panels = {"a": {"curves": curves, "effective_particles": 40.0, "published": {"annealing.particles": 512}}}
    spec = parse(LearningCurvesSpec, figure(tmp_path, panels | {"b": {"curves": curves}}), "test")
    certainty = frames.annealing_certainty(spec.panels, spec.read().runs)
    assert list(certainty["panel"]) == ["a", "a"]
    assert set(certainty["largest standard error"]) == {0.25}
    assert set(certainty["least share of particles"]) == {0.4}
    caption = spec.caption(spec.read())
    assert "standard error at most 0.25 nats, effective sample size at least 40 % of the particles" in caption
    assert "Panel a: 100 of 512 particles of the annealing." in caption


def test_caption_has_the_certainty_of_tempered_chains(tmp_path):
    curve = rising(-5.0)
    trials = len(curve)
    diagnostics = {"log_partition_error": 0.125 + 0 * curve, "log_partition_converged": 1 + 0 * curve}
    diagnostics["log_partition_converged"][0, 1:] = 0
    panel = {"curves": {"cd_1": curve}, "diagnostics": {"cd_1": diagnostics}, "annealing": {"products": 5_000_000}}
    spec = parse(LearningCurvesSpec, figure(tmp_path, {"a": panel}), "test")
    certainty = frames.annealing_certainty(spec.panels, spec.read().runs)
    assert certainty["share converged"].item() == pytest.approx(1 - 1 / trials)
    assert spec.read().doubts == {}
    caption = spec.caption(spec.read())
    share = f"{100 * (1 - 1 / trials):.3g} % of the estimates"
    assert f"parallel tempering from two starts: standard error at most 0.12 nats; {share}" in caption
    assert "annealed importance sampling" not in caption


def test_annealing_with_few_effective_particles_is_named(tmp_path):
    curves = {"cd_1": rising(-5.0), "pop_cd_1": rising(-5.0)}
    panels = {"a": {"curves": curves, "effective_particles": 9.9}, "b": {"curves": curves, "effective_particles": 10.0}}
    spec = parse(LearningCurvesSpec, figure(tmp_path, panels), "test")
    assert spec.read().doubts == {
        "a": "log Z rests on few particles: CD-1\N{NO-BREAK SPACE}9.9, pop-CD-1\N{NO-BREAK SPACE}9.9"
    }


def test_caption_has_intervals_of_annealing_in_both_directions(tmp_path):
    ends = {"log_partition_low": 1.25, "log_partition_high": 4.0, "annealing_effective_sample_size": 2.0}
    panel = {"curves": {"ucd": rising(-5.0)}, "effective_particles": {"ucd": ends}}
    spec = parse(LearningCurvesSpec, figure(tmp_path, {"a": panel}), "test")
    assert spec.read().doubts == {}
    caption = spec.caption(spec.read())
    assert "annealed importance sampling in both directions: 95 % intervals at most 2.8 nats wide." in caption
    assert "particles" not in caption


def test_caption_without_annealing_does_not_name_it(tmp_path):
    spec = parse(LearningCurvesSpec, figure(tmp_path, {"a": {"curves": {"cd_1": rising(-5.0)}}}), "test")
    assert frames.annealing_certainty(spec.panels, spec.read().runs).empty
    assert "annealed" not in spec.caption(spec.read())
