# SPDX-License-Identifier: BSD-3-Clause
"""Figures of learning curves: lines, titles, limits, legends and reproducible files."""

import numpy as np
import pandas as pd
import pytest
import reporting_results
from reporting_results import falling, figure, rising, stand_in

from rbmbench.base.errors import ResultsError
from rbmbench.base.parsing import parse
from rbmbench.kinds.learning_curves import LearningCurvesSpec
from rbmbench.reporting import style
from rbmbench.reporting.drawing import rows_of
from rbmbench.reporting.ranges import vertical_limits


def spec_of(values) -> LearningCurvesSpec:
    return parse(LearningCurvesSpec, values, "test")


def drawn(tmp_path, panels, **more):
    return reporting_results.drawn(spec_of(figure(tmp_path, panels, **more)))


def names_by_row(values):
    spec = spec_of(values)
    return [[panel.name for panel in row] for row in rows_of(spec.chart(spec.read()).panels, 3)]


def texts(ax):
    return ax.get_title(loc="left") + "\n" + "\n".join(text.get_text() for text in ax.texts)


def test_lines_are_the_means_summed_over_the_training_set(tmp_path):
    values = rising(-5.0)
    ax = drawn(tmp_path, {"a": {"curves": {"cd_1": values}}}).axes[0]
    (line,) = ax.get_lines()
    np.testing.assert_allclose(line.get_ydata(), 13 * values.mean(axis=0))
    np.testing.assert_array_equal(line.get_xdata(), range(0, 4100, 100))


def test_right_axis_is_the_mean_per_sample(tmp_path):
    result = drawn(tmp_path, {"a": {"curves": {"cd_1": rising(-5.0)}}})
    result.canvas.draw()
    ax = result.axes[0]
    (right,) = ax.child_axes
    np.testing.assert_allclose(np.array(right.get_ylim()) * 13, ax.get_ylim())
    assert right.get_ylabel() == "mean per sample (nats)"


def test_large_sums_are_given_in_powers_of_a_thousand(tmp_path):
    ax = drawn(tmp_path, {"a": {"curves": {"cd_1": rising(-5.0) * 1000}}}).axes[0]
    assert ax.get_ylabel() == "log-likelihood of the training set\n($10^{3}$ nats)"
    assert ax.get_lines()[0].get_ydata()[-1] == pytest.approx(-65.0, rel=1e-3)


def test_rows_are_data_sets_and_columns_rates(tmp_path):
    panel = {"curves": {"cd_1": rising(-5.0)}}
    panels = {"a": panel, "b": panel | {"rate": 0.01}, "c": panel | {"data": "other"}, "d": panel | {"hidden": 100}}
    assert names_by_row(figure(tmp_path, panels)) == [["a", "b"], ["c"], ["d"]]


@pytest.mark.parametrize(("panels", "lengths"), [(3, [3]), (4, [2, 2]), (5, [3, 2]), (6, [3, 3]), (7, [3, 3, 1])])
def test_many_panels_of_one_data_set_take_several_rows(tmp_path, panels, lengths):
    spec = figure(tmp_path, {"a": {"curves": {"cd_1": rising(-5.0)}}})
    spec["panels"] = [spec["panels"][0] | {"name": name} for name in "abcdefg"[:panels]]
    assert list(map(len, names_by_row(spec))) == lengths


def test_titles_name_cuts_stand_ins_and_lost_trials(tmp_path):
    values = rising(-5.0)
    values[2, 4] = np.inf
    panel = {"curves": {"cd_1": values}, "published": {"iterations": 50000}, "meta": stand_in("mnist")}
    result = drawn(tmp_path, {"a": panel})
    text = texts(result.axes[0]).replace("\N{NO-BREAK SPACE}", " ")
    assert text.startswith("(a) Digits 8x8, α = 0.1, 3 hidden\n")
    lost = "left out: CD-1 trial 2 (not finite at iteration 400)"
    for words in ("stands in for MNIST", "4 000 of 50 000 iterations", lost):
        assert words in text
    assert result.get_suptitle().endswith("tiny scale\nstand-in data: Digits 8x8 in place of MNIST")


def test_titles_name_settings_that_are_not_the_paper_s(tmp_path):
    panel = {"curves": {"cd_1": rising(-5.0)}, "published": {"rate": 0.02}}
    title = drawn(tmp_path / "one", {"a": panel}).get_suptitle().replace("\N{NO-BREAK SPACE}", " ")
    assert title.endswith("\nVariant of Figure 1 of popcd, tiny scale\nrate 0.1 (paper: 0.02)")
    # Differences that do not fit into the title are in the caption.
    values = figure(tmp_path / "more", {"a": panel})
    change = {"panel": "a", "value": list(range(30)), "published": list(range(31)), "kind": "setting"}
    values["differences"] += [change | {"setting": f"update.{name}"} for name in ("first", "second", "third")]
    spec = parse(LearningCurvesSpec, values, "test")
    curves = spec.read()
    title = reporting_results.drawn(spec).get_suptitle().replace("\N{NO-BREAK SPACE}", " ")
    assert title.endswith("\nrate 0.1 (paper: 0.02); more differences: see the caption")
    assert "update third 0, 1, 2" in spec.caption(curves).replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize("side_by_side", [1, 2, 3])
def test_texts_above_panels_do_not_overlap(tmp_path, side_by_side):
    values = rising(-5.0)
    values[2, 4] = np.inf
    meta = stand_in("mnist")
    meta["data"]["title"] = "Handwritten characters of fifty alphabets, other images of 28x28 (stand-in for mnist)"
    without = ["CD-10", "PCD-1", "pop-CD-1", "pop-CD-10", "PT-10", "UCD"]
    panel = {"curves": {"cd_1": values}, "meta": meta, "without": without}
    result = drawn(tmp_path, dict(zip("abc"[:side_by_side], 3 * [panel], strict=False)))
    result.draw_without_rendering()
    for ax in result.axes[:side_by_side]:
        end = min(result.bbox.width, ax.get_window_extent().x0 + result.bbox.width / side_by_side)
        for text in (ax._left_title, *ax.texts):
            assert text.get_window_extent().x1 < end


def test_panel_without_finite_values_has_a_note(tmp_path):
    ax = drawn(tmp_path, {"a": {"curves": {"cd_1": np.full((3, 5), np.nan)}}}).axes[0]
    assert "no trial with finite values" in texts(ax)
    assert "left out: CD-1 trial 0 (not finite at iteration 0)" in texts(ax)


def test_one_trial_has_no_band(tmp_path):
    ax = drawn(tmp_path, {"a": {"curves": {"cd_1": rising(-5.0, trials=1), "pop_cd_1": rising(-4.0)}}}).axes[0]
    assert len(ax.collections) == 1


def test_vertical_range_excludes_a_low_start():
    iterations = np.arange(0, 1001, 10)
    mean = np.where(iterations < 50, -1e6, -100 - 1e-3 * iterations)
    curves = pd.DataFrame({"curve": 0, "x": iterations, "mean": mean, "high": mean + 0.5})
    low, high = vertical_limits(curves)
    assert -102 < low < -101
    assert -99.6 < high < -99


def test_vertical_range_includes_a_divergence(tmp_path):
    ax = drawn(tmp_path, {"a": {"curves": {"cd_1": falling(-15.0, -5.0), "pop_cd_1": rising(-4.0)}}}).axes[0]
    low, high = ax.get_ylim()
    assert low < 13 * -15
    assert high > 13 * -4


def test_unwritable_figure_raises(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ResultsError, match="cannot be written"):
        style.save(drawn(tmp_path, {"a": {"curves": {"cd_1": rising(-5.0)}}}), tmp_path / "file" / "x.png")


@pytest.mark.parametrize("text", [r"$\foo$", "$_$", "costs $5, not $7"])
def test_dollars_in_titles_and_labels_are_no_formulas(tmp_path, text):
    values = figure(tmp_path, {"a": {"curves": {"cd_1": rising(-5.0)}}}) | {"title": text}
    values["panels"][0]["runs"][0]["label"] = text
    spec = parse(LearningCurvesSpec, values, "test")
    picture = reporting_results.drawn(spec)
    picture.axes[0].set(yscale="log", ylim=(3, 700))
    style.save(picture, tmp_path / "a.png")
    (legend,) = picture.legends
    artists = [picture._suptitle, *legend.get_texts()]
    assert all(text in artist.get_text() and not artist.get_parse_math() for artist in artists)
    ticks = picture.axes[0].get_yticklabels(which="both")
    assert ticks
    assert all(tick.get_parse_math() for tick in ticks)


def test_a_curve_far_below_all_others_is_cut_off_with_an_arrow(tmp_path):
    curves = {"cd_1": falling(-500.0, -5.0), "pop_cd_1": rising(-4.0), "pt_10": rising(-5.0)}
    ax = drawn(tmp_path, {"a": {"curves": curves}}).axes[0]
    assert ax.get_ylim()[0] > 13 * -30
    (words,) = [text.get_text() for text in ax.texts if text.get_gid() == "dive"]
    assert words == " down to -6.5e+03"


def test_a_rising_curve_has_no_arrow(tmp_path):
    ax = drawn(tmp_path, {"a": {"curves": {"cd_1": rising(-5.0, start=-900), "pop_cd_1": rising(-4.0)}}}).axes[0]
    assert [text for text in ax.texts if text.get_gid() == "dive"] == []


def test_upright_lines_and_printed_values_are_in_the_legend(tmp_path):
    printed = [{"value": -6.0, "label": "CD-1"}, {"value": -4.5, "label": "pop-CD-1", "at": 2000}]
    panel = {"curves": {"cd_1": rising(-5.0), "pop_cd_1": rising(-4.0)}, "mark": 0.9, "printed": printed, "epoch": 10}
    picture = drawn(tmp_path, {"a": panel})
    (legend,) = picture.legends
    assert [text.get_text() for text in legend.get_texts()][2:] == [
        "upright: 90 % of the largest rise first reached",
        "printed in the paper: CD-1, -6",
        "printed in the paper: pop-CD-1, -4.5",
    ]
    hollow = [line for line in picture.axes[0].get_lines() if line.get_marker() == "D"]
    assert [line.get_markerfacecolor() for line in hollow] == ["none", "none"]
    assert (hollow[1].get_xdata()[0], hollow[1].get_ydata()[0]) == (200.0, pytest.approx(13 * -4.5))
