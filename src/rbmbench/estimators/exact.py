# SPDX-License-Identifier: BSD-3-Clause
"""The exact gradient: the model expectation summed over all states of the smaller layer.

    E_model f = sum_h p(h) (p(v|h) h', p(v|h), h)      if n <= m,   else   sum_v p(v) (v p(h|v)', v, p(h|v)).

Source: Krause, Fischer, Igel, equation 1.
Shapes: statistics (replicas, m, n), (replicas, m), (replicas, n), of the type of the parameters, computed in float64.
"""

from collections import Counter

from rbmbench.estimators._base import NOTHING, REGISTRY, Estimator
from rbmbench.likelihood.exact import check_enumerable, exact_model_statistics
from rbmbench.model.rbm import Statistics


@REGISTRY.register
class Exact(Estimator):
    """The exact model expectation, for RBMs with at most 25 units in the smaller layer."""

    continues_from = "itself"

    def check_sizes(self, visible_units, hidden_units):
        check_enumerable(visible_units, hidden_units)

    def products(self, batch, visible_units, hidden_units, diagnostics=NOTHING):
        """Return the products of the positive phase, and of all states of the smaller layer."""
        return 2 + 2 * 2 ** min(visible_units, hidden_units) / batch

    gibbs_steps = 0

    def cost(self, batch, visible_units, hidden_units, diagnostics=NOTHING):
        states = 2 ** min(visible_units, hidden_units)
        return Counter({"call": 3, "state": states, "row product": 4 * states * visible_units * hidden_units})

    def negative_phase(self, rbm, positive, state, stream):
        statistics = exact_model_statistics(rbm)
        return Statistics(*(s.astype(rbm.W.dtype) for s in statistics)), state, {}
