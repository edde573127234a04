# SPDX-License-Identifier: BSD-3-Clause
"""Exact, independent samples of RBMs with at most 25 units in the smaller layer.

States s of the smaller layer are drawn by inversion from the weights p~(s), with the other layer summed out: the first
state whose cumulative weight exceeds u sum_s p~(s), u uniform. If it is the hidden layer, v ~ p(v|h) is drawn next.
Everything is float64; the samples are exact up to rounding of the cumulative weights.
"""

import numpy as np

from rbmbench.base.errors import SettingsError
from rbmbench.base.registry import positive_integer
from rbmbench.base.streams import Stream
from rbmbench.kernels import kernels_for
from rbmbench.kernels.numpy import states_of
from rbmbench.likelihood.exact import LARGEST_ENUMERABLE_LAYER, is_enumerable, small_layer_last
from rbmbench.model.gibbs import Buffers, sample_visible
from rbmbench.model.rbm import RBM, check_replicas


def exact_samples(rbm: RBM, rows: int, stream: Stream) -> np.ndarray:
    """Return ``rows`` independent samples v ~ p(v) of each RBM, 0 and 1, float64 (replicas, rows, m).

    The RBM has one leading axis of replicas, in host memory. Two draws of the stream are taken for the states of the
    smaller layer, and a third one if that is the hidden layer. Raises a `SettingsError` if both layers have more than
    25 units, or the RBM has no such axis, or not one trial of the stream for each replica.
    """
    check_replicas(rbm)
    if not is_enumerable(rbm.visible_units, rbm.hidden_units):
        raise SettingsError(
            f"exact samples: must have at most {LARGEST_ENUMERABLE_LAYER} units in the smaller layer, "
            f"got {rbm.visible_units} visible and {rbm.hidden_units} hidden units"
        )
    uniforms = _uniforms(positive_integer("rows", rows), stream)
    if len(uniforms) != len(rbm.W):
        raise SettingsError(f"stream: must have a trial for each of the {len(rbm.W)} RBMs, got {len(uniforms)}")
    models = zip(small_layer_last(rbm), uniforms, strict=True)
    numbers = [_state_numbers(kernels_for(W).hidden_log_weights(W, b, c), u) for (W, b, c), u in models]
    states = states_of(np.stack(numbers), min(rbm.visible_units, rbm.hidden_units))
    if rbm.hidden_units > rbm.visible_units:
        return states
    return sample_visible(rbm.astype(np.float64), states, stream, Buffers())


def _uniforms(rows: int, stream: Stream) -> np.ndarray:
    """Return uniforms of 64 bits, float64 (replicas, rows), as states may be less probable than 2**-32."""
    upper, lower = (kernels_for(np.empty(0)).uniforms(stream.next(), rows, np.float64) for _ in range(2))
    return (upper - 2.0**-33) + 2.0**-32 * lower


def _state_numbers(log_weights: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Return the indices of states drawn by inversion; ``log_weights`` (states,), nats, is overwritten."""
    log_weights -= log_weights.max()
    cumulative = np.cumsum(np.exp(log_weights, out=log_weights), out=log_weights)
    last = np.searchsorted(cumulative, cumulative[-1])  # for a uniform that was rounded to 1
    return np.minimum(np.searchsorted(cumulative, uniforms * cumulative[-1], side="right"), last)
