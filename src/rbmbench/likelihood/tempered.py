# SPDX-License-Identifier: BSD-3-Clause
"""log Z by parallel tempering from two starts, and the Bennett acceptance ratio of neighbouring temperatures.

Sets of chains (`rbmbench.model.tempered_sets`) are at inverse temperatures between independent units, of known log Z,
and the RBM. Half of the sets start from the independent units, annealed to each inverse temperature, and half from rows
of data, annealed in reverse. The inverse temperatures are those at which neighbours were measured to reject exchanges
equally often; later rounds give the ratios of neighbours.

Sets are independent of each other, so the spread of their estimates is a standard error that includes autocorrelation,
within and between temperatures. It is enlarged where half the difference of the two starts, or of the first and the
last half of the rounds, is larger.

Source: Bennett 1976 (ratio of neighbours); Syed, Bouchard-Cote, Deligiannidis, Doucet 2022 (temperatures of equal
rejection); Krause, Fischer, Igel 2020 (parallel tempering and Bennett's ratio for RBMs).
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from operator import methodcaller
from time import perf_counter

import numpy as np
import scipy  # scipy.special is imported at its first use
from threadpoolctl import threadpool_limits

from rbmbench.base import pace
from rbmbench.base.errors import SettingsError
from rbmbench.base.metrics import NORMAL, TAILS
from rbmbench.base.registry import positive_integer
from rbmbench.base.streams import Purpose, Stream
from rbmbench.kernels import on_host
from rbmbench.kernels.threads import map_items
from rbmbench.likelihood.annealing import base_rate_bias, keys_of_models, log_of_base, start_bias
from rbmbench.likelihood.trajectories import acceptance, bennett_log_partition
from rbmbench.model.rbm import RBM
from rbmbench.model.rows import binary_rows
from rbmbench.model.tempered_sets import TemperedSets

SETS = 16
"""Sets of chains of a model; the first half starts from the base model."""
GRID = 10, 200
"""Least and most steps of the annealing to the starts, which takes at most a tenth of the budget above the least."""
ADAPTED = (40, 120, 280)
"""Rounds after which the inverse temperatures are chosen anew."""
FIRST = 560
"""Rounds until the first estimate."""
FEWEST = 8
"""Least rounds of an estimate, if the budget is spent before the first one."""
GROWTH = 1.5
"""Rounds until an estimate, as a multiple of those until the one before."""
REJECTION = 0.5
"""Mean probability that an exchange is rejected, which decides the number of levels."""
LEAST_LEVELS, MOST_LEVELS = 3, 100
BURN_IN = 3
"""The first of so many parts of the rounds since the last choice of temperatures is not used."""
MOST_RECORDS = 4096
"""Most rounds that are kept for the estimate; of longer runs every second, fourth, ... is kept."""

State = dict[str, np.ndarray]
Pause = Callable[[Callable[[], list[State]]], None]


@dataclass(frozen=True)
class TemperedEstimate:
    """An estimate of log Z by parallel tempering; arrays with the leading shape of the RBM's parameters.

    ``log_partition`` and its ``standard_error``, `NORMAL` of which are half an interval; the ``gap`` between the two
    starts and the ``drift`` from the first to the last half of the rounds, all nats; the least mean ``acceptance`` of
    exchanges; ``round_trips`` of all chains from beta = 0 to 1 and back; ``products``, rows multiplied by W or W';
    ``converged``, whether two successive estimates have a standard error of at most the target, and there is a round
    trip in each set.
    """

    log_partition: np.ndarray
    standard_error: np.ndarray
    gap: np.ndarray
    drift: np.ndarray
    acceptance: np.ndarray
    round_trips: np.ndarray
    products: np.ndarray
    converged: np.ndarray


def tempered_log_partition(
    rbm: RBM,
    data: np.ndarray,
    target_error: float = 0.1,
    budget: int = 5_000_000,
    seed: int = 0,
    *,
    base: np.ndarray | None = None,
    keys: Sequence[int] | None = None,
    threads: int = 1,
    progress: pace.Progress | None = None,
    begun: list[State] | None = None,
    pause: Pause | None = None,
) -> TemperedEstimate:
    """Estimate log Z by parallel tempering, from the base model and from rows of data.

    Parameters
    ----------
    rbm : RBM
        Any leading axes; each model has its own chains.
    data : ndarray, shape (rows, m), entries 0 or 1
        Half of the chains start from its rows, ideally the training set. The estimated quantity does not depend on it.
    target_error : float
        Standard error in nats at which the chains of a model end.
    budget : int
        Rows multiplied by W or W' after which they end in any case; AIS of P particles and T steps takes 2 P T.
    seed : int
    base : ndarray, shape (m,), optional
        Visible bias b0 of the base model; by default `base_rate_bias` of the data.
    keys, threads, progress, begun, pause
        See `ais_log_partition`; the state is a list of mappings of names to arrays, one for each model begun.

    Raises
    ------
    SettingsError
        If the error is not positive, or the budget or the base model is not allowed.
    DataError
        If the data are not rows of 0 and 1, as wide as the RBM.
    """
    rows, threads = on_host(binary_rows(data, units=rbm.visible_units)), positive_integer("threads", threads)
    budget = positive_integer("budget", budget)
    if not isinstance(target_error, int | float | np.number) or not 0 < target_error < np.inf:
        raise SettingsError(f"target_error: must be a positive number of nats, got {target_error!r}")
    b0 = start_bias(rbm, base_rate_bias(rows) if base is None else base)
    data = np.asarray(rows, like=rbm.W)
    models, model_keys, states = rbm.replicas, keys_of_models(rbm, keys), begun or []
    streams = [Stream(seed, model_keys[r : r + 1], Purpose.TEMPERING) for r in range(len(models.W))]
    temperings = [_Tempering(models[r : r + 1], b0, stream, target_error, budget) for r, stream in enumerate(streams)]
    for tempering, state in zip(temperings, states, strict=False):
        tempering.restore(state)
    with threadpool_limits(1), ThreadPoolExecutor(threads) as pool:
        for first in range(0, len(temperings), threads):
            group, piece = temperings[first : first + threads], pace.Pace()
            map_items(pool, threads, methodcaller("start", data), group[max(0, len(states) - first) :])
            while unfinished := [tempering for tempering in group if not len(tempering.estimate)]:
                started = perf_counter()
                map_items(pool, threads, methodcaller("advance", piece.steps), unfinished)
                piece.update(piece.steps, perf_counter() - started)
                if progress:
                    spent = [budget if len(t.estimate) else min(t.sets.products, budget) for t in temperings]
                    progress(sum(spent), budget * len(temperings))
                if pause:
                    pause(partial(_saved, temperings[: first + threads]))
    values = np.array([tempering.estimate for tempering in temperings]).T.reshape(-1, *rbm.W.shape[:-2])
    fields = dict(zip(TemperedEstimate.__dataclass_fields__, values, strict=True))
    fields["log_partition"] += log_of_base(rbm, b0)
    return TemperedEstimate(**fields | {"converged": fields["converged"] > 0})


def spaced(betas: np.ndarray, rejections: np.ndarray) -> np.ndarray:
    """Return inverse temperatures from 0 to 1 whose neighbours reject exchanges equally often, with `REJECTION`.

    ``rejections`` (betas - 1,) are the mean rejections between neighbours, which add up along the path.
    """
    total = np.concatenate([[0.0], np.cumsum(rejections + 1e-3)])
    levels = int(np.clip(np.ceil(total[-1] / REJECTION) + 1, LEAST_LEVELS, MOST_LEVELS))
    chosen = np.interp(np.linspace(0, total[-1], levels), total, betas)
    chosen[0], chosen[-1] = 0, 1
    return chosen


def _saved(temperings: "Sequence[_Tempering]") -> list[State]:
    return [tempering.saved() for tempering in temperings]


class _Tempering:
    """The chains of one model, and its ``estimate``, empty at first: the fields of `TemperedEstimate`."""

    def __init__(self, rbm: RBM, b0: np.ndarray, stream: Stream, target_error: float, budget: int):
        self.sets, self._target_error, self._budget = TemperedSets(rbm, b0, stream), target_error, budget
        self._records: list[np.ndarray] = []
        self._stride, self._next, self._before = 1, FIRST, 0.0
        self.estimate = np.empty(0)

    def start(self, data: np.ndarray) -> None:
        """Bring the chains to their starts."""
        steps = int(np.clip(self._budget // (20 * SETS), *GRID))
        grid, states, slopes = self.sets.annealed(data, SETS, steps)
        # Two samples of the derivative of log p~ differ by twice the rejections per unit of beta, on average.
        barrier = np.abs(slopes[:, None] - slopes).sum(axis=(0, 1)) / (2 * SETS * (SETS - 1))
        self._begin(spaced(grid, (barrier[1:] + barrier[:-1]) / (2 * (len(grid) - 1))), grid, states)

    def _begin(self, betas: np.ndarray, earlier: np.ndarray, states: np.ndarray) -> None:
        """Begin at inverse temperatures with the states (sets, earlier, m) at the nearest of earlier ones."""
        self.sets.begin(betas, states[:, np.abs(betas[:, None] - earlier).argmin(axis=1)])
        self._records, self._stride = [], 1

    def advance(self, rounds: int) -> None:
        """Make rounds, fewer if the estimate has the target error or the budget is spent."""
        sets = self.sets
        while rounds > 0 and not len(self.estimate):
            rounds -= 1
            differences = sets.round()
            if sets.rounds % self._stride == 0:
                self._records.append(differences)
            if len(self._records) > MOST_RECORDS:
                self._records, self._stride = self._records[1::2], 2 * self._stride
            if sets.rounds in ADAPTED:
                rejections = 1 - acceptance(np.array(self._records[len(self._records) // 2 :]))
                self._begin(spaced(sets.betas, rejections), sets.betas, sets.states())
            spent = sets.products >= self._budget and len(self._records) >= FEWEST
            if spent or sets.rounds == self._next:
                self._next, estimate = int(GROWTH * sets.rounds), self._estimate()
                # Stopping at a small error selects underestimated errors, so two successive ones must be small.
                error, scale, has_previous = estimate[1], np.sqrt(self._stride * len(self._records)), self._before > 0
                estimate[1], self._before = max(error, self._before / scale), error * scale
                reached = has_previous and estimate[1] <= self._target_error and sets.round_trips.all()
                if spent or reached:
                    self.estimate, self._records = np.append(estimate, reached), []

    def _estimate(self) -> np.ndarray:
        """Return the fields of `TemperedEstimate` except the last, in order, without log Z of the independent units."""
        rounds = np.array(self._records[len(self._records) // BURN_IN :], np.float64)
        half, sets = len(rounds) // 2, SETS // 2
        parts = rounds, rounds[..., :sets], rounds[..., sets:], rounds[:half], rounds[half:]
        (value, error), *estimates = ([values[-1] for values in bennett_log_partition(0.0, part)] for part in parts)
        noise, data, early, late = (estimate for estimate, _ in estimates)
        gap, drift = data - noise, late - early
        error *= scipy.special.stdtrit(SETS - 2, TAILS[1]) / NORMAL
        error = np.nan_to_num(max(error, abs(gap) / 2, abs(drift) / 2), nan=np.inf)
        counts = acceptance(rounds).min(), self.sets.round_trips.sum(), self.sets.products
        return np.array([value, error, gap, drift, *counts])

    def saved(self) -> State:
        """Return the state, from which `restore` continues bit for bit."""
        looks = np.array([self._stride, self._next, self._before])
        state: State = {"records": np.array(self._records, np.float32), "found": self.estimate, "looks": looks}
        return self.sets.saved() | state

    def restore(self, saved: State) -> None:
        """Continue from a state of `saved`."""
        self.sets.restore(saved)
        self._records, self.estimate = list(saved["records"]), saved["found"]
        *counts, self._before = saved["looks"].tolist()
        self._stride, self._next = map(int, counts)
