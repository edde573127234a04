# SPDX-License-Identifier: BSD-3-Clause
"""Certificates of small models of which everything is known; docs/reliability.md has the same for many more."""

import sys
from importlib import import_module

import pytest
from scipy.stats import binom

MODELS = 10  # of each group
SEED = 3  # not that of the table in docs/reliability.md, nor that by which thresholds were set
ERROR_RATE = 1e-3
"""Probability that a test fails although the promise holds."""
FAULTS = ["far from equilibrium", "wrong temperature", "hidden mode"]


@pytest.fixture(scope="module")
def examined(repository):
    """Return the verdicts on models of a group, by the usual budget."""
    sys.path.insert(0, str(repository / "benchmarks"))
    try:
        certificates = import_module("certificates")
    finally:
        sys.path.remove(str(repository / "benchmarks"))
    usual = {"usual": certificates.BUDGETS["usual"]}

    def examined(group):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(certificates, "BUDGETS", usual)
            return [one for number in range(MODELS) for one in certificates.examined(group, SEED, number)]

    return examined


def most(count, rate):
    """Return the number that a binomial count exceeds with the error rate."""
    return binom.isf(ERROR_RATE, count, rate)


@pytest.mark.slow
def test_at_most_one_sound_model_of_twenty_is_refused(examined):
    found = examined("sound")
    refused = [one["how"] for one in found if one["verdict"] == "not certified"]
    assert len(refused) <= most(len(found), 0.05), refused
    sure = [one["holds"] for one in found if one["verdict"] == "certified"]
    assert len(sure) - sum(sure) <= most(len(sure), 0.07)


@pytest.mark.slow
def test_at_most_one_planted_fault_of_twenty_is_certified(examined):
    found = [one for group in FAULTS for one in examined(group)]
    certified = [one["how"] for one in found if one["verdict"] == "certified"]
    assert len(certified) <= most(len(found), 0.05), certified
