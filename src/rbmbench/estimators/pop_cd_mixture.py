# SPDX-License-Identifier: BSD-3-Clause
"""pop-CD-k with a mixture proposal over groups of tau rows.

Within a group, each v_i is drawn from its own component p(v|h'_i), but weighted with respect to their mixture:

    log w_i = log p~(v_i) - log( (1/tau) sum_j p(v_i | h'_j) ),
    E_model f  is estimated by  sum_i softmax(log w)_i f(v_i),

with h'_i, v_i and f as in `pop_cd`. One draw from each component has the mixture's expectation with less variance than
draws from the mixture; tau = 1 is pop-CD-k. Cost grows linearly with tau.

Source: Krause, Fischer, Igel, section 3.4, second formulation.
Shapes: scores log p(v_i|h'_j) (replicas, batch / tau, tau, tau).
"""

import numpy as np

from rbmbench.base.errors import SettingsError
from rbmbench.base.registry import positive_integer
from rbmbench.estimators._base import NOTHING, REGISTRY
from rbmbench.estimators.pop_cd import PopCD, mean_and_log_marginal
from rbmbench.kernels import kernels_for
from rbmbench.model.gibbs import run_chain, visible_activation
from rbmbench.model.work import dense_product


@REGISTRY.register
class PopCDMixture(PopCD):
    """pop-CD-k with ``k`` Gibbs steps and mixtures of ``tau`` rows, a divisor of the rows of the mini-batch."""

    def __init__(self, k: int = 1, tau: int = 2):
        super().__init__(k)
        self.tau = positive_integer("tau", tau)

    def products(self, batch, visible_units, hidden_units, diagnostics=NOTHING):
        """Return those of pop-CD-k, and of the mixtures: a product of v with tau activations for each row."""
        return super().products(batch, visible_units, hidden_units, diagnostics) + self.tau / hidden_units

    def cost(self, batch, visible_units, hidden_units, diagnostics=NOTHING):
        counts = super().cost(batch, visible_units, hidden_units, diagnostics)
        counts[dense_product(visible_units, hidden_units)] += 2 * batch * visible_units * self.tau
        return counts

    def weighted_ends(self, rbm, positive, stream):
        """Return v, p(h|v) and log w with respect to the mixtures, see `PopCD`."""
        rows = positive.visible.shape[1]
        if rows % self.tau:
            raise SettingsError(f"estimator 'pop_cd_mixture': tau: must be a divisor of batch {rows}, got {self.tau}")
        hidden = run_chain(rbm, positive.hidden, self.k, stream, self.buffers)
        activation = visible_activation(rbm, hidden, self.buffers)
        visible = self.buffers.get("visible", activation.shape, activation)
        visible[...] = activation
        kernels_for(visible).sample_bernoulli(visible, rbm.b, stream.next())
        mean, log_weights = mean_and_log_marginal(rbm, visible, self.buffers)
        log_weights -= self._log_mixture(rbm, activation, visible)
        return visible, mean, log_weights

    def _log_mixture(self, rbm, activation, visible):
        """Return log (1/tau) sum_j p(v_i|h'_j), j over the group of i: (replicas, rows), nats."""
        replicas, rows, m = visible.shape
        groups = (replicas, rows // self.tau, self.tau)
        log_normaliser = self.buffers.get("log normaliser", (replicas, rows), visible, np.float64)
        kernels_for(visible).softplus_sum(activation, rbm.b, log_normaliser)
        activation += rbm.b[:, None, :]
        scores = visible.reshape(*groups, m) @ activation.reshape(*groups, m).swapaxes(-1, -2)
        scores = scores - log_normaliser.reshape(*groups)[..., None, :]
        largest = scores.max(axis=-1, keepdims=True)
        log_mixture = largest[..., 0] + np.log(np.exp(scores - largest).mean(axis=-1))
        return log_mixture.reshape(replicas, rows)
