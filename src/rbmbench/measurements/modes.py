# SPDX-License-Identifier: BSD-3-Clause
"""Modes that a model lacks or invents: rows and samples of the model, counted in regions of the states.

Regions are the cells of the states nearest, in Hamming distance, to each of some centres, and the states v above some
quantiles of the free energy F(v) of samples. Centres are drawn from rows and samples that are not counted, each with a
probability proportional to its distance from the nearest one drawn before, so that distant modes have cells.

Mass is missing from a region if the share p of the rows there exceeds `RATIO` times that q of the samples, and
spurious if q exceeds `RATIO` times p. Given x + y, the count x of a region that has ratio r = `RATIO` is binomial,

    x ~ Binomial(x + y, r X / (r X + Y)),    x of X rows and y of Y samples, or the reverse,

for X and Y much larger than x and y. A region counts if the upper tail is below LEVEL / 2, divided by the number of
regions. So a model whose mass in every region is within a factor of `RATIO` of that of the rows has a region that
counts with probability `LEVEL` at most, and no difference alone is a fault.

Samples of one chain depend on each other: counts of samples, and their number, are divided by the variance of the
counts of chains relative to that of independent samples, where it exceeds 1.

Source: Arthur, Vassilvitskii 2007 (centres); Richardson, Weiss 2018 (counts in cells); Przyborowski, Wilenski 1940
(conditional test).
"""

import numpy as np
from scipy.special import betainc, betaincinv

from rbmbench.measurements.distances import differing, spread
from rbmbench.model.rbm import RBM

LEVEL = 0.01
"""Probability that mass is reported which is not off by `RATIO`, of a certificate; 1 less that of its intervals."""
POWER = 0.9
"""Probability with which a mode of the stated size is found."""
RATIO = 3.0
SHARES = 0.05, 0.01
"""Of mass missing or spurious, at least: not certified, doubtful."""
CELLS = 64
TAILS = 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999
"""Quantiles of the free energy of samples."""
TESTS = CELLS + len(TAILS)
APART = 5
"""Of so many training rows and chains, one is for centres alone."""
MOST_ROWS = 10_000
LEAST = 1e-9


def mass_of_modes(
    rbm: RBM, samples: np.ndarray, data: np.ndarray, test: np.ndarray | None, uniforms: np.ndarray
) -> dict[str, float]:
    """Return the mass that samples of a model lack, or have too much of, beside training rows and beside test rows.

    Parameters
    ----------
    rbm : RBM
        One leading axis of one model.
    samples : ndarray, shape (chains, samples of a chain, m)
        Samples of chains that are independent of each other. Every fifth chain is for centres alone.
    data : ndarray, shape (rows, m)
        The training rows. Every fifth of them is for centres alone.
    test : ndarray, shape (rows, m), optional
        Rows that were not trained on.
    uniforms : ndarray, shape (`CELLS`,)
        Random numbers in (0, 1), for centres.

    Returns
    -------
    dict
        missing and spurious: the share of the rows, and of the samples, in the regions that count; with _low and _high:
        its interval, of level 1 - `LEVEL`, with _low 0 if no region counts; with _detectable: the least share that is
        found with probability `POWER`, of a mode that has a region for itself and no mass on the other side, 1 if there
        is none. An interval ends there or above. The names are preceded by ``test_`` where rows are test rows.
    """
    spare, samples = samples[::APART], np.delete(samples, np.s_[::APART], axis=0)
    spare = spare.reshape(-1, spare.shape[-1])
    centres = spread_centres(np.concatenate([spread(data[::APART], len(spare)), spare]), uniforms)
    rows = {"": np.delete(data, np.s_[::APART], axis=0)} | ({} if test is None else {"test_": test})
    found = {}
    for name, part in rows.items():
        compared = _compared(rbm, spread(part, MOST_ROWS), samples, centres)
        found |= {f"{name}{quantity}": value for quantity, value in compared.items()}
    return found


def _compared(rbm: RBM, rows: np.ndarray, samples: np.ndarray, centres: np.ndarray) -> dict[str, float]:
    """Return the mass that is missing and spurious, from rows and samples (chains, samples of a chain, m)."""
    # Equal states have equal energies to so many digits, wherever they are computed.
    energies = [np.round(rbm.astype(np.float64)[0].free_energy(states), 6) for states in (rows, samples)]
    tails = np.quantile(energies[1], TAILS)
    in_rows, in_samples = (
        np.concatenate([_cells(states, centres), energy[..., None] > tails], axis=-1)
        for states, energy in zip((rows, samples), energies, strict=True)
    )
    sizes = len(rows), samples[..., 0].size / _dispersion(in_samples)
    counts = in_rows.sum(axis=0), in_samples.mean(axis=(0, 1)) * sizes[1]
    typical = len(rows), float(np.median(sizes[1]))
    found = {}
    for name, own, other, inside in (("missing", 0, 1, in_rows), ("spurious", 1, 0, in_samples)):
        tail = binomial_tail(counts[own], counts[other], _chance(sizes[own], sizes[other]))
        mass = inside[..., tail < LEVEL / 2 / TESTS].any(axis=-1)
        size = mass.size / (_dispersion(mass[..., None])[0] if name == "spurious" else 1)
        low, high = _interval(mass.mean() * size, size)
        least = detectable(typical[own], typical[other])
        found |= {name: mass.mean(), f"{name}_low": low, f"{name}_high": max(high, least)}
        found[f"{name}_detectable"] = least
    return found


def detectable(own: float, other: float) -> float:
    """Return the least share of ``own`` states that is found with probability `POWER`, with none of ``other`` there."""
    counts = np.arange(1, int(own) + 1)
    found = binomial_tail(counts, 0, _chance(own, other)) < LEVEL / 2 / TESTS
    judged = counts[found & (_interval(counts, own)[0] > SHARES[1])]
    return float(betaincinv(judged[0], own - judged[0] + 1, POWER)) if len(judged) else 1.0


def binomial_tail(own: np.ndarray, other: np.ndarray | float, chance: np.ndarray | float) -> np.ndarray:
    """Return P(X >= own) of X ~ Binomial(own + other, chance), for numbers that need not be whole."""
    return np.where(own > 0, betainc(np.maximum(own, LEAST), other + 1, chance), 1.0)


def _chance(own, other):
    return RATIO * own / (RATIO * own + other)


def spread_centres(states: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Return different ones of the states (states, m), (at most uniforms, m), drawn with uniforms."""
    chosen, nearest = [], np.ones(len(states))
    for uniform in uniforms:
        ends = np.cumsum(nearest)
        if not ends[-1]:
            break
        chosen.append(int(np.searchsorted(ends, uniform * ends[-1], side="right")))
        apart = differing(states, states[chosen[-1:]])[:, 0]
        nearest = np.minimum(nearest, apart) if len(chosen) > 1 else apart.astype(np.float64)
    return states[chosen]


def _cells(states: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Return whether states (..., m) are in cells, (..., centres); of cells as near, in the first one."""
    cells = differing(states.reshape(-1, states.shape[-1]), centres).argmin(axis=1)
    return (cells[:, None] == np.arange(len(centres))).reshape(*states.shape[:-1], len(centres))


def _dispersion(inside: np.ndarray) -> np.ndarray:
    """Return variances of counts of chains relative to independent samples, at least 1; (chains, each, regions)."""
    chains, each, _ = inside.shape
    if chains < 2:
        return np.full(inside.shape[-1], float(each))
    share = inside.mean(axis=(0, 1))
    independent = np.maximum(share * (1 - share), LEAST) / each
    return np.maximum(inside.mean(axis=1).var(axis=0, ddof=1) / independent, 1.0)


def _interval(count: np.ndarray | float, size: float) -> tuple[np.ndarray, np.ndarray]:
    """Return Clopper and Pearson's interval of level 1 - `LEVEL` for shares."""
    low = betaincinv(np.maximum(count, LEAST), size - count + 1, LEVEL / 2)
    high = betaincinv(count + 1, np.maximum(size - count, LEAST), 1 - LEVEL / 2)
    return np.where(count > 0, low, 0.0), np.where(count < size, high, 1.0)
