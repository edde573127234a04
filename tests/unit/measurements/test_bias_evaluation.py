# SPDX-License-Identifier: BSD-3-Clause
"""Bias of CD and its bounds in runs: evaluations, unchanged training and invalid settings."""

import numpy as np
import pytest
from core_helpers import binary_data, training_stream

from rbmbench.base.errors import SettingsError
from rbmbench.base.parsing import parse
from rbmbench.base.settings import RunSettings
from rbmbench.likelihood.cd_bias import bias_and_bounds
from rbmbench.model.enumeration import empirical_distribution
from rbmbench.model.rbm import initial_rbm
from rbmbench.training import trainer

ROWS, M, N, TRIALS = 13, 5, 3, 2
DATA = binary_data(ROWS, M)
METRICS = {"cd_bias", "bias_bound", "bias_bound_gap", "older_bias_bound", "total_variation", "energy_change"}


def stage(until, k=None, estimator="expected_cd"):
    return {"until": until, "estimator": {"name": estimator, "options": {"k": k} if k else {}}, "rate": 0.1}


def settings_for(*stages, **changes):
    values = {"data": {"name": "toy"}, "hidden": N, "batch": ROWS, "trials": TRIALS, "precision": "float64"}
    values |= {"schedule": list(stages or [stage(11)]), "evaluate_every": 7, "bias_bound": {}}
    return parse(RunSettings, values | changes, "test")


def last_metrics(result):
    last = result.curve[result.curve["iteration"] == result.curve["iteration"].max()]
    return {name: last[last["metric"] == name]["value"].to_numpy() for name in METRICS}


@pytest.mark.parametrize(
    ("settings", "k"),
    [
        (settings_for(stage(11, k=3)), 3),
        (settings_for(stage(5, k=3), stage(11, k=2)), 2),
        (settings_for(stage(11, k=3), bias_bound={"k": 4}), 4),
        (settings_for(stage(11, estimator="exact")), 1),
        (settings_for(stage(11, k=2, estimator="cd"), precision="float32"), 2),
    ],
    ids=["its own k", "the stage's k", "the k that is set", "no k", "a sampled estimator"],
)
def test_a_run_has_the_bias_of_its_own_estimator(settings, k):
    result = trainer.run(DATA, settings)
    expected = bias_and_bounds(result.rbm, empirical_distribution(DATA), k)
    assert set(expected) == METRICS
    for name, values in last_metrics(result).items():
        np.testing.assert_array_equal(values, expected[name])


def test_bias_is_evaluated_at_the_start_and_does_not_change_training():
    result, plain = (trainer.run(DATA, settings_for(bias_bound=value)) for value in ({}, None))
    assert sorted(result.curve[result.curve["metric"] == "cd_bias"]["iteration"].unique()) == [0, 7, 11]
    assert METRICS.isdisjoint(plain.curve["metric"])
    np.testing.assert_array_equal(result.rbm.W, plain.rbm.W)


def test_biases_may_start_at_zero():
    zero, drawn = (initial_rbm(M, N, training_stream(2), biases=biases) for biases in ("zero", "drawn"))
    np.testing.assert_array_equal(zero.W, drawn.W)
    assert [np.abs(part).max() for part in (zero.b, zero.c)] == [0, 0]
    assert min(np.abs(part).max() for part in (drawn.b, drawn.c)) > 0.05
    # A run starts at zero: one step changes biases by at most the rate times the largest gradient, which is one.
    first = trainer.run(DATA, settings_for(stage(1), initial={"width": 7.0, "biases": "zero"})).rbm
    assert 0 < np.abs(first.b).max() <= 0.1


def test_too_large_models_raise_before_training():
    with pytest.raises(
        SettingsError, match="must have at most 24 units in both layers together, got 5 visible and 20 hidden units"
    ):
        trainer.run(DATA, settings_for(hidden=20))
