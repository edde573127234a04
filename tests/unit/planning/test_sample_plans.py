# SPDX-License-Identifier: BSD-3-Clause
"""Jobs of figures of samples, and errors in the settings of these figures."""

import pytest
import yaml
from planned import ids_shown

from rbmbench.base.errors import SettingsError
from rbmbench.config.loading import load
from rbmbench.planning.plan import plan

KEY = "rates_fpcd"


def loaded(config, **overrides):
    """Return the configuration with overrides of this paper."""
    values = {"scale": "tiny", "papers": [KEY], "overrides": {KEY: overrides}}
    (config / "tiny.yaml").write_text(yaml.safe_dump(values))
    return load(["config/config.yaml", "config/tiny.yaml"])


def error_of(config, **overrides) -> str:
    with pytest.raises(SettingsError) as caught:
        loaded(config, **overrides)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def panel(figure, **values) -> dict:
    return {"figures": {figure: {"panels": {"a": values}}}}


def test_sheets_and_curves_share_their_samples(config):
    tiny_plan = plan(loaded(config))
    sheets, curves = (
        ids_shown(tiny_plan, tiny_plan.figures[f"{KEY}_{name}"], "sample") for name in ("fig1", "fig2_mnist")
    )
    assert sheets == curves
    assert len(tiny_plan.of_kind("sample")) == 16
    spec = tiny_plan.figures["rates_fpcd_fig1"].spec
    names = [entry.sampler for entry in spec.panels[0].samplers]
    assert names == ["rates_herding", "rates_fpcd", "sample_penalization", "gibbs"]
    (samples,) = ids_shown(tiny_plan, tiny_plan.figures["rates_fpcd_fig1"], "sample")
    assert spec.panels[0].samples.folder == f"results/tiny/samples/{samples}"


def test_panels_of_equal_training_settings_share_their_models(config):
    tiny_plan = plan(loaded(config, **panel("fig3", trials=10)))
    run = ids_shown(tiny_plan, tiny_plan.figures["rates_fpcd_fig2"])[0]
    assert run == ids_shown(tiny_plan, tiny_plan.figures["rates_fpcd_fig3"])[0]
    seeds = {job.settings.seed for job in tiny_plan.of_kind("sample").values() if job.run == run}
    assert len(seeds) == 1


def test_ids_of_samples_depend_on_the_grid(config):
    plans = [plan(loaded(config, samplers={"gibbs": {"grid": {"k": [k]}}})) for k in (1, 2)]
    figures = [each.figures["rates_fpcd_fig2"] for each in plans]
    ids, other = ([ids_shown(*pair, kind) for kind in ("train", "sample")] for pair in zip(plans, figures, strict=True))
    assert (ids[0] == other[0], ids[1] == other[1]) == (True, False)


SAMPLED = {"data": "usps", "hidden": 7, "rate": 0.1, "iterations": 11, "algorithm": "fpcd", "samples": 103}


@pytest.mark.parametrize(
    ("overrides", "parts"),
    [
        (panel("fig2", samplers=["gibs"]), ["figures.fig2.panels.a.samplers", "'gibs'", "nearest: 'gibbs'"]),
        (panel("fig2", algorithm="fpdc"), ["figures.fig2.panels.a.algorithm", "'fpdc'", "nearest: 'fpcd'"]),
        (panel("fig2", data="upsp"), ["figures.fig2.panels.a.data", "nearest: 'usps'"]),
        (panel("fig2", samples=0), ["figures.fig2.panels.a.samples", "got 0"]),
        ({"samplers": {"gibbs": {"sampler": "gibs"}}}, ["samplers.gibbs", "sampler 'gibs'", "nearest: 'gibbs'"]),
        ({"samplers": {"gibbs": {"grid": {"k": [1, 0]}}}}, ["samplers.gibbs", "option 'k': must ", "integer >= 1"]),
        ({"samplers": {"gibbs": {"grid": {"kk": [1]}}}}, ["samplers.gibbs", "unknown option 'kk'", "nearest: 'k'"]),
        ({"samplers": {"rates_fpcd": {"options": {"decay": 2}}}}, ["samplers.rates_fpcd", "'decay': must "]),
        ({"samplers": {"gibbs": {"grid": {"k": []}}}}, ["samplers.gibbs.grid.k", "at least 1 item"]),
        ({"figures": {"fig1": {"panel": "fig2.b"}}}, ["figures.fig1.panel", "allowed: fig2.a, fig2_mnist.a"]),
        ({"figures": {"fig1": {"samplers": ["parallel_tempering"]}}}, ["fig1.samplers", "'parallel_tempering'"]),
        ({"figures": {"fig1": {"lines": 30}}}, ["figures.fig1.columns", "got 20 x 30 images", "the 400 samples"]),
        ({"figures": {"fig1": {"columns": 1, "lines": 397}}}, ["fig1.lines", "got 397 of 1 images", "400 inches"]),
        (
            {"data": {"mnist_validated": {"visible": 787}}, "figures": {"fig1": {"panel": "fig2_mnist.a"}}},
            ["figures.fig1.panel", "must be square images, got 'fig2_mnist.a'"],
        ),
        (
            {"figures": {"fig2": {"panels": dict.fromkeys(("a", "b", "c", "d", "e"), SAMPLED)}}},
            ["figures.fig2.panels", "at most 4 items"],
        ),
    ],
)
def test_errors_name_file_key_and_allowed_values(config, overrides, parts):
    message = error_of(config, **overrides)
    assert message.startswith(f"config/tiny.yaml: overrides.{KEY}: ")
    for part in parts:
        assert part in message
