# SPDX-License-Identifier: BSD-3-Clause
"""Modes that a model lacks or invents: rows and samples of the model, counted in regions of states.

Regions are the cells of the states nearest, in Hamming distance, to each of some centres, which differ in more than an
eighth of the units: noise around a mode is no mode. Mass that is missing is also looked for in the states above some
quantiles of the free energy F(v) of samples. Mass is missing from a region if the share of the rows there exceeds
`RATIO` times that of the samples, and spurious in the reverse case. At exactly `RATIO` = r, x of X rows and y of Y
samples (or the reverse) in a region have, given x + y and for small shares,

    x ~ Binomial(x + y, r X / (r X + Y)).

A region counts if the upper tail is below LEVEL / 2 over the number of regions. So of a model whose mass is within a
factor of r everywhere a region counts with probability `LEVEL` at most, and no difference alone is a fault.

Counts of samples are divided by the variance between chains relative to that of independent samples, if above 1.

Source: Richardson, Weiss 2018 (counts in cells); Przyborowski, Wilenski 1940 (conditional test); Arthur, Vassilvitskii
2007 (centres).
"""

import numpy as np
import scipy  # scipy.special is imported at its first use

from rbmbench.measurements.distances import differing, spread
from rbmbench.model.rbm import RBM

LEVEL = 0.01  # of the test of a model, both directions and all regions together; intervals have 1 - `LEVEL`
POWER = 0.9
RATIO = 3.0
SHARES = 0.05, 0.01  # least share of mass missing or spurious: not certified, doubtful
CELLS, WIDTH = 32, 8
TAILS = 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999  # quantiles of the free energy
OF_REGION = LEVEL / 2 / (CELLS + len(TAILS))
APART = 5  # every fifth training row and chain is used for centres only
LEAST_ROWS, MOST_ROWS = 200, 5000  # least held-out rows, most rows that are counted


def mass_of_modes(
    rbm: RBM, samples: np.ndarray, data: np.ndarray, test: np.ndarray | None, uniforms: np.ndarray
) -> dict[str, float]:
    """Return the mass that samples of a model lack, or have too much of, beside rows.

    Parameters
    ----------
    rbm : RBM
        One leading axis of one model.
    samples : ndarray, shape (chains, samples of a chain, m)
        Samples of independent chains.
    data, test : ndarray, shape (rows, m)
        The training rows, and optional rows that were not trained on: ignored if fewer than `LEAST_ROWS`. A region
        counts if it does beside both, so that overfitting is no fault.
    uniforms : ndarray, shape (`CELLS`,)
        Random numbers in (0, 1), for centres.

    Returns
    -------
    dict
        compared_rows, held_out (1 if these are test rows); missing and spurious: shares of these rows, and of samples,
        in the regions that count, each also with _low and _high (its interval) and _detectable: the least share of a
        mode that is found with probability `POWER` if it fills a region that is empty on the other side; 1 if none is.
        Intervals end there or above.
    """
    spare, samples = samples[::APART].reshape(-1, samples.shape[-1]), np.delete(samples, np.s_[::APART], axis=0)
    centres = spread_centres(np.concatenate([spread(data[::APART], len(spare)), spare]), uniforms)
    counted = np.delete(np.arange(len(data)), np.s_[::APART])
    states = [data[spread(counted, MOST_ROWS)]]
    if held_out := test is not None and len(test) >= LEAST_ROWS:
        states.append(spread(test, MOST_ROWS))
    # Equal states have equal energies to these digits in all batches.
    model = rbm.astype(np.float64)[0]
    energies = [np.round(model.free_energy(states_of_set), 6) for states_of_set in (samples, *states)]
    tails = np.quantile(energies[0], TAILS)
    in_samples, *in_rows = (
        np.concatenate([_cells(states_of_set, centres), energy[..., None] > tails], axis=-1)
        for states_of_set, energy in zip((samples, *states), energies, strict=True)
    )
    size = samples[..., 0].size / _dispersion(in_samples)
    sample_counts = in_samples.mean(axis=(0, 1)) * size, size
    pairs = [((inside.sum(axis=0), len(inside)), sample_counts) for inside in in_rows]
    masses = {"compared_rows": float(len(in_rows[-1])), "held_out": float(held_out)}
    for name, way, inside in (("missing", 1, in_rows[-1]), ("spurious", -1, in_samples)):
        counts = np.all([_exceeds(*pair[::way]) for pair in pairs], axis=0)
        counts &= (way > 0) | (np.arange(len(counts)) < len(centres))
        mass = inside[..., counts].any(axis=-1)
        number = mass.size / (_dispersion(mass[..., None])[0] if way < 0 else 1)
        count, complement = number * mass.mean(), number * (1 - mass.mean())
        low = scipy.special.betaincinv(count, complement + 1, LEVEL / 2) if count else 0.0
        high = scipy.special.betaincinv(count + 1, complement, 1 - LEVEL / 2) if complement else 1.0
        least = max(detectable(*(float(np.median(total)) for _, total in pair[::way])) for pair in pairs)
        masses |= {name: mass.mean(), f"{name}_low": low, f"{name}_high": max(high, least)}
        masses[f"{name}_detectable"] = least
    return masses


def detectable(size: float, other_size: float) -> float:
    """Return the least share of ``size`` states that is found with probability `POWER` if no other state is there."""
    counts = np.arange(1, int(size) + 1)
    judged = _tail(counts, size - counts, SHARES[1]) < LEVEL / 2  # the interval is above it
    least = counts[_exceeds((counts, size), (0, other_size)) & judged][:1]
    return float(scipy.special.betaincinv(least[0], size - least[0] + 1, POWER)) if len(least) else 1.0


def _exceeds(side: tuple, other: tuple) -> np.ndarray:
    """Return whether shares, from counts and numbers of states, exceed `RATIO` times other ones."""
    chance = RATIO * side[1] / (RATIO * side[1] + other[1])
    return _tail(side[0], other[0], chance) < OF_REGION


def _tail(count, complement, chance) -> np.ndarray:
    """Return P(X >= count), X ~ Binomial(count + complement, chance), for numbers that need not be whole."""
    return np.where(count > 0, scipy.special.betainc(np.maximum(count, 1e-9), complement + 1, chance), 1.0)


def spread_centres(states: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Return states that differ in more than 1 of `WIDTH` units, each drawn with a probability like its distance."""
    chosen = [int(uniforms[0] * len(states))]
    nearest = differing(states, states[chosen])[:, 0]
    for uniform in uniforms[1:]:
        ends = np.cumsum(np.where(nearest > states.shape[1] // WIDTH, nearest, 0), dtype=np.float64)
        if not ends[-1]:
            break
        chosen.append(int(np.searchsorted(ends, uniform * ends[-1], side="right")))
        nearest = np.minimum(nearest, differing(states, states[chosen[-1:]])[:, 0])
    return states[chosen]


def _cells(states: np.ndarray, centres: np.ndarray) -> np.ndarray:
    cells = differing(states.reshape(-1, states.shape[-1]), centres).argmin(axis=1)
    return (cells[:, None] == np.arange(len(centres))).reshape(*states.shape[:-1], len(centres))


def _dispersion(inside: np.ndarray) -> np.ndarray:
    """Return variances between chains relative to independent samples, at least 1, of (chains, samples, regions)."""
    if len(inside) < 2:
        return np.full(inside.shape[-1], float(inside.shape[1]))
    share = inside.mean(axis=(0, 1))
    independent = np.maximum(share * (1 - share), 1e-9) / inside.shape[1]
    return np.maximum(inside.mean(axis=1).var(axis=0, ddof=1) / independent, 1.0)
