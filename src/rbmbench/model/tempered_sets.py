# SPDX-License-Identifier: BSD-3-Clause
"""Sets of tempered chains between independent units and an RBM, which exchange their visible states.

    log p~_beta(v) = b0'v + beta (b - b0)'v + sum_j softplus(beta (c_j + (v'W)_j)),    beta from 0 to 1.

A set has one chain at each of some inverse temperatures, its levels. A round proposes to exchange the states of every
second pair of neighbours, even and odd pairs in turn, accepted with probability min(1, exp(d(x) - d(y))), where
d = log p~_(l+1) - log p~_l for the states x of level l and y of level l + 1; then each chain makes a Gibbs step, which
at beta = 0 draws an exact sample. All sets share their products.

Source: Syed, Bouchard-Cote, Deligiannidis, Doucet 2022 (exchanges of even and odd pairs in turn).
Shapes: states (1, sets * levels, m); walkers (sets, levels), the row of its set that is at each level.
"""

import numpy as np

from rbmbench.base.streams import Stream
from rbmbench.kernels import Array, kernels_for, on_host
from rbmbench.model.gibbs import Buffers, hidden_activation, visible_activation
from rbmbench.model.minibatches import random_rows
from rbmbench.model.rbm import RBM


class TemperedSets:
    """Sets of tempered chains of one model, (1, m, n), with the visible bias ``b0`` (m,) of the independent units.

    Attributes
    ----------
    betas : ndarray, shape (levels,), float64
        Inverse temperatures, ascending from 0 to 1; they are exact in the type of the parameters.
    walkers : ndarray, shape (sets, levels)
    round_trips : ndarray, shape (sets,), int64
        Walkers that came from beta = 0 to 1 and back, since `begin`.
    rounds, products : int
        Rounds; rows multiplied by W or W'.
    """

    def __init__(self, rbm: RBM, b0: np.ndarray, stream: Stream):
        self._rbm, self._stream, self._buffers = rbm, stream, Buffers()
        self._base = self._like(b0)[None]
        self._tilt, self._zeros = rbm.b[0] - self._base[0], 0 * rbm.c
        self.rounds = self.products = 0

    def _like(self, values) -> Array:
        return np.asarray(values, self._rbm.b.dtype, like=self._rbm.b)

    def begin(self, betas: np.ndarray, states: np.ndarray) -> None:
        """Begin at inverse temperatures with states (sets, levels, m), 0 and 1 in host memory."""
        self.betas = on_host(self._like(betas)).astype(np.float64)
        self._visible = self._like(states.reshape(1, -1, states.shape[-1]))
        self.walkers = np.tile(np.arange(len(betas)), (len(states), 1))
        self._leg = np.zeros(self.walkers.shape, np.int8)  # 1 of walkers that were at beta = 0; 2 if at 1 after that
        self._leg[:, 0], self.round_trips = 1, np.zeros(len(states), np.int64)

    def states(self) -> np.ndarray:
        """Return the states by level, uint8 (sets, levels, m)."""
        rows = on_host(self._visible[0]).astype(np.uint8).reshape(*self.walkers.shape, -1)
        return np.take_along_axis(rows, self.walkers[..., None], axis=1)

    def annealed(self, data: np.ndarray, sets: int, steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Anneal half of the sets from the independent units, and the others from rows of data in reverse.

        Returns
        -------
        grid : ndarray, shape (steps + 1,)
            Inverse temperatures, equally spaced.
        states : ndarray, uint8, shape (sets, steps + 1, m)
            States at these.
        slopes : ndarray, shape (sets, steps + 1)
            Derivatives of log p~ with respect to beta, nats.
        """
        up = np.arange(sets)[:, None] < sets // 2
        rows = random_rows(data, sets, self._rbm.W, self._stream)
        noise = np.zeros_like(rows)
        kernels_for(noise).sample_bernoulli(noise, self._base, self._stream.next())
        self._visible = np.concatenate([noise[:, : sets // 2], rows[:, sets // 2 :]], axis=1)
        grid, at = np.linspace(0, 1, steps + 1), np.where(up, np.arange(steps + 1), np.arange(steps + 1)[::-1])
        states, slopes = np.empty((sets, steps + 1, rows.shape[-1]), np.uint8), np.empty(at.shape)
        all_sets = np.arange(sets)
        for k in range(steps + 1):
            point = at[:, k]
            states[all_sets, point] = on_host(self._visible[0])
            below, above = grid[np.maximum(point - 1, 0)], grid[np.minimum(point + 1, steps)]
            activation, tilt = self._activation()
            upper, lower = (self._log_weights(activation, tilt, betas) for betas in (above, below))
            slopes[all_sets, point] = on_host(upper - lower) / (above - below)
            self._gibbs(activation, grid[at[:, min(k + 1, steps)]])
        return grid, states, slopes

    def round(self) -> np.ndarray:
        """Make a round; return d of both states of all neighbours before it, nats, float32 (levels - 1, 2, sets)."""
        walkers, padded = self.walkers, np.pad(self.betas, 1, mode="edge")
        levels = np.argsort(walkers, axis=1)
        activation, tilt = self._activation()
        below, here, above = (self._log_weights(activation, tilt, padded[levels + k].ravel()) for k in range(3))
        by_row = on_host(np.stack([above - here, here - below])).reshape(2, *walkers.shape)
        up, down = np.take_along_axis(by_row, walkers[None], axis=2)
        differences, first = np.stack([up[:, :-1], down[:, 1:]]), self.rounds % 2
        uniforms = kernels_for(walkers).uniforms(self._stream.next(), up.size, np.float64).reshape(up.shape)
        accepted = (np.log(uniforms[:, :-1]) < differences[0] - differences[1])[:, first::2]
        x, y = walkers[:, first:-1:2], walkers[:, first + 1 :: 2]
        walkers[:, first:-1:2], walkers[:, first + 1 :: 2] = np.where(accepted, y, x), np.where(accepted, x, y)
        self._gibbs(activation, self.betas[np.argsort(walkers, axis=1)].ravel())
        lowest, highest = (np.arange(len(walkers)), walkers[:, 0]), (np.arange(len(walkers)), walkers[:, -1])
        self.round_trips += self._leg[lowest] == 2
        self._leg[lowest] = 1
        self._leg[highest] = np.where(self._leg[highest] == 1, 2, self._leg[highest])
        self.rounds += 1
        return differences.transpose(2, 0, 1).astype(np.float32)

    def _activation(self) -> tuple[Array, Array]:
        """Return c + v W and (b - b0)'v of all rows, (rows, n) and (rows,)."""
        activation = hidden_activation(self._rbm, self._visible, self._buffers)
        activation += self._rbm.c[:, None]
        self.products += len(activation[0])
        return activation[0], np.matmul(self._visible[0], self._tilt[:, None])[:, 0]

    def _log_weights(self, activation: Array, tilt: Array, betas: np.ndarray) -> Array:
        """Return log p~(v) - b0'v of all rows at their inverse temperatures, nats, float64."""
        of_rows = self._like(betas)
        softplus = np.empty((1, len(tilt)), np.float64, like=tilt)
        kernels_for(activation).softplus_sum((of_rows[:, None] * activation)[None], self._zeros, softplus)
        return softplus[0] + of_rows * tilt

    def _gibbs(self, activation: Array, betas: np.ndarray) -> None:
        """Make a Gibbs step of all rows at their inverse temperatures; the activation is overwritten."""
        kernels, of_rows = kernels_for(activation), self._like(betas)[:, None]
        activation *= of_rows
        kernels.sample_bernoulli(activation[None], self._zeros, self._stream.next())
        visible = visible_activation(self._rbm, activation[None], self._buffers)
        visible += self._tilt
        visible *= of_rows
        kernels.sample_bernoulli(visible, self._base, self._stream.next())
        self._visible = visible
        self.products += len(activation)

    def saved(self) -> dict[str, np.ndarray]:
        """Return the state, from which `restore` continues bit for bit."""
        arrays = {"betas": self.betas, "walkers": self.walkers, "leg": self._leg, "round_trips": self.round_trips}
        counts = np.array([self.rounds, self.products, self._stream.number])
        return arrays | {"counts": counts, "visible": on_host(self._visible).astype(np.uint8)}

    def restore(self, saved: dict[str, np.ndarray]) -> None:
        """Continue from a state of `saved`."""
        self.betas, self.walkers, self._leg = saved["betas"], saved["walkers"], saved["leg"]
        self.round_trips, self._visible = saved["round_trips"], self._like(saved["visible"])
        self.rounds, self.products, self._stream.number = saved["counts"].tolist()
