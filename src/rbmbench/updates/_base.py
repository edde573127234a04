"""What every update rule shares: a step, a memory that lasts from one iteration to the next, what it asks for."""

from typing import Any

from rbmbench.kernels import kernels_for
from rbmbench.model.gibbs import PhaseSums
from rbmbench.model.rbm import RBM

__all__ = ["Memory", "UpdateRule", "ascend"]

Array = Any
Memory = dict[str, Array]


def ascend(rbm: RBM, positive: PhaseSums, negative: PhaseSums, rate: float) -> None:
    """Add rate times the gradient, the statistics of the positive phase less those of the negative one, in place.

    Parameters
    ----------
    rbm : RBM
        With one leading axis of replicas.
    positive, negative : PhaseSums
        As `rbmbench.estimators.Estimator.phase_sums` returns them.
    rate : float
    """
    kernels = kernels_for(rbm.W)
    for parameter, up, down in zip((rbm.W, rbm.b, rbm.c), positive.sums, negative.sums, strict=True):
        kernels.ascend(parameter, up, rate * positive.scale, down, rate * negative.scale)


class UpdateRule:
    """Base of the update rules; a new one defines `step`, and `start` if it remembers anything.

    A rule holds options. What lasts from one iteration to the next is its memory: named arrays with a leading axis of
    replicas, which are in the checkpoints. Every stage of a schedule starts with a memory of its own.

    ``fused``: as of `rbmbench.estimators.Estimator`.
    """

    fused: str | None = None

    def check(self, estimator) -> None:
        """Raise a `SettingsError` if the rule cannot be used with an estimator; asked before any work."""

    def start(self, rbm: RBM, data: Array) -> Memory:
        """Return the memory before the first step: named arrays with a leading axis of replicas.

        Parameters
        ----------
        rbm : RBM
            With one leading axis of replicas.
        data : array, shape (rows, m), uint8
            The training set.
        """
        return {}

    def step(self, rbm: RBM, estimator, batch: Array, state: dict, stream, rate: float, memory: Memory):
        """Change the parameters of ``rbm`` and the memory in place by one iteration; return the last `Estimate`.

        Parameters
        ----------
        rbm : RBM
            With one leading axis of replicas.
        estimator : Estimator
        batch : array, shape (replicas, batch, m)
        state : dict of arrays
            The estimator's state; the new one is in the estimate that is returned.
        stream : Stream
        rate : float
            Learning rate.
        memory : dict of arrays
            What `start` returned.
        """
        raise NotImplementedError
