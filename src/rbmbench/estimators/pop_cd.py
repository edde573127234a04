# SPDX-License-Identifier: BSD-3-Clause
"""Population contrastive divergence, pop-CD-k.

The chains are those of CD-k, with importance weights for the proposals p(v|h') of their end states:

    log w_i = log p~(v_i) - log p(v_i | h'_i),     E_model f  is estimated by  sum_i softmax(log w)_i f(v_i),

where h'_i ~ q^(k-1) is the hidden state after k - 1 Gibbs steps from row i of the mini-batch, v_i ~ p(v | h'_i), and
f(v) = (v p(h|v)', v, p(h|v)). The computation of p(h|v) also gives p~(v) = exp(b'v) prod_j (1 + exp(c_j + (v'W)_j)),
and the sampling of v also gives p(v|h').

Source: Krause, Fischer, Igel, equations 7 and 8, algorithm 1.
Shapes: weights (replicas, batch), float64, summing to 1.
"""

from collections import Counter

import numpy as np

from rbmbench.base.registry import positive_integer
from rbmbench.estimators._base import NOTHING, REGISTRY, Estimator
from rbmbench.kernels import kernels_for
from rbmbench.model.gibbs import Population, run_chain, visible_activation


def mean_and_log_marginal(rbm, visible, buffers):
    """Return p(h|v), (replicas, rows, n), and log p~(v), float64 (replicas, rows), nats."""
    shape = (*visible.shape[:-1], rbm.hidden_units)
    mean = buffers.get("hidden mean", shape, visible)
    log_marginal = buffers.get("log marginal", shape[:-1], visible, np.float64)
    kernels = kernels_for(mean)
    kernels.multiply_binary(visible, rbm.W, mean)
    kernels.bernoulli_mean_and_softplus_sum(mean, rbm.c, log_marginal)
    log_marginal += (visible @ rbm.b[..., None])[..., 0]
    return mean, log_marginal


def weighted_proposal(rbm, hidden, stream, buffers):
    """Draw v ~ p(v|h') and return v, p(h|v) and log w = log p~(v) - log p(v|h'), float64 (replicas, rows), nats."""
    log_proposal = buffers.get("log proposal", hidden.shape[:-1], hidden, np.float64)
    visible = visible_activation(rbm, hidden, buffers)
    kernels_for(visible).sample_bernoulli_and_log_probability(visible, rbm.b, stream.next(), log_proposal)
    mean, log_weights = mean_and_log_marginal(rbm, visible, buffers)
    log_weights -= log_proposal
    return visible, mean, log_weights


def normalised_weights(log_weights):
    """Return softmax over the last axis."""
    weights = np.exp(log_weights - log_weights.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def effective_sample_size(weights):
    """Return (sum w)^2 / sum w^2 over the last axis: between 1 and the number of rows."""
    weights = weights / weights.max(axis=-1, keepdims=True)
    return weights.sum(axis=-1) ** 2 / (weights**2).sum(axis=-1)


@REGISTRY.register
class PopCD(Estimator):
    """pop-CD-k with ``k`` Gibbs steps. Variants override `weighted_ends`, `weights` or `diagnostics_of`."""

    continues_from = "ends"
    weights = staticmethod(normalised_weights)

    def __init__(self, k: int = 1):
        super().__init__()
        self.k = positive_integer("k", k)

    def cost(self, batch, visible_units, hidden_units, diagnostics=NOTHING):
        counts = super().cost(batch, visible_units, hidden_units, diagnostics)
        return counts + Counter({"weighed unit": batch * (visible_units + hidden_units)})

    def negative_phase(self, rbm, positive, state, stream):
        """Run chains for k steps from the mini-batch, and weight their end states."""
        visible, mean, log_weights = self.weighted_ends(rbm, positive, stream)
        weights = self.weights(log_weights)
        population = Population(visible, mean, weights.astype(rbm.W.dtype))
        return population, state, self.diagnostics_of(weights)

    def diagnostics_of(self, weights):
        """Return diagnostics of the weights, float64 (replicas, batch): arrays (replicas,) by name."""
        return {"effective_sample_size": effective_sample_size(weights)}

    def weighted_ends(self, rbm, positive, stream):
        """Return the end states v of the chains, p(h|v), and log w, float64 (replicas, batch), nats."""
        hidden = run_chain(rbm, positive.hidden, self.k, stream, self.buffers)
        return weighted_proposal(rbm, hidden, stream, self.buffers)
