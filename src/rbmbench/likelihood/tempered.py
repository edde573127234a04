# SPDX-License-Identifier: BSD-3-Clause
"""log Z by parallel tempering from two starts, and the Bennett acceptance ratio of neighbouring temperatures.

Along the path of annealing, from independent units of known log Z to the RBM,

    log p~_beta(v) = b0'v + beta (b - b0)'v + sum_j softplus(beta (c_j + (v'W)_j)),    beta from 0 to 1,

a set has one chain at each of some inverse temperatures. A round proposes to exchange the visible states of every
second pair of neighbours, even and odd pairs in turn, with the Metropolis probability for log p~, and makes a Gibbs
step of each chain; at beta = 0 that draws an exact sample. Half of the sets start from the base model, annealed to
each beta, and half from rows of data, annealed in reverse. The inverse temperatures are those at which neighbours were
measured to reject exchanges equally often.

Sets are independent of each other, so the spread of the sets' estimates gives a standard error that includes
autocorrelation, within and between temperatures. It is enlarged where half the difference of the two starts, or of the
first and the last half of the rounds, is larger.

Source: Bennett 1976 (ratio of neighbours); Syed, Bouchard-Cote, Deligiannidis, Doucet 2022 (alternating exchanges,
temperatures of equal rejection); Krause, Fischer, Igel 2020 (parallel tempering and Bennett's ratio for RBMs).
Shapes: states of a model (1, sets * levels, m); walkers (sets, levels), the row of a set that is at each level.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from scipy.stats import t as student
from threadpoolctl import threadpool_limits

from rbmbench.base import pace
from rbmbench.base.errors import SettingsError
from rbmbench.base.registry import positive_integer
from rbmbench.base.streams import Purpose, Stream
from rbmbench.kernels import kernels_for, on_host
from rbmbench.likelihood.annealing import base_rate_bias, keys_of_models, log_of_base, start_bias
from rbmbench.likelihood.particles import like
from rbmbench.likelihood.trajectories import acceptance, bennett_log_partition
from rbmbench.model.gibbs import Buffers, hidden_activation, visible_activation
from rbmbench.model.minibatches import random_rows
from rbmbench.model.rbm import RBM
from rbmbench.model.rows import binary_rows

SETS = 16
"""Sets of chains of a model; the first half starts from the base model."""
GRID = 200
"""Steps of the annealing to the starts."""
ADAPTED = (40, 120, 280)
"""Rounds after which the inverse temperatures are chosen anew."""
GROWTH = 1.25
"""Rounds until an estimate, as a multiple of those until the one before."""
REJECTION = 0.5
"""Mean probability that an exchange is rejected, which decides the number of levels."""
LEAST_LEVELS, MOST_LEVELS = 3, 100
BURN_IN = 3
"""One of so many rounds since the last choice of temperatures, the first, is left out."""
MOST_RECORDS = 1024
"""Rounds that are kept for the estimate; of more, every second, fourth, ... is."""
NORMAL = 1.96

Array = Any
State = dict[str, np.ndarray]
Pause = Callable[[Callable[[], list[State]]], None]


@dataclass(frozen=True)
class TemperedEstimate:
    """An estimate of log Z by parallel tempering; arrays with the leading shape of the RBM's parameters.

    ``log_partition`` and its ``standard_error``, 1.96 of which give an interval of 95 %; the ``gap`` between the two
    starts and the ``drift`` from the first to the last half of the rounds, all nats; the least mean ``acceptance`` of
    exchanges; ``round_trips`` of chains from beta = 0 to 1 and back; ``products``, rows multiplied by W or W';
    ``converged``, whether the standard error is at most that asked for, and there is a round trip for each set.
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
        Half of the chains start from its rows, ideally the training set. It does not change what is estimated.
    target_error : float
        Standard error in nats at which the chains of a model end.
    budget : int
        Rows multiplied by W or W' after which they end all the same; AIS of P particles and T steps takes 2 P T.
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
    data, threads = binary_rows(data, units=rbm.visible_units), positive_integer("threads", threads)
    budget = positive_integer("budget", budget)
    if not 0 < target_error < np.inf:
        raise SettingsError(f"target_error: must be a positive number of nats, got {target_error}")
    b0 = start_bias(rbm, base_rate_bias(data) if base is None else base)
    models, keys, states = rbm.replicas, keys_of_models(rbm, keys), begun or []
    streams = [Stream(seed, keys[r : r + 1], Purpose.TEMPERING) for r in range(len(models.W))]
    every = [TemperedSets(models[r : r + 1], b0, stream) for r, stream in enumerate(streams)]
    for sets, state in zip(every, states, strict=False):
        sets.restore(state)
    with threadpool_limits(1), ThreadPoolExecutor(threads) as pool:
        for first in range(0, len(every), threads):
            group, piece = every[first : first + threads], pace.Pace()
            list(pool.map(lambda sets: sets.start(data), group[max(0, len(states) - first) :]))
            while not all(sets.ended for sets in group):
                started = perf_counter()
                list(
                    pool.map(
                        lambda sets, rounds: sets.advance(rounds, target_error, budget),
                        group,
                        [piece.steps] * len(group),
                    )
                )
                piece.update(piece.steps, perf_counter() - started)
                if progress:
                    done = sum(budget if sets.ended else min(sets.products, budget) for sets in every)
                    progress(done, budget * len(every))
                if pause:
                    pause(lambda begun=every[: first + threads]: [sets.state() for sets in begun])
    values = np.array([sets.found for sets in every]).T.reshape(-1, *rbm.W.shape[:-2])
    converged = (values[1] <= target_error) & (values[5] >= SETS)
    return TemperedEstimate(log_of_base(rbm, b0) + values[0], *values[1:], converged)


def spaced(betas: np.ndarray, rejections: np.ndarray) -> np.ndarray:
    """Return inverse temperatures from 0 to 1 whose neighbours reject exchanges equally often, with `REJECTION`.

    ``rejections`` (betas - 1,) are the mean rejections between neighbours, which add up along the path.
    """
    total = np.concatenate([[0.0], np.cumsum(rejections + 1e-3)])
    levels = int(np.clip(np.ceil(total[-1] / REJECTION) + 1, LEAST_LEVELS, MOST_LEVELS))
    chosen = np.interp(np.linspace(0, total[-1], levels), total, betas)
    chosen[0], chosen[-1] = 0, 1
    return chosen


class TemperedSets:
    """Sets of tempered chains of one model, (1, m, n), and what they have given so far."""

    def __init__(self, rbm: RBM, b0: np.ndarray, stream: Stream):
        self._rbm, self._stream, self._buffers = rbm, stream, Buffers()
        self._base = like(rbm.b, b0)[None]
        self._tilt, self._zeros = rbm.b[0] - self._base[0], 0 * rbm.c
        self._records: list[np.ndarray] = []
        self._rounds = self._round_trips = self.products = 0
        self._stride, self._next = 1, int(GROWTH * ADAPTED[-1])
        self.found = np.empty(0)

    @property
    def ended(self) -> bool:
        """Whether the estimate is made."""
        return len(self.found) > 0

    def start(self, data: np.ndarray) -> None:
        """Anneal half of the sets from the base model, and the others from rows of data in reverse."""
        up = np.arange(SETS) < SETS // 2
        rows = random_rows(data, SETS, self._rbm.W, self._stream)
        noise = np.zeros_like(rows)
        kernels_for(noise).sample_bernoulli(noise, self._base, self._stream.next())
        self._visible = np.concatenate([noise[:, : SETS // 2], rows[:, SETS // 2 :]], axis=1)
        grid, states, slopes = np.linspace(0, 1, GRID + 1), [], []
        for k in range(GRID + 1):
            at, after = (np.where(up, step, GRID - step) for step in (k, min(k + 1, GRID)))
            states.append(on_host(self._visible[0]).astype(np.uint8))
            below, above = grid[np.maximum(at - 1, 0)], grid[np.minimum(at + 1, GRID)]
            activation, tilt = self._activation()
            lower, upper = (self._log_weights(activation, tilt, betas) for betas in (below, above))
            slopes.append(on_host(upper - lower) / (above - below))
            self._gibbs(activation, grid[after])
        visited, slope = (
            np.where(up.reshape(1, -1, *[1] * (part.ndim - 2)), part, part[::-1])
            for part in (np.array(states), np.array(slopes))
        )
        # Two samples of the derivative of log p~ differ by twice the rejections per unit of beta, on average.
        barrier = np.abs(slope[:, :, None] - slope[:, None]).sum(axis=(1, 2)) / (2 * SETS * (SETS - 1))
        self._take(spaced(grid, (barrier[1:] + barrier[:-1]) / (2 * GRID)), grid, visited.swapaxes(0, 1))

    def _take(self, betas: np.ndarray, earlier: np.ndarray, states: np.ndarray) -> None:
        """Begin at inverse temperatures with the states (sets, earlier, m) at the nearest of earlier ones."""
        self._betas = on_host(like(self._rbm.b, betas)).astype(np.float64)
        nearest = np.abs(self._betas[:, None] - earlier).argmin(axis=1)
        self._visible = like(self._rbm.b, states[:, nearest].reshape(1, -1, states.shape[-1]))
        self._walkers = np.tile(np.arange(len(betas)), (SETS, 1))
        self._from_one = np.zeros(self._walkers.shape, bool)
        self._records, self._stride, self._round_trips = [], 1, 0

    def advance(self, rounds: int, target_error: float, budget: int) -> None:
        """Make rounds, at most until the estimate has the error asked for or the budget is spent."""
        for _ in range(rounds):
            if self.ended:
                return
            differences = self._round()
            if self._rounds % self._stride == 0:
                self._records.append(differences)
            if len(self._records) > MOST_RECORDS:
                self._records, self._stride = self._records[1::2], 2 * self._stride
            if self._rounds in ADAPTED:
                rejections = 1 - acceptance(np.array(self._records[len(self._records) // 2 :]))
                states = on_host(self._visible[0]).astype(np.uint8).reshape(*self._walkers.shape, -1)
                ordered = np.take_along_axis(states, self._walkers[..., None], axis=1)
                self._take(spaced(self._betas, rejections), self._betas, ordered)
            spent = self.products >= budget and self._rounds >= GROWTH * ADAPTED[-1]
            if spent or self._rounds == self._next:
                self._next = int(GROWTH * self._rounds)
                estimate = self._estimate()
                if spent or (estimate[1] <= target_error and self._round_trips >= SETS):
                    self.found, self._records = estimate, []

    def _round(self) -> np.ndarray:
        """Exchange and make a Gibbs step; return the differences of log p~ before: (levels - 1, 2, sets), nats."""
        walkers, padded = self._walkers, np.pad(self._betas, 1, mode="edge")
        levels = np.argsort(walkers, axis=1)
        activation, tilt = self._activation()
        below, here, above = (self._log_weights(activation, tilt, padded[levels + k].ravel()) for k in range(3))
        by_row = on_host(np.stack([above - here, here - below])).reshape(2, *walkers.shape)
        up, down = np.take_along_axis(by_row, walkers[None], axis=2)
        differences = np.stack([up[:, :-1], down[:, 1:]])
        first = self._rounds % 2
        u = kernels_for(walkers).uniforms(self._stream.next(), up.size, np.float64).reshape(up.shape)
        accepted = (np.log(u[:, :-1]) < differences[0] - differences[1])[:, first::2]
        x, y = walkers[:, first:-1:2], walkers[:, first + 1 :: 2]
        walkers[:, first:-1:2], walkers[:, first + 1 :: 2] = np.where(accepted, y, x), np.where(accepted, x, y)
        self._gibbs(activation, self._betas[np.argsort(walkers, axis=1)].ravel())
        self._count_round_trips()
        self._rounds += 1
        return differences.transpose(2, 0, 1).astype(np.float32)

    def _count_round_trips(self) -> None:
        sets = np.arange(SETS)
        lowest, highest = self._walkers[:, 0], self._walkers[:, -1]
        self._round_trips += int(self._from_one[sets, lowest].sum())
        self._from_one[sets, lowest], self._from_one[sets, highest] = False, True

    def _activation(self) -> tuple[Array, Array]:
        """Return c + v W and (b - b0)'v of all rows, (rows, n) and (rows,)."""
        activation = hidden_activation(self._rbm, self._visible, self._buffers)
        activation += self._rbm.c[:, None]
        self.products += len(activation[0])
        return activation[0], np.matmul(self._visible[0], self._tilt[:, None])[:, 0]

    def _log_weights(self, activation: Array, tilt: Array, betas: np.ndarray) -> Array:
        """Return log p~(v) - b0'v of all rows at their inverse temperatures, nats, float64."""
        of_rows = like(tilt, betas)
        softplus = np.empty((1, len(tilt)), np.float64, like=tilt)
        kernels_for(activation).softplus_sum((of_rows[:, None] * activation)[None], self._zeros, softplus)
        return softplus[0] + of_rows * tilt

    def _gibbs(self, activation: Array, betas: np.ndarray) -> None:
        """Make a Gibbs step of all rows at their inverse temperatures; the activation is overwritten."""
        kernels, of_rows = kernels_for(activation), like(activation, betas)[:, None]
        activation *= of_rows
        kernels.sample_bernoulli(activation[None], self._zeros, self._stream.next())
        visible = visible_activation(self._rbm, activation[None], self._buffers)
        visible += self._tilt
        visible *= of_rows
        kernels.sample_bernoulli(visible, self._base, self._stream.next())
        self._visible = visible
        self.products += len(activation)

    def _estimate(self) -> np.ndarray:
        """Return what `TemperedEstimate` has of a model, but for the end of its fields, without log Z of the base."""
        rounds = np.array(self._records[len(self._records) // BURN_IN :], np.float64)
        half, sets = len(rounds) // 2, SETS // 2
        parts = rounds, rounds[..., :sets], rounds[..., sets:], rounds[:half], rounds[half:]
        (value, error), *others = [[part[-1] for part in bennett_log_partition(0.0, part)] for part in parts]
        base, data, early, late = (other for other, _ in others)
        gap, drift = data - base, late - early
        error *= student.ppf(0.975, SETS - 2) / NORMAL
        error = np.nan_to_num(max(error, abs(gap) / 2, abs(drift) / 2), nan=np.inf)
        return np.array([value, error, gap, drift, acceptance(rounds).min(), self._round_trips, self.products])

    def state(self) -> State:
        """Return the state, from which `restore` goes on bit for bit."""
        counts = self._rounds, self._round_trips, self.products, self._stride, self._next, self._stream.number
        visible, records = on_host(self._visible).astype(np.uint8), np.array(self._records, np.float32)
        arrays = {"betas": self._betas, "walkers": self._walkers, "from_one": self._from_one, "found": self.found}
        return arrays | {"visible": visible, "records": records, "counts": np.array(counts)}

    def restore(self, state: State) -> None:
        """Go on from a state of `state`."""
        self._betas, self._walkers, self._from_one, self.found = (
            state[name] for name in ("betas", "walkers", "from_one", "found")
        )
        self._visible, self._records = like(self._rbm.b, state["visible"]), list(state["records"])
        self._rounds, self._round_trips, self.products, self._stride, self._next, self._stream.number = state[
            "counts"
        ].tolist()
