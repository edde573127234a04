# SPDX-License-Identifier: BSD-3-Clause
"""Intervals of statistics of a few trials: known values and coverage."""

import math

import numpy as np
import pytest
from scipy import stats

from rbmbench.reporting.claims import intervals

ERROR_RATE = 1e-6
LAWS = {"normal": (stats.norm(0, 1), 0.945), "skewed": (stats.expon(), 0.85), "heavy tails": (stats.t(3), 0.945)}
CASES = pytest.mark.parametrize(
    ("law", "trials"),
    [("normal", 3), ("normal", 11), ("skewed", 5), ("skewed", 25), ("heavy tails", 3), ("heavy tails", 25)],
)


def covers(interval, true):
    return interval[1] < true < interval[2]


def is_at_least(hits, repeats, rate):
    """Return whether this many hits agree with a rate of at least ``rate``, up to ERROR_RATE."""
    return stats.binom.cdf(hits, repeats, rate) > ERROR_RATE


@CASES
def test_coverage_of_intervals_of_means(law, trials):
    # Student's interval covers the mean of skewed samples in 88 to 92 of 100 cases.
    (law, rate), repeats = LAWS[law], 200
    samples = law.rvs((repeats, trials, 1), random_state=trials)
    assert is_at_least(sum(covers(intervals.student(x[:, 0]), law.mean()) for x in samples), repeats, rate)
    hits = sum(covers(intervals.of_means(x, lambda means: means[:, 0]), law.mean()) for x in samples)
    assert is_at_least(hits, repeats, rate)


@pytest.mark.parametrize("trials", [3, 5, 25])
def test_coverage_of_intervals_of_statistics_of_means(trials):
    # Declines of curves from their maximum, as shares of their rise: 3 evaluations with correlated errors.
    rng, repeats, mean = np.random.default_rng(trials), 200, np.array([0.0, 10.0, 8.0])
    curves = mean + rng.normal(size=(repeats, trials, 3)) + rng.normal(size=(repeats, trials, 1))

    def fall(means):
        with np.errstate(divide="ignore"):
            return (means.max(axis=1) - means[:, 2]) / (means.max(axis=1) - means[:, 0])

    assert is_at_least(sum(covers(intervals.of_means(sample, fall), 0.2) for sample in curves), repeats, 0.93)


def test_intervals_of_linear_statistics_are_those_of_student():
    values = np.random.default_rng(5).gamma(2, size=(7, 3))
    value, low, high = intervals.of_means(values, lambda means: means @ [1.0, -2.0, 0.5])
    assert (value, low, high) == pytest.approx(intervals.student(values @ [1.0, -2.0, 0.5]), rel=0.05)
    assert intervals.of_means(values, lambda means: means @ [1.0, -2.0, 0.5]) == (value, low, high)


@pytest.mark.parametrize("trials", [11, 25])
def test_coverage_of_intervals_of_ratios_of_bands(trials):
    repeats = 100
    samples = np.random.default_rng(trials).normal(size=(repeats, trials, 2)) * [2.0, 1.0]

    def log_ratio(values):
        low, high = np.quantile(values, [0.1, 0.9], axis=1)
        return np.log((high - low)[:, 0] / (high - low)[:, 1])

    hits = sum(covers(intervals.of_trials(sample, log_ratio), math.log(2)) for sample in samples)
    assert is_at_least(hits, repeats, 0.93)


@CASES
def test_coverage_of_intervals_of_quantiles(law, trials):
    (law, _), repeats = LAWS[law], 500
    samples = law.rvs((repeats, trials), random_state=trials)
    for share in (0.5, 0.9):
        hits = sum(covers(intervals.quantile(x, share), law.ppf(share)) for x in samples)
        assert is_at_least(hits, repeats, 0.95)


def test_intervals_of_medians_end_at_two_of_the_values():
    # P(at most 1 of 9 below the median) = 10 / 512 = 0.0195.
    assert intervals.quantile(np.arange(9.0), 0.5) == (4.0, 1.0, 7.0)
    assert intervals.quantile(np.arange(5.0), 0.5) == (2.0, -np.inf, np.inf)


def test_two_trials_have_no_interval():
    few = np.array([[1.0], [2.0]])
    estimates = [
        intervals.student(few[:, 0]),
        intervals.of_means(few, lambda means: means[:, 0]),
        intervals.of_trials(few, lambda values: values.mean(axis=(1, 2))),
        intervals.quantile(few[:, 0], 0.5),
    ]
    for value, low, high in estimates:
        assert value == 1.5
        assert np.isnan([low, high]).all()


def test_share_has_the_clopper_pearson_interval():
    # 0 of 10 is below 1 - 0.025^(1/10).
    assert intervals.share(0, 10) == pytest.approx((0.0, 0.0, 1 - 0.025**0.1))
    expected = stats.binomtest(7, 11).proportion_ci(0.95, method="exact")
    assert intervals.share(7, 11) == pytest.approx((7 / 11, expected.low, expected.high))


def test_student_interval_of_three_values():
    mean, low, high = intervals.student([1.0, 2.0, 3.0])
    half = 4.302652729911275 / math.sqrt(3)
    assert (mean, low, high) == pytest.approx((2.0, 2.0 - half, 2.0 + half))


def test_variance_intervals_are_those_of_chi_squared_and_f():
    expected = 2.0, 8 / stats.chi2(4).ppf(0.975), 8 / stats.chi2(4).ppf(0.025)
    assert intervals.variance(2.0, 5) == pytest.approx(expected)
    ratio, low, high = intervals.variance_ratio(2.0, 4.0, 5)
    assert ratio == 0.5
    assert (ratio / low, high / ratio) == pytest.approx((9.6045, 9.6045), rel=1e-4)
