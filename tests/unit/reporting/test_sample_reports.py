# SPDX-License-Identifier: BSD-3-Clause
"""Figures of samples: chosen settings, pictures, captions and measurements of claims."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from reporting_results import drawn
from sample_results import GRIDS, isl_figure

from rbmbench.base.errors import ResultsError, SettingsError
from rbmbench.base.metrics import METRICS
from rbmbench.base.parsing import parse
from rbmbench.kinds.isl_curves import IslCurvesSpec, tried_settings
from rbmbench.kinds.sample_sheets import SampleSheetsSpec, sheet_of
from rbmbench.planning.specs import number_of
from rbmbench.reporting.claims.evidence import Evidence, NotRun
from rbmbench.reporting.claims.judge import ClaimsSpec, evaluate
from rbmbench.reporting.claims.measurements import MEASUREMENTS, samples

GIBBS = [[-40, -36, -32, -30.0], [-41, -36, -32, -30.5], [-42, -36, -33, -31.0]]
RATES = [[-40, -30, -24, -19.0], [-40, -31, -24, -19.5], [-40, -32, -25, -20.0]]
CURVES = {"gibbs": GIBBS, "rates_fpcd": RATES}


def spec_of(root, **panel):
    return parse(IslCurvesSpec, isl_figure(root, {"a": {"values": CURVES} | panel}), "test")


def evidence(root, **panel):
    return Evidence("rates_fpcd", [spec_of(root, **panel)])


@pytest.mark.parametrize("better", [0, 1])
def test_setting_with_the_best_validation_likelihood_is_chosen(tmp_path, better):
    spec = spec_of(tmp_path, better=better)
    panels = spec.read()
    assert panels[0].chosen == {"gibbs": better, "rates_fpcd": better}
    likelihoods = spec.numbers(panels)
    # The other setting has the higher test likelihood.
    ends = likelihoods[likelihoods["samples"] == 1000].set_index(["sampler", "trial"])["test"]
    assert ends["rates_fpcd"].tolist() == [-19.0, -19.5, -20.0]
    assert likelihoods["options"].unique().tolist() == [f"k = {(1, 5)[better]}", f"ε = {(0.01, 0.1)[better]}, k = 1"]
    table = tried_settings(panels)
    assert table[table["chosen"]]["sampler"].tolist() == ["Gibbs", "rates-FPCD"]


def test_the_figure_draws_means_bands_and_the_training_set(tmp_path):
    spec = spec_of(tmp_path)
    picture = drawn(spec)
    (ax,) = picture.axes
    gibbs, *chains, rates, _, _, _, line = ax.get_lines()
    np.testing.assert_allclose([chain.get_ydata() for chain in chains], GIBBS)
    np.testing.assert_allclose(gibbs.get_ydata(), np.mean(GIBBS, axis=0))
    np.testing.assert_allclose(rates.get_ydata(), np.mean(RATES, axis=0))
    assert set(line.get_ydata()) == {-20.0}
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["Gibbs (k = 5)", "rates-FPCD (ε = 0.1, k = 1)", "training set: -20.0"]
    assert "panel a: 1\N{NO-BREAK SPACE}000 of 2\N{NO-BREAK SPACE}000 samples" in picture.get_suptitle()


@pytest.mark.parametrize(("models", "lines"), [(1, 0), (5, 5), (6, 0)])
def test_curves_of_few_models_are_drawn_singly(tmp_path, models, lines):
    tests = np.linspace(-40, -30, 4) - np.arange(models)[:, None]
    spec = spec_of(tmp_path, values={"gibbs": tests})
    (panel,) = spec.chart(spec.read()).panels
    assert panel.y.title == METRICS["isl"].label
    (series,) = panel.series
    assert series.metric == "isl"
    assert len(series.paths) == len(series.singles) == lines
    assert series.trials == models


def test_caption_has_final_values_and_stand_in_data(tmp_path):
    toy = {"title": "Digits (stand-in for OpenTable)", "rows": {"train": 13}, "stand_in_for": "OpenTable"}
    spec = spec_of(tmp_path, data=toy)
    caption = spec.caption(spec.read())
    caption = caption.replace("\N{NO-BREAK SPACE}", " ")
    assert "Panel a, after 1 000 samples: Gibbs -30.50, rates-FPCD -19.50; training set -20.00." in caption
    assert "Panel a: stand-in data for OpenTable and 1 000 of 2 000 samples." in caption
    (ax,) = drawn(spec).axes
    assert "Digits (stand-in for OpenTable), 3 hidden units, CD-1" in ax.get_title(loc="left").replace("\n", " ")


@pytest.mark.parametrize(("letters", "shape"), [("a", (1, 1)), ("ab", (1, 2)), ("abcd", (2, 2))])
def test_panels_are_drawn_in_two_columns(tmp_path, letters, shape):
    spec = parse(IslCurvesSpec, isl_figure(tmp_path, {letter: {"values": CURVES} for letter in letters}), "test")
    boxes = [ax.get_window_extent() for ax in drawn(spec).axes]
    assert (len({round(box.y0) for box in boxes}), len({round(box.x0) for box in boxes})) == shape
    assert all(box.width > 0.7 * box.height for box in boxes)


def test_a_missing_sampler_raises_a_one_line_error(tmp_path):
    values = isl_figure(tmp_path, {"a": {"values": {"gibbs": GIBBS}}})
    values["panels"][0]["samplers"].append({"sampler": "rates_fpcd", "label": "rates-FPCD"})
    with pytest.raises(ResultsError, match=r"isl\.parquet: sampler 'rates_fpcd' is missing"):
        parse(IslCurvesSpec, values, "test").read()


def sheets_of(root, **panel):
    values = isl_figure(root, {"a": {"values": CURVES} | panel}, key="rates_fpcd_fig1")
    return parse(SampleSheetsSpec, values | {"kind": "sample_sheets", "columns": 5, "lines": 2}, "test")


def test_sheets_show_consecutive_samples_in_reading_order():
    images = np.array([[0], [40], [80]], np.uint8) * np.ones((1, 4), np.uint8)
    sheet = sheet_of(images, 2, 2)
    assert sheet.shape == (7, 7)
    assert [sheet[1, 1], sheet[1, 4], sheet[4, 1], sheet[4, 4]] == [255, 255 - 34, 255 - 85, 255]


def test_a_figure_of_sheets_has_one_sheet_for_each_sampler(tmp_path):
    spec = sheets_of(tmp_path)
    titles = [ax.get_title(loc="left") for ax in drawn(spec).axes]
    assert titles == ["Gibbs (k = 5)", "rates-FPCD (ε = 0.1, k = 1)"]
    numbers = spec.numbers(spec.read())
    assert len(numbers) == 2 * 10
    assert numbers["ink"].tolist() == pytest.approx([150 / 255] * 20)
    assert "The first 10 consecutive samples" in spec.caption(spec.read())
    assert number_of(spec.key) == "Figure 1"


def test_samples_that_are_not_square_images_raise(tmp_path):
    spec = sheets_of(tmp_path, units=10)
    with pytest.raises(ResultsError, match="samples of 10 units; must be square images"):
        drawn(spec)


@pytest.mark.parametrize(
    ("kind", "arguments", "value"),
    [
        ("isl_final", {"curve": "fig2.a.rates_fpcd"}, -19.5),
        ("isl_training_set", {"curve": "fig2.a.gibbs"}, -20.0),
        ("isl_lead_on_training_set", {"curve": "fig2.a.rates_fpcd"}, 0.5),
        ("isl_difference", {"curve": "fig2.a.rates_fpcd", "against": "fig2.a.gibbs"}, 11.0),
        ("isl_difference", {"curve": "fig2.a.rates_fpcd", "against": "fig2.a.gibbs", "samples": 10}, 5.0),
        ("isl_growth", {"curve": "fig2.a.rates_fpcd", "samples": 10}, 11.5),
        ("isl_decline", {"curve": "fig2.a.gibbs"}, 0.0),
    ],
)
def test_measurements_are_of_the_chosen_setting(tmp_path, kind, arguments, value):
    measurement = MEASUREMENTS[kind](evidence(tmp_path), **arguments)
    assert measurement.value == pytest.approx(value)
    assert measurement.low <= measurement.value <= measurement.high


def test_description_of_one_sampler_on_two_models_names_both(tmp_path):
    spec = parse(IslCurvesSpec, isl_figure(tmp_path, {"a": {"values": CURVES}, "b": {"values": CURVES}}), "test")
    names = {"curve": "fig2.a.gibbs", "against": "fig2.b.gibbs"}
    measurement = MEASUREMENTS["isl_difference"](Evidence("rates_fpcd", [spec]), **names)
    assert "Gibbs of CD-1 at rate 0.1 minus Gibbs of CD-1 at rate 0.1" in measurement.what


def test_mixing_speed_is_the_ratio_of_samples_for_the_same_likelihood(tmp_path):
    # Gibbs ends at -30, -30.5 and -31; rates-FPCD reaches these after 10, 10^(1 + 0.5 / 7) and 10^(1 + 1 / 7) samples.
    speed = MEASUREMENTS["mixing_speed"](evidence(tmp_path), curve="fig2.a.rates_fpcd", against="fig2.a.gibbs")
    logs = np.log(1000) - np.log(10) * np.array([1, 1 + 0.5 / 7, 1 + 1 / 7])
    assert speed.value == pytest.approx(np.exp(logs.mean()))
    assert speed.low < speed.value < speed.high
    assert speed.notes == ()


def test_mixing_speed_of_a_sampler_below_the_likelihood_is_noted(tmp_path):
    speed = MEASUREMENTS["mixing_speed"](evidence(tmp_path), curve="fig2.a.gibbs", against="fig2.a.rates_fpcd")
    assert speed.value == pytest.approx(1.0)
    assert speed.notes == ("Gibbs does not get there in 3 of 3 trials",)


def test_isl_decline_is_from_the_maximum_of_each_trial(tmp_path):
    values = [[-40, -30, -31, -33.0], [-40, -31, -30, -34.0]]
    decline = MEASUREMENTS["isl_decline"](evidence(tmp_path, values={"gibbs": values}), curve="fig2.a.gibbs")
    assert decline.value == pytest.approx(3.5)


def test_costs_are_compared_for_equal_k(tmp_path):
    seconds = {"gibbs": [2e-5, 1e-4], "rates_fpcd": [3e-5, 5e-5]}
    names = {"curve": "fig2.a.rates_fpcd", "against": "fig2.a.gibbs"}
    cost_ratio = MEASUREMENTS["sample_cost_ratio"](evidence(tmp_path, seconds=seconds), **names)
    assert cost_ratio.value == cost_ratio.low == cost_ratio.high == pytest.approx(1.5)
    unknown = {"gibbs": [None, 1e-4], "rates_fpcd": [3e-5, None]}
    with pytest.raises(NotRun, match="too few samples"):
        MEASUREMENTS["sample_cost_ratio"](evidence(tmp_path / "other", seconds=unknown), **names)


def test_interval_of_chosen_options_spans_choices_of_single_models(tmp_path):
    spec, measure = spec_of(tmp_path), MEASUREMENTS["chosen_option_ratio"]
    ratio = {"curve": "fig2.a.rates_fpcd", "against": "fig2.a.gibbs", "option": "k"}
    measurement = measure(Evidence("rates_fpcd", [spec]), **ratio)
    assert (measurement.value, measurement.low, measurement.high) == (0.2, 0.2, 0.2)
    # The last model alone would choose k = 1 for Gibbs sampling.
    (isl,) = tmp_path.glob("**/isl.parquet")
    table = pd.read_parquet(isl)
    table.loc[(table["sampler"] == "gibbs") & (table["setting"] == 0) & (table["trial"] == 2), "validation"] += 1.5
    table.to_parquet(isl, index=False)
    measurement = measure(Evidence("rates_fpcd", [spec]), **ratio)
    assert (measurement.value, measurement.low, measurement.high) == (0.2, 0.2, 1.0)


def test_ratio_of_an_option_of_value_0_is_not_run(tmp_path, monkeypatch):
    monkeypatch.setitem(GRIDS, "gibbs", [{"k": 1}, {"k": 0}])
    names = {"curve": "fig2.a.rates_fpcd", "against": "fig2.a.gibbs", "option": "k"}
    with pytest.raises(NotRun, match="k is chosen to be 0"):
        MEASUREMENTS["chosen_option_ratio"](evidence(tmp_path), **names)


def test_cost_ratio_of_two_panels_raises(tmp_path):
    spec = parse(IslCurvesSpec, isl_figure(tmp_path, {"a": {"values": CURVES}, "b": {"values": CURVES}}), "test")
    names = {"curve": "fig2.a.rates_fpcd", "against": "fig2.b.gibbs"}
    with pytest.raises(SettingsError, match="must be of one panel"):
        MEASUREMENTS["sample_cost_ratio"](Evidence("rates_fpcd", [spec]), **names)


def test_claims_on_missing_curves_are_not_run(tmp_path):
    figures = evidence(tmp_path)
    for name in ("fig9.a.gibbs", "fig2.b.gibbs", "fig2.a.herding"):
        with pytest.raises(NotRun, match=f"{name} is not part of this scale"):
            figures.of(name, "isl_curves")
    with pytest.raises(NotRun, match="has 1 to 1000 samples, the claim is on 5000"):
        MEASUREMENTS["isl_difference"](figures, curve="fig2.a.gibbs", against="fig2.a.rates_fpcd", samples=5000)


@pytest.mark.parametrize(("needed", "verdict"), [(1000, "reproduced"), (1001, "inconclusive at this scale")])
def test_claims_with_too_few_samples_are_inconclusive(tmp_path, needed, verdict):
    claim = {"id": "one", "where": "Figure 2", "text": "leads", "kind": "isl_lead_on_training_set", "above": -3.0}
    claim |= {"curve": "fig2.a.rates_fpcd"}
    file = {"needs": {"trials": 3, "samples": needed}, "claims": [claim]}
    values = {"key": "claims", "scale": "tiny", "claims": {"rates_fpcd": file}}
    values["outputs"] = [isl_figure(tmp_path, {"a": {"values": CURVES}})]
    (line,) = evaluate(parse(ClaimsSpec, values, "test"))
    assert line.verdict == verdict
    assert ("needs 1001" in line.note) == (needed == 1001)
    assert "1 000 of 2 000 samples" in line.note or needed == 1001


def test_caption_explains_almost_blank_sheets(tmp_path):
    spec = sheets_of(tmp_path)
    samples, sheets = spec.read()
    first = next(iter(sheets))
    results = samples, sheets | {first: np.full_like(sheets[first], 2)}
    assert ["almost blank" in image.heading for image in spec.chart(results).images] == [True, False]
    assert "Images with hardly any ink, 10 by Gibbs, are no mistake" in spec.caption(results)
    sheets[first][:3] = 2
    assert not any("almost blank" in image.heading for image in spec.chart((samples, sheets)).images)
    assert "Images with hardly any ink, 3 by Gibbs, are no mistake" in spec.caption((samples, sheets))


def test_likelihoods_are_interpolated_in_the_logarithm_of_the_number_of_samples():
    source = SimpleNamespace(label="gibbs", frame=pd.DataFrame([[-40.0, -30.0]], columns=[10, 1000]))
    np.testing.assert_allclose(samples._at(source, 100), [-35.0])
