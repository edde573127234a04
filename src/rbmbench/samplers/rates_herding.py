# SPDX-License-Identifier: BSD-3-Clause
"""Rates-herding: rates-FPCD at zero temperature, a deterministic dynamical system.

The Gibbs steps are replaced by the iteration to a fixed point of

    x = 1{W h + b > 0},   h = 1{W'x + c > 0}

under theta + theta_F, from the previous state; theta_F is updated as in rates-FPCD. Only the initial rows are random.

Source: Breuleux, Bengio, Vincent 2011, sections 2 and 4, algorithm 2 (RatesHerdingSample); Welling 2009.
Shapes: as in `rbmbench.samplers.rates_fpcd`.
"""

import numpy as np

from rbmbench.base.registry import positive_integer
from rbmbench.kernels import kernels_for
from rbmbench.model.gibbs import hidden_activation, visible_activation
from rbmbench.samplers._base import REGISTRY
from rbmbench.samplers.rates_fpcd import RatesFPCD


@REGISTRY.register
class RatesHerding(RatesFPCD):
    """Rates-herding; ``fast_rate`` is eps_F, ``decay`` alpha (each a number, or one per replica).

    ``most_steps`` is the maximal number of fixed-point iterations. Each decreases the energy, but a tie or slow
    convergence should not delay all replicas.
    """

    def __init__(self, fast_rate: float = 1.0, decay: float = 1.0, most_steps: int = 50):
        super().__init__(fast_rate, decay)
        self.most_steps = positive_integer("most_steps", most_steps)

    def draw_lazily(self, lazy, hidden, stream, samples, means):
        """Iterate the chains to a fixed point for each sample; nothing is drawn."""
        kernels_for(hidden).herd_lazily(lazy, self.most_steps, hidden, samples, means)

    def transition(self, rbm, state, hidden, stream):
        """Return the fixed point (x, h) of each chain, in buffers; nothing is drawn."""
        before = self.buffers.get("hidden before", hidden.shape, hidden)
        for _ in range(self.most_steps):
            before[...] = hidden
            visible = _switched(visible_activation(rbm, hidden, self.buffers), rbm.b)
            hidden = _switched(hidden_activation(rbm, visible, self.buffers), rbm.c)
            if (hidden == before).all():
                break
        return visible, hidden

    def visible_mean(self, rbm, hidden):
        """Return the state x determined by h, which is its mean at zero temperature, in its own buffer."""
        mean = super().visible_mean(rbm, hidden)
        return np.greater(mean, 0.5, out=mean)


def _switched(activation, bias):
    """Overwrite ``activation`` with 1 if activation + bias > 0, else 0."""
    activation += bias[:, None]
    return np.greater(activation, 0, out=activation)
