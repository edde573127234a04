# SPDX-License-Identifier: BSD-3-Clause
"""Overflow limits of the split product over all hidden states."""

import numpy as np

LARGEST_LOG = 680.0  # products are kept below exp(680), well inside float64


def factor_groups(W, b) -> np.ndarray | None:
    """Return bounds of groups of consecutive visible units whose products of factors fit float64.

    W (m, n) and b (m,) are float64. The result has the start of each group, and the end; it is None with a single
    hidden unit or if one factor may overflow.
    """
    positive, negative = np.maximum(W, 0).sum(axis=1), np.minimum(W, 0).sum(axis=1)
    largest = max(np.max(b + positive), np.max(-b - negative), np.max(positive), np.max(-negative))
    if W.shape[1] < 2 or largest > LARGEST_LOG:
        return None
    starts, total = [0], 0.0
    for i, bound in enumerate(np.logaddexp(0, b + positive)):
        if total + bound > LARGEST_LOG and i > starts[-1]:
            starts.append(i)
            total = 0.0
        total += bound
    return np.array([*starts, len(b)])
