# SPDX-License-Identifier: BSD-3-Clause
"""Ascent along the centered gradient (CG), with sliding offsets: dd_s^b.

    W += rate (<(v - mu)(h - lambda)'>_data - <(v - mu)(h - lambda)'>_model),
    b += rate (<v>_data - <v>_model),    c += rate (<h>_data - <h>_model),

where W, b and c are those of the centered RBM. Before each gradient, the offsets move towards means of the mini-batch,

    mu <- (1 - nu) mu + nu <v>_batch,    lambda <- (1 - nu) lambda + nu <p(h|v)>_batch,

and the RBM is re-parameterised without changing its distribution. Initially mu is the mean of the training rows, and
lambda is 0.5.

Source: Melchior, Fischer, Wiskott 2016, algorithm 1.
Shapes: memory "visible_offset" (replicas, m), "hidden_offset" (replicas, n).
"""

from rbmbench.base.errors import SettingsError
from rbmbench.base.registry import name_of, number_within
from rbmbench.updates import REGISTRY
from rbmbench.updates._base import UpdateRule
from rbmbench.updates._offsets import Offsets, ascend_centered, first_offsets


@REGISTRY.register
class Centered(UpdateRule):
    """Centered gradient ascent; ``sliding`` is nu of both layers. Parameters are those of the ordinary RBM."""

    def __init__(self, sliding: float = 0.01):
        self.sliding = number_within("sliding", sliding, 1)

    def check(self, estimator):
        """Raise a `SettingsError` if the weights of the estimator do not sum to one, or as the base class does."""
        super().check(estimator)
        if not estimator.sums_to_one:
            rule, name = map(name_of, (self, estimator))
            raise SettingsError(f"update rule {rule!r}: the estimator must have weights that sum to one, got {name!r}")

    def start(self, rbm, data):
        return first_offsets(rbm, data)

    def step(self, rbm, estimator, batch, state, stream, rate, memory):
        estimate = estimator.estimate(rbm, batch, state, stream)
        positive, negative = estimator.phase_sums(estimate)
        offsets = Offsets.of(memory)
        offsets.slide(positive, self.sliding)
        first = offsets.copy() if self.inner_steps > 1 else offsets
        ascend_centered(rbm, positive, negative, rate, first, offsets)
        for _ in range(self.inner_steps - 1):
            estimate = estimator.continue_chains(rbm, estimate, stream)
            offsets.slide(positive, self.sliding)
            ascend_centered(rbm, positive, estimator.negative_sums(estimate), rate, first, offsets)
        return estimate
