# SPDX-License-Identifier: BSD-3-Clause
"""Settings: validation messages, immutability and digests."""

import json
from statistics import NormalDist

import numpy as np
import pytest
from pydantic import ValidationError

import rbmbench
from rbmbench import estimators, likelihood, samplers, updates
from rbmbench.base.errors import SettingsError
from rbmbench.base.metrics import NORMAL, TAILS
from rbmbench.base.parsing import parse
from rbmbench.base.settings import (
    AnnealingSettings,
    CouplingSettings,
    EstimateSettings,
    GroundTruthSettings,
    RunSettings,
    SamplingSettings,
)


def values(**changes):
    stage = {"until": 10, "estimator": {"name": "cd", "options": {"k": 2}}, "rate": 0.1}
    return {"data": {"name": "made"}, "hidden": 5, "batch": 7, "schedule": [stage]} | changes


def stages(*untils, **changes):
    return [values()["schedule"][0] | {"until": until} | changes for until in untils]


def test_defaults_are_those_of_the_protocol_of_the_paper():
    settings = parse(RunSettings, values(), "test")
    assert (settings.trials, settings.first_trial, settings.seed) == (1, 0, 0)
    assert (settings.precision, settings.evaluate_every) == ("float32", 100)
    assert (settings.initial.kind, settings.initial.width) == ("uniform", 0.1)
    assert settings.schedule[0].update.name == "sgd"
    assert settings.iterations == 10
    ground_truth = parse(GroundTruthSettings, {"method": "parallel_tempering"}, "test")
    assert (ground_truth.chains, ground_truth.burn_in, ground_truth.samples) == (100, 50_000, 200_000)
    assert parse(EstimateSettings, {"estimator": {"name": "cd"}, "batch": 3}, "test").estimates == 50_000


def test_canonical_is_sorted_json_that_parses_to_the_same_settings():
    settings = parse(RunSettings, values(schedule=stages(3, 20)), "test")
    assert settings.iterations == 20
    text = settings.canonical()
    assert parse(RunSettings, json.loads(text), "test") == settings
    assert list(json.loads(text)) == sorted(json.loads(text))
    assert " " not in text


def test_digest_does_not_depend_on_order_or_spelt_out_defaults():
    settings = parse(RunSettings, values(), "test")
    other = parse(RunSettings, dict(reversed(values().items())), "test")
    spelt_out = parse(RunSettings, values(trials=1, precision="float32", initial={"width": 0.1}), "test")
    assert settings.digest() == other.digest() == spelt_out.digest()
    assert len(settings.digest()) == 10
    assert int(settings.digest(), 16) >= 0


CHANGES = [("hidden", 6), ("batch", 8), ("trials", 2), ("first_trial", 1), ("seed", 1), ("precision", "float64")]
CHANGES += [("evaluate_every", 99), *(("initial", change) for change in ({"width": 0.2}, {"kind": "normal"}))]
CHANGES += [("data", {"name": "made", "options": {"side": 3}}), ("schedule", stages(11)), ("schedule", stages(5, 10))]
CHANGES += [("schedule", stages(10, rate=0.2))]
CHANGES += [("schedule", stages(10, estimator={"name": "cd", "options": {"k": 3}}))]


@pytest.mark.parametrize("changes", [{key: value} for key, value in CHANGES])
def test_every_setting_changes_the_digest(changes):
    assert parse(RunSettings, values(**changes), "test").digest() != parse(RunSettings, values(), "test").digest()


def test_settings_are_frozen():
    settings = parse(RunSettings, values(), "test")
    with pytest.raises(ValidationError):
        settings.hidden = 3


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"hidden": 0}, "hidden: must be greater than or equal to 1, got 0"),
        ({"hidden": 1.5}, "hidden: must be a valid integer, got 1.5"),
        ({"hidden": "5"}, "hidden: must be a valid integer, got '5'"),
        ({"hidden": True}, "hidden: must be a valid integer, got True"),
        ({"trials": 0}, "trials: must be greater than or equal to 1, got 0"),
        ({"seed": 2**32}, f"seed: must be less than {2**32}, got {2**32}"),
        ({"seed": -1}, "seed: must be greater than or equal to 0, got -1"),
        ({"precision": "float16"}, "precision: must be 'float32' or 'float64', got 'float16'"),
        ({"initial": {"width": -0.1}}, "initial.width: must be greater than or equal to 0, got -0.1"),
        ({"initial": {"kind": "cauchy"}}, "initial.kind: must be 'uniform' or 'normal', got 'cauchy'"),
        ({"initial": {"widht": 1}}, "initial.widht: unknown key 'widht'; nearest: 'width'; allowed: biases, kind"),
        ({"hiden": 5}, "hiden: unknown key 'hiden'; nearest: 'hidden'; allowed: batch, bias_bound, data, "),
        ({"schedule": []}, "schedule: must "),
        ({"schedule": stages(5, 5)}, "schedule: 'until' must ascend, got [5, 5]"),
        ({"schedule": stages(9, 5)}, "schedule: 'until' must ascend, got [9, 5]"),
        ({"schedule": stages(5, rate=0)}, "schedule.0.rate: must be greater than 0, got 0"),
        ({"schedule": stages(5, rate=float("inf"))}, "schedule.0.rate: must be a finite number, got inf"),
        ({"schedule": stages(5, rte=1)}, "schedule.0.rte: unknown key 'rte'; nearest: 'rate'; allowed: estimator, "),
        ({"schedule": stages(5, rate=True)}, "schedule.0.rate: must be a number, got True"),
        ({"initial": {"width": True}}, "initial.width: must be a number, got True"),
        ({"data": {}}, "x.yaml: data.name: is missing"),
        ({"first_trial": 2**32 - 1, "trials": 2}, "first_trial + trials: must be at most 2**32, got 4294967297"),
    ],
)
def test_invalid_settings_raise_one_line_with_key_value_and_allowed_values(changes, line):
    with pytest.raises(SettingsError) as caught:
        parse(RunSettings, values(**changes), "config/x.yaml")
    message = str(caught.value)
    assert message.startswith("config/x.yaml: ")
    assert line in message
    assert "\n" not in message


GROUND_TRUTH = {"method": "parallel_tempering"}
COUPLED = {"visible": 7, "hidden": 5, "coupling": "rbm"}
SAMPLED = {"samplers": {"gibbs": {"name": "gibbs"}}}


@pytest.mark.parametrize(
    ("model", "settings", "key", "limit"),
    [
        (RunSettings, values(proxy={"steps": 10**30}), "proxy.steps", 10**6),
        (RunSettings, values(proxy={"chains": 10**9}), "proxy.chains", 10**6),
        (RunSettings, values(bias_bound={"k": 10**9}), "bias_bound.k", 10**6),
        (GroundTruthSettings, GROUND_TRUTH | {"chains": 10**9}, "chains", 10**4),
        (GroundTruthSettings, GROUND_TRUTH | {"burn_in": 10**30}, "burn_in", 2**31),
        (AnnealingSettings, {"particles": 10**9}, "particles", 10**6),
        (AnnealingSettings, {"temperatures": 10**9}, "temperatures", 10**7),
        (CouplingSettings, COUPLED | {"longest": 10**30}, "longest", 10**6),
        (CouplingSettings, COUPLED | {"replications": 10**9}, "replications", 10**6),
        (SamplingSettings, SAMPLED | {"points": 10**9}, "points", 10**4),
    ],
)
def test_counts_have_upper_limits(model, settings, key, limit):
    with pytest.raises(SettingsError, match=rf"^x: {key}: must be less than (or equal to )?{limit}, got 10*"):
        parse(model, settings, "x")


@pytest.mark.parametrize(
    ("make", "name", "option", "limit"),
    [
        (estimators.create, "cd", "k", 10**6),
        (estimators.create, "pcd", "chains", 10**6),
        (estimators.create, "pop_cd", "k", 10**6),
        (estimators.create, "ucd", "max_steps", 10**6),
        (estimators.create, "parallel_tempering", "temperatures", 10**4),
        (estimators.create, "parallel_tempering", "sets", 10**6),
        (estimators.create, "pop_cd_mixture", "tau", 2**31 - 1),
        (updates.create, "sdcp", "inner_steps", 10**6),
        (samplers.create, "gibbs", "k", 10**6),
        (samplers.create, "rates_herding", "most_steps", 10**6),
    ],
)
def test_options_have_the_limits_of_the_settings(make, name, option, limit):
    make(name, **{option: limit})
    for value in (limit + 1, 10**30):
        with pytest.raises(SettingsError, match=rf"^option '{option}': must be .*\b{limit}, got {value}"):
            make(name, **{option: value})


def test_arguments_have_the_limits_of_the_settings():
    model = rbmbench.RBM(np.zeros((7, 5)), np.zeros(7), np.zeros(5))
    for name, limit in (("particles", 10**6), ("temperatures", 10**7), ("threads", 1024)):
        with pytest.raises(SettingsError, match=rf"^option '{name}': must be .* {limit}, got {10**30}"):
            likelihood.ais_log_partition(model, **{"particles": 2, "temperatures": 3} | {name: 10**30})


def test_the_last_trial_may_be_the_largest_number():
    parse(RunSettings, values(first_trial=2**32 - 2, trials=2), "test")


def test_the_file_in_a_message_may_depend_on_the_key():
    def where(location):
        return "papers/x.yaml" if location[0] == "hidden" else "config.yaml"

    for changes, file in (({"hidden": 0}, "papers/x.yaml"), ({"batch": 0}, "config.yaml")):
        with pytest.raises(SettingsError, match=f"^{file}: "):
            parse(RunSettings, values(**changes), where)


def test_values_of_a_grid_that_do_not_differ_raise_one_line():
    samplers_of_a_grid = {"samplers": {"gibbs": {"name": "gibbs", "grid": {"k": [1, 3, 1]}}}}
    with pytest.raises(SettingsError, match=r"grid: k: values must differ, got \[1, 3, 1\]"):
        parse(SamplingSettings, samplers_of_a_grid, "test")


@pytest.mark.parametrize("text", [None, 3, [1]])
def test_settings_that_are_no_mapping_raise_one_line(text):
    with pytest.raises(SettingsError, match=r"^config\.yaml: settings: must [^\n]*\Z"):
        parse(RunSettings, text, "config.yaml")


def test_normal_quantile_has_the_level_of_the_intervals():
    assert round(NormalDist().inv_cdf(TAILS[1]), 2) == NORMAL
