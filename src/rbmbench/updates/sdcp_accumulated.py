# SPDX-License-Identifier: BSD-3-Clause
"""S-DCP with accumulated gradients, as its algorithm for a mini-batch is printed.

Algorithm 3 sets the sum of the gradients to zero before the inner steps, and not in each of them, so that step l adds
rate times the gradients of steps 0, ..., l. Algorithms 2 (a single row) and 4 (CS-DCP), and the text, have the gradient
of step l alone: see `rbmbench.updates.sdcp`. While gradients hardly change, d steps add d (d + 1) / 2 of them, not d.

Source: Upadhya, Sastry 2017, algorithm 3.
"""

from rbmbench.model.gibbs import PhaseSums
from rbmbench.model.rbm import Statistics
from rbmbench.updates import REGISTRY
from rbmbench.updates._base import ascend
from rbmbench.updates.sdcp import SDCP


@REGISTRY.register
class SDCPAccumulated(SDCP):
    """S-DCP whose inner steps add the gradients of all inner steps before, too; see `SDCP` for the options."""

    def step(self, rbm, estimator, batch, state, stream, rate, memory):
        estimate = estimator.estimate(rbm, batch, state, stream)
        positive, negative = estimator.phase_sums(estimate)
        negatives = [_copied(negative)]
        ascend(rbm, positive, negative, rate)
        for _ in range(self.inner_steps - 1):
            estimate = estimator.continue_chains(rbm, estimate, stream)
            negatives.append(_copied(estimator.negative_sums(estimate)))
            for each in negatives:
                ascend(rbm, positive, each, rate)
        return estimate


def _copied(phase: PhaseSums) -> PhaseSums:
    """Return the sums of a phase in arrays of their own, as those of the next phase are in the same buffers."""
    return PhaseSums(Statistics(*(array.copy() for array in phase.sums)), phase.scale)
