# SPDX-License-Identifier: BSD-3-Clause
"""Indirect sampling likelihood (ISL) of unseen rows under a stream of samples.

The first T samples s_1, ..., s_T define a density over binary rows, a mixture of products of Bernoulli units,

    p_T(x) = (1/T) sum_t prod_i beta^(x_i = s_ti) (1 - beta)^(x_i != s_ti),

and ISL(T) is the mean of log p_T(x) over rows x, nats. The term of a sample depends only on its Hamming distance d from
x,

    p_T(x) = (1/T) sum_d c_d(x) beta^(m - d) (1 - beta)^d,

so only the numbers c_d(x) of samples at each distance from each row are stored. They give ISL exactly, for any T and
beta, at a cost linear in T.

Source: Breuleux, Bengio, Vincent 2011, section 5; Breuleux, Bengio, Vincent 2010; Desjardins et al. 2010.
"""

import numpy as np

from rbmbench.base.errors import SettingsError
from rbmbench.kernels import Array, kernels_for, on_host
from rbmbench.model.rbm import check_shape
from rbmbench.model.rows import binary_rows, binary_states

FLIPS = np.geomspace(0.001, 0.5, 160)
"""Grid of 1 - beta in steps of 4 %: the loss against the best value is at most 0.04 nats for 256 units (0.13: 784)."""
STRIDE = 8
TOGETHER = 32  # distances per sum of powers, without underflow or overflow in float64 for flips above the next number
LEAST_TOGETHER = 2e-10


class IndirectSampling:
    """Counts of the Hamming distances between samples and rows, for several streams of samples.

    ``rows`` (rows, m), entries 0 or 1, are those whose likelihood is computed; ``replicas`` is the number of streams.
    Raises a `DataError` for other rows.

    Attributes
    ----------
    samples : int
        T, the number of samples added to each stream.
    counts : int64 array, shape (replicas, rows, m + 1)
        c_d(x).
    """

    def __init__(self, rows: Array, replicas: int = 1):
        rows = binary_rows(rows, "rows")[:]  # sparse rows become dense
        self._rows = kernels_for(rows).packed_rows(rows)
        self.samples = 0
        self.counts = np.zeros((replicas, len(rows), rows.shape[1] + 1), np.int64, like=rows)

    def add(self, samples: Array) -> None:
        """Add samples (replicas, samples, m) of 0 and 1, of any type.

        Raises a `SettingsError` for other shapes, a `DataError` for other entries.
        """
        samples = binary_states(samples, "samples")
        replicas, _, lengths = self.counts.shape
        check_shape("samples", samples, replicas, "samples", lengths - 1)
        kernels_for(self.counts).count_distances(self._rows, samples, self.counts)
        self.samples += samples.shape[1]

    def log_likelihood(self, flips: Array) -> np.ndarray:
        """Return the mean over the rows of log p_T(x), nats, float64 (replicas, flips).

        ``flips`` (flips,) or (replicas, flips) are 1 - beta, above 0 and at most 1/2. Raises a `SettingsError` if there
        are no samples yet, or a flip is out of range.
        """
        replicas, _, lengths = self.counts.shape
        flips = np.atleast_1d(flips)
        is_allowed = flips.dtype.kind in "iuf" and flips.shape[:-1] in ((), (1,), (replicas,))
        if not is_allowed or not self.samples or not ((flips > 0) & (flips <= 0.5)).all():
            values = repr(flips.tolist()) if self.samples else "no samples"
            raise SettingsError(f"indirect sampling: must be flips above 0, at most 0.5, and samples, got {values}")
        flips = np.broadcast_to(flips.astype(np.float64), (replicas, flips.shape[-1]))
        means = [_log_sums(count, flip).mean(axis=0) for count, flip in zip(self.counts, flips, strict=True)]
        return np.stack(means) + (lengths - 1) * np.log1p(-flips) - np.log(self.samples)

    def best_flips(self) -> np.ndarray:
        """Return the value of `FLIPS` with the largest likelihood of the rows, float64 (replicas,).

        The search first takes every eighth value, and then those around the best.
        """
        coarse = np.arange(0, len(FLIPS), STRIDE)
        best = coarse[self.log_likelihood(FLIPS[coarse]).argmax(axis=1)]
        around = np.clip(best[:, None] + np.arange(1 - STRIDE, STRIDE), 0, len(FLIPS) - 1)
        finest = self.log_likelihood(FLIPS[around]).argmax(axis=1)
        return FLIPS[np.take_along_axis(around, finest[:, None], axis=1)[:, 0]]


def _log_sums(counts: Array, flips: np.ndarray) -> np.ndarray:
    """Return log sum_d c_d r^d with r = flip / (1 - flip) in (0, 1], float64 (rows, flips).

    Powers are summed by matrix products for groups of distances, and then in log space.
    """
    rows, lengths = counts.shape
    together = TOGETHER if (flips > LEAST_TOGETHER).all() else 1
    groups = -(-lengths // together)
    padded = np.zeros((rows, groups * together), np.float64, like=counts)
    padded[:, :lengths] = counts
    log_odds = np.log(flips) - np.log1p(-flips)
    powers = np.asarray(np.exp(np.arange(together)[:, None] * log_odds), like=padded)
    sums = (padded.reshape(-1, together) @ powers).reshape(rows, groups, len(flips))
    sums = on_host(sums)
    with np.errstate(divide="ignore"):
        terms = np.log(sums) + together * np.arange(groups)[:, None] * log_odds
    top = terms.max(axis=1)
    return top + np.log(np.exp(terms - top[:, None]).sum(axis=1))
