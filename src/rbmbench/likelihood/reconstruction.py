# SPDX-License-Identifier: BSD-3-Clause
"""The reconstruction log-likelihood, a proxy: the log probability that short Gibbs chains from a row return to it.

    r(v_i) = log (1/C) sum_s p(v_i | h_is),    reported as its mean over the rows, nats per row,

where h_is is the hidden state of chain s, which starts at h ~ p(h|v_i) and makes steps v ~ p(v|h), h ~ p(h|v).

It is not a bound of log p(v_i). Let K be the transition matrix of v -> h -> v'. The average over chains has the
expectation K^(steps+1)(v_i, v_i). K is reversible and positive semi-definite, so this decreases with the steps to
p(v_i): the proxy is too high if chains do not leave the mode they start in, as in models that mix badly. But the log of
an average is below the log of its expectation (Jensen): the proxy is too low if few chains dominate the average. Both
errors vanish only with many steps and many chains.

Its standard error over the chains, of given rows, is

    1/R sqrt(sum_i (C sum_s w_is^2 - 1) / (C - 1)),    w_is = p(v_i | h_is) / sum_s p(v_i | h_is),

by the delta method; it is NaN for one chain a row.

Source: Qiu, Zhang, Wang 2020, section 6.2, there called the approximate log-likelihood. Their program makes 10 steps
with 30 to 100 chains in antithetic pairs, which have the same expectation; chains here are independent.
Shapes: chains (replicas, rows * chains, m) and (..., n); probabilities float64 (replicas, rows, chains).
"""

from typing import NamedTuple

import numpy as np

from rbmbench.base.errors import SettingsError
from rbmbench.base.registry import positive_integer
from rbmbench.base.streams import Stream
from rbmbench.kernels import Array, kernels_for, on_host
from rbmbench.model.gibbs import Buffers, hidden_mean, run_chain, visible_activation
from rbmbench.model.rbm import RBM
from rbmbench.model.rows import binary_rows

BLOCK_BYTES = 2**24


class Reconstruction(NamedTuple):
    """The mean over rows, and its standard error over the chains: nats, float64, with the RBM's leading shape."""

    value: np.ndarray
    error: np.ndarray


def reconstruction_log_likelihood(
    rbm: RBM, data: Array, stream: Stream, *, chains: int = 30, steps: int = 10
) -> Reconstruction:
    """Return the mean over rows of the log of the average of p(v|h) over chains, and its standard error.

    Memory is bounded. Chains have the type of the parameters; probabilities and averages are float64. The value of a
    replica does not depend on the others.

    Parameters
    ----------
    rbm : RBM
        Any leading axes; the result has its leading shape.
    data : array, shape (rows, m), entries 0 or 1
    stream : Stream
        With one trial per RBM.
    chains, steps : int
        Gibbs chains from each row, and their steps, at least 1.

    Raises
    ------
    DataError
        If the data are not rows of 0 and 1 of as many columns as the RBM has visible units.
    SettingsError
        If there are no chains or no steps, or too many of them, see `rbmbench.base.settings`, or the stream has not one
        trial per RBM.
    """
    chains, steps = positive_integer("chains", chains), positive_integer("steps", steps)
    data, models = binary_rows(data, units=rbm.visible_units), rbm.replicas
    if len(stream.trials) != len(models.W):
        raise SettingsError(f"stream: must have {len(models.W)} trials, one per RBM, got {len(stream.trials)}")
    # The block size determines the random numbers of a row, so it must not depend on the number of replicas.
    bytes_a_row = 8 * chains * (rbm.visible_units + rbm.hidden_units)
    rows = min(len(data), max(1, BLOCK_BYTES // bytes_a_row))
    replicas = max(1, BLOCK_BYTES // (bytes_a_row * rows))
    total, variance, after = np.zeros(len(models.W)), np.zeros(len(models.W)), stream
    for first in range(0, len(total), replicas):
        cut = slice(first, first + replicas)
        after, buffers = Stream(stream.seed, stream.trials[cut], stream.purpose, stream.number), Buffers()
        for start in range(0, len(data), rows):
            block = np.asarray(data[start : start + rows], rbm.W.dtype, like=rbm.W)
            logs = _log_probabilities(models[cut], block, chains, steps, after, buffers)
            log_sum = np.logaddexp.reduce(logs, axis=-1)
            total[cut] += (log_sum - np.log(chains)).sum(axis=-1)
            variance[cut] += _variances(logs - log_sum[..., None]).sum(axis=-1)
    stream.number = after.number
    values = total / len(data), np.sqrt(variance) / len(data)
    return Reconstruction(*(value.reshape(rbm.W.shape[:-2]) for value in values))


def _variances(log_weights: np.ndarray) -> np.ndarray:
    """Return the variances of logs of averages over chains, from log w (..., chains)."""
    chains = log_weights.shape[-1]
    if chains == 1:
        return np.full(log_weights.shape[:-1], np.nan)
    return np.maximum(chains * np.exp(2 * log_weights).sum(axis=-1) - 1, 0) / (chains - 1)


def _log_probabilities(rbm: RBM, visible: Array, chains: int, steps: int, stream: Stream, buffers: Buffers):
    """Return log p(v|h) of rows (rows, m) and the ends of chains from them: float64 (replicas, rows, chains), nats."""
    replicas, rows = len(rbm.W), len(visible)
    mean = hidden_mean(rbm, np.broadcast_to(visible, (replicas, *visible.shape)), buffers)
    hidden = run_chain(rbm, np.repeat(mean, chains, axis=1), steps + 1, stream, buffers)
    precise, v, h = rbm.astype(np.float64), visible.astype(np.float64), hidden.astype(np.float64)
    log_normaliser = np.empty(h.shape[:-1], like=h)
    kernels_for(h).softplus_sum(visible_activation(precise, h, buffers), precise.b, log_normaliser)
    towards_row = (v @ precise.W)[..., None]
    scores = (h.reshape(replicas, rows, chains, -1) @ towards_row)[..., 0] + (v @ precise.b[..., None])
    return on_host(scores - log_normaliser.reshape(replicas, rows, chains))
