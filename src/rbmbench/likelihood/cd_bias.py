# SPDX-License-Identifier: BSD-3-Clause
"""The exact bias of contrastive divergence, and two upper bounds.

The expectation of the negative phase of CD-k is sum_v (mu T^k)(v) f(v), f(v) = (v p(h|v)', v, p(h|v)); its bias is the
difference from the model expectation sum_v p(v) f(v). For each parameter

    |bias| <= |mu - p| (1 - exp(-(m + n) Delta))^k,      |mu - p| = 1/2 sum_v |mu(v) - p(v)|,

where mu is the distribution of the initial visible states (for a batch, that of its rows), p that of the model, and
Delta the largest change of the energy when one unit changes:

    Delta = max over i of |sum_j max(w_ij, 0) + b_i| and |sum_j min(w_ij, 0) + b_i|, and over j of the same with c_j.

An older bound does not depend on mu:

    |bias| <= 2^m (1 - 2^m 2^n sigma(-alpha)^m sigma(-beta)^n)^k,
    alpha = max_i (sum_j |w_ij| + |b_i|),   beta = max_j (sum_i |w_ij| + |c_j|).

Source: Fischer, Igel 2011, theorem 3 and its extension to batches; the older bound: Bengio, Delalleau 2009.
Shapes: everything is float64 (replicas,); parameters have exactly one leading axis of replicas.
"""

import numpy as np

from rbmbench.model.enumeration import all_states, distribution_after, hidden_given_visible, visible_distribution
from rbmbench.model.gibbs import Buffers, Population, population_statistics
from rbmbench.model.rbm import RBM, Statistics


def total_variation(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return 1/2 sum_x |a(x) - b(x)| of distributions (..., states): (...,), in [0, 1]."""
    return 0.5 * np.abs(a - b).sum(axis=-1)


def largest_energy_change(rbm: RBM) -> np.ndarray:
    """Return Delta, the largest change of the energy when one unit of either layer changes: (replicas,), nats."""
    W, b, c = (p.astype(np.float64) for p in rbm.parameters)
    positive, negative = np.maximum(W, 0), np.minimum(W, 0)
    visible = np.maximum(np.abs(positive.sum(axis=-1) + b), np.abs(negative.sum(axis=-1) + b))
    hidden = np.maximum(np.abs(positive.sum(axis=-2) + c), np.abs(negative.sum(axis=-2) + c))
    return np.maximum(visible.max(axis=-1), hidden.max(axis=-1))


def bias_bound(rbm: RBM, distance: np.ndarray, k: int) -> np.ndarray:
    """Return |mu - p| (1 - exp(-(m + n) Delta))^k, (replicas,), for the total variation ``distance`` (replicas,)."""
    units = rbm.visible_units + rbm.hidden_units
    return distance * (-np.expm1(-units * largest_energy_change(rbm))) ** k


def older_bias_bound(rbm: RBM, k: int) -> np.ndarray:
    """Return 2^m (1 - 2^m 2^n sigma(-alpha)^m sigma(-beta)^n)^k, (replicas,): useless above 1, up to 2^m."""
    W, b, c = (np.abs(p.astype(np.float64)) for p in rbm.parameters)
    m, n = rbm.visible_units, rbm.hidden_units
    alpha, beta = (W.sum(axis=-1) + b).max(axis=-1), (W.sum(axis=-2) + c).max(axis=-1)
    # 2 sigma(-alpha) = exp(log 2 - log(1 + exp(alpha))) <= 1
    logarithm = m * (np.log(2) - np.logaddexp(0, alpha)) + n * (np.log(2) - np.logaddexp(0, beta))
    return 2.0**m * (-np.expm1(logarithm)) ** k


def statistics_of(rbm: RBM, weights: np.ndarray) -> Statistics:
    """Return sum_v w(v) f(v) over all visible states, with the shapes of W, b and c.

    ``weights``, float64 (replicas, 2**m), are a distribution, or the difference of two.
    """
    states = all_states(rbm.visible_units, weights)
    return population_statistics(Population(states, hidden_given_visible(rbm).mean, weights), Buffers(), "all states")


def bias_and_bounds(rbm: RBM, start: np.ndarray, k: int) -> dict[str, np.ndarray]:
    """Return the bias of CD-k, its bounds, and the distance between the initial distribution and the model.

    ``start``, float64 (2**m,) or (replicas, 2**m), is the distribution of the initial visible states; the RBM is in
    host memory. The names are cd_bias, the largest |bias| of a parameter; bias_bound; bias_bound_gap, bound minus bias;
    older_bias_bound; total_variation, |mu - p|; energy_change, Delta. Raises a `SettingsError` if the RBM has more than
    24 units.
    """
    start = np.broadcast_to(start, (len(rbm.W), 2**rbm.visible_units))
    model = visible_distribution(rbm)
    bias = statistics_of(rbm, distribution_after(rbm, start, k) - model).flat()
    largest, distance = np.abs(bias).max(axis=-1), total_variation(start, model)
    bound = bias_bound(rbm, distance, k)
    return {
        "cd_bias": largest,
        "bias_bound": bound,
        "bias_bound_gap": bound - largest,
        "older_bias_bound": older_bias_bound(rbm, k),
        "total_variation": distance,
        "energy_change": largest_energy_change(rbm),
    }
