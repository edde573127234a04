"""Plain stochastic gradient ascent, theta <- theta + rate * gradient: no momentum, no weight decay.

Source: Krause, Fischer, Igel, section 4.1.
"""

from rbmbench.kernels import home_of
from rbmbench.updates import REGISTRY

__all__ = ["SGD"]


@REGISTRY.register
class SGD:
    """Gradient ascent with a constant learning rate.

    ``resident``: as of `rbmbench.estimators.Estimator`.
    """

    resident = "sgd"

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
        positive, negative = estimator.phase_sums(estimate)
        home = home_of(rbm.W)
        for parameter, up, down in zip((rbm.W, rbm.b, rbm.c), positive.sums, negative.sums, strict=True):
            home.ascend(parameter, up, rate * positive.scale, down, rate * negative.scale)
        return estimate
