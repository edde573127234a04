# SPDX-License-Identifier: BSD-3-Clause
"""Gradient ascent with weight decay, W <- (1 - rate * decay) W + rate * gradient, without decay of the biases."""

import numpy as np

from rbmbench.base.registry import number_within
from rbmbench.updates import REGISTRY
from rbmbench.updates.sgd import SGD


@REGISTRY.register
class WeightDecay(SGD):
    """Gradient ascent on the mean log-likelihood minus decay / 2 times the sum of squared weights."""

    def __init__(self, decay: float = 1e-3):
        self.decay = number_within("decay", decay, 1, below=True)

    def step(self, rbm, estimator, batch, state, stream, rate, memory):
        decayed = rbm.W * rbm.W.dtype.type(rate * self.decay)
        estimate = super().step(rbm, estimator, batch, state, stream, rate, memory)
        np.subtract(rbm.W, decayed, out=rbm.W)
        return estimate
