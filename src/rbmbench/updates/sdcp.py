# SPDX-License-Identifier: BSD-3-Clause
"""Stochastic difference-of-convex-functions programming (S-DCP).

log p(v) = g(theta, v) - log Z(theta), with both terms convex. An iteration makes d gradient steps on
theta' grad g(theta_t) - log Z(theta),

    theta_(l+1) = theta_l + rate (<grad g>_data at theta_t - <grad log Z> at theta_l),    l = 0, ..., d - 1,

where the first term is computed once, and the second is the negative phase of the estimator. The chains start at the
mini-batch and continue from step to step, with K' Gibbs steps under each theta_l. With d = 1 it is CD-K'.

Source: Upadhya, Sastry 2017, algorithm 2, for a mini-batch; `rbmbench.updates.sdcp_accumulated` is their algorithm 3.
"""

from rbmbench.base.registry import positive_integer
from rbmbench.updates import REGISTRY
from rbmbench.updates._base import InnerSteps, ascend


@REGISTRY.register
class SDCP(InnerSteps):
    """S-DCP; ``inner_steps`` is d, the option ``k`` of the estimator K'. Diagnostics are of the last inner step."""

    def __init__(self, inner_steps: int = 6):
        self.inner_steps = positive_integer("inner_steps", inner_steps)

    def step(self, rbm, estimator, batch, state, stream, rate, memory):
        estimate = estimator.estimate(rbm, batch, state, stream)
        positive, negative = estimator.phase_sums(estimate)
        ascend(rbm, positive, negative, rate)
        for _ in range(self.inner_steps - 1):
            estimate = estimator.continue_chains(rbm, estimate, stream)
            ascend(rbm, positive, estimator.negative_sums(estimate), rate)
        return estimate
