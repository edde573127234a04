# SPDX-License-Identifier: BSD-3-Clause
"""Exact partition function, model expectation and gradient by enumeration of the smaller layer.

    Z = sum_h exp(c'h) prod_i (1 + exp(b_i + (W h)_i)),   or the same with the layers exchanged.

Source: Krause, Fischer, Igel, section 2. All results are float64.
"""

import warnings
from collections.abc import Iterator

import numpy as np

from rbmbench.base.errors import DataError, RbmbenchWarning, SettingsError
from rbmbench.kernels import contiguous, kernels_for
from rbmbench.kernels.numpy import binary_states
from rbmbench.model.rbm import RBM, Statistics, check_shape
from rbmbench.model.rows import binary_rows, real_array

LARGEST_ENUMERABLE_LAYER = 25
BLOCK_BYTES = 2**22  # which stay in the cache while all replicas use them
ROWS = 512  # of data at a time
ROUNDING = 1e-9  # of log Z, relative


def is_enumerable(visible_units: int, hidden_units: int) -> bool:
    """Return whether one of the layers is small enough for enumeration."""
    return min(visible_units, hidden_units) <= LARGEST_ENUMERABLE_LAYER


def check_enumerable(visible_units: int, hidden_units: int) -> None:
    """Raise a `SettingsError` if neither layer is small enough to be enumerated."""
    if not is_enumerable(visible_units, hidden_units):
        raise SettingsError(
            f"exact sums over states: must be at most {LARGEST_ENUMERABLE_LAYER} units in the smaller layer, "
            f"got {visible_units} visible and {hidden_units} hidden units; annealed importance sampling (AIS) "
            "estimates log Z"
        )


def small_layer_last(rbm: RBM) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield W (large, small) and the biases of the large and the small layer for each replica, float64."""
    check_enumerable(rbm.visible_units, rbm.hidden_units)
    for W, b, c in zip(*(p.astype(np.float64) for p in rbm.parameters), strict=True):
        yield (W, b, c) if len(c) <= len(b) else (W.T.copy(), c, b)


def _log_sum_exp(x: np.ndarray) -> float:
    largest = x.max()
    return float(largest + np.log(np.exp(x - largest).sum()))


def exact_log_partition(rbm: RBM) -> np.ndarray:
    """Return log Z in nats, float64, with the leading shape of the RBM's parameters.

    Raises a `SettingsError` if the smaller layer has more than 25 units.
    """
    values = [_log_sum_exp(kernels_for(W).hidden_log_weights(W, b, c)) for W, b, c in small_layer_last(rbm.replicas)]
    return np.array(values).reshape(rbm.W.shape[:-2])


def exact_model_statistics(rbm: RBM) -> Statistics:
    """Return E_model (v h', v, h), float64, with the shapes of W, b and c.

    Raises a `SettingsError` if the smaller layer has more than 25 units.
    """
    results = [_expectations(W, b, c) for W, b, c in small_layer_last(rbm.replicas)]
    if rbm.hidden_units > rbm.visible_units:
        results = [(W.T, b, c) for W, c, b in results]
    return Statistics(
        *(np.stack(s).reshape(p.shape) for s, p in zip(zip(*results, strict=True), rbm.parameters, strict=True))
    )


def _expectations(W, b, c):
    """Return E (large small'), E large, E small of one RBM by enumeration of the small layer, in bounded memory."""
    log_weights = kernels_for(W).hidden_log_weights(W, b, c)
    probability = np.exp(log_weights - _log_sum_exp(log_weights))
    block = max(1, BLOCK_BYTES // (8 * len(b)))
    both, large, small = np.zeros_like(W), np.zeros_like(b), np.zeros_like(c)
    for start in range(0, len(probability), block):
        p = probability[start : start + block]
        h = np.asarray(binary_states(len(c), start, start + len(p)), like=W)
        activation = h @ W.T
        kernels_for(W).bernoulli_mean(activation[None], b[None])
        weighted = p[:, None] * h
        both += activation.T @ weighted
        large += p @ activation
        small += weighted.sum(axis=0)
    return both, large, small


class PackedData:
    """Rows of 0 and 1, packed once for many products, in blocks.

    Attributes
    ----------
    blocks : list of (PackedRows, array)
        The rows, and the weight of each, float64.
    visible_sum : array, shape (m,), float64
        The weighted sum of the rows.
    weight : float
        The sum of the weights.
    """

    def __init__(self, data: np.ndarray, like, counts: np.ndarray | None = None):
        """Pack ``data`` (rows, m), of weights ``counts`` (rows,) or 1, for products with arrays like ``like``.

        Raises a `DataError` if the data are not 0 and 1, or the weights are not one positive number or zero for each.
        """
        rows = np.asarray(binary_rows(data), like=like)
        allowed = f"{len(rows)} numbers >= 0 with a positive sum"
        weights = np.ones(len(rows)) if counts is None else real_array(counts, "counts", allowed)
        weights = contiguous(weights, np.float64, like)
        if weights.shape != rows.shape[:1] or not bool((weights >= 0).all()) or not 0 < float(weights.sum()) < np.inf:
            content = f"shape {weights.shape}, sum {float(weights.sum()):g}"
            raise DataError(f"counts: must be {allowed}, got {content}")
        starts = range(0, len(rows), ROWS)
        packed = [kernels_for(like).packed_rows(rows[start : start + ROWS]) for start in starts]
        self.blocks = [(block, weights[start : start + ROWS]) for start, block in zip(starts, packed, strict=True)]
        if counts is None:
            self.visible_sum = _column_sums(rows)
        else:
            self.visible_sum = sum(weight @ block.states.astype(np.float64) for block, weight in self.blocks)
        self.weight = float(weights.sum())


def _column_sums(rows) -> np.ndarray:
    """Return the sums of rows of 0 and 1, float64; bytes do not overflow in 255 rows."""
    sums = [rows[start : start + 255].sum(axis=0, dtype=np.uint8) for start in range(0, len(rows), 255)]
    return sum(block.astype(np.float64) for block in sums)


def _packed(data, rbm: RBM, counts: np.ndarray | None = None) -> PackedData:
    """Return rows packed for an RBM in float64; raise a `DataError` if it has another number of visible units."""
    packed = data if isinstance(data, PackedData) else PackedData(data, rbm.W, counts)
    if len(packed.visible_sum) != rbm.visible_units:
        raise DataError(
            f"data: must have {rbm.visible_units} columns, the visible units of the RBM, got {len(packed.visible_sum)}"
        )
    return packed


def data_statistics(rbm: RBM, data: np.ndarray | PackedData) -> Statistics:
    """Return the mean over rows of (v p(h|v)', v, p(h|v)), the positive phase of the gradient, in bounded memory.

    ``data`` (rows, m) holds 0 and 1, else a `DataError` is raised; the mean of `PackedData` is weighted. The result is
    float64, shaped as W, b and c.
    """
    precise = rbm.astype(np.float64).replicas
    packed, kernels = _packed(data, precise), kernels_for(precise.W)
    W, c = np.zeros_like(precise.W), np.zeros_like(precise.c)
    for block, weight in packed.blocks:
        v = block.states
        h, product = (np.empty(shape, like=W) for shape in ((1, len(v), W.shape[2]), (1, *W.shape[1:])))
        # One replica at a time, so that the result of a replica does not depend on the others.
        for r in range(len(W)):
            kernels.multiply_packed(block, precise.W[r], h[0])
            kernels.bernoulli_mean(h, precise.c[r : r + 1])
            h *= weight[:, None]
            kernels.multiply_binary(v.T[None], h, product)
            W[r] += product[0]
            c[r] += h[0].sum(axis=0)
    b = np.zeros_like(precise.b) + packed.visible_sum
    return Statistics(*(s.reshape(p.shape) / packed.weight for s, p in zip((W, b, c), rbm.parameters, strict=True)))


def exact_gradient(rbm: RBM, data: np.ndarray) -> Statistics:
    """Return the gradient of the mean log-likelihood of ``data``, nats per sample, float64.

    ``data`` (rows, m) holds 0 and 1; the result has the shapes of W, b and c. Raises a `SettingsError` if the smaller
    layer has more than 25 units.
    """
    return data_statistics(rbm, data) - exact_model_statistics(rbm)


def log_likelihood(
    rbm: RBM, data: np.ndarray | PackedData, log_partition, counts: np.ndarray | None = None
) -> np.ndarray:
    """Return the mean over rows of log p(v) = log p~(v) - log Z, in nats, float64, in bounded memory.

    Parameters
    ----------
    rbm : RBM
        Any leading axes; ``log_partition``, log Z, and the result have its leading shape, or log Z is one number.
    data : ndarray, shape (rows, m), entries 0 or 1, or PackedData
    counts : ndarray, shape (rows,), optional
        Weight of each row; by default 1. Packed data have their own.

    Raises
    ------
    DataError
        If the data are not rows of 0 and 1, as wide as the RBM, or the weights are not one number >= 0 for each.
    SettingsError
        If ``log_partition`` has another shape.

    Warns
    -----
    RbmbenchWarning
        If a value is above 0, which shows that log Z is too low.
    """
    if np.ndim(log_partition):
        check_shape("log_partition", np.asarray(log_partition), *rbm.W.shape[:-2])
    return normalised(mean_log_weights(rbm, data, counts), log_partition)


def normalised(log_weights: np.ndarray, log_partition) -> np.ndarray:
    """Return log p(v) = log p~(v) - log Z of states, or means of it; warn if a value is above 0 by more than rounding.

    Such values show that an estimate of log Z is too low, as by annealing with a small effective sample size.
    """
    values = log_weights - np.asarray(log_partition, np.float64)
    if np.any(values > ROUNDING * (1 + np.abs(log_partition))):
        text = "log-likelihood of binary rows: must be at most 0, got a value above: log Z is too low; annealing needs"
        warnings.warn(f"{text} more temperatures or particles", RbmbenchWarning, stacklevel=3)
    return values


def mean_log_weights(rbm: RBM, data: np.ndarray | PackedData, counts: np.ndarray | None = None) -> np.ndarray:
    """Return the mean over rows of log p~(v), nats; see `log_likelihood`."""
    precise = rbm.astype(np.float64).replicas
    packed = _packed(data, precise, counts)
    kernels, total = kernels_for(precise.W), np.zeros(len(precise.W))
    for block, weights in packed.blocks:
        activation = np.empty((1, len(weights), rbm.hidden_units), like=precise.W)
        softplus = np.empty((1, len(weights)), like=precise.W)
        # One replica at a time, so that the result of a replica does not depend on the others.
        for r, (W, c) in enumerate(zip(precise.W, precise.c, strict=True)):
            kernels.multiply_packed(block, W, activation[0])
            kernels.softplus_sum(activation, c[None], softplus)
            total[r] += float(softplus[0] @ weights)
    total += [float(packed.visible_sum @ b) for b in precise.b]
    return (total / packed.weight).reshape(rbm.W.shape[:-2])
