# SPDX-License-Identifier: BSD-3-Clause
"""Regions of figures in which claims are measured."""

import numpy as np
import pytest
from reporting_results import DIFFERENCE, figure, rising

from rbmbench.base.parsing import parse
from rbmbench.reporting.claims.judge import ClaimsSpec, evaluate

FINAL = (3800.0, 4000.0)
CURVE, AGAINST = "fig1.a.pop_cd_1", "fig1.a.cd_1"


def hump(top, end):
    """Return five trials that rise to ``top`` at iteration 2000 and fall to ``end``."""
    curve = np.interp(np.arange(41), [0, 20, 41 - 2, 40], [-20.0, top, end, end])
    return curve + np.linspace(-0.02, 0.02, 5)[:, None]


def region_of(tmp_path, claim):
    """Return the record and the region of a claim whose range begins at the measured number."""
    curves = {"cd_1": hump(-6.0, -8.0), "pop_cd_1": hump(-5.0, -6.0)}
    panels = {"a": {"curves": curves}, "b": {"curves": {"cd_1": rising(-6.0), "pop_cd_1": rising(-5.0)}}}
    spec = figure(tmp_path, panels)
    base = {name: DIFFERENCE[name] for name in ("id", "where", "text")}
    above = -1e9
    for _ in range(2):
        values = {"claims": [base | claim | {"above": above}]}
        spec_of_claims = {"scale": "tiny", "outputs": [spec], "claims": {"popcd": values}}
        (record,) = evaluate(parse(ClaimsSpec, spec_of_claims, "test"))
        above = record.measured
    (region,) = record.regions
    return record, region


@pytest.mark.parametrize(
    ("claim", "window", "height"),
    [
        ({"kind": "final_difference", "curve": CURVE, "against": AGAINST}, FINAL, -6.0),
        ({"kind": "final_lead", "curve": CURVE, "against": AGAINST}, FINAL, -6.0),
        ({"kind": "lead_after", "curve": CURVE, "against": AGAINST, "share": 0.5}, (1900.0, 2100.0), -5.25),
        ({"kind": "peak_difference", "curve": CURVE, "against": AGAINST}, None, -5.0),
        ({"kind": "decline", "curve": CURVE}, None, -6.0),
        ({"kind": "gain_after", "curve": CURVE, "after": 1000}, FINAL, -6.0),
        ({"kind": "metric_at", "curve": CURVE, "iteration": 2000}, (2000.0, 2000.0), -5.0),
        ({"kind": "metric_mean", "curve": CURVE, "after": 3900}, (3900.0, 4000.0), -6.0),
    ],
)
def test_region_of_a_range_from_the_measured_number_ends_at_the_curve(tmp_path, claim, window, height):
    record, region = region_of(tmp_path, claim)
    named = [name.rpartition(".")[2] for name in (claim["curve"], claim.get("against", "")) if name]
    assert (record.shown, region.panel, region.metric) == ("popcd_fig1", "a", "log_likelihood")
    assert list(region.curves) == named
    assert region.window == (pytest.approx(window) if window else None)
    assert region.along == "y"
    (end,) = {region.above, region.below} - {None}
    assert end == pytest.approx(height, abs=0.06)
    # A larger decline is a lower curve.
    assert (region.below is None) == (claim["kind"] != "decline")


def test_region_of_a_claim_on_iterations_is_horizontal(tmp_path):
    record, region = region_of(tmp_path, {"kind": "peak_iteration", "curve": CURVE})
    assert (region.along, region.above, region.below) == ("x", 2000.0, None)
    assert record.measured == 2000.0


def test_region_of_a_claim_that_is_not_run_has_the_existing_curves(tmp_path):
    spec = figure(tmp_path, {"a": {"curves": {"pop_cd_1": rising(-5.0)}}})
    values = {"scale": "tiny", "outputs": [spec], "claims": {"popcd": {"claims": [DIFFERENCE]}}}
    (record,) = evaluate(parse(ClaimsSpec, values, "test"))
    assert (record.reason, record.shown, record.measured) == ("not run", "popcd_fig1", None)
    assert [(region.curves, region.window, region.above) for region in record.regions] == [(("pop_cd_1",), None, None)]
