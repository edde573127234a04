"""Two-sided confidence intervals at `LEVEL` for numbers from a few trials or trained models."""

from collections.abc import Callable

import numpy as np

# scipy.stats is imported where it is used: it takes most of a second, and checking claims needs no intervals.

LEVEL = 0.95
RESAMPLES = 2000
NAN = float("nan")


def student(values: np.ndarray) -> tuple[float, float, float]:
    """Return the mean of independent values and Student's interval for it.

    Parameters
    ----------
    values : array_like, shape (trials,)
        Finite numbers. With fewer than two the ends of the interval are NaN.
    """
    from scipy import stats

    values = np.asarray(values, dtype=float)
    if len(values) < 2:
        return (float(values.mean()) if len(values) else NAN), NAN, NAN
    mean, error = values.mean(), values.std(ddof=1) / np.sqrt(len(values))
    half = error * stats.t.ppf((1 + LEVEL) / 2, len(values) - 1)
    return float(mean), float(mean - half), float(mean + half)


def bootstrap(curves: np.ndarray, statistic: Callable[[np.ndarray], np.ndarray]) -> tuple[float, float, float]:
    """Return a statistic of mean curves and its percentile bootstrap interval over the trials.

    Parameters
    ----------
    curves : array, shape (trials, ...)
        One curve, or several stacked, per trial; whole trials are drawn with replacement.
    statistic : callable
        Takes mean curves of shape (resamples, ...) and returns one number per resample.

    Returns
    -------
    tuple of float
        The statistic of the mean over all trials, low, high. With fewer than two trials the ends are NaN. The resamples
        are the same at every call.
    """
    curves = np.asarray(curves, dtype=float)
    trials = len(curves)
    value = float(statistic(curves.mean(axis=0)[None])[0]) if trials else NAN
    if trials < 2:
        return value, NAN, NAN
    draws = np.random.default_rng(0).multinomial(trials, np.full(trials, 1 / trials), size=RESAMPLES) / trials
    return value, *_ends(statistic(np.tensordot(draws, curves, 1)))


def _ends(resamples: np.ndarray) -> tuple[float, float]:
    """Return the ends of the percentile interval; without interpolation, which fails between two infinite values."""
    low, high = np.quantile(resamples, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], method="inverted_cdf")
    return float(low), float(high)


def resampled(values: np.ndarray, statistic: Callable[[np.ndarray], np.ndarray]) -> tuple[float, float, float]:
    """Return a statistic of the trials themselves, such as a quantile, and its interval as in `bootstrap`.

    Parameters
    ----------
    values : array, shape (trials, ...)
    statistic : callable
        Takes trials of shape (resamples, trials, ...) and returns one number per resample.
    """
    values = np.asarray(values, dtype=float)
    value = float(statistic(values[None])[0])
    if len(values) < 2:
        return value, NAN, NAN
    drawn = np.random.default_rng(0).integers(len(values), size=(RESAMPLES, len(values)))
    return value, *_ends(statistic(values[drawn]))


def share(successes: int, trials: int) -> tuple[float, float, float]:
    """Return a share and its exact interval by Clopper and Pearson."""
    from scipy import stats

    found = stats.binomtest(successes, trials).proportion_ci(LEVEL, method="exact")
    return successes / trials, float(found.low), float(found.high)


def variance(value: float, samples: int) -> tuple[float, float, float]:
    """Return a sample variance and its interval by the chi-squared distribution, conservative as in `variance_ratio`.

    ``samples`` is the number of independent estimates, at least 2.
    """
    from scipy import stats

    low, high = stats.chi2.ppf([(1 + LEVEL) / 2, (1 - LEVEL) / 2], samples - 1)
    return value, value * (samples - 1) / float(low), value * (samples - 1) / float(high)


def variance_ratio(above: float, below: float, samples: int) -> tuple[float, float, float]:
    """Return the ratio of two sample variances and its interval by the F distribution.

    The interval is that for a single normal variable. A variance summed over many parameters is known more precisely,
    so that the interval is conservative. ``samples`` is the number of independent estimates of each, at least 2.
    """
    from scipy import stats

    ratio = above / below if below > 0 else NAN
    edge = float(stats.f.ppf((1 + LEVEL) / 2, samples - 1, samples - 1))
    return ratio, ratio / edge, ratio * edge
