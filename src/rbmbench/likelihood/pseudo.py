# SPDX-License-Identifier: BSD-3-Clause
"""The pseudo-likelihood, which needs no log Z: the product over the visible units of p(v_i | all other units).

    log p(v_i | v_-i) = -softplus(F(v) - F(v with v_i flipped)),    F the free energy.

Source: Besag 1975; Hyvarinen 2006 (Boltzmann machines).
"""

from collections.abc import Sequence

import numpy as np

from rbmbench.kernels import kernels_for, on_host
from rbmbench.model.rbm import RBM
from rbmbench.model.rows import binary_rows


def pseudo_log_likelihood(rbm: RBM, data: np.ndarray, units: Sequence[int] | np.ndarray | None = None) -> np.ndarray:
    """Return the log pseudo-likelihood of rows (rows, m) of 0 and 1, nats: float64 (..., rows).

    It is the sum over the visible units; with ``units``, m times the mean over these, an estimate of it. A unit costs
    as much as a free energy. A `DataError` is raised if the rows do not fit the RBM.
    """
    data = on_host(binary_rows(data, units=rbm.visible_units))
    precise = rbm.on_host().astype(np.float64).replicas
    chosen = np.arange(rbm.visible_units) if units is None else np.asarray(units, np.int64)
    kernels, total = kernels_for(precise.W), np.zeros((len(precise.W), len(data)))
    softplus, visible = np.empty((1, len(data))), data.astype(np.float64)
    zero = np.zeros((1, rbm.hidden_units))
    for r, (W, b, c) in enumerate(zip(precise.W, precise.b, precise.c, strict=True)):
        activation = visible @ W + c
        kernels.softplus_sum(activation[None].copy(), zero, softplus)
        before = softplus[0].copy()
        for unit in chosen:
            step = 1 - 2 * visible[:, unit]
            kernels.softplus_sum((activation + step[:, None] * W[unit])[None], zero, softplus)
            total[r] -= np.logaddexp(0, step * b[unit] + softplus[0] - before)
    return (total * (rbm.visible_units / len(chosen))).reshape(*rbm.W.shape[:-2], len(data))
