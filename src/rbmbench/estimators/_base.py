"""What every gradient estimator shares: the positive phase, and the form of a negative one."""

from dataclasses import dataclass, field
from typing import Any

from rbmbench.base.errors import SettingsError
from rbmbench.base.registry import Registry
from rbmbench.base.streams import Stream
from rbmbench.model.gibbs import Buffers, PhaseSums, Population, hidden_mean, population_sums
from rbmbench.model.rbm import RBM, Statistics

__all__ = ["REGISTRY", "Estimate", "Estimator", "check_continues"]

REGISTRY = Registry("rbmbench.estimators", "estimator")

Array = Any
State = dict[str, Array]


def check_continues(estimator: "Estimator", rule: str) -> None:
    """Raise a `SettingsError` if an update rule needs chains that run on within an iteration and these cannot."""
    if estimator.continues_from is None:
        name = type(estimator).__module__.rpartition(".")[2]
        raise SettingsError(
            f"update rule {rule!r}: found the estimator {name!r}, as it is set, whose chains cannot run on within an "
            "iteration; allowed: chains that start at the rows of the mini-batch, one each, or are kept, or none"
        )


@dataclass(frozen=True)
class Estimate:
    """One gradient estimate for every replica.

    ``positive`` and ``negative`` are the two phases' rows (the negative one may be statistics where nothing is
    sampled), ``state`` what the estimator's next call needs, ``diagnostics`` one float64 value a replica under each
    name. Arrays are valid until the estimator's next call.
    """

    positive: Population
    negative: Population | Statistics
    state: State
    diagnostics: dict[str, Array] = field(default_factory=dict)


class Estimator:
    """Base of the estimators; a new one defines `negative_phase`, and `start` if it keeps chains.

    An estimator holds options and buffers, no state: the state goes in and comes out of every call, so that a run can
    be cut anywhere. One instance serves one run at a time.

    ``continues_from`` says where a second negative phase of the same iteration starts, see `continue_chains`: "ends",
    at the end states of the first one's chains, one for each row of the mini-batch; "itself", for estimators with
    persistent chains or none; None if there can be no second one.

    ``fused`` is the name that kernels which make whole iterations know a class by; it holds for the very class that
    says so, not for classes derived from it, which may compute something else.
    """

    fused: str | None = None
    continues_from: str | None = None

    def __init__(self):
        self.buffers = Buffers()

    def check_sizes(self, visible_units: int, hidden_units: int) -> None:
        """Raise a `SettingsError` if RBMs of this size are too large for the estimator; asked before any work."""

    def start(self, rbm: RBM, data: Array, batch: int, stream: Stream) -> State:
        """Return the state before the first estimate: named arrays with a leading axis of replicas.

        Parameters
        ----------
        rbm : RBM
            With one leading axis of replicas.
        data : array, shape (rows, m), uint8
            The training set, for chains that start at training rows.
        batch : int
            Rows of a mini-batch.
        stream : Stream
        """
        return {}

    def negative_phase(
        self, rbm: RBM, positive: Population, state: State, stream: Stream
    ) -> tuple[Population | Statistics, State, dict[str, Array]]:
        """Return the rows that estimate the model expectation, the new state, and diagnostics.

        Parameters
        ----------
        rbm : RBM
            With one leading axis of replicas.
        positive : Population
            The mini-batch (replicas, batch, m) and its hidden means p(h = 1 | v).
        state : dict of arrays
        stream : Stream
            The source of all randomness.
        """
        raise NotImplementedError

    def estimate(self, rbm: RBM, batch: Array, state: State, stream: Stream) -> Estimate:
        """Return an `Estimate` from a mini-batch (replicas, batch, m) of 0 and 1, of the parameters' type."""
        positive = Population(batch, hidden_mean(rbm, batch, self.buffers, "positive hidden mean"))
        negative, state, diagnostics = self.negative_phase(rbm, positive, state, stream)
        return Estimate(positive, negative, state, diagnostics)

    def continue_chains(self, rbm: RBM, estimate: Estimate, stream: Stream) -> Estimate:
        """Return an estimate whose negative phase takes up the one of ``estimate`` under parameters that have changed.

        The positive phase stays what it was. Only where ``continues_from`` is not None.
        """
        start = estimate.positive
        if self.continues_from == "ends":
            ends = estimate.negative.visible
            start = Population(ends, hidden_mean(rbm, ends, self.buffers, "second positive hidden mean"))
        negative, state, diagnostics = self.negative_phase(rbm, start, estimate.state, stream)
        return Estimate(estimate.positive, negative, state, diagnostics)

    def phase_sums(self, estimate: Estimate) -> tuple[PhaseSums, PhaseSums]:
        """Return the sums of the positive and of the negative phase, in the estimator's buffers."""
        return population_sums(estimate.positive, self.buffers, "positive"), self.negative_sums(estimate)

    def negative_sums(self, estimate: Estimate) -> PhaseSums:
        """Return the sums of the negative phase, in the estimator's buffers."""
        if isinstance(estimate.negative, Statistics):
            return PhaseSums(estimate.negative, 1.0)
        return population_sums(estimate.negative, self.buffers, "negative")

    def gradient(self, estimate: Estimate) -> Statistics:
        """Return the gradient of the mean log-likelihood, nats per sample: positive minus negative statistics."""
        positive, negative = self.phase_sums(estimate)
        parts = zip(positive.sums, negative.sums, strict=True)
        return Statistics(*(positive.scale * ours - negative.scale * theirs for ours, theirs in parts))
