# SPDX-License-Identifier: BSD-3-Clause
"""Unbiased contrastive divergence, UCD.

    E_model f  is estimated by the mean over N pairs of coupled Gibbs chains of

        f(xi_k) + sum_{t=k+1}^{tau-1} ( f(xi_t) - f(eta_(t-1)) ),     f(v) = (v p(h|v)', v, p(h|v)),

where the chains xi and eta of a pair start at the same row of the mini-batch, and xi_t = eta_(t-1) from time tau on.
The estimate is unbiased for any k, except for pairs that are merged at ``max_steps``, whose share the diagnostics
report. The paper's f(v, h) = (p(v|h) h', p(v|h), h) has the same expectation; only ``variance`` measures it.

Source: Qiu, Zhang, Wang 2020, algorithms 2 and 3.
Shapes: chains (rows, m) and (rows, n), with a row for each pair of any replica that has not met.
"""

from collections import Counter

import numpy as np

from rbmbench.base.registry import positive_integer, truth_value
from rbmbench.estimators._base import NOTHING, REGISTRY, Estimator
from rbmbench.estimators._chains import chain_starts, number_of_chains
from rbmbench.estimators._variance import TermRecord
from rbmbench.model.work import ASSUMED_STOPPING_TIME, product
from rbmbench.samplers._terms import TermSums
from rbmbench.samplers.coupled_gibbs import CoupledGibbs


def products_of_pair(k, stopping_time):
    """Return the products of a row of one layer with W that a pair of chains takes, as the formulas are written.

    With states xi_t = (v_t, h_t) and eta_t = (v'_t, h'_t), both from (v_0, h_0), and tau >= 2 the first t at which
    v_t = v'_(t-1), a step of a chain takes W h for v, and v W for h and the mean p(h|v):

    - xi_1, ..., xi_k: two products each, and the statistic of f(xi_k): 2 k + 1;
    - eta_1, ..., eta_(tau-2): two products each, and W h'_(tau-2), which proposes the v'_(tau-1) that meets v_tau:
      2 (tau - 2) + 1. Both chains are then equal;
    - if tau > k, for t = k + 1, ..., tau - 1 two products of xi_t, and the statistics of f(xi_t) and f(eta_(t-1)); and
      W h_(tau-1), which proposes v_tau: 4 (tau - 1 - k) + 1.

    With k = 1 the sum is 6 tau - 7: 5 for pairs that meet at once.

    Parameters
    ----------
    k : int
    stopping_time : float or ndarray
        tau. With k = 1 it may be a mean over pairs, in which the sum is linear.

    Returns
    -------
    ndarray, of the shape of ``stopping_time``
    """
    later = np.where(stopping_time > k, 4 * (stopping_time - 1 - k) + 1, 0)
    return 2 * k + 1 + 2 * (stopping_time - 2) + 1 + later


@REGISTRY.register
class UCD(Estimator):
    """UCD with ``chains`` pairs of chains (None: one from each row of the mini-batch); other options as `CoupledGibbs`.

    Diagnostics, means over the pairs: stopping_time (tau), rejections (rejected proposals), forced_meetings (share of
    pairs merged at ``max_steps``), truncated_attempts (share of pairs whose rejection sampling may have been cut off);
    with ``variance`` that of the paper's form of the estimate, see `rbmbench.estimators._variance`; with k > 1
    pair_products, see `products_of_pair`.
    """

    cost_varies = True
    cost_depends_on = ("stopping_time",)
    gibbs_steps = 0

    def __init__(
        self,
        coupling: str = "rbm",
        k: int = 1,
        max_steps: int | None = 100,
        chains: int | None = None,
        antithetic: bool = False,
        variance: bool = False,
    ):
        super().__init__()
        self.chains = number_of_chains(chains)
        self.coupled = CoupledGibbs(coupling, positive_integer("k", k), max_steps, antithetic)
        self.variance = truth_value("variance", variance)
        self.sums = TermSums()

    def products(self, batch, visible_units, hidden_units, diagnostics=NOTHING):
        """Return the products of both phases, see `products_of_pair`.

        Without ``diagnostics`` pairs meet at tau = 2, the first time at which they can: the least that an estimate
        costs.
        """
        pair_products = diagnostics.get("pair_products")
        if pair_products is None:
            pair_products = products_of_pair(self.coupled.k, diagnostics.get("stopping_time", 2))
        return 2 + float(pair_products) * (self.chains or batch) / batch

    def assumed(self, batch):
        return {"stopping_time": ASSUMED_STOPPING_TIME}

    def cost(self, batch, visible_units, hidden_units, diagnostics=NOTHING):
        m, n, k, chains = visible_units, hidden_units, self.coupled.k, self.chains or batch
        steps = round(chains * max(0.0, diagnostics.get("stopping_time", ASSUMED_STOPPING_TIME) - k))
        pairs = Counter({"pair": steps, "pair unit": steps * (m + n)})
        # Of one chain, both ways, and of the correction terms.
        pairs[product(m, n, chains)] += 2 * m * n * 3 * steps
        return self.cost_of_chains(batch, m, n, k, steps) + pairs

    def negative_phase(self, rbm, positive, state, stream):
        """Run pairs of chains until they meet, and add up their terms."""
        start = chain_starts(positive, self.chains, stream, self.buffers)
        chains = start.hidden.shape[1]
        self.sums.clear(rbm, chains)
        terms = TermRecord(self.sums, rbm, chains) if self.variance else self.sums
        met = self.coupled.run(rbm, start, stream, terms)
        diagnostics = {
            "stopping_time": met.stopping_time.mean(axis=1),
            "rejections": met.rejections.mean(axis=1),
            "forced_meetings": met.forced.mean(axis=1),
            "truncated_attempts": met.truncated.mean(axis=1),
        }
        if self.coupled.k > 1:  # else it follows from the mean of tau
            diagnostics["pair_products"] = products_of_pair(self.coupled.k, met.stopping_time).mean(axis=1)
        return self.sums.mean(), state, diagnostics | (terms.variances() if self.variance else {})
