# SPDX-License-Identifier: BSD-3-Clause
"""Momentum: steps against the heavy ball with enumerated gradients, checkpoints, invalid options."""

import numpy as np
import pytest
from core_helpers import Enumerated, binary_data, random_rbm, training_stream

import rbmbench
from rbmbench import estimators, updates
from rbmbench.base.errors import SettingsError, StoppedError
from rbmbench.training.arguments import settings_from
from rbmbench.training.trainer import run

REPLICAS, M, N, ROWS = 2, 5, 3, 13
DATA = binary_data(ROWS, M)
RATE = 0.375


def flat(rbm):
    return np.concatenate([parameter.ravel() for parameter in rbm.parameters])


@pytest.mark.parametrize("momentum", [0, 0.5, 0.9])
def test_steps_are_those_of_the_heavy_ball_with_enumerated_gradients(momentum):
    rbm, rule = random_rbm(M, N, (REPLICAS,), seed=3), updates.create("momentum", momentum=momentum)
    expected, velocity = [flat(rbm[r]) for r in range(REPLICAS)], [0.0] * REPLICAS
    memory, estimator = rule.start(rbm, DATA), estimators.create("exact")
    batch = np.stack([DATA] * REPLICAS).astype(float)
    for _ in range(4):
        for r in range(REPLICAS):
            table = Enumerated.of(rbm[r])
            gradient = table.f[table.numbers_of(DATA)].mean(axis=0) - table.expectation
            velocity[r] = momentum * velocity[r] + RATE * gradient
            expected[r] = expected[r] + velocity[r]
        rule.step(rbm, estimator, batch, {}, training_stream(REPLICAS), RATE, memory)
        for r in range(REPLICAS):
            np.testing.assert_allclose(flat(rbm[r]), expected[r], rtol=0, atol=1e-12)
    np.testing.assert_allclose(memory["velocity_b"], [v[M * N : M * N + M] for v in velocity], rtol=0, atol=1e-12)


def test_a_stopped_run_resumes_with_its_velocity(tmp_path):
    stage = {"hidden": N, "batch": 5, "iterations": 11, "estimator": "cd", "update": "momentum", "trials": 2}
    settings = settings_from(stage | {"evaluate_every": 7}, {"name": "user"}, "test")
    whole = run(DATA, settings).rbm
    calls = iter([None, 15])
    with pytest.raises(StoppedError, match=r"stopped at iteration [1-9]"):
        run(DATA, settings, checkpoint=tmp_path / "c", checkpoint_seconds=0, stopping=lambda: next(calls, 15))
    resumed = run(DATA, settings, checkpoint=tmp_path / "c").rbm
    for parameter, expected in zip(resumed.parameters, whole.parameters, strict=True):
        np.testing.assert_array_equal(parameter, expected)


def test_train_accepts_momentum_as_update_rule():
    rule = {"name": "momentum", "options": {"momentum": np.float32(0.5)}}
    result = rbmbench.train(DATA, hidden=N, batch=5, iterations=7, update=rule)
    assert result.settings.schedule[0].update.options == {"momentum": 0.5}


@pytest.mark.parametrize("momentum", [-0.1, 1, float("nan"), "0.1", True])
def test_invalid_options_raise(momentum):
    with pytest.raises(SettingsError, match=r"option 'momentum': must be a number >= 0 and < 1, got .*"):
        updates.create("momentum", momentum=momentum)
