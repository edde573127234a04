# SPDX-License-Identifier: BSD-3-Clause
"""Momentum: steps against the heavy ball with enumerated gradients."""

import numpy as np
import pytest
from core_helpers import Enumerated, binary_data, random_rbm, training_stream

from rbmbench import estimators, updates

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
