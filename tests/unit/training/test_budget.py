# SPDX-License-Identifier: BSD-3-Clause
"""Runs with a budget of matrix products: they end at the iteration at which all trials have spent it."""

from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from core_helpers import binary_data

from rbmbench import estimators, train
from rbmbench.base.errors import StoppedError
from rbmbench.base.parsing import parse
from rbmbench.base.settings import Choice, RunSettings
from rbmbench.reporting.contests import products_of
from rbmbench.training import trainer

M, N, BATCH, TRIALS = 11, 5, 7, 3
ROWS = binary_data(29, M, 1)
OPTIONS = {"hidden": N, "batch": BATCH, "iterations": 40, "trials": TRIALS, "seed": 3, "evaluate_every": 4, "rate": 0.3}


def spent(curve, estimator):
    """Return the products of each trial until each evaluation, by the diagnostics of the curve."""
    cost = products_of(Choice(name=estimator), Choice(name="sgd"), (BATCH, M, N))
    wide = curve.pivot(index=["trial", "iteration"], columns="metric", values="value").reset_index()
    found = {}
    for trial, one in wide.groupby("trial"):
        steps = np.diff(one["iteration"])
        costs = [cost(row) for row in one.drop(columns=["trial", "iteration"]).to_dict("records")[1:]]
        found[trial] = np.concatenate([[0], np.cumsum(steps * costs)])
    return found, sorted(wide["iteration"].unique())


@pytest.mark.parametrize("estimator", ["ucd", "trajectory_tempering"])
def test_a_run_ends_when_the_cheapest_trial_has_spent_the_budget(estimator):
    assert estimators.REGISTRY.create(estimator).cost_varies
    whole = train(ROWS, estimator=estimator, **OPTIONS)
    costs, iterations = spent(whole.curve, estimator)
    least = np.min(list(costs.values()), axis=0)
    budget = float(least[4] + 0.5 * (least[5] - least[4]))
    short = train(ROWS, estimator=estimator, **OPTIONS, products=budget)
    end = short.meta["iterations"]
    assert iterations[4] < end <= iterations[5]
    expected = whole.curve[whole.curve["iteration"] <= iterations[4]]
    found = short.curve[short.curve["iteration"] <= iterations[4]]
    pd.testing.assert_frame_equal(*(one.reset_index(drop=True) for one in (found, expected)), check_exact=True)
    # The last iteration alone brings the cheapest trial over the budget; its models are evaluated.
    costs, _ = spent(short.curve, estimator)
    before, _ = spent(train(ROWS, estimator=estimator, **(OPTIONS | {"iterations": end - 1})).curve, estimator)
    assert min(before[trial][-1] for trial in before) < budget <= min(costs[trial][-1] for trial in costs)
    assert short.curve["iteration"].max() == end


def test_a_budget_that_is_not_spent_changes_nothing():
    whole = train(ROWS, estimator="ucd", **OPTIONS)
    large = train(ROWS, estimator="ucd", **OPTIONS, products=1e9)
    pd.testing.assert_frame_equal(large.curve, whole.curve, check_exact=True)
    assert large.meta["iterations"] == 40


def test_a_stopped_run_ends_with_its_budget_all_the_same(tmp_path):
    stage = {"until": 40, "estimator": {"name": "ucd"}, "rate": 0.3}
    values = {"data": {"name": "user"}, "hidden": N, "batch": BATCH, "trials": TRIALS, "seed": 3, "evaluate_every": 4}
    settings = parse(RunSettings, values | {"schedule": [stage], "products": 150.0}, "test")
    expected = trainer.run(ROWS, settings)
    assert 0 < expected.meta["iterations"] < 40
    found, asked = None, 0

    def stopping():
        nonlocal asked
        asked += 1
        return 15 if asked % 3 == 0 else None

    while found is None:
        with suppress(StoppedError):
            found = trainer.run(ROWS, settings, checkpoint=tmp_path / "c.npz", checkpoint_seconds=0, stopping=stopping)
    pd.testing.assert_frame_equal(found.curve, expected.curve, check_exact=True)
    assert asked >= 3
