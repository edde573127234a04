# SPDX-License-Identifier: BSD-3-Clause
"""Persistent contrastive divergence, PCD-k (stochastic maximum likelihood).

    E_model f  is estimated by  (1/N) sum_i f(v_i),   f(v) = (v p(h|v)', v, p(h|v)),

where v_i are the states of N persistent chains (one per row of the mini-batch, or a given number) that start at random
training rows and make k Gibbs steps per iteration. An iteration starts with h ~ p(h|v) under its own parameters;
Breuleux, Bengio, Vincent 2011 carry h to it.

Source: Tieleman 2008; Krause, Fischer, Igel, section 1; Qiu, Zhang, Wang 2020, section 6 (more chains than rows).
Shapes: state "visible" (replicas, N, m).
"""

from rbmbench.base.registry import positive_integer, truth_value
from rbmbench.estimators._base import NOTHING, REGISTRY, Estimator
from rbmbench.estimators._chains import number_of_chains
from rbmbench.estimators._variance import population_variances
from rbmbench.model.gibbs import Population, end_of_chain, hidden_mean
from rbmbench.model.minibatches import random_rows


@REGISTRY.register
class PCD(Estimator):
    """PCD-k with ``k`` Gibbs steps per iteration and ``chains`` chains (None: one per row of the mini-batch).

    With ``variance``, diagnostics include the variance of the paper's form of this phase, see
    `rbmbench.estimators._variance`.
    """

    continues_from = "itself"

    def __init__(self, k: int = 1, chains: int | None = None, variance: bool = False):
        super().__init__()
        self.k = positive_integer("k", k)
        self.chains = number_of_chains(chains)
        self.variance = truth_value("variance", variance)

    def products(self, batch, visible_units, hidden_units, diagnostics=NOTHING):
        """Return the products of the chains and, as those continue under new parameters, of their first half step."""
        return super().products(batch, visible_units, hidden_units) + (self.chains or batch) / batch

    def start(self, rbm, data, batch, stream):
        """Start the chains at random training rows."""
        return {"visible": random_rows(data, self.chains or batch, rbm.W, stream)}

    def negative_phase(self, rbm, positive, state, stream):
        """Run the persistent chains for k steps."""
        start = hidden_mean(rbm, state["visible"], self.buffers, "chain start")
        visible = end_of_chain(rbm, start, self.k, stream, self.buffers)
        state["visible"][...] = visible
        population = Population(visible, hidden_mean(rbm, visible, self.buffers))
        return population, state, population_variances(rbm, visible, stream, self.buffers) if self.variance else {}
