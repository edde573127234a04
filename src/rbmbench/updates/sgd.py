# SPDX-License-Identifier: BSD-3-Clause
"""Plain stochastic gradient ascent, theta <- theta + rate * gradient: no momentum, no weight decay.

Source: Krause, Fischer, Igel, section 4.1.
"""

from rbmbench.updates import REGISTRY
from rbmbench.updates._base import UpdateRule, ascend


@REGISTRY.register
class SGD(UpdateRule):
    """Gradient ascent with a constant learning rate."""

    def step(self, rbm, estimator, batch, state, stream, rate, memory):
        estimate = estimator.estimate(rbm, batch, state, stream)
        ascend(rbm, *estimator.phase_sums(estimate), rate)
        return estimate
