# SPDX-License-Identifier: BSD-3-Clause
"""Contrastive divergence, CD-k.

    E_model f  is estimated by  (1/N) sum_i f(v_i^(k)),   f(v) = (v p(h|v)', v, p(h|v)),

where v_i^(k) is the state after k steps of Gibbs chain i of N: one from each row of the mini-batch, or a given number
of chains from rows drawn with replacement.

Source: Hinton 2002; Krause, Fischer, Igel, section 2; Qiu, Zhang, Wang 2020, section 6 (more chains than rows).
Shapes: chains (replicas, N, m) and (replicas, N, n).
"""

from rbmbench.base.registry import positive_integer, truth_value
from rbmbench.estimators._base import REGISTRY, Estimator
from rbmbench.estimators._chains import chain_starts, number_of_chains
from rbmbench.estimators._variance import population_variances
from rbmbench.model.gibbs import Population, end_of_chain, hidden_mean


@REGISTRY.register
class CD(Estimator):
    """CD-k with ``k`` Gibbs steps and ``chains`` chains (None: one from each row of the mini-batch).

    With ``variance``, diagnostics include the variance of the paper's form of this phase, see
    `rbmbench.estimators._variance`.
    """

    def __init__(self, k: int = 1, chains: int | None = None, variance: bool = False):
        super().__init__()
        self.k = positive_integer("k", k)
        self.chains = number_of_chains(chains)
        self.continues_from = "ends" if self.chains is None else None
        self.variance = truth_value("variance", variance)

    def negative_phase(self, rbm, positive, state, stream):
        """Run chains for k steps from the mini-batch."""
        starts = chain_starts(positive, self.chains, stream, self.buffers)
        visible = end_of_chain(rbm, starts.hidden, self.k, stream, self.buffers)
        population = Population(visible, hidden_mean(rbm, visible, self.buffers))
        return population, state, population_variances(rbm, visible, stream, self.buffers) if self.variance else {}
