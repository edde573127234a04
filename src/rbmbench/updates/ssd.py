# SPDX-License-Identifier: BSD-3-Clause
"""Stochastic spectral descent (SSD): ascent of the weights in the geometry of the spectral norm.

    W += rate ||G||_* U V',    G = U S V' the gradient of W,    ||G||_* the sum of its singular values,

which is the step D that maximises <G, D> - |D|^2 / (2 rate), with |D| the largest singular value of D. The biases take
ordinary gradient steps.

Source: Carlson, Cevher, Carin 2015; the ordinary steps of the biases are our choice.
Shapes: U (replicas, m, min(m, n)), V' (replicas, min(m, n), n).
"""

import numpy as np

from rbmbench.estimators import NOTHING
from rbmbench.model.work import dense_product
from rbmbench.updates import REGISTRY
from rbmbench.updates._base import UpdateRule


def spectral_step(gradient, rate):
    """Return rate ||G||_* U V' for the matrix G of each replica, (replicas, m, n); NaN if G is not finite."""
    finite = np.isfinite(gradient).all(axis=(-2, -1))[..., None, None]
    left, singular, right = np.linalg.svd(np.where(finite, gradient, 0), full_matrices=False)
    length = rate * singular.sum(axis=-1)[..., None, None]
    return np.where(finite, length * (left @ right), np.nan)


@REGISTRY.register
class SSD(UpdateRule):
    """Spectral descent with a constant learning rate; one singular value decomposition per trial and iteration."""

    def products(self, estimator, batch, visible_units, hidden_units, diagnostics=NOTHING):
        """Return those of the estimate, and the singular value decomposition by its operations.

        14 M N^2 + 8 N^3 for M >= N (Golub, Van Loan 2013, section 8.6), and 2 M N^2 for the product of its factors.
        """
        larger, smaller = sorted((visible_units, hidden_units), reverse=True)
        decomposed = (16 * smaller + 8 * smaller**2 / larger) / (2 * batch)
        return super().products(estimator, batch, visible_units, hidden_units, diagnostics) + decomposed

    def cost(self, estimator, batch, visible_units, hidden_units, diagnostics=NOTHING):
        """Return the operations of the estimate, and of the decomposition."""
        counts = super().cost(estimator, batch, visible_units, hidden_units, diagnostics)
        m, n = visible_units, hidden_units
        counts[dense_product(m, n)] += 60 * m * n * min(m, n)
        return counts

    def step(self, rbm, estimator, batch, state, stream, rate, memory):
        """Make one iteration, see `UpdateRule.step`."""
        estimate = estimator.estimate(rbm, batch, state, stream)
        gradient = estimator.gradient(estimate)
        np.add(rbm.W, spectral_step(gradient.W, rate), out=rbm.W)
        np.add(rbm.b, rate * gradient.b, out=rbm.b)
        np.add(rbm.c, rate * gradient.c, out=rbm.c)
        return estimate
