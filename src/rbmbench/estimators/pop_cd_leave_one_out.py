# SPDX-License-Identifier: BSD-3-Clause
"""pop-CD-k with the leave-one-out normaliser: an unbiased direction with a length of high variance.

    E_model f  is estimated, up to a positive factor, by  ((N-1)/N) sum_i w_i f(v_i) / sum_{j != i} w_j,

with w_i, v_i and f as in `pop_cd`. The normaliser is independent of the sample that it divides, so the expectation is a
multiple of E_model f, with the factor E[1/Z^] Z >= 1 in all components. At least 2 rows are needed.

Source: Krause, Fischer, Igel, equation 9.
Shapes: weights (replicas, batch), float64, not summing to 1.
"""

import numpy as np

from rbmbench.base.errors import SettingsError
from rbmbench.estimators._base import REGISTRY
from rbmbench.estimators.pop_cd import PopCD


def leave_one_out_weights(log_weights):
    """Return ((N-1)/N) w_i / sum_{j != i} w_j over the last axis, float64."""
    rows = log_weights.shape[-1]
    weights = np.exp(log_weights - log_weights.max(axis=-1, keepdims=True))
    # Sums before and after each row: the total minus w_i would cancel if one weight dominates.
    before = np.concatenate([np.zeros_like(weights[..., :1]), np.cumsum(weights, axis=-1)[..., :-1]], axis=-1)
    after = np.cumsum(weights[..., ::-1], axis=-1)[..., ::-1]
    after = np.concatenate([after[..., 1:], np.zeros_like(weights[..., :1])], axis=-1)
    with np.errstate(divide="ignore"):
        return (rows - 1) / rows * weights / np.maximum(before + after, np.finfo(np.float64).tiny)


@REGISTRY.register
class PopCDLeaveOneOut(PopCD):
    """pop-CD-k, equation 9, with ``k`` Gibbs steps."""

    sums_to_one = False
    weights = staticmethod(leave_one_out_weights)

    def diagnostics_of(self, weights):
        """Return diagnostics of the weights; their sum, at least 1, is the length of the model term beside pop-CD's."""
        return super().diagnostics_of(weights) | {"largest_weight_sum": weights.sum(axis=-1)}

    def weighted_ends(self, rbm, positive, stream):
        """Return v, p(h|v) and log w, see `PopCD`, for at least 2 rows."""
        if positive.visible.shape[1] < 2:
            raise SettingsError("estimator 'pop_cd_leave_one_out': batch: must be at least 2, got 1")
        return super().weighted_ends(rbm, positive, stream)
