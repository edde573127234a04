"""The reconstruction log-likelihood: how probable short Gibbs chains from a row make that row again. A proxy.

    r(v_i) = log (1/C) sum_s p(v_i | h_is),    reported as its mean over the rows, nats per row,

h_is the hidden state of chain s, which starts at h ~ p(h|v_i) and makes some steps v ~ p(v|h), h ~ p(h|v).

It is no bound of log p(v_i) and may err both ways. Let K be the transition matrix of v -> h -> v'. The average over
chains has the expectation K^(steps+1)(v_i, v_i), the probability to be back at v_i. K is reversible and positive
semi-definite, so this falls with the steps towards p(v_i), never below it: the proxy is too high where chains do not
leave the mode they start in, and a badly mixing model looks good by it. But the log of an average over few chains is
below the log of its expectation (Jensen): the proxy is too low where few of the chains hold most of the average. Both
errors go away only with many steps and many chains.

Source: Qiu, Zhang, Wang 2020, section 6.2, there called the approximate log-likelihood; their program has 10 steps and
30 to 100 chains, in antithetic pairs, which leave the expectation of the average as it is. Here chains are independent.
Shapes: chains (replicas, rows * chains, m) and (..., n); probabilities float64 (replicas, rows, chains).
"""

from typing import Any

import numpy as np

from rbmbench.base.errors import SettingsError
from rbmbench.base.streams import Stream
from rbmbench.kernels import kernels_for, on_host
from rbmbench.model.gibbs import Buffers, hidden_mean, run_chain, visible_activation
from rbmbench.model.rbm import RBM

__all__ = ["reconstruction_log_likelihood"]

BLOCK_BYTES = 2**24

Array = Any


def reconstruction_log_likelihood(
    rbm: RBM, data: Array, stream: Stream, *, chains: int = 30, steps: int = 10
) -> np.ndarray:
    """Return the mean over rows of the log of the average over chains of p(v|h), in nats, in blocks of bounded memory.

    Chains are sampled in the type of the parameters; probabilities and averages are float64.

    Parameters
    ----------
    rbm : RBM
        With one leading axis of replicas.
    data : array, shape (rows, m), entries 0 or 1
    stream : Stream
        With a trial for each replica. A replica's value does not depend on which others are there.
    chains : int
        Gibbs chains from each row, at least 1.
    steps : int
        Gibbs steps of each chain, at least 1.

    Returns
    -------
    ndarray, float64, shape (replicas,)

    Raises
    ------
    SettingsError
        If there are no chains or no steps.
    """
    if chains < 1 or steps < 1:
        raise SettingsError(f"reconstruction: found {chains} chains of {steps} steps; allowed: at least 1 of each")
    # Blocks of rows depend on no number of replicas, for they decide which random numbers a row gets.
    bytes_a_row = 8 * chains * (rbm.visible_units + rbm.hidden_units)
    rows = min(len(data), max(1, BLOCK_BYTES // bytes_a_row))
    replicas = max(1, BLOCK_BYTES // (bytes_a_row * rows))
    total, after = np.zeros(len(rbm.W)), stream
    for first in range(0, len(total), replicas):
        cut = slice(first, first + replicas)
        after, buffers = Stream(stream.seed, stream.trials[cut], stream.purpose, stream.number), Buffers()
        for start in range(0, len(data), rows):
            block = np.asarray(data[start : start + rows], rbm.W.dtype, like=rbm.W)
            found = _log_probabilities(rbm[cut], block, chains, steps, after, buffers)
            total[cut] += (np.logaddexp.reduce(found, axis=-1) - np.log(chains)).sum(axis=-1)
    stream.number = after.number
    return total / len(data)


def _log_probabilities(rbm: RBM, visible: Array, chains: int, steps: int, stream: Stream, buffers: Buffers):
    """Return log p(v|h) of rows (rows, m) at the ends of chains from them: float64 (replicas, rows, chains), nats."""
    replicas, rows = len(rbm.W), len(visible)
    mean = hidden_mean(rbm, np.broadcast_to(visible, (replicas, *visible.shape)), buffers)
    hidden = run_chain(rbm, np.repeat(mean, chains, axis=1), steps + 1, stream, buffers)
    precise, v, h = rbm.astype(np.float64), visible.astype(np.float64), hidden.astype(np.float64)
    log_normaliser = np.empty_like(h, shape=h.shape[:-1])
    kernels_for(h).softplus_sum(visible_activation(precise, h, buffers), precise.b, log_normaliser)
    towards_row = (v @ precise.W)[..., None]
    scores = (h.reshape(replicas, rows, chains, -1) @ towards_row)[..., 0] + (v @ precise.b[..., None])
    return on_host(scores - log_normaliser.reshape(replicas, rows, chains))
