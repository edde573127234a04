# SPDX-License-Identifier: BSD-3-Clause
"""Two-sided confidence intervals for numbers from a few trials or trained models, at the level of `base.metrics`.

Fewer than `FEWEST` trials give no interval: its ends are NaN. All intervals are the same at every call.
"""

from collections.abc import Callable, Sequence
from itertools import islice, product

import numpy as np
import scipy  # scipy.special is imported at its first use; scipy.stats, of the same quantiles, takes most of a second

from rbmbench.base.metrics import TAILS

FEWEST = 3
DRAWS = 4000
BLOCK_DRAWS = 500  # curves of many evaluations are drawn in blocks, to bound the memory
UNBOUNDED, INFINITE = 1e12, 1e8
"""Replacement of an infinite error of an estimate, nats; statistics from which on they count as infinite."""
MOST_STARTS, MOST_PASSES = 1000, 200
NAN = float("nan")

Interval = tuple[float, float, float]
"""A number, and the lower and the upper end of its interval."""


def student(values: np.ndarray) -> Interval:
    """Return the mean of independent values and Student's interval for it.

    Parameters
    ----------
    values : array_like, shape (trials,)
        Finite numbers.
    """
    values = np.asarray(values, dtype=float)
    mean = float(values.mean()) if len(values) else NAN
    if len(values) < FEWEST:
        return mean, NAN, NAN
    half = values.std(ddof=1) / np.sqrt(len(values)) * scipy.special.stdtrit(len(values) - 1, TAILS[1])
    return mean, float(mean - half), float(mean + half)


def of_means(curves: np.ndarray, statistic: Callable[[np.ndarray], np.ndarray]) -> Interval:
    """Return a statistic of mean curves and its interval over the trials.

    The mean curve is drawn from Student's distribution around the mean of the trials,

        mean + sum_i g_i (x_i - mean) / sqrt(n (n - 1)) * sqrt((n - 1) / q),    g_i ~ N(0, 1),  q ~ chi2(n - 1),

    and the ends are quantiles of its statistic. For a linear statistic they are those of `student`; a bootstrap of few
    trials is too narrow.

    Parameters
    ----------
    curves : array, shape (trials, ...)
        One curve, or several stacked, per trial.
    statistic : callable
        Takes mean curves of shape (draws, ...) and returns one number per draw.
    """
    curves = np.asarray(curves, dtype=float)
    trials = len(curves)
    value = float(statistic(curves.mean(axis=0)[None])[0]) if trials else NAN
    if trials < FEWEST:
        return value, NAN, NAN
    mean, generator, half = curves.mean(axis=0), np.random.default_rng(0), DRAWS // 2
    scale = scipy.special.chdtri(trials - 1, (generator.permutation(half) + 0.5) / half)
    weights = generator.standard_normal((half, trials)) / np.sqrt(trials * scale)[:, None]
    weights = np.concatenate([weights, -weights])
    drawn = [
        statistic(mean + np.tensordot(weights[first : first + BLOCK_DRAWS], curves - mean, 1))
        for first in range(0, DRAWS, BLOCK_DRAWS)
    ]
    # Without interpolation, which fails between two infinite values.
    low, high = np.quantile(np.concatenate(drawn), TAILS, method="inverted_cdf")
    return value, float(low), float(high)


def of_errors(curve: np.ndarray, errors: np.ndarray, statistic: Callable[[np.ndarray], np.ndarray]) -> Interval:
    """Return a statistic of one curve (evaluations,) whose values have normal, independent errors, and its interval.

    ``errors`` (evaluations,) are their standard errors; for ``statistic`` see `of_means`.
    """
    normal = np.random.default_rng(0).standard_normal((DRAWS // 2, len(curve)))
    drawn = statistic(curve + np.concatenate([normal, -normal]) * errors)
    low, high = np.quantile(drawn, TAILS, method="inverted_cdf")
    return float(statistic(curve[None])[0]), float(low), float(high)


def extremes(
    curves: Sequence[np.ndarray], doubts: Sequence[np.ndarray], statistic: Callable[[np.ndarray], np.ndarray]
) -> Interval:
    """Return a statistic of curves, and approximately its smallest and largest value within their doubts.

    ``doubts`` (2, evaluations) are the largest errors of a curve (evaluations,) below and above; for ``statistic``, of
    all curves one after the other, see `of_means`. The search begins with each curve itself, its lower or its upper
    end, in up to `MOST_STARTS` combinations, and changes single values.
    """
    curve, lengths = np.concatenate(curves), [*map(len, curves)]
    steps = np.minimum(np.concatenate(doubts, axis=1), UNBOUNDED)
    choices = np.stack([curve, curve - steps[0], curve + steps[1]])
    combinations = islice(product(range(3), repeat=len(curves)), MOST_STARTS)
    starts = np.stack([choices[np.repeat(ends, lengths), np.arange(len(curve))] for ends in combinations])
    low, high = (sign * _largest(lambda drawn, sign=sign: sign * statistic(drawn), choices, starts) for sign in (-1, 1))
    return float(statistic(curve[None])[0]), low, high


def _largest(statistic: Callable[[np.ndarray], np.ndarray], choices: np.ndarray, tried: np.ndarray) -> float:
    """Return the largest statistic of a search in which every value is one of its choices (3, evaluations)."""
    moved, value = np.flatnonzero(np.ptp(choices, axis=0)), -np.inf
    rows, columns = np.arange(3 * len(moved)), np.tile(moved, 3)
    for _ in range(MOST_PASSES):
        values = np.nan_to_num(statistic(tried), nan=-np.inf)
        if values.max() <= value:
            break
        best, value = tried[values.argmax()], values.max()
        tried = np.repeat(best[None], len(rows), axis=0)
        tried[rows, columns] = choices[:, moved].ravel()
    return float(value) if abs(value) < INFINITE else float(np.copysign(np.inf, value))


def of_trials(values: np.ndarray, statistic: Callable[[np.ndarray], np.ndarray]) -> Interval:
    """Return a statistic of the trials, such as a distance of quantiles, and its interval.

    It is Student's, with the standard error of a bootstrap over whole trials.

    Parameters
    ----------
    values : array, shape (trials, ...)
    statistic : callable
        Takes trials of shape (draws, trials, ...) and returns one number per draw; best on a scale on which its
        spread depends little on its value, such as the logarithm of a ratio.
    """
    values = np.asarray(values, dtype=float)
    value, trials = float(statistic(values[None])[0]), len(values)
    drawn = np.random.default_rng(0).integers(trials, size=(DRAWS, trials))
    error = statistic(values[drawn]).std(ddof=1)
    if trials < FEWEST or not np.isfinite(error):
        return value, NAN, NAN
    half = error * np.sqrt(trials / (trials - 1)) * scipy.special.stdtrit(trials - 1, TAILS[1])
    return value, float(value - half), float(value + half)


def quantile(values: np.ndarray, share: float) -> Interval:
    """Return a quantile of independent values and its exact interval between two of them.

    An end is infinite if there are too few values: both ends of a median require six.
    """
    ordered = np.sort(np.asarray(values, dtype=float))
    value, count = float(np.quantile(ordered, share)), len(ordered)
    if count < FEWEST:
        return value, NAN, NAN
    # P(x_(i) > quantile) = P(fewer than i of the values lie below it), i = 1, ..., count.
    above = scipy.special.bdtr(np.arange(count), count, share)
    certain_low, certain_high = np.flatnonzero(above <= TAILS[0]), np.flatnonzero(above >= TAILS[1])
    low = ordered[certain_low[-1]] if len(certain_low) else -np.inf
    high = ordered[certain_high[0]] if len(certain_high) else np.inf
    return value, float(low), float(high)


def ratio_of_times(pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> Interval:
    """Return the ratio of the times of two computations and its interval, from rounds with a turn of both.

    It is the geometric mean over rounds and pairs; the interval is Student's over the rounds, of the mean logarithm of
    a round's ratios. When CD-1 was timed against itself in 40 rounds, beside other work, it contained 1 in 29 of 30
    trials with 16 x 16 units and in 8 of 11 with 784 x 16, with errors of up to 2.3 %: the speed of memory can differ
    between processes. The exact interval of the median contained 1 in 28 and 10, and was a fifth wider, although single
    turns had errors of up to 56 %. Differences of 2 % are therefore not significant.

    Parameters
    ----------
    pairs : sequence of pairs of arrays, shape (rounds,)
        Seconds of both, one pair for each panel.
    """
    logs = np.mean([np.log(np.divide(*pair)) for pair in pairs], axis=0)
    return tuple(np.exp(student(logs)).tolist())


def range_of(ratios: Sequence[float]) -> Interval:
    """Return the geometric mean of ratios, with the smallest and the largest one."""
    return float(np.exp(np.mean(np.log(ratios)))), min(ratios), max(ratios)


def share(successes: float, trials: float) -> Interval:
    """Return a share and its exact interval by Clopper and Pearson; for counts that are no integers, its extension."""
    low, high = TAILS
    lower = scipy.special.betaincinv(successes, trials - successes + 1, low) if successes > 0 else 0.0
    upper = scipy.special.betaincinv(successes + 1, trials - successes, high) if successes < trials else 1.0
    return successes / trials, float(lower), float(upper)


def variance(value: float, samples: int) -> Interval:
    """Return a sample variance and its interval by the chi-squared distribution, conservative as in `variance_ratio`.

    ``samples`` is the number of independent estimates, at least 2.
    """
    low, high = scipy.special.chdtri(samples - 1, TAILS)
    return value, value * (samples - 1) / float(low), value * (samples - 1) / float(high)


def variance_ratio(above: float, below: float, samples: int) -> Interval:
    """Return the ratio of two sample variances and its interval by the F distribution.

    The interval is that for a single normal variable. A variance summed over many parameters is more precise, so that
    the interval is conservative. ``samples`` is the number of independent estimates of each, at least 2.
    """
    ratio = above / below if below > 0 else NAN
    edge = float(scipy.special.fdtri(samples - 1, samples - 1, TAILS[1]))
    return ratio, ratio / edge, ratio * edge
