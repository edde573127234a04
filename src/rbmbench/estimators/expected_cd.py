# SPDX-License-Identifier: BSD-3-Clause
"""Expected contrastive divergence: the exact expectation of CD-k over its chains.

    E_model f  is estimated by  sum_v p_k(v) f(v),   p_k(v') = (1/N) sum_i T^k(v_i, v'),

f(v) = (v p(h|v)', v, p(h|v)), v_i the rows of the mini-batch, T the transition matrix of a Gibbs step.

Source: Fischer, Igel 2011, section 3. See `rbmbench.model.enumeration` for the computation.
Shapes: a population of all 2^m visible states, weights p_k (replicas, 2^m).
"""

from collections import Counter

import numpy as np

from rbmbench.base.registry import positive_integer
from rbmbench.estimators._base import NOTHING, REGISTRY, Estimator
from rbmbench.model.enumeration import Conditional, all_states, check_sizes, hidden_given_visible, visible_given_hidden
from rbmbench.model.gibbs import Population
from rbmbench.model.work import enumerated_steps


@REGISTRY.register
class ExpectedCD(Estimator):
    """CD-k in expectation, with ``k`` Gibbs steps, for RBMs with at most 24 units in both layers."""

    def __init__(self, k: int = 1):
        super().__init__()
        self.k = positive_integer("k", k)

    def check_sizes(self, visible_units, hidden_units):
        check_sizes(visible_units, hidden_units)

    def products(self, batch, visible_units, hidden_units, diagnostics=NOTHING):
        """Return the products of the positive phase, and of k steps of a distribution over all pairs of states."""
        pairs = 2 ** (visible_units + hidden_units) / (visible_units * hidden_units)
        return 2 + (2 * self.k * pairs + 2 * 2**visible_units) / batch

    gibbs_steps = 0

    def cost(self, batch, visible_units, hidden_units, diagnostics=NOTHING):
        return Counter(call=self.k + 2) + enumerated_steps(self.k, visible_units, hidden_units)

    def negative_phase(self, rbm, positive, state, stream):
        """Propagate the distribution of the mini-batch through k Gibbs steps."""
        check_sizes(rbm.visible_units, rbm.hidden_units)
        from_rows = Conditional(positive.hidden.astype(np.float64, copy=False))
        to_visible, to_hidden = visible_given_hidden(rbm), hidden_given_visible(rbm)
        rows = np.zeros(positive.hidden.shape[:2], np.float64, like=rbm.W) + 1 / positive.hidden.shape[1]
        distribution = to_visible.push(from_rows.push(rows))
        for _ in range(self.k - 1):
            distribution = to_visible.push(to_hidden.push(distribution))
        hidden, weights = (array.astype(rbm.W.dtype, copy=False) for array in (to_hidden.mean, distribution))
        return Population(all_states(rbm.visible_units, rbm.W), hidden, weights), state, {}
