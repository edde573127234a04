# SPDX-License-Identifier: BSD-3-Clause
"""Where claims are marked in charts: their curves, windows and accepted ranges, against the kept verdicts."""

import math

import numpy as np
import pytest

from rbmbench.io.layout import Layout
from rbmbench.io.results import numbers_file, read_csv, read_json
from rbmbench.planning.specs import read_spec
from rbmbench.reporting.claims import judge
from rbmbench.reporting.claims.measurements import MEASUREMENTS
from rbmbench.reporting.page.configured import Configured
from rbmbench.reporting.page.curves import curves
from rbmbench.reporting.page.facts import panel_facts
from rbmbench.reporting.page.pointers import ABSCISSAS, HEIGHTS, WINDOWS, marks

END = 0.95
"""The final value is the mean over what follows this share of the iterations."""


def end(curve):
    return curve[curve.index > END * curve.index[-1]].mean()


def at(curve, window):
    low, high = window
    return curve[(curve.index >= low) & (curve.index <= high)].mean()


def mean_after(curve, iteration):
    """Return the mean of a diagnostic, whose values stand for the iterations since the evaluation before."""
    since = np.diff(np.maximum(curve.index, iteration), prepend=iteration)
    return np.average(curve, weights=since)


# What the curve of a claim shows in its chart, by kind: where the accepted range would begin at the measured number,
# its line has to meet the curve there.
SHOWN = {
    **dict.fromkeys(("final_difference", "final_lead", "final_gap", "decline", "gain_after"), lambda c, w: end(c)),
    **dict.fromkeys(("lead_after", "metric_at", "metric_share_of_peak"), at),
    "stopping_time_share": lambda curve, window: curve[curve.index <= window[0]].iloc[-1],
    **dict.fromkeys(("isl_final", "isl_lead_on_training_set"), at),
    "peak_difference": lambda curve, _: curve.max(),
    "isl_difference": lambda c, w: np.interp(math.log(w[0]), np.log(c.index.to_numpy(float)), c),
    "metric_mean": lambda c, w: mean_after(c, w[0] if w else 0),
}


def claims(folder, overlays):
    """Yield the claims of a kept folder whose curves a figure shows: row, entry, and what `marks` takes beside."""
    configured = Configured.read([*overlays])
    layout, read = Layout(str(folder)), {}
    for row in judge.read_claims(layout.claims).to_dict("records"):
        entry = configured.claims[row["claim"]]
        name = configured.about(row["claim"])
        key = f"{row['paper']}_{name}"
        if not (folder / "specs" / f"{key}.json").is_file() or name.startswith("table"):
            continue
        if key not in read:
            spec, more = read_spec(layout.spec(key)), read_json(layout.spec(key)).get("facts", {})
            read[key] = curves(read_csv(numbers_file(layout, key))), panel_facts(spec, more, {})
        yield row, entry, name, *read[key]


@pytest.mark.parametrize("scale", ["paper", "desktop"])
def test_an_accepted_range_from_the_measured_number_begins_at_the_curve(repository, scale):
    folder, config = repository / "results" / "reference" / scale, repository / "config"
    overlays = [config / "config.yaml", *[config / "desktop.yaml"] * (scale == "desktop")]
    checked = set()
    for row, entry, name, of_figure, facts in claims(folder, overlays):
        if entry["kind"] not in SHOWN or not math.isfinite(row["measured"]):
            continue
        found = marks(entry, (row["measured"], math.inf), name, of_figure, facts)
        mark = found[0]
        given = mark.below if mark.above is None else mark.above
        if given is None:
            continue  # its metric is not drawn
        epoch = facts[mark.panel].epoch or 1
        curve = list(of_figure[mark.panel].values())[mark.curves[0]]["mean"].dropna()
        curve.index = curve.index / epoch
        # Means over the trials: those that only one of two curves has make a difference of less than a hundredth.
        expected = SHOWN[entry["kind"]](curve, mark.window)
        assert given == pytest.approx(expected, rel=0.01, abs=1e-4), row["claim"]
        checked.add(entry["kind"])
    assert len(checked) > 8


def test_all_windows_and_heights_are_of_measurements():
    assert set(WINDOWS) | set(HEIGHTS) | set(ABSCISSAS) <= set(MEASUREMENTS)
    assert not set(HEIGHTS) & set(ABSCISSAS)


@pytest.fixture
def figure(repository):
    """Return the curves of Figure 1 of sdcp, which counts epochs, and what is known of its panels."""
    layout = Layout(str(repository / "results" / "reference" / "paper"))
    more = read_json(layout.spec("sdcp_fig1"))["facts"]
    return curves(read_csv(numbers_file(layout, "sdcp_fig1"))), panel_facts(
        read_spec(layout.spec("sdcp_fig1")), more, {}
    )


def test_windows_and_ranges_are_in_the_units_of_the_axes(figure):
    entry = {"kind": "metric_at", "curve": "fig1.a.cd_12", "metric": "test_log_likelihood", "iteration": 30000}
    (mark,) = marks(entry, (-3.5, -3.0), "fig1", *figure)
    epoch = figure[1]["a"].epoch
    assert mark.window == (30000 / epoch, 30000 / epoch)
    assert (mark.along, mark.above, mark.below) == ("y", -3.5, -3.0)
    entry = {"kind": "peak_iteration", "curve": "fig1.a.cd_12", "metric": "test_log_likelihood"}
    (mark,) = marks(entry, (100 * epoch, math.inf), "fig1", *figure)
    assert (mark.window, mark.along, mark.above, mark.below) == (None, "x", 100, None)


def test_a_claim_on_two_panels_marks_both_and_its_range_in_that_of_its_curve(figure):
    entry = {"kind": "final_difference", "curve": "fig1.b.cd_12", "against": "fig1.a.pcd_12"}
    entry |= {"metric": "test_log_likelihood"}
    first, second = marks(entry, (0.0, math.inf), "fig1", *figure)
    assert (first.panel, second.panel) == ("b", "a")
    assert first.above is not None
    assert (second.above, second.below) == (None, None)


def test_a_metric_that_is_not_drawn_marks_the_curves_of_its_algorithm(figure):
    entry = {"kind": "final_difference", "curve": "fig1.a.cd_12", "against": "fig1.a.pcd_12", "metric": "cd_bias"}
    (mark,) = marks(entry, (0.0, math.inf), "fig1", *figure)
    assert mark.curves == (0, 1)
    assert (mark.above, mark.below, mark.window) == (None, None, None)


@pytest.mark.parametrize(
    "entry",
    [
        {},
        {"kind": "variance_ratio", "entry": "table1.a.cd_12"},
        {"kind": "decline", "curve": "fig2.a.cd_12"},
        {"kind": "decline", "curve": "fig1.z.cd_12"},
        {"kind": "decline", "curve": "fig1.a.other"},
        {"kind": "no such kind", "curve": "fig1"},
    ],
)
def test_claims_on_no_curve_of_the_figure_have_no_mark(figure, entry):
    assert marks(entry, (0.0, 1.0), "fig1", *figure) == ()
