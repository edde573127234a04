# SPDX-License-Identifier: BSD-3-Clause
"""Distributions of Gibbs chains by enumeration of all states of small RBMs.

A Gibbs step goes from v to h ~ p(h|v) and on to v' ~ p(v|h). Its transition matrix over the 2^m visible states is

    T(v, v') = sum_h p(h|v) p(v'|h),      p(h|v) = prod_j p(h_j|v),      p(v|h) = prod_i p(v_i|h),

and a chain with initial distribution mu has the distribution mu T^k after k steps. It is computed half step by half
step, without T. A half step sums over the states y of one layer,

    sum_y mu(y) prod_i p(x_i|y) = sum_y [mu(y) prod_{i in A} p(x_i|y)] [prod_{i in B} p(x_i|y)],

with A and B the two halves of the units of the other layer: a product of matrices (2^|A|, states of y) and
(states of y, 2^|B|).

Source: Fischer, Igel 2011, section 3 (the expected value of the CD-1 update).
Shapes: distributions are float64 (replicas, states); states are ordered as binary numbers, unit 0 the highest bit.
"""

from functools import cache, cached_property

import numpy as np

from rbmbench.base.errors import SettingsError
from rbmbench.base.registry import positive_integer
from rbmbench.kernels import Array, kernels_for
from rbmbench.kernels.numpy import binary_states
from rbmbench.model.gibbs import Buffers, hidden_mean, visible_activation
from rbmbench.model.rbm import RBM, check_replicas, check_shape
from rbmbench.model.rows import binary_rows

MOST_UNITS = 24  # maximal number of units in both layers: 2^24 products per half step and replica


def check_sizes(visible_units: int, hidden_units: int) -> None:
    """Raise a `SettingsError` if an RBM has too many units for its Gibbs chains to be enumerated."""
    if visible_units + hidden_units > MOST_UNITS:
        raise SettingsError(
            f"enumerated Gibbs chains: must have at most {MOST_UNITS} units in both layers together, "
            f"got {visible_units} visible and {hidden_units} hidden units"
        )


def product_table(mean: Array) -> Array:
    """Return prod_i p_i^{x_i} (1 - p_i)^{1 - x_i} for all states x of independent Bernoulli units.

    ``mean`` (replicas, states of y, units) is p, given the states y of other units; the table is (replicas, 2**units,
    states of y).
    """
    replicas, given_states, units = mean.shape
    table = 1 + np.zeros((replicas, 1, given_states), mean.dtype, like=mean)
    for unit in range(units):
        p = mean[:, None, :, unit]
        both = np.empty((replicas, table.shape[1], 2, given_states), mean.dtype, like=mean)
        np.multiply(table, 1 - p, out=both[:, :, 0])
        np.multiply(table, p, out=both[:, :, 1])
        table = both.reshape(replicas, -1, given_states)
    return table


class Conditional:
    """p(x|y) = prod_i p(x_i|y), for all states x of one layer and given states y of the other.

    ``mean``, float64 (replicas, states of y, units), is p(x_i = 1 | y).
    """

    def __init__(self, mean: Array):
        self.mean = mean

    @cached_property
    def _halves(self) -> tuple[Array, Array]:
        half = self.mean.shape[-1] // 2
        return product_table(self.mean[..., :half]), product_table(self.mean[..., half:])

    def push(self, distribution: Array) -> Array:
        """Return sum_y mu(y) p(x|y), (replicas, states of x), for mu of shape (replicas, states of y)."""
        first, second = self._halves
        pushed = (distribution[:, None, :] * first) @ second.swapaxes(-1, -2)
        return pushed.reshape(len(distribution), -1)

    def table(self) -> Array:
        """Return p(x|y), (replicas, states of y, states of x)."""
        return product_table(self.mean).swapaxes(-1, -2)


@cache
def _states(units: int) -> np.ndarray:
    """Return all states of binary units, read-only."""
    states = binary_states(units)
    states.flags.writeable = False
    return states


def all_states(units: int, like: Array) -> Array:
    """Return all states of binary units, (replicas, 2**units, units), with array type, dtype and replicas of ``like``.

    They are a broadcast view, and must not be written to.
    """
    states = np.asarray(_states(units), like=like).astype(like.dtype, copy=False)
    return np.broadcast_to(states, (len(like), 2**units, units))


def hidden_given_visible(rbm: RBM) -> Conditional:
    """Return p(h|v) for all visible states, float64, for RBMs with one leading axis of replicas."""
    rbm = rbm.astype(np.float64)
    return Conditional(hidden_mean(rbm, all_states(rbm.visible_units, rbm.W), Buffers()))


def visible_given_hidden(rbm: RBM) -> Conditional:
    """Return p(v|h) for all hidden states, float64, for RBMs with one leading axis of replicas."""
    rbm = rbm.astype(np.float64)
    mean = visible_activation(rbm, all_states(rbm.hidden_units, rbm.W), Buffers())
    kernels_for(mean).bernoulli_mean(mean, rbm.b)
    return Conditional(mean)


def transition_matrix(rbm: RBM) -> Array:
    """Return the transition matrix T(v, v') of a Gibbs step, float64 (replicas, 2**m, 2**m); rows sum to one.

    Raises a `SettingsError` if the RBM has more than 24 units or 12 visible units, or not one leading axis of replicas.
    """
    check_replicas(rbm)
    check_sizes(rbm.visible_units, rbm.hidden_units)
    if 2 * rbm.visible_units > MOST_UNITS:
        most = MOST_UNITS // 2
        raise SettingsError(f"transition matrix: must be of at most {most} visible units, got {rbm.visible_units}")
    return hidden_given_visible(rbm).table() @ visible_given_hidden(rbm).table()


def distribution_after(rbm: RBM, start: Array, k: int) -> Array:
    """Return the distribution mu T^k of the visible states of Gibbs chains after k steps, float64 (replicas, 2**m).

    ``start`` is mu, the distribution of the initial visible states, float64 (replicas, 2**m). Raises a `SettingsError`
    if the RBM has more than 24 units, or not one leading axis of replicas, or ``start`` another shape.
    """
    check_replicas(rbm)
    check_sizes(rbm.visible_units, rbm.hidden_units)
    check_shape("start", start, len(rbm.W), 2**rbm.visible_units)
    to_hidden, to_visible = hidden_given_visible(rbm), visible_given_hidden(rbm)
    for _ in range(positive_integer("k", k, least=0)):
        start = to_visible.push(to_hidden.push(start))
    return start


def visible_distribution(rbm: RBM) -> Array:
    """Return p(v) = exp(-F(v)) / Z of all visible states, float64 (replicas, 2**m)."""
    rbm = rbm.astype(np.float64)
    log_weights = -rbm.free_energy(all_states(rbm.visible_units, rbm.W))
    weights = np.exp(log_weights - log_weights.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def empirical_distribution(rows: np.ndarray) -> np.ndarray:
    """Return the relative frequency of each visible state among rows (rows, m) of 0 and 1: float64 (2**m,)."""
    rows = binary_rows(rows, "rows")
    units = rows.shape[1]
    numbers = rows.astype(np.int64) @ (1 << np.arange(units - 1, -1, -1))
    return np.bincount(numbers, minlength=2**units) / len(rows)
