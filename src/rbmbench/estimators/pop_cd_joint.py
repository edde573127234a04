# SPDX-License-Identifier: BSD-3-Clause
"""pop-CD-k with the joint proposal, conditional on v' instead of h'.

The proposal for (v, h) is kappa(v, h | v') = p(v|h) p(h|v'), v' the visible state after k - 1 Gibbs steps, so that

    log w_i = log p~(h_i) - log p(h_i | v'_i),     E_model f  is estimated by  sum_i softmax(log w)_i f(v_i),

p~(h) = exp(c'h) prod_i (1 + exp(b_i + (W h)_i)), and f(v) = (v p(h|v)', v, p(h|v)).

Source: Krause, Fischer, Igel, section 3.4, first formulation.
Shapes: weights (replicas, batch), float64, summing to 1.
"""

import numpy as np

from rbmbench.estimators._base import REGISTRY
from rbmbench.estimators.pop_cd import PopCD
from rbmbench.kernels import kernels_for
from rbmbench.model.gibbs import hidden_activation, hidden_mean, run_chain, sample_visible, visible_activation


@REGISTRY.register
class PopCDJoint(PopCD):
    """pop-CD-k with the joint proposal and ``k`` Gibbs steps."""

    def weighted_ends(self, rbm, positive, stream):
        """Return v, p(h|v) and log w of the joint proposal, see `PopCD`."""
        before = positive.visible
        if self.k > 1:
            start = run_chain(rbm, positive.hidden, self.k - 1, stream, self.buffers)
            before = sample_visible(rbm, start, stream, self.buffers)
        hidden, log_weights = self._weighted_hidden(rbm, before, stream)
        visible = visible_activation(rbm, hidden, self.buffers)
        kernels = kernels_for(visible)
        log_marginal = self.buffers.get("log marginal", log_weights.shape, log_weights)
        kernels.softplus_sum(visible, rbm.b, log_marginal)
        log_weights += log_marginal
        kernels.sample_bernoulli(visible, rbm.b, stream.next())
        return visible, hidden_mean(rbm, visible, self.buffers), log_weights

    def _weighted_hidden(self, rbm, before, stream):
        """Draw h ~ p(h|v'); return it and c'h - log p(h|v')."""
        hidden = hidden_activation(rbm, before, self.buffers)
        log_probability = self.buffers.get("log proposal", hidden.shape[:-1], hidden, np.float64)
        kernels_for(hidden).sample_bernoulli_and_log_probability(hidden, rbm.c, stream.next(), log_probability)
        return hidden, (hidden @ rbm.c[..., None])[..., 0] - log_probability
