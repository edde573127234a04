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
from rbmbench.likelihood.exact import LARGEST_ENUMERABLE_LAYER
from rbmbench.updates import REGISTRY
from rbmbench.updates._base import UpdateRule


def spectral_step(gradient, rate):
    """Return rate ||G||_* U V' for the matrix G of each replica, (replicas, m, n); NaN if G is not finite.

    `numpy.linalg.svd` decomposes matrices whose smaller side has at most 25 entries, the eigendecomposition of G'G (or
    GG') in float64 the others, in half the time. Singular values of at most sqrt(max(m, n) eps) times the largest one,
    eps = 2**-52, cannot be told from 0 by the latter: U V' is 0 on their space. The former completes it there by
    orthonormal vectors that rounding decides. Both maximise the model above.

    For gradients in float32, 784x500, with condition numbers of 1e1 to 1e6, U V' differs from that of an exact
    decomposition by 5e-8 (up to 1e4), 3e-7 (1e5) and 2e-5 (1e6) in the spectral norm. Rounding G to float32 alone
    changes it by 1e-7 (1e1), 4e-5 (1e4), 4e-4 (1e5) and 3e-3 (1e6).
    """
    finite = np.isfinite(gradient).all(axis=(-2, -1))[..., None, None]
    G = np.where(finite, gradient, 0)
    nuclear, direction = _by_svd(G) if min(G.shape[-2:]) <= LARGEST_ENUMERABLE_LAYER else _by_gram_matrix(G)
    return np.where(finite, rate * nuclear * direction, np.nan).astype(gradient.dtype)


def _by_svd(G):
    """Return ||G||_*, (replicas, 1, 1), and U V'."""
    left, singular, right = np.linalg.svd(G, full_matrices=False)
    return singular.sum(axis=-1)[..., None, None], left @ right


def _by_gram_matrix(G):
    """Return ||G||_* and U V' = G (G'G)^(-1/2) on the range of G in float64; from G' where it has fewer columns."""
    if G.shape[-2] < G.shape[-1]:
        nuclear, direction = _by_gram_matrix(G.swapaxes(-1, -2))
        return nuclear, direction.swapaxes(-1, -2)
    G = G.astype(np.float64)
    eigenvalues, vectors = np.linalg.eigh(G.swapaxes(-1, -2) @ G)
    in_range = eigenvalues > G.shape[-2] * np.finfo(np.float64).eps * eigenvalues[..., -1:]
    singular = np.sqrt(np.where(in_range, eigenvalues, np.inf))
    scaled = vectors / np.sqrt(singular)[..., None, :]
    nuclear = np.where(in_range, singular, 0).sum(axis=-1)[..., None, None]
    return nuclear, G @ (scaled @ scaled.swapaxes(-1, -2))


@REGISTRY.register
class SSD(UpdateRule):
    """Spectral descent with a constant learning rate; one decomposition per trial and iteration, see `spectral_step`."""

    def products(self, estimator, batch, visible_units, hidden_units, diagnostics=NOTHING):
        """Return those of the estimate, and the singular value decomposition by its operations.

        14 M N^2 + 8 N^3 for M >= N (Golub, Van Loan 2013, section 8.6), and 2 M N^2 for the product of its factors.
        """
        larger, smaller = sorted((visible_units, hidden_units), reverse=True)
        decomposed = (16 * smaller + 8 * smaller**2 / larger) / (2 * batch)
        return super().products(estimator, batch, visible_units, hidden_units, diagnostics) + decomposed

    def step(self, rbm, estimator, batch, state, stream, rate, memory):
        """Make one iteration, see `UpdateRule.step`."""
        estimate = estimator.estimate(rbm, batch, state, stream)
        gradient = estimator.gradient(estimate)
        np.add(rbm.W, spectral_step(gradient.W, rate), out=rbm.W)
        np.add(rbm.b, rate * gradient.b, out=rbm.b)
        np.add(rbm.c, rate * gradient.c, out=rbm.c)
        return estimate
