# SPDX-License-Identifier: BSD-3-Clause
"""When curves reach a level: a share of what the best of a panel rises above the common start.

With log-likelihoods, which are negative, a share of the best value itself would say nothing.
"""

import numpy as np


def levels(means: np.ndarray, share: float) -> np.ndarray:
    """Return start + share (best - start) of curves (..., curves, evaluations): (...,).

    The start is the mean of the curves' first values, the best the largest value of any of them.
    """
    start = means[..., 0].mean(axis=-1)
    return start + share * (means.max(axis=(-2, -1)) - start)


def first_reached(means: np.ndarray, iterations: np.ndarray, level: np.ndarray) -> np.ndarray:
    """Return the first iteration (evaluations,) at which curves (..., evaluations) are at a level or above, else inf.

    ``level`` has the leading shape of the curves, or one that goes with it.
    """
    there = means >= np.asarray(level)[..., None]
    return np.where(there.any(axis=-1), iterations[there.argmax(axis=-1)], np.inf)
