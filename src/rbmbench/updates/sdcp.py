"""Stochastic difference-of-convex-functions programming (S-DCP).

log p(v) = g(theta, v) - log Z(theta), both convex. An iteration makes d steps up theta' grad g(theta_t) - log Z(theta),

    theta_(l+1) = theta_l + rate (<grad g>_data at theta_t - <grad log Z> at theta_l),    l = 0, ..., d - 1,

whose first part is computed once and kept, and whose second part is the estimator's negative phase. Its chains start at
the mini-batch and run on through the steps, each of K' Gibbs steps under its own theta_l. With d = 1 it is CD-K'.

Source: Upadhya, Sastry 2017, algorithm 3.
"""

from rbmbench.base.registry import positive_integer
from rbmbench.estimators import check_continues
from rbmbench.updates import REGISTRY
from rbmbench.updates._base import UpdateRule, ascend

__all__ = ["SDCP"]


@REGISTRY.register
class SDCP(UpdateRule):
    """S-DCP; ``inner_steps`` is d, the estimator's ``k`` is K'. Diagnostics are those of the last inner step."""

    def __init__(self, inner_steps: int = 6):
        self.inner_steps = positive_integer("inner_steps", inner_steps)

    def check(self, estimator):
        """Refuse estimators whose chains cannot run on through the inner steps."""
        check_continues(estimator, "sdcp")

    def step(self, rbm, estimator, batch, state, stream, rate, memory):
        """Change the parameters of ``rbm`` in place by one iteration; see `UpdateRule.step`."""
        estimate = estimator.estimate(rbm, batch, state, stream)
        positive, negative = estimator.phase_sums(estimate)
        ascend(rbm, positive, negative, rate)
        for _ in range(self.inner_steps - 1):
            estimate = estimator.continue_chains(rbm, estimate, stream)
            ascend(rbm, positive, estimator.negative_sums(estimate), rate)
        return estimate
