# SPDX-License-Identifier: BSD-3-Clause
"""Distances of samples of a model from the rows of a data set, by their first two moments and by nearest neighbours.

The distance of moments is the squared maximum mean discrepancy under the kernel (1 + x'y)^2 of centred states x, y,

    D = 2 ||E x - 0||^2 + ||E x x' - C||^2,      C = covariance of the rows,

relative to that of independent units with the rates of the rows, sum_(i != j) C_ij^2. So 0 means the moments of the
rows, 1 those of independent units, and more than 1 something worse. Pairs of samples of one chain are left out, which
makes the estimate unbiased; it may be negative.

The adversarial accuracy is the share of states whose nearest neighbour is of the same kind, row or sample: 0.5 if the
two cannot be distinguished, towards 1 if they can, towards 0 if samples are copies of rows. Ties count half.

Source: Gretton et al. 2012, equation 3 (discrepancy); Yale et al. 2020, section 2.3 (adversarial accuracy).
Shapes: samples, 0 and 1, (chains, samples of a chain, m); rows (rows, m).
"""

import numpy as np


class RowMoments:
    """The mean and the covariance of the rows of a data set, (rows, m), which must not be independent units."""

    def __init__(self, rows: np.ndarray):
        self._mean = rows.mean(axis=0, dtype=np.float64)
        second = sum(_products(rows[start : start + 5000]) for start in range(0, len(rows), 5000)) / len(rows)
        self._covariance = second - np.outer(self._mean, self._mean)
        squares = self._covariance**2
        self._squares = squares.sum()
        self._independent = self._squares - np.trace(squares)

    def distance(self, samples: np.ndarray) -> tuple[float, float]:
        """Return the relative distance of samples (chains, samples of a chain, m), and its standard error over chains.

        There must be at least 2 chains.
        """
        chains, length, m = samples.shape
        x = samples.reshape(-1, m) - self._mean
        kernel = ((1 + x @ x.T) ** 2).reshape(chains, length, chains, length).mean(axis=(1, 3))
        to_rows = (1 + np.einsum("ij,ij->i", x @ self._covariance, x)).reshape(chains, length).mean(axis=1)
        to_others = (kernel.sum(axis=1) - np.diag(kernel)) / (chains - 1)
        value = to_others.mean() - 2 * to_rows.mean() + 1 + self._squares
        error = 2 * (to_others - to_rows).std(ddof=1) / np.sqrt(chains)
        scale = self._independent or 1.0
        return float(value / scale), float(error / scale)


def _products(rows: np.ndarray) -> np.ndarray:
    precise = rows.astype(np.float64)
    return precise.T @ precise


def adversarial_accuracy(rows: np.ndarray, samples: np.ndarray) -> float:
    """Return the adversarial accuracy of samples (samples, m) among rows (rows, m), at least 2 of each."""
    across, within = differing(rows, samples), []
    for states in (rows, samples):
        within.append(differing(states, states))
        np.fill_diagonal(within[-1], np.inf)
    sides = zip((across.min(axis=1), across.min(axis=0)), (states.min(axis=1) for states in within), strict=True)
    return float(np.mean([((other > same) + 0.5 * (other == same)).mean() for other, same in sides]))


def differing(states: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the number of units in which states of 0 and 1 differ, float32 (states, other states)."""
    states, other = states.astype(np.float32), other.astype(np.float32)
    return states.sum(axis=1)[:, None] + other.sum(axis=1) - 2 * (states @ other.T)


def spread(rows: np.ndarray, count: int) -> np.ndarray:
    """Return at most ``count`` rows at equal distances."""
    return rows[np.linspace(0, len(rows) - 1, min(count, len(rows))).astype(int)]
