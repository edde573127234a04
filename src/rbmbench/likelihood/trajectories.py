# SPDX-License-Identifier: BSD-3-Clause
"""log Z of the models along a trajectory that begins with W = 0, whose log Z is known.

With F_t the free energy of the visible units of model t, two estimators of the ratios of neighbours, Z_(t+1) / Z_t:

- The Bennett acceptance ratio (BAR), from equilibrium samples of both: the root r = log Z_(t+1) - log Z_t of

      E_t s(d(x) - r) = E_(t+1) s(r - d(x)),    d(x) = F_t(x) - F_(t+1)(x),    s(a) = 1 / (1 + exp(-a)).

- Annealed importance sampling along the trajectory instead of inverse temperatures: the log weight of a
  particle grows by d(x), and a Gibbs step of model t + 1 follows. Particles begin as exact samples of the first model.

Source: Bennett 1976; Shirts, Bair, Hooker, Pande 2003; Béreux, Decelle, Furtlehner, Rosset, Seoane 2024
(arXiv:2405.15376), where both are used along trajectories.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from rbmbench.base.errors import SettingsError
from rbmbench.base.registry import positive_integer
from rbmbench.base.streams import Purpose, Stream
from rbmbench.kernels import kernels_for, on_host
from rbmbench.likelihood.annealing import AnnealedEstimate, annealed_estimate, keys_of_models
from rbmbench.model.gibbs import Buffers, hidden_activation, sample_visible
from rbmbench.model.rbm import RBM
from rbmbench.model.trajectories import between, free_energies, independent_log_partition


class BennettEstimate(NamedTuple):
    """log Z of all models of a ladder and its standard error, nats, float64 (levels,)."""

    log_partition: np.ndarray
    standard_error: np.ndarray


def bennett_ratio(lower: np.ndarray, upper: np.ndarray) -> float:
    """Return the root r of the equation of neighbours, from d(x) of as many samples of model t + 1 as of model t."""
    from scipy.optimize import brentq

    least, most = min(lower.min(), upper.min()), max(lower.max(), upper.max())
    # The arrays are arguments: brentq leaves a reference cycle that would hold those of a closure.
    return brentq(_excess, least, most, args=(lower, upper), xtol=1e-12) if least < most else float(least)


def _excess(ratio: float, lower: np.ndarray, upper: np.ndarray) -> float:
    return float(_logistic(lower - ratio).mean() - _logistic(ratio - upper).mean())


def bennett_log_partition(log_start: float, differences: np.ndarray) -> BennettEstimate:
    """Return log Z of the models of a ladder by the Bennett acceptance ratio of neighbours.

    The standard error is that over the chains, which are independent of each other: rounds of a chain may be
    correlated, as may be its levels. The error of log Z at a level is the sum of those of the ratios below it, chain
    by chain. That of a ratio is half the range of d(x) if no sample lies between the two models.

    Parameters
    ----------
    log_start : float
        log Z of level 0, see `rbmbench.model.trajectories.independent_log_partition`.
    differences : ndarray, shape (rounds, levels - 1, 2, chains)
        d(x) in nats for equilibrium samples x of levels t and t + 1, as
        `rbmbench.samplers.TrajectoryTempering.advance` returns them; at least 2 chains.
    """
    differences = np.asarray(differences, np.float64)
    chains = differences.shape[-1]
    ratios, errors = [0.0], [np.zeros(chains)]
    for lower, upper in np.moveaxis(differences, 0, 2):
        ratio = bennett_ratio(lower, upper)
        up, down = _logistic(lower - ratio), _logistic(ratio - upper)
        slope = (up * (1 - up)).mean() + (down * (1 - down)).mean()
        ratios.append(ratio)
        if slope * up.size >= 2:
            errors.append((up - down).mean(axis=0) / slope)
        else:  # less than one sample lies between the two models: their ratio is somewhere in the range of d(x)
            half = np.ptp([lower, upper]) / 2 * np.sqrt(chains)
            errors.append(np.resize([half, -half], chains))
    summed = np.cumsum(errors, axis=0)
    return BennettEstimate(log_start + np.cumsum(ratios), summed.std(axis=-1, ddof=1) / np.sqrt(chains))


def acceptance(differences: np.ndarray) -> np.ndarray:
    """Return the mean probability of exchanges, (levels - 1,), from the differences of `bennett_log_partition`."""
    log_ratio = differences[:, :, 0] - differences[:, :, 1]
    return np.exp(np.minimum(log_ratio, 0)).mean(axis=(0, 2))


def _logistic(a: np.ndarray) -> np.ndarray:
    from scipy.special import expit

    return expit(a)


def trajectory_ais_log_partition(
    models: RBM, particles: int = 512, steps: int = 1, seed: int = 0, *, keys: Sequence[int] | None = None
) -> AnnealedEstimate:
    """Estimate log Z of all models of a trajectory by annealing particles along it.

    A step takes three products of the particles with W; one of `ais_log_partition`, where W does not change, takes two.

    Parameters
    ----------
    models : RBM
        Axes (models, ..., m, n): the trajectory, and further axes of models with particles of their own. W of the
        first models is 0.
    particles : int
        At least 2.
    steps : int
        Steps from each model to the next; the parameters of those between are interpolated.
    seed : int
    keys : sequence of int, optional
        Random key of each trajectory; by default its index.

    Returns
    -------
    AnnealedEstimate
        With the leading axes of the models.

    Raises
    ------
    SettingsError
        If the first models have weights, or an argument is not allowed.
    """
    particles, steps = positive_integer("particles", particles, least=2), positive_integer("steps", steps)
    if models.W.ndim < 3 or np.any(on_host(models.W[0])):
        raise SettingsError("models: must begin with W = 0")
    rbm, buffers = models[0].replicas, Buffers()
    stream = Stream(seed, keys_of_models(models[0], keys), Purpose.ANNEALING)
    visible = np.zeros((len(rbm.b), particles, rbm.visible_units), rbm.b.dtype, like=rbm.b)
    kernels_for(visible).sample_bernoulli(visible, rbm.b, stream.next())
    log_weights = [np.zeros((len(rbm.b), particles))]
    # With several threads, rounding would depend on their number.
    with threadpool_limits(1):
        for first, last in pairwise(models[t].replicas for t in range(len(models.W))):
            grown = log_weights[-1].copy()
            for step in range(steps):
                following = between(first, last, (step + 1) / steps)
                energies = free_energies(rbm, visible, buffers)
                activation = hidden_activation(following, visible, buffers)
                grown += on_host(energies - free_energies(following, visible, buffers, activation))
                kernels_for(activation).sample_bernoulli(activation, following.c, stream.next())
                visible, rbm = sample_visible(following, activation, stream, buffers), following
            log_weights.append(grown)
    log_start = on_host(independent_log_partition(models[0].replicas))
    return annealed_estimate(log_start, np.stack(log_weights), 1, models.W.shape[:-2])
