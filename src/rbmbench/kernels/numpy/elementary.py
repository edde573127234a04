# SPDX-License-Identifier: BSD-3-Clause
"""Sigmoid and softplus without overflow."""

import numpy as np


def sigmoid(a: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + exp(-a))."""
    decay = np.exp(-np.abs(a))
    return np.where(a >= 0, 1, decay) / (1 + decay)


def softplus(a: np.ndarray) -> np.ndarray:
    """Return log(1 + exp(a))."""
    return np.maximum(a, 0) + np.log1p(np.exp(-np.abs(a)))
