# SPDX-License-Identifier: BSD-3-Clause
"""Base of the update rules."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping

from rbmbench.base.registry import name_of
from rbmbench.estimators import NOTHING, check_continues
from rbmbench.kernels import Array, kernels_for
from rbmbench.model.gibbs import PhaseSums
from rbmbench.model.rbm import RBM
from rbmbench.model.work import times

Memory = dict[str, Array]


def ascend(rbm: RBM, positive: PhaseSums, negative: PhaseSums, rate: float) -> None:
    """Add rate times the gradient, positive minus negative phase, to the parameters of all replicas in place."""
    kernels = kernels_for(rbm.W)
    for parameter, up, down in zip(rbm.parameters, positive.sums, negative.sums, strict=True):
        kernels.ascend(parameter, up, rate * positive.scale, down, rate * negative.scale)


class UpdateRule(ABC):
    """Base class of update rules; subclasses define `step`, and `start` if they have a memory.

    A rule holds options. Its memory between iterations is a dict of arrays with a leading axis of replicas, which is
    saved in checkpoints. Each stage of a schedule starts with a new memory.
    """

    inner_steps = 1  # of an iteration, each with its own negative phase

    def check(self, estimator) -> None:  # noqa: B027 - optional
        """Raise a `SettingsError` if the rule cannot be used with the estimator."""

    def products(
        self, estimator, batch: int, visible_units: int, hidden_units: int, diagnostics: Mapping[str, float] = NOTHING
    ) -> float:
        """Return the cost of an iteration, in products of a mini-batch with W: see `rbmbench.estimators.Estimator`."""
        return estimator.products(batch, visible_units, hidden_units, diagnostics)

    def cost(
        self, estimator, batch: int, visible_units: int, hidden_units: int, diagnostics: Mapping[str, float] = NOTHING
    ) -> Counter:
        """Return the operations of an iteration of one replica, for forecasts: see `rbmbench.estimators.Estimator`."""
        return times(estimator.cost(batch, visible_units, hidden_units, diagnostics), self.inner_steps)

    def start(self, rbm: RBM, data: Array) -> Memory:
        """Return the initial memory; ``data`` (rows, m), uint8, is the training set."""
        return {}

    @abstractmethod
    def step(self, rbm: RBM, estimator, batch: Array, state: dict, stream, rate: float, memory: Memory):
        """Make one iteration: change the parameters and the memory in place, and return the last `Estimate`.

        ``batch`` is (replicas, batch, m), ``state`` that of the estimator (the estimate has the new one), ``rate`` the
        learning rate.
        """


class InnerSteps(UpdateRule):
    """Base of rules that make several steps in an iteration."""

    def check(self, estimator) -> None:
        """Raise a `SettingsError` if the estimator does not support inner steps."""
        super().check(estimator)
        check_continues(estimator, name_of(self))

    def products(self, estimator, batch, visible_units, hidden_units, diagnostics=NOTHING) -> float:
        """Return those of all inner steps: later ones start from ends of chains if the estimator continues there."""
        first = estimator.products(batch, visible_units, hidden_units, diagnostics)
        return first + (self.inner_steps - 1) * (first - 2 + (estimator.continues_from == "ends"))
