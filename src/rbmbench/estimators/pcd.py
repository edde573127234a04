"""Persistent contrastive divergence, PCD-k (stochastic maximum likelihood).

    E_model f  is estimated by  (1/N) sum_i f(v_i),   f(v) = (v p(h|v)', v, p(h|v)),

v_i the states of N chains, as many as the mini-batch has rows or as are asked for, that make k Gibbs steps an
iteration and are never set back. They start at random training rows.

Source: Tieleman 2008; Krause, Fischer, Igel, section 1; Qiu, Zhang, Wang 2020, section 6 (more chains than rows).
Shapes: state "visible" (replicas, N, m).
"""

from rbmbench.base.registry import positive_integer, truth_value
from rbmbench.estimators._base import REGISTRY, Estimator
from rbmbench.estimators._chains import number_of_chains
from rbmbench.estimators._variance import population_variances
from rbmbench.model.gibbs import Population, hidden_mean, run_chain, sample_visible
from rbmbench.model.minibatches import random_rows

__all__ = ["PCD"]


@REGISTRY.register
class PCD(Estimator):
    """PCD-k; ``k`` Gibbs steps an iteration, ``chains`` chains (None: as many as the mini-batch has rows).

    With ``variance`` the diagnostics tell the gradient's variance, see `rbmbench.estimators._variance`.
    """

    fused = "pcd"
    continues_from = "itself"

    def __init__(self, k: int = 1, chains: int | None = None, variance: bool = False):
        super().__init__()
        self.k = positive_integer("k", k)
        self.chains = number_of_chains(chains)
        self.variance = truth_value("variance", variance)

    def start(self, rbm, data, batch, stream):
        """Put the chains on random training rows."""
        return {"visible": random_rows(data, self.chains or batch, rbm.W, stream)}

    def negative_phase(self, rbm, positive, state, stream):
        """Run the persistent chains k steps on."""
        start = hidden_mean(rbm, state["visible"], self.buffers, "chain start")
        hidden = run_chain(rbm, start, self.k, stream, self.buffers)
        visible = sample_visible(rbm, hidden, stream, self.buffers)
        state["visible"][...] = visible
        population = Population(visible, hidden_mean(rbm, visible, self.buffers))
        return population, state, population_variances(population, self.buffers) if self.variance else {}
