# SPDX-License-Identifier: BSD-3-Clause
"""Trajectory tempering: chains of the models along a training trajectory that exchange their visible states.

The ladder is theta_0, ..., theta_T: theta_0 with W = 0, theta_T the model, snapshots of its training between them.
A round exchanges all even and then all odd neighbouring pairs, and makes k Gibbs steps in every model. A state x of
model a and a state y of model b are exchanged with probability

    min(1, exp(F_a(x) + F_b(y) - F_a(y) - F_b(x))),

F the free energy of the visible units, which leaves p_a(x) p_b(y) invariant; the Gibbs step that follows draws h anew.
A Gibbs step with W = 0 is an exact sample, so independent states enter at theta_0 and climb.

Source: Béreux, Decelle, Furtlehner, Rosset, Seoane 2024 (arXiv:2405.15376), which takes neighbours with an acceptance
of about 0.25.
Shapes: models (levels, m, n), ...; states (levels, chains, m).
"""

import numpy as np

from rbmbench.base.errors import SettingsError
from rbmbench.base.registry import number_within, positive_integer
from rbmbench.base.streams import Purpose, Stream
from rbmbench.kernels import Array, contiguous, kernels_for, on_host
from rbmbench.model.gibbs import Buffers, sample_hidden, sample_visible
from rbmbench.model.rbm import RBM
from rbmbench.model.trajectories import free_energies


class TrajectoryTempering:
    """Chains of all models of a ladder, with ``k`` Gibbs steps per round.

    ``models`` has one leading axis of levels, which is the axis of replicas of all calls: the trials of a stream are
    its levels. Level 0 is redrawn exactly if its W is 0. Raises a `SettingsError` if there are fewer than two levels.
    """

    def __init__(self, models: RBM, k: int = 1):
        if models.W.ndim != 3 or len(models.W) < 2:
            raise SettingsError(f"models: must have W of shape (levels, m, n), at least 2 levels, got {models.W.shape}")
        self.models, self.k = models, positive_integer("k", k)
        starts = range(min(2, len(models.W) - 1))
        self._pairs = [(models[first:-1:2].copy(), models[first + 1 :: 2].copy()) for first in starts]
        self._buffers = Buffers()

    def start(self, chains: int, stream: Stream) -> Array:
        """Return states (levels, chains, m), at all levels with the visible biases of level 0; one draw is taken."""
        models, chains = self.models, positive_integer("chains", chains)
        visible = np.zeros((len(models.W), chains, models.visible_units), models.W.dtype, like=models.W)
        kernels_for(visible).sample_bernoulli(visible, models.b[:1] + 0 * models.b, stream.next())
        return visible

    def advance(self, visible: Array, rounds: int, stream: Stream) -> np.ndarray:
        """Make rounds; ``visible`` (levels, chains, m) is changed in place. 2 + 2 k draws are taken per round.

        Returns
        -------
        ndarray, float64 (rounds, levels - 1, 2, chains)
            F_l(x) - F_(l+1)(x) in nats, before the exchange of levels l and l + 1, for the states x of level l and
            for those of level l + 1: see `acceptance` and `rbmbench.likelihood.bennett_log_partition`.
        """
        differences = np.empty((rounds, len(self.models.W) - 1, 2, visible.shape[1]))
        states = contiguous(visible, self.models.W.dtype, self.models.W)
        for difference in differences:
            self._exchange(states, stream, difference)
            for _ in range(self.k):
                hidden = sample_hidden(self.models, states, stream, self._buffers)
                states[...] = sample_visible(self.models, hidden, stream, self._buffers)
        visible[...] = states
        return differences

    def _exchange(self, visible: Array, stream: Stream, differences: np.ndarray) -> None:
        energies = free_energies(self.models, visible, self._buffers)
        draws = stream.next(), stream.next()
        for first, (lower, upper) in enumerate(self._pairs):
            uniforms = kernels_for(visible).uniforms(draws[first], visible.shape[1], np.float64)
            low, high = slice(first, len(visible) - 1, 2), slice(first + 1, None, 2)
            x, y = visible[low], visible[high]
            upper_x = free_energies(upper, x, self._buffers)
            lower_y = free_energies(lower, y, self._buffers)
            difference_x, difference_y = energies[low] - upper_x, lower_y - energies[high]
            accepted = exchanges(difference_x - difference_y, uniforms[low])
            swapped = accepted[..., None]
            visible[low], visible[high] = np.where(swapped, y, x), np.where(swapped, x, y)
            energies[low] = np.where(accepted, lower_y, energies[low])
            energies[high] = np.where(accepted, upper_x, energies[high])
            differences[first::2] = on_host(np.stack([difference_x, difference_y], axis=1))


def exchanges(log_ratio: Array, uniforms: Array) -> Array:
    """Return whether the Metropolis rule accepts exchanges, from the logarithms of ratios and uniforms in (0, 1)."""
    return np.log(uniforms) < log_ratio


def expected_acceptance(log_weights: np.ndarray) -> float:
    """Return the acceptance of exchanges between models a and b, estimated from samples of a alone.

    ``log_weights`` (samples,) is F_a(x) - F_b(x). With weights w = p_b / p_a up to a factor, the acceptance is

        E min(1, w(y) / w(x)) = sum_ij min(w_i, w_j) / (N sum_i w_i),    x ~ p_b, y ~ p_a,

    which is one minus the Gini coefficient of the weights.
    """
    weights = np.sort(np.exp(log_weights - log_weights.max()))
    larger = 2 * np.arange(len(weights), 0, -1) - 1
    return float(weights @ larger / (len(weights) * weights.sum()))


def resampled(log_weights: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Return indices drawn with probabilities proportional to weights, by inversion of ``uniforms``."""
    cumulative = np.cumsum(np.exp(log_weights - log_weights.max()))
    return np.minimum(np.searchsorted(cumulative, uniforms * cumulative[-1], side="right"), len(cumulative) - 1)


def choose_ladder(
    models: RBM, target: float = 0.25, chains: int = 200, rounds: int = 100, k: int = 1, seed: int = 0
) -> tuple[list[int], np.ndarray]:
    """Choose the levels of a ladder among models along a trajectory, from the first to the last.

    From each level, the next one is the last model before the expected acceptance falls below ``target``, but at least
    the next model, even if its acceptance is lower. Its chains start at weighted states of the level below, and the
    ladder so far makes ``rounds`` rounds. As the acceptance is estimated from the level below, a mode that first
    appears between two models is not noticed: modes have to grow continuously, as those of a slow training do.

    Parameters
    ----------
    models : RBM
        With one leading axis; the first has W = 0, see `rbmbench.model.trajectories.from_independent`.
    target : float
        Least acceptance of exchanges, from 0 to 1.
    chains, rounds, k : int
        Chains per level, rounds after each new level, Gibbs steps per round.
    seed : int

    Returns
    -------
    levels : list of int
        Indices into the models.
    visible : ndarray, shape (levels, chains, m)
        States of the chains of all levels, near equilibrium.

    Raises
    ------
    SettingsError
        If the first model has weights, or an argument is not allowed.
    """
    chains, rounds = positive_integer("chains", chains), positive_integer("rounds", rounds, least=0)
    target = number_within("target", target, 1)
    if models.W.ndim != 3 or len(models.W) < 2 or np.any(models.W[0]):
        raise SettingsError("models: must begin with W = 0")
    buffers, stream = Buffers(), Stream(seed, range(len(models.W)), Purpose.SAMPLES)
    first = Stream(seed, range(2), Purpose.SAMPLES, stream.next().number)
    visible = TrajectoryTempering(models[:2]).start(chains, first)
    levels, visible = [0], visible[:1]
    while levels[-1] < len(models.W) - 1:
        level = models[levels[-1]].replicas
        energies = free_energies(level, visible[-1:], buffers)[0]
        for candidate in range(levels[-1] + 1, len(models.W)):
            log_weight = energies - free_energies(models[candidate].replicas, visible[-1:], buffers)[0]
            if candidate > levels[-1] + 1 and expected_acceptance(log_weight) < target:
                break
            chosen, log_weights = candidate, log_weight
        uniforms = kernels_for(visible).uniforms(stream.next(), chains, np.float64)[chosen]
        levels.append(chosen)
        visible = np.concatenate([visible, visible[-1:, resampled(log_weights, uniforms)]])
        ladder_stream = Stream(seed, levels, Purpose.SAMPLES, stream.number)
        TrajectoryTempering(models[levels], k).advance(visible, rounds, ladder_stream)
        stream.number = ladder_stream.number
    return levels, visible
