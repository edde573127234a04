"""Contrastive divergence, CD-k.

    E_model f  is estimated by  (1/N) sum_i f(v_i^(k)),   f(v) = (v p(h|v)', v, p(h|v)),

v_i^(k) the state of a Gibbs chain k steps after its start at row i of the mini-batch.

Source: Hinton 2002; Krause, Fischer, Igel, section 2.
Shapes: chains (replicas, batch, m) and (replicas, batch, n).
"""

from rbmbench.estimators._base import REGISTRY, Estimator, positive_integer
from rbmbench.gibbs import Population, hidden_mean, run_chain, sample_visible

__all__ = ["CD"]


@REGISTRY.register
class CD(Estimator):
    """CD-k; ``k`` is the number of Gibbs steps, at least 1."""

    resident = "cd"

    def __init__(self, k: int = 1):
        super().__init__()
        self.k = positive_integer("k", k)

    def negative_phase(self, rbm, positive, state, stream):
        """Run the chains k steps from the mini-batch."""
        hidden = run_chain(rbm, positive.hidden, self.k, stream, self.buffers)
        visible = sample_visible(rbm, hidden, stream, self.buffers)
        return Population(visible, hidden_mean(rbm, visible, self.buffers)), state, {}
