# SPDX-License-Identifier: BSD-3-Clause
"""Herding of a model with hidden units: rates-herding with rates that follow the parameters.

    theta <- theta + eps (mean over a mini-batch of (x+ h+', x+, h+) - (x- h-', x-, h-)),   h+ = 1{W'x+ + c > 0},

with (x-, h-) the fixed point of rates-herding, and eps = 1. The training set is needed during sampling:
mini-batches are successive blocks of its rows, in cycles. There is no decay.

Source: Welling 2009 (herding dynamic weights for partially observed random field models), step size 1; Breuleux,
Bengio, Vincent 2011, section 2.
Shapes: as in `rbmbench.samplers.rates_fpcd`, with "data" (rows, m) and "block" (1,), the number of the next mini-batch.
"""

import numpy as np

from rbmbench.base.registry import positive_integer
from rbmbench.model.gibbs import Population, population_statistics
from rbmbench.model.rows import binary_rows
from rbmbench.samplers._base import REGISTRY, no_rates
from rbmbench.samplers.rates_fpcd import DRIFTS
from rbmbench.samplers.rates_herding import RatesHerding


@REGISTRY.register
class Herding(RatesHerding):
    """Herding with mini-batches of ``batch`` training rows (or all, if there are fewer).

    ``fast_rate`` is eps (a number, or one per replica), ``most_steps`` the maximal number of fixed-point iterations.
    """

    of_replica = ("fast_rate",)
    lazy = False  # the drift changes after every sample

    def __init__(self, fast_rate: float = 1.0, batch: int = 100, most_steps: int = 50):
        super().__init__(fast_rate, 1.0, most_steps)
        self.batch = positive_integer("batch", batch)

    def start(self, rbm, data, chains, stream):
        """Start the chains at random training rows, and with the first mini-batch."""
        data = binary_rows(data, units=rbm.visible_units)
        state = super().start(rbm, data, chains, stream)
        return state | {"data": data, "block": np.zeros(1, np.int64)}

    def rates(self, rbm, data):
        """Return R = 0: the contribution of the data is computed after each sample."""
        return no_rates(rbm)

    def after_sample(self, rbm, state, visible, hidden):
        """Move the parameters towards the mini-batch with its hidden states, and away from the sample."""
        rows = self._next_rows(state).astype(rbm.W.dtype)
        activation = np.matmul(rows, rbm.W)
        activation += rbm.c[:, None]
        states = np.broadcast_to(rows, (len(rbm.W), *rows.shape)), np.greater(activation, 0, out=activation)
        means = population_statistics(Population(*states), self.buffers, "data")
        for name, mean in zip(DRIFTS, means, strict=True):
            broadcast = (slice(None), *[None] * (mean.ndim - 1))
            np.multiply(state["rate"][broadcast], mean, out=state[name])
        super().after_sample(rbm, state, visible, hidden)

    def _next_rows(self, state):
        """Return the rows of the next mini-batch; remaining rows at the end are not used."""
        data, block = state["data"], int(state["block"][0])
        batch = min(self.batch, len(data))
        state["block"][0] = (block + 1) % (len(data) // batch)
        return data[block * batch : (block + 1) * batch]
