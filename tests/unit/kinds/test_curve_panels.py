# SPDX-License-Identifier: BSD-3-Clause
"""Panels of any metric, bands of other quantiles, sample paths, and reference lines."""

import re

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection
from reporting_results import drawn, figure, rising

from rbmbench import datasets
from rbmbench.base.errors import ResultsError
from rbmbench.base.metrics import metric_of
from rbmbench.base.parsing import parse
from rbmbench.kinds.learning_curves import LearningCurvesSpec
from rbmbench.likelihood import exact_log_partition, log_likelihood
from rbmbench.model.rbm import RBM
from rbmbench.reporting import frames, ranges
from rbmbench.reporting.curves import maximum, references
from rbmbench.reporting.frames import Band
from rbmbench.reporting.style import ARROW

TIMES = np.linspace(2.0, 7.0, 41)[None] + np.array([-0.5, 0.0, 0.5])[:, None]
COMPARED_METRICS = ["log_likelihood", "reconstruction_log_likelihood", "compared_log_likelihood"]
CURVES = {"ucd": rising(-5.0, trials=3)}


def spec_of(tmp_path, panels, **more) -> LearningCurvesSpec:
    return parse(LearningCurvesSpec, figure(tmp_path, panels, **more), "test")


def draw(tmp_path, panels, **more) -> tuple:
    """Return the picture of a figure, and its caption."""
    spec = spec_of(tmp_path, panels, **more)
    return drawn(spec), spec.caption(spec.read())


def diagnostic_panel(**more) -> dict:
    diagnostics = {"ucd": {"stopping_time": TIMES, "proxy": rising(-3.0, trials=3)}}
    return {"curves": CURVES, "diagnostics": diagnostics, "metrics": ["stopping_time"]} | more


def test_a_panel_shows_the_metric_it_names(tmp_path):
    picture, caption = draw(tmp_path, {"a": {"curves": CURVES}, "b": diagnostic_panel()})
    likelihood, times = picture.axes[:2]
    (line,) = times.get_lines()
    np.testing.assert_allclose(line.get_ydata(), TIMES.mean(axis=0)[1:])
    assert likelihood.get_ylabel() == "log-likelihood of the training set\n(nats)"
    assert [axis.get_ylabel() for axis in likelihood.child_axes] == ["mean per sample (nats)"]
    assert times.get_ylabel() == "mean stopping time τ\n(Gibbs steps)"
    assert times.child_axes == []
    assert caption.startswith("Log-likelihood of the whole training set against the iteration (panel a): left axis")
    assert "Panel b: mean stopping time τ (Gibbs steps), averaged over the iterations since" in caption


def test_caption_of_largest_values(tmp_path):
    diagnostics = {"ucd": {"largest_step": TIMES}}
    panel = {"curves": CURVES, "diagnostics": diagnostics, "metrics": ["largest_step"]}
    _, caption = draw(tmp_path, {"a": panel})
    assert "Panel a: largest step, of the iterations since the evaluation before." in caption


def bars_of(ax) -> list[np.ndarray]:
    """Return the thin bars of a panel by curve: (evaluations, x and y, lower and upper end)."""
    return [np.stack(part.get_segments()) for part in ax.collections if isinstance(part, LineCollection)]


def test_estimates_have_bars_and_those_of_few_particles_no_lower_end(tmp_path):
    # A standard error of 0.25 nats; two particles count at the last evaluation, and 50 before.
    values, sizes = rising(-5.0, trials=1), np.where(np.arange(41) == 40, 2.0, 50.0)[None]
    particles = {"annealing_effective_sample_size": sizes}
    panel = {"curves": {"ucd": values}, "effective_particles": {"ucd": particles}}
    spec = spec_of(tmp_path, {"a": panel, "b": {"curves": CURVES}})
    curves = spec.read()
    numbers, picture = spec.numbers(curves), drawn(spec)
    half = 1.96 * 0.25
    panel_numbers = numbers[numbers["panel"] == "a"]
    expected = [np.append(values[0, :-1] - half, -np.inf), np.append(values[0, :-1] + half, values[0, -1] + np.log(40))]
    np.testing.assert_allclose(panel_numbers[["estimate_low", "estimate_high"]].T, expected)
    assert numbers[numbers["panel"] == "b"]["estimate_high"].isna().all()
    estimated, exact = picture.axes[:2]
    (bars,) = bars_of(estimated)
    np.testing.assert_allclose(bars[:, :, 0], np.repeat(100 * np.arange(41), 2).reshape(41, 2))
    inside = 13 * expected[0][:-1] > estimated.get_ylim()[0]
    np.testing.assert_allclose(bars[:-1, 0, 1][inside], 13 * expected[0][:-1][inside])
    assert bars[-1, 0, 1] == pytest.approx(13 * values[0, -1])
    assert [line.get_xydata().tolist() for line in estimated.get_lines() if line.get_marker() == ARROW] == [
        [[4000.0, pytest.approx(13 * values[0, -1])]]
    ]
    np.testing.assert_allclose(bars[:, 1, 1], 13 * expected[1])
    assert bars_of(exact) == []
    words = "hin bars: 95 % intervals of estimates, arrows: no lower end"
    assert picture.legends[0].get_title().get_text().endswith(f"; t{words}")
    assert f"T{words}." in spec.caption(curves)
    (series,) = spec.chart(curves).panels[0].series
    assert series.estimate_low[:-1] == pytest.approx(expected[0][:-1])
    assert series.estimate_low[-1] is None
    assert series.estimate_high == pytest.approx(expected[1])
    assert spec.chart(curves).panels[1].series[0].estimate_high == ()


def test_bars_of_several_trials_are_the_means_of_their_ends(tmp_path):
    values = rising(-5.0, trials=3)
    high = 3 + np.arange(3.0)[:, None] + np.zeros(41)
    bracket = {"log_partition_low": 1.0, "log_partition_high": high, "annealing_effective_sample_size": 2.0}
    spec = spec_of(tmp_path, {"a": {"curves": {"ucd": values}, "effective_particles": {"ucd": bracket}}})
    numbers = spec.numbers(spec.read())
    # log Z is 3: the log-likelihood may be 2 nats larger, and 0, 1 and 2 smaller.
    np.testing.assert_allclose(numbers["estimate_high"], values.mean(axis=0) + 2)
    np.testing.assert_allclose(numbers["estimate_low"], values.mean(axis=0) - 1)


def test_annealing_compared_with_tempered_chains_is_drawn_as_circles(tmp_path):
    # Tempered values at 41 evaluations; annealing, whose log Z is 2 nats smaller, at two: two and 50 particles count.
    values, positions = rising(-5.0, trials=1), [20, 40]
    two_nats = np.where(np.isin(np.arange(41), positions), 2.0, np.nan)[None]
    diagnostics = {"log_partition_error": 0 * values + 0.125, "log_partition_converged": 0 * values + 1}
    diagnostics |= {"compared_log_likelihood": values + two_nats, "compared_log_partition_error": two_nats / 4}
    diagnostics["compared_annealing_effective_sample_size"] = np.where(np.arange(41) == 40, 50.0, two_nats)
    diagnostics["reconstruction_log_likelihood"] = values - 3
    budget = {"products": 700, "particles": 100, "temperatures": 50_000}
    panel = {"curves": {"ucd": values}, "diagnostics": {"ucd": diagnostics}, "annealing": budget}
    spec = spec_of(tmp_path, {"a": panel | {"metrics": COMPARED_METRICS}})
    (path,) = tmp_path.rglob("curve.parquet")
    pd.read_parquet(path).dropna().to_parquet(path)
    curves = spec.read()
    curve, _, circles = spec.chart(curves).panels[0].series
    assert (curve.marked, circles.marked, circles.key) == (False, True, "ucd")
    assert circles.x == (2000, 4000)
    expected = values[0, positions] + 2
    assert circles.mean == pytest.approx(expected)
    assert circles.estimate_low == (None, pytest.approx(expected[1] - 0.98))
    assert circles.estimate_high == pytest.approx(expected + np.array([np.log(40), 0.98]))
    assert len(curve.x) == 41
    picture = drawn(spec)
    line, _, marks, arrow = picture.axes[0].get_lines()
    assert (marks.get_linestyle(), marks.get_marker(), marks.get_markerfacecolor()) == ("None", "o", "none")
    assert marks.get_color() == line.get_color()
    np.testing.assert_allclose(marks.get_xydata().T, [circles.x, 13 * expected])
    np.testing.assert_allclose(arrow.get_xydata(), marks.get_xydata()[:1])
    assert picture.axes[0].get_ylim()[1] > 13 * expected.max()
    assert picture.axes[0].get_ylabel() == "log-likelihood of the training set\n(nats)"
    entries = [text.get_text() for text in picture.legends[0].get_texts()]
    further = "thin, dashed: reconstruction log-likelihood, no bound"
    assert entries == ["ucd", further, "open circles, dotted bars: by annealed importance sampling"]
    assert picture.legends[0].get_lines()[0].get_linewidth() == line.get_linewidth()
    curve_bars, dotted = [part for part in picture.axes[0].collections if isinstance(part, LineCollection)]
    assert (len(curve_bars.get_segments()), len(dotted.get_segments())) == (41, 2)
    assert dotted.get_linestyles() != curve_bars.get_linestyles()
    caption = spec.caption(curves)
    words = "Open circles, dotted bars: by annealed importance sampling of 100 particles and"
    assert f"{words} 50\N{NO-BREAK SPACE}000 temperatures; at least 2 particles count." in caption
    assert "rests on few particles" not in caption


def test_a_figure_of_exact_values_has_no_columns_of_estimates(tmp_path):
    spec = spec_of(tmp_path, {"a": {"curves": CURVES}})
    curves = spec.read()
    assert not [name for name in spec.numbers(curves) if name.startswith("estimate")]
    assert "intervals of estimates" not in spec.caption(curves)
    assert bars_of(drawn(spec).axes[0]) == []


def test_a_metric_without_an_entry_has_its_own_name():
    assert metric_of("swap_rate").label == "swap rate"


def test_error_of_a_missing_metric_names_panel_run_and_metrics(tmp_path):
    spec = spec_of(tmp_path, {"b": diagnostic_panel(metrics=["rejections"])})
    file, keys = tmp_path / "runs/popcd_fig1-b-ucd/curve.parquet", "log_likelihood, log_partition, proxy, stopping_time"
    line = re.escape(f"panel b, ucd: {file}: metric 'rejections' is missing; got {keys}")
    with pytest.raises(ResultsError, match=rf"^{line}\Z"):
        spec.read()


def test_two_metrics_share_a_panel_and_the_second_is_dashed(tmp_path):
    spec = spec_of(tmp_path, {"a": diagnostic_panel(metrics=["log_likelihood", "reconstruction_log_likelihood"])})
    with pytest.raises(ResultsError, match="'reconstruction_log_likelihood' is missing"):
        spec.read()
    diagnostics = {"ucd": {"reconstruction_log_likelihood": rising(-3.0, trials=3)}}
    panel = diagnostic_panel(metrics=spec.panels[0].metrics, diagnostics=diagnostics)
    picture, caption = draw(tmp_path / "again", {"a": panel})
    first, second = picture.axes[0].get_lines()
    assert first.get_linestyle() == "-"
    assert second.get_linestyle() == "--"
    assert first.get_color() == second.get_color()
    assert second.get_ydata()[-1] == pytest.approx(13 * rising(-3.0, trials=3)[:, -1].mean())
    labels = [text.get_text() for text in picture.legends[0].get_texts()]
    assert labels == ["ucd", "thin, dashed: reconstruction log-likelihood, no bound"]
    assert "Thin, dashed: reconstruction log-likelihood, no bound (nats)." in caption


def test_an_axis_may_be_logarithmic(tmp_path):
    (ax,) = draw(tmp_path, {"b": diagnostic_panel(axis="log")})[0].axes
    assert ax.get_yscale() == "log"
    low, high = ax.get_ylim()
    assert 0 < low < TIMES.mean(axis=0)[1]
    assert high > 7


def test_values_of_zero_have_a_linear_axis(tmp_path):
    panel = diagnostic_panel(axis="log", diagnostics={"ucd": {"stopping_time": 0 * TIMES}})
    (ax,) = draw(tmp_path, {"b": panel})[0].axes
    assert ax.get_yscale() == "linear"
    assert np.isfinite(ax.get_ylim()).all()


def test_bands_and_paths_are_those_of_the_figure(tmp_path):
    values = np.arange(41.0)[:, None] * [1.0, 10.0] - 500
    spec = spec_of(tmp_path, {"a": {"curves": {"ucd": values}}}, band={"quantiles": [0.025, 0.975], "sample_paths": 2})
    curves = spec.read()
    last = spec.numbers(curves).iloc[-1]
    assert [last[name] for name in ("low", "high", "path_1", "path_2")] == pytest.approx([-490, -110, -500, -490])
    picture = drawn(spec)
    mean, *paths = picture.axes[0].get_lines()
    assert [line.get_ydata()[-1] for line in paths] == pytest.approx([13 * -500.0, 13 * -490.0])
    assert paths[0].get_linewidth() < mean.get_linewidth()
    title = picture.legends[0].get_title().get_text()
    assert title == "line: mean over 41 trials; band: 2.5–97.5 % quantile; thin dark lines: 2 single trials"
    assert "bands: 2.5 to 97.5 % quantile over the trials. Thin dark lines: single trials" in spec.caption(curves)


BIAS = np.geomspace(1e-3, 1e-1, 41) * np.array([1.0, 2.0, 6.0])[:, None]
METRICS = ["cd_bias", "bias_bound", "older_bias_bound"]


def bias_panel(older, **more):
    values = {"cd_bias": BIAS, "bias_bound": 3 * BIAS, "older_bias_bound": older}
    return {"curves": CURVES, "diagnostics": {"ucd": values}, "metrics": METRICS, "axis": "log"} | more


def test_a_third_metric_is_dotted_and_drawn_below_its_ceiling(tmp_path):
    older = np.where(np.arange(41) < 20, 64.0, 0.25) * np.ones((3, 1))
    picture, caption = draw(tmp_path, {"a": bias_panel(older)})
    bias, bound, third = picture.axes[0].get_lines()
    np.testing.assert_allclose(bound.get_ydata(), 3 * bias.get_ydata())
    assert third.get_xdata().tolist() == list(range(2000, 4100, 100))
    assert third.get_ydata().tolist() == [0.25] * 21
    assert picture.axes[0].get_ylim()[1] < 3
    patterns = [line.get_linestyle() for line in picture.axes[0].get_lines()]
    assert patterns == ["-", "--", "--"]  # the name of all dashes in Matplotlib
    assert [text.get_text() for text in picture.legends[0].get_texts()] == [
        "ucd",
        "thin, dashed: bound of the bias",
        "thin, dotted: older bound of the bias, where it is below 1",
    ]
    assert "Panel a: largest bias of a parameter, at the evaluations." in caption
    assert "Thin, dotted: older bound of the bias, where it is below 1." in caption
    picture, _ = draw(tmp_path / "nowhere", {"a": bias_panel(np.full((3, 41), 64.0))})
    assert len(picture.axes[0].get_lines()) == 2


def test_medians_are_thin_and_have_the_pattern_of_their_curve(tmp_path):
    spec = spec_of(tmp_path, {"a": bias_panel(BIAS)}, band={"median": True})
    curves = spec.read()
    summary = spec.numbers(curves)
    np.testing.assert_allclose(summary[summary["metric"] == "cd_bias"]["median"], 2 * BIAS[0][1:])
    picture = drawn(spec)
    means, medians = picture.axes[0].get_lines()[::2], picture.axes[0].get_lines()[1::2]
    np.testing.assert_allclose(medians[0].get_ydata(), 2 * BIAS[0][1:])
    for mean, median in zip(means, medians, strict=True):
        assert median.get_linewidth() < mean.get_linewidth()
        assert median.get_linestyle() == mean.get_linestyle()
    assert picture.legends[0].get_title().get_text().endswith("% quantile; thin: median")
    assert "Thin dark lines: medians over the trials." in spec.caption(curves)
    assert "median" not in frames.summarise(curves.frame, Band())


def test_logarithmic_iterations_begin_after_the_initial_model(tmp_path):
    for axis, limits in {"linear": (0, 4000), "log": (100, 4000)}.items():
        picture, _ = draw(tmp_path / axis, {"a": {"curves": CURVES, "iteration_axis": axis}})
        assert (picture.axes[0].get_xscale(), picture.axes[0].get_xlim()) == (axis, limits)


def test_an_axis_may_count_epochs(tmp_path):
    picture, caption = draw(tmp_path, {"a": {"curves": CURVES, "epoch": 200, "mark": 0.5}})
    ax = picture.axes[0]
    assert (ax.get_xlabel(), ax.get_xlim()) == ("epoch", (0, 4000 / 200))
    upright = [line.get_xdata()[0] for line in ax.lines if len(set(line.get_xdata())) == 1]
    assert upright
    assert set(upright) <= set(np.arange(41) * 100 / 200)
    assert "Vertical lines: the epoch at which" in caption
    assert "against the epoch" in caption


def test_curves_that_are_left_out_are_named(tmp_path):
    values = figure(tmp_path, {"a": {"curves": CURVES, "without": ["CD-10", "pop-CD-10"]}})
    values["differences"].append({"panel": "b", "setting": "panel", "published": "b", "kind": "budget"})
    spec = parse(LearningCurvesSpec, values, "test")
    picture = drawn(spec)
    assert " scale, without panel b" in picture.get_suptitle()
    assert "without CD-10, pop-CD-10" in picture.axes[0].texts[0].get_text()
    assert "no CD-10 and no pop-CD-10." in spec.caption(spec.read())


def test_a_single_trial_is_not_called_a_mean(tmp_path):
    picture, caption = draw(tmp_path, {"a": {"curves": {"ucd": rising(-5.0)[:1]}, "trials": 1}})
    assert picture.legends[0].get_title().get_text() == "line: a single trial"
    assert "Lines: a single trial." in caption


def test_a_trial_that_is_left_out_is_no_sample_path(tmp_path):
    values = rising(-5.0)
    values[0, 3] = np.nan
    spec = spec_of(tmp_path, {"a": {"curves": {"ucd": values}}})
    summary = frames.summarise(spec.read().frame, Band(sample_paths=1))
    assert summary["path_1"].tolist() == values[1].tolist()


def save_data_set(rows, file):
    data = datasets._dataset.build("toy", "Toy", train=rows, source="rule", preprocessing="none", options={})
    datasets.save(data, file)


def test_caption_has_the_stages_of_a_schedule(tmp_path):
    schedule = [
        {"until": 1500, "estimator": {"name": "pcd", "options": {"k": 3}}, "rate": 0.1},
        {"until": 4000, "estimator": {"name": "cd", "options": {}}, "rate": 0.02},
    ]
    panel = {"curves": CURVES, "meta": {"settings": {"schedule": schedule}}}
    _, caption = draw(tmp_path, {"a": panel, "b": panel})
    line = "ucd: pcd (k = 3) up to iteration 1 500 at rate 0.1, then cd up to iteration 4 000 at rate 0.02."
    assert caption.replace("\N{NO-BREAK SPACE}", " ").count(line) == 1


def test_the_maximum_is_the_likelihood_of_the_frequencies():
    rows = np.array([[0, 1, 1]] * 3 + [[1, 0, 0]] + [[1, 1, 1]])
    assert maximum(rows) == pytest.approx((3 * np.log(3 / 5) + 2 * np.log(1 / 5)) / 5)
    # Each row once: minus the logarithm of their number.
    assert maximum(np.eye(7, dtype=int)) == pytest.approx(-np.log(7))


def test_reference_lines_are_drawn_at_their_values(tmp_path):
    save_data_set(np.eye(5, dtype=np.uint8), tmp_path / "toy.npz")
    panel = {"curves": CURVES, "references": ["maximum"], "data_file": str(tmp_path / "toy.npz")}
    picture, caption = draw(tmp_path, {"a": panel})
    ax = picture.axes[0]
    assert ax.get_lines()[-1].get_ydata() == pytest.approx([-13 * np.log(5)] * 2)
    assert ax.get_ylim()[1] > -13 * np.log(5)
    assert [text.get_text() for text in picture.legends[0].get_texts()] == ["ucd", "maximum log-likelihood"]
    assert "Horizontal line, maximum log-likelihood: no model has more" in caption


def test_true_model_is_read_from_the_file_of_the_data(tmp_path):
    file, rng = tmp_path / "toy.npz", np.random.default_rng(3)
    rows = (rng.random((11, 5)) < 0.5).astype(np.uint8)
    save_data_set(rows, file)
    panel = spec_of(tmp_path, {"a": {"curves": CURVES, "references": ["true_model"], "data_file": str(file)}}).panels[0]
    with pytest.raises(ResultsError, match=r"toy\.npz: array 'true_W' is missing"):
        references(panel)
    rbm = RBM(rng.normal(size=(5, 3)), rng.normal(size=5), rng.normal(size=3))
    with np.load(file) as archive:
        arrays = dict(archive)
    np.savez(file, **arrays, true_W=rbm.W, true_b=rbm.b, true_c=rbm.c)
    (line,) = references(panel)
    assert line.value == pytest.approx(float(log_likelihood(rbm, rows, exact_log_partition(rbm))))


def test_vertical_limits_include_reference_lines():
    curves = pd.DataFrame({"curve": 0, "x": [0, 1], "mean": [1.0, 2.0], "high": [1.0, 2.0]})
    assert ranges.vertical_limits(curves, heights=[5.0])[1] > 5.0


def test_without_start_drops_an_initial_model_far_below():
    curves = pd.DataFrame({"x": [0, 1, 2], "mean": [-560.0, -180.0, -120.0]})
    assert ranges.without_start(curves)["x"].tolist() == [1, 2]
    assert len(ranges.without_start(curves.assign(mean=[-200.0, -180.0, -120.0]))) == 3
