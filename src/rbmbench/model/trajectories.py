# SPDX-License-Identifier: BSD-3-Clause
"""Models along a path, such as the snapshots of a run: their free energies, and the models at its start and between.

Functions of replicas take RBMs with exactly one leading axis, see `rbmbench.model.gibbs`.
"""

import numpy as np

from rbmbench.kernels import Array, kernels_for
from rbmbench.model.gibbs import Buffers, hidden_activation
from rbmbench.model.rbm import RBM, unchecked_rbm


def independent_model(rbm: RBM, visible_bias: Array) -> RBM:
    """Return RBMs shaped like ``rbm`` whose units are independent: W = 0, b = ``visible_bias`` (..., m), and c = 0."""
    b = np.zeros_like(rbm.b) + np.asarray(visible_bias, rbm.b.dtype, like=rbm.b)
    return unchecked_rbm(np.zeros_like(rbm.W), b, np.zeros_like(rbm.c))


def from_independent(models: RBM) -> RBM:
    """Return a trajectory, (1 + models, ...), that begins with independent units and continues with ``models``.

    ``models`` has the models of a trajectory along its first axis. The visible bias of the independent units is that of
    the first of them, so that the two overlap if its W is small.
    """
    both = zip(independent_model(models[:1], models.b[:1]).parameters, models.parameters, strict=True)
    return unchecked_rbm(*(np.concatenate(parts) for parts in both))


def between(first: RBM, last: RBM, share: float) -> RBM:
    """Return the RBMs with the parameters (1 - share) first + share last; exactly ``last`` for a share of 1."""
    kind = first.W.dtype.type
    complement, share = kind(1 - share), kind(share)
    return unchecked_rbm(*(complement * a + share * b for a, b in zip(first.parameters, last.parameters, strict=True)))


def independent_log_partition(rbm: RBM) -> Array:
    """Return log Z of RBMs with W = 0, nats, float64, with the leading shape of the parameters."""
    return sum(np.logaddexp(0, bias.astype(np.float64)).sum(axis=-1) for bias in (rbm.b, rbm.c))


def free_energies(rbm: RBM, visible: Array, buffers: Buffers, activation: Array | None = None) -> Array:
    """Return F(v) of rows (replicas, rows, m) of 0 and 1, nats, float64 (replicas, rows).

    Where ``activation``, v W without the bias (replicas, rows, n), is known, no product with W is made.
    """
    if activation is None:
        activation = hidden_activation(rbm, visible, buffers)
    softplus = np.empty(activation.shape[:2], np.float64, like=activation)
    kernels_for(activation).softplus_sum(activation, rbm.c, softplus)
    return -softplus - np.matmul(visible, rbm.b[..., None])[..., 0]
