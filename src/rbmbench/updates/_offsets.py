# SPDX-License-Identifier: BSD-3-Clause
"""Offsets of centered RBMs, and the step along the centered gradient in terms of ordinary parameters.

A centered RBM has the energy E = -(v - mu)'W (h - lambda) - b'(v - mu) - c'(h - lambda). It is an ordinary RBM with

    b_ordinary = b - W lambda,    c_ordinary = c - W' mu.

A change of the offsets is compensated by b += W (lambda_new - lambda), c += W' (mu_new - mu), which does not change the
ordinary parameters. So only these are stored, and estimators and evaluations do not depend on offsets. A step D of the
weights along the centered gradient,

    D = rate (<(v - mu_0)(h - lambda_0)'>_data - <(v - mu)(h - lambda)'>_model),

moves the ordinary biases by rate (<v>_data - <v>_model) - D lambda and by rate (<h>_data - <h>_model) - D' mu.

Source: Melchior, Fischer, Wiskott 2016, algorithm 1 (dd_s^b); Upadhya, Sastry 2017, algorithm 4.
Shapes: mu (replicas, m), lambda (replicas, n), of the type of the parameters.
"""

from typing import NamedTuple

import numpy as np

from rbmbench.kernels import Array
from rbmbench.model.gibbs import PhaseSums
from rbmbench.model.rbm import RBM
from rbmbench.updates._base import Memory, ascend


def first_offsets(rbm: RBM, data: Array) -> Memory:
    """Return the initial offsets: mu is the mean of the training rows (rows, m), lambda one half."""
    mu, half = np.empty_like(rbm.b), np.empty_like(rbm.c)
    mu[...] = data.mean(axis=0, dtype=np.float64)
    half[...] = 0.5
    return {"visible_offset": mu, "hidden_offset": half}


class Offsets(NamedTuple):
    """mu, (replicas, m), and lambda, (replicas, n)."""

    visible: Array
    hidden: Array

    @classmethod
    def of(cls, memory: Memory) -> "Offsets":
        """Return the offsets in a memory, without copies."""
        return cls(memory["visible_offset"], memory["hidden_offset"])

    def copy(self) -> "Offsets":
        return Offsets(self.visible.copy(), self.hidden.copy())

    def slide(self, positive: PhaseSums, sliding: float) -> None:
        """Move the offsets in place by the share ``sliding`` towards the means of v and p(h|v) over the mini-batch."""
        for offset, total in ((self.visible, positive.sums.b), (self.hidden, positive.sums.c)):
            offset *= 1 - sliding
            offset += sliding * positive.scale * total


def ascend_centered(
    rbm: RBM, positive: PhaseSums, negative: PhaseSums, rate: float, first: Offsets, offsets: Offsets
) -> None:
    """Add rate times the centered gradient to the ordinary parameters, in place.

    Uses <(v - mu)(h - lambda)'> = <v h'> - mu (<h> - lambda)' - <v> lambda'. With all offsets zero, the step equals
    that of `rbmbench.updates._base.ascend` bit for bit. The phases are not centered, and their weights add up to one.
    ``first`` are the offsets of the positive phase, ``offsets`` the current ones.
    """
    ascend(rbm, positive, negative, rate)
    columns, rows = [], []
    for (sums, scale), (mu, lam), sign in ((positive, first, rate), (negative, offsets, -rate)):
        columns += [sign * mu, sign * scale * sums.b]
        rows += [scale * sums.c - lam, lam]
    excess = np.stack(columns, axis=-1) @ np.stack(rows, axis=-2)
    mu, lam = offsets
    moved_b, moved_c = (
        rate * (positive.scale * _times(up, x) - negative.scale * _times(down, x)) - _times(less, x)
        for up, down, less, x in (
            (positive.sums.W, negative.sums.W, excess, lam),
            (*(W.swapaxes(-1, -2) for W in (positive.sums.W, negative.sums.W, excess)), mu),
        )
    )
    for parameter, less in ((rbm.W, excess), (rbm.b, moved_b), (rbm.c, moved_c)):
        np.subtract(parameter, less, out=parameter)


def _times(matrix: Array, vector: Array) -> Array:
    return (matrix @ vector[..., None])[..., 0]
