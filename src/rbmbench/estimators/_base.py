# SPDX-License-Identifier: BSD-3-Clause
"""Base of the gradient estimators."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from rbmbench.base.errors import DataError, SettingsError
from rbmbench.base.registry import Registry, name_of
from rbmbench.base.streams import Stream
from rbmbench.kernels import Array
from rbmbench.model.gibbs import Buffers, PhaseSums, Population, hidden_mean, population_sums, states_like
from rbmbench.model.rbm import RBM, Statistics, check_replicas
from rbmbench.model.work import dense_product, product

REGISTRY: "Registry[Estimator]" = Registry("rbmbench.estimators", "estimator")

State = dict[str, Array]
NOTHING: Mapping[str, float] = MappingProxyType({})


def check_continues(estimator: "Estimator", rule: str) -> None:
    """Raise a `SettingsError` if the estimator does not support `Estimator.continue_chains`."""
    if estimator.continues_from is None:
        raise SettingsError(
            f"update rule {rule!r}: the estimator must have one chain from each row of the mini-batch, "
            f"persistent chains, or none, which continue within an iteration, got {name_of(estimator)!r}"
        )


@dataclass(frozen=True)
class Estimate:
    """One gradient estimate for each replica.

    ``positive`` and ``negative`` are the rows of the two phases (or statistics, if nothing is sampled), ``state`` is
    the state for the next call, and ``diagnostics`` has one float64 value per replica under each name. Arrays are valid
    until the next call of the estimator.
    """

    positive: Population
    negative: Population | Statistics
    state: State
    diagnostics: dict[str, Array] = field(default_factory=dict)


class Estimator(ABC):
    """Base class of estimators; subclasses define `negative_phase`, and `start` if they have persistent chains.

    An estimator holds options and buffers. The state is passed to and returned by every call, so that a run can be
    interrupted anywhere. One instance serves one run at a time.

    ``continues_from`` is the start of a second negative phase of the same iteration, see `continue_chains`: "ends",
    at the end states of the first one's chains, one for each row of the mini-batch; "itself", for estimators with
    persistent chains or none; None if there can be no second one.

    ``sums_to_one`` is whether the weights of the negative phase do, which the centered gradient requires.

    ``cost_varies`` is true if `products` depends on diagnostics: a run with a budget of products may end early then.
    ``cost_depends_on`` has the names of diagnostics without which `cost` is a guess.
    ``left`` are the remaining products of such a budget, (replicas,), else None. An estimate that takes more is not
    used, so that it need not be completed, but its diagnostics must show that it took more.
    """

    continues_from: str | None = None
    sums_to_one: bool = True
    cost_varies: bool = False
    cost_depends_on: tuple[str, ...] = ()
    left: Array | None = None

    def __init__(self):
        self.buffers = Buffers()

    def check_sizes(self, visible_units: int, hidden_units: int) -> None:  # noqa: B027 - optional
        """Raise a `SettingsError` if RBMs of this size are too large for the estimator."""

    def products(
        self, batch: int, visible_units: int, hidden_units: int, diagnostics: Mapping[str, float] = NOTHING
    ) -> float:
        """Return the cost of an estimate and its statistics, in products of a mini-batch with W.

        They are counted from the formulas, without savings of the program. By default they are those of chains from the
        mini-batch, with the estimator's ``k`` and ``chains``: a product for each half step and each statistic.
        ``diagnostics`` are means over the iterations of a run, for estimators whose cost is random; before the run they
        are the expected ones.
        """
        chains = getattr(self, "chains", None) or batch
        return 2 + (2 * getattr(self, "k", 1) + 1) * chains / batch

    def assumed(self, batch: int) -> Mapping[str, float]:
        """Return diagnostics that the cost depends on, as assumed without a recorded run."""
        return NOTHING

    @property
    def gibbs_steps(self) -> int:
        """Gibbs steps of a chain in an estimate: ``k`` by default; 0 if their number is random or there is no chain."""
        return getattr(self, "k", 0)

    def cost(
        self, batch: int, visible_units: int, hidden_units: int, diagnostics: Mapping[str, float] = NOTHING
    ) -> Counter:
        """Return the operations of an estimate of one replica, as `rbmbench.model.work` counts them, for forecasts.

        Calls are those of a shard of replicas. By default the operations are those of chains from the mini-batch, with
        the variance of the phase where the estimator has that option. ``diagnostics`` are as in `products`.
        """
        return self.cost_of_chains(batch, visible_units, hidden_units, getattr(self, "k", 1))

    def cost_of_chains(self, batch: int, m: int, n: int, k: int, later_steps: int = 0) -> Counter:
        """Return the operations of both phases, with k Gibbs steps and ``later_steps`` more of all pairs of chains."""
        chains = getattr(self, "chains", None) or batch
        counts = Counter({"call": k + 2, "row": batch + k * chains, "unit": (batch + k * chains) * (m + n)})
        counts[product(m, n, batch)] += 2 * m * n * 2 * batch
        counts[product(m, n, chains)] += 2 * m * n * (2 * k + 1) * chains
        if getattr(self, "variance", False):
            # Another half step both ways from the ends; of all terms, norms and products of means and states.
            counts[product(m, n, chains)] += 2 * m * n * 2 * chains
            counts[dense_product(m, n)] += 2 * m * n * (chains + 2 * later_steps)
            counts["unit"] += 3 * (m + n) * (chains + 2 * later_steps)
        return counts

    def start(self, rbm: RBM, data: Array, batch: int, stream: Stream) -> State:
        """Return the initial state: named arrays with a leading axis of replicas.

        ``data`` (rows, m), uint8, is the training set, ``batch`` the rows of a mini-batch.
        """
        return {}

    @abstractmethod
    def negative_phase(
        self, rbm: RBM, positive: Population, state: State, stream: Stream
    ) -> tuple[Population | Statistics, State, dict[str, Array]]:
        """Return the rows that estimate the model expectation, the new state, and diagnostics.

        ``positive`` is the mini-batch (replicas, batch, m) and its hidden means p(h = 1 | v).
        """

    def estimate(self, rbm: RBM, batch: Array, state: State, stream: Stream) -> Estimate:
        """Return an `Estimate` from a mini-batch (replicas, batch, m) of 0 and 1, which are not checked.

        It is copied if it has another type than the parameters, or rows that are not contiguous. Raises a `DataError`
        if it has another shape, a `SettingsError` if the RBM does not have one leading axis.
        """
        check_replicas(rbm)
        batch = states_like(rbm.W, batch)
        replicas, m, _ = rbm.W.shape
        # Of another shape, compiled code would read beyond its ends.
        if batch.ndim != 3 or batch.shape[::2] != (replicas, m) or not batch.size:
            raise DataError(f"mini-batch: must be of shape ({replicas}, rows, {m}), with rows, got {batch.shape}")
        positive = Population(batch, hidden_mean(rbm, batch, self.buffers, "positive hidden mean"))
        return Estimate(positive, *self._checked_phase(rbm, positive, state, stream))

    def continue_chains(self, rbm: RBM, estimate: Estimate, stream: Stream) -> Estimate:
        """Return an estimate whose chains continue those of ``estimate``, after a change of the parameters.

        The positive phase is that of ``estimate``. Requires that ``continues_from`` is not None.
        """
        start = estimate.positive
        if self.continues_from == "ends":
            assert isinstance(estimate.negative, Population)  # since chains have ends
            ends = estimate.negative.visible
            start = Population(ends, hidden_mean(rbm, ends, self.buffers, "second positive hidden mean"))
        return Estimate(estimate.positive, *self._checked_phase(rbm, start, estimate.state, stream))

    def _checked_phase(
        self, rbm: RBM, positive: Population, state: State, stream: Stream
    ) -> tuple[Population | Statistics, State, dict[str, Array]]:
        """Return the negative phase; refuse other shapes, beyond whose ends compiled code would read.

        Diagnostics must have the same names in all calls: their sums are divided by the number of iterations.
        """
        match phase := self.negative_phase(rbm, positive, state, stream):
            case Population() | Statistics() as negative, dict() as state, dict() as diagnostics:
                pass
            case _:
                kinds = [type(part).__name__ for part in (phase if isinstance(phase, tuple) else [phase])]
                allowed = f"a Population or Statistics, the state and diagnostics, two dicts, got {', '.join(kinds)}"
                raise SettingsError(f"negative_phase of {type(self).__name__}: must return {allowed}")
        replicas, m, n = rbm.W.shape
        if isinstance(negative, Population):
            rows = negative.visible.shape[1]
            expected = [(replicas, rows, m), (replicas, rows, n)] + [(replicas, rows)] * (negative.weights is not None)
        else:
            expected = [(replicas, m, n), (replicas, m), (replicas, n)]
        if (got := [part.shape for part in negative if part is not None]) != expected:
            raise SettingsError(f"negative_phase of {type(self).__name__}: shapes must be {expected}, got {got}")
        named = dict.fromkeys(vars(self).setdefault("_names", tuple(diagnostics)), (replicas,))
        if (shapes := {name: getattr(part, "shape", type(part)) for name, part in diagnostics.items()}) != named:
            raise SettingsError(f"negative_phase of {type(self).__name__}: diagnostics must be {named}, got {shapes}")
        return negative, state, diagnostics

    def phase_sums(self, estimate: Estimate) -> tuple[PhaseSums, PhaseSums]:
        """Return the sums of the positive and of the negative phase, in buffers."""
        return population_sums(estimate.positive, self.buffers, "positive"), self.negative_sums(estimate)

    def negative_sums(self, estimate: Estimate) -> PhaseSums:
        """Return the sums of the negative phase, in buffers."""
        if isinstance(estimate.negative, Statistics):
            return PhaseSums(estimate.negative, 1.0)
        return population_sums(estimate.negative, self.buffers, "negative")

    def gradient(self, estimate: Estimate) -> Statistics:
        """Return the gradient of the mean log-likelihood, nats per sample: positive minus negative statistics."""
        positive, negative = self.phase_sums(estimate)
        parts = zip(positive.sums, negative.sums, strict=True)
        return Statistics(*(positive.scale * up - negative.scale * down for up, down in parts))
