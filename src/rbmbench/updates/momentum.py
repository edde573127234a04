# SPDX-License-Identifier: BSD-3-Clause
"""Gradient ascent with momentum, the heavy ball.

    velocity <- momentum * velocity + rate * gradient,    theta <- theta + velocity.

The velocity is zero at the start of a stage. For a constant gradient it tends to rate / (1 - momentum) times that
gradient. With momentum 0 it is plain gradient ascent.

Source: Polyak 1964; Hinton 2010, A practical guide to training restricted Boltzmann machines, section 9.
Shapes: memory "velocity_W" (replicas, m, n), "velocity_b" (replicas, m), "velocity_c" (replicas, n).
"""

import numpy as np

from rbmbench.base.registry import number_within
from rbmbench.model.rbm import unchecked_rbm
from rbmbench.updates import REGISTRY
from rbmbench.updates._base import UpdateRule, ascend


@REGISTRY.register
class Momentum(UpdateRule):
    """Gradient ascent with a constant learning rate and ``momentum``, from 0 to less than 1."""

    def __init__(self, momentum: float = 0.9):
        self.momentum = number_within("momentum", momentum, 1, below=True)

    def start(self, rbm, data):
        return {f"velocity_{name}": np.zeros_like(parameter) for name, parameter in rbm.parameters._asdict().items()}

    def step(self, rbm, estimator, batch, state, stream, rate, memory):
        estimate = estimator.estimate(rbm, batch, state, stream)
        velocity = unchecked_rbm(*(memory[f"velocity_{name}"] for name in ("W", "b", "c")))
        for entry in velocity.parameters:
            entry *= self.momentum
        ascend(velocity, *estimator.phase_sums(estimate), rate)
        for parameter, entry in zip(rbm.parameters, velocity.parameters, strict=True):
            np.add(parameter, entry, out=parameter)
        return estimate
