"""Plain stochastic gradient ascent, theta <- theta + rate * gradient: no momentum, no weight decay.

Source: Krause, Fischer, Igel, section 4.1.
"""

import numpy as np

from rbmbench.updates import REGISTRY

__all__ = ["SGD"]


@REGISTRY.register
class SGD:
    """Gradient ascent with a constant learning rate."""

    def step(self, rbm, estimator, batch, state, stream, rate):
        """Change the parameters of ``rbm`` in place by one iteration; return the estimator's new `Estimate`.

        Parameters
        ----------
        rbm : RBM
            With one leading axis of replicas.
        estimator : Estimator
        batch : array, shape (replicas, batch, m)
        state : dict of arrays
            The estimator's state.
        stream : Stream
        rate : float
            Learning rate.
        """
        estimate = estimator.estimate(rbm, batch, state, stream)
        gradient = estimator.gradient(estimate)
        for parameter, direction in zip((rbm.W, rbm.b, rbm.c), gradient, strict=True):
            np.multiply(direction, parameter.dtype.type(rate), out=direction)
            np.add(parameter, direction, out=parameter)
        return estimate
