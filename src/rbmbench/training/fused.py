# SPDX-License-Identifier: BSD-3-Clause
"""Fused iterations on a GPU: many iterations in one launch, for some estimators and update rules.

An ordinary iteration of a small RBM consists of about twenty launches with little work in each. Fused kernels support
CD-k, PCD-k and pop-CD-k with plain gradient ascent. They use the same random numbers, so states are equal, and
parameters equal up to rounding.
"""

import os

import numpy as np

from rbmbench.base.errors import SettingsError
from rbmbench.base.registry import name_of
from rbmbench.base.streams import Stream
from rbmbench.kernels import fused_kernels, on_host
from rbmbench.model.minibatches import MiniBatches
from rbmbench.model.rbm import RBM

VARIABLE = "RBMBENCH_FUSED"
KNOWN = ("cd", "pcd", "pop_cd")  # with the update rule sgd


def check_switch() -> bool:
    """Return whether fused kernels may be used, according to the environment variable RBMBENCH_FUSED.

    Raises a `SettingsError` if it is neither on nor off.
    """
    value = os.environ.get(VARIABLE) or "on"
    if value not in ("on", "off"):
        raise SettingsError(f"{VARIABLE}: must be on or off, got {value!r}")
    return value == "on"


def unsupported_reason(rbm: RBM, estimator, update, rows: int) -> str | None:
    """Return the reason why fused kernels cannot be used, in a few words, or None if they can.

    The RBM has one leading axis of replicas; mini-batches have ``rows`` rows.
    """
    kernels = fused_kernels(rbm.W)
    if kernels is None:
        return "no launches to save"
    if not check_switch():
        return f"{VARIABLE} is off"
    if name_of(estimator) not in KNOWN or name_of(update) != "sgd":
        return "no kernel makes whole iterations of these"
    if getattr(estimator, "chains", None) is not None or getattr(estimator, "variance", False):
        return "fused kernels do not support these options of the estimator"
    return kernels.unsupported_reason(rows, rbm.visible_units, rbm.hidden_units, estimator.k, rbm.W.dtype)


class FusedIterations:
    """Fused iterations of an estimator and an update rule, see `unsupported_reason`."""

    def __init__(self, rbm: RBM, estimator, batches: MiniBatches):
        self._rbm, self._k, self._batches = rbm, estimator.k, batches
        self._weighted = name_of(estimator) == "pop_cd"
        self._kernels = fused_kernels(rbm.W)

    def advance(self, first: int, last: int, state: dict, stream: Stream, rate: float, sums: dict) -> np.ndarray:
        """Make the iterations first to last - 1 in place, and add the diagnostics to ``sums``.

        Returns, int64 (replicas,), the iteration, from 1, after which the parameters of a replica were not finite, or
        0.
        """
        W, b, c = self._rbm.W, self._rbm.b, self._rbm.c
        not_finite = np.zeros(len(W), np.int64, like=W)
        sizes = None
        if self._weighted:
            sizes = sums.setdefault("effective_sample_size", np.zeros(len(W), np.float64, like=W))
        mean = 1.0 / self._batches.batch
        rates = rate * mean, rate * (1.0 if self._weighted else mean)
        for index, iterations in self._batches.indices(first, last):
            self._kernels.fused_iterations(
                *(W, b, c, self._batches.data, index, stream.take(2 * self._k * iterations), self._k, rates),
                *(self._batches.batch, first, iterations, not_finite),
                chains=state.get("visible"),
                effective_sizes=sizes,
            )
            first += iterations
        return on_host(not_finite)
