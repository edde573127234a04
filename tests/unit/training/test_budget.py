# SPDX-License-Identifier: BSD-3-Clause
"""Runs with a budget of matrix products: last models, evaluations by products, resumption."""

from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from core_helpers import binary_data

from rbmbench import estimators, train
from rbmbench.base.errors import SettingsError, StoppedError
from rbmbench.base.parsing import parse
from rbmbench.base.settings import Choice, RunSettings
from rbmbench.training import trainer
from rbmbench.updates import products_of

M, N, BATCH, TRIALS = 11, 5, 7, 3
ROWS = binary_data(29, M, 1)
OPTIONS = {"hidden": N, "batch": BATCH, "iterations": 40, "trials": TRIALS, "seed": 3, "evaluate_every": 4, "rate": 0.3}


def spent(curve, estimator):
    """Return the products of each trial until each evaluation, from diagnostics of the curve, and the iterations."""
    cost = products_of(Choice(name=estimator), Choice(name="sgd"), (BATCH, M, N))
    wide = curve.pivot(index=["trial", "iteration"], columns="metric", values="value").reset_index()
    products = {}
    for trial, evaluations in wide.groupby("trial"):
        steps = np.diff(evaluations["iteration"])
        costs = [cost(row) for row in evaluations.drop(columns=["trial", "iteration"]).to_dict("records")[1:]]
        products[trial] = np.concatenate([[0], np.cumsum(steps * costs)])
    return products, sorted(wide["iteration"].unique())


def without_products(curve):
    return curve[curve["metric"] != "products"].reset_index(drop=True)


@pytest.mark.parametrize("estimator", ["ucd", "trajectory_tempering"])
def test_trials_end_with_their_last_models_within_the_budget(estimator):
    # Runs of all lengths without a budget have the models and costs of trials at every iteration.
    assert estimators.REGISTRY.create(estimator).cost_varies
    every = OPTIONS | {"evaluate_every": 1, "estimator": estimator}
    whole = train(ROWS, **every)
    costs, _ = spent(whole.curve, estimator)
    budget = float(np.mean([cost[20] for cost in costs.values()]))
    short = train(ROWS, **every, products=budget)
    lasts = {trial: int((cost <= budget).sum()) - 1 for trial, cost in costs.items()}
    assert len(set(lasts.values())) > 1  # the trials end at different iterations
    assert short.meta["iterations"] == max(lasts.values()) + 1
    values = whole.curve.pivot(index="iteration", columns=["metric", "trial"], values="value")
    ends = short.curve.pivot(index="iteration", columns=["metric", "trial"], values="value").iloc[-1]
    for trial, last in lasts.items():
        np.testing.assert_array_equal(short.rbm.W[trial], train(ROWS, **every | {"iterations": last}).rbm.W[trial])
        assert ends["log_likelihood", trial] == values.loc[last, ("log_likelihood", trial)]
        assert ends["products", trial] > budget


def test_a_first_iteration_beyond_the_budget_keeps_the_initial_model():
    run = train(ROWS, estimator="trajectory_tempering", **OPTIONS, products=20.0)
    assert run.meta["iterations"] == 1
    likelihoods = run.curve.query("metric == 'log_likelihood'").pivot(index="iteration", columns="trial")["value"]
    np.testing.assert_array_equal(likelihoods.loc[1], likelihoods.loc[0])


def test_reservoirs_are_not_filled_beyond_the_budget():
    # Filling stops after some rounds, so that a run exceeds the budget only a little.
    options = OPTIONS | {"iterations": 1, "evaluate_every": 1, "estimator": "trajectory_tempering"}
    whole, _ = spent(train(ROWS, **options).curve, "trajectory_tempering")
    short, _ = spent(train(ROWS, **options, products=100.0).curve, "trajectory_tempering")
    assert min(cost[1] for cost in whole.values()) > 140
    assert all(100 < cost[1] < 120 for cost in short.values())


def test_runs_are_evaluated_at_products():
    points = [60.0, 100.0, 150.0]
    options = OPTIONS | {"estimator": "ucd", "products": 200.0}
    run = train(ROWS, **options | {"evaluate_every": 40}, evaluate_at_products=points)
    products = run.curve.query("metric == 'products'").pivot(index="iteration", columns="trial", values="value")
    before = train(ROWS, **options | {"evaluate_every": 1}).curve
    before = before.query("metric == 'products'").pivot(index="iteration", columns="trial", values="value")
    means = before.clip(upper=200.0).mean(axis=1)
    assert products.index.tolist() == [0, *((means >= point).idxmax() for point in points), run.meta["iterations"]]
    np.testing.assert_allclose(products, before.loc[products.index])


def test_evaluate_at_products_without_a_budget_raises():
    with pytest.raises(SettingsError, match="evaluate_at_products: needs products, the budget"):
        train(ROWS, **OPTIONS, evaluate_at_products=[50.0])


def test_a_budget_that_is_not_spent_does_not_change_the_run():
    whole = train(ROWS, estimator="ucd", **OPTIONS)
    large = train(ROWS, estimator="ucd", **OPTIONS, products=1e9)
    pd.testing.assert_frame_equal(without_products(large.curve), whole.curve, check_exact=True)
    assert large.meta["iterations"] == 40
    costs, _ = spent(whole.curve, "ucd")
    products = large.curve.query("metric == 'products'").pivot(index="trial", columns="iteration", values="value")
    np.testing.assert_allclose(products, list(costs.values()))


def test_a_stopped_run_with_a_budget_has_the_same_curve(tmp_path):
    stage = {"until": 40, "estimator": {"name": "ucd"}, "rate": 0.3}
    values = {"data": {"name": "user"}, "hidden": N, "batch": BATCH, "trials": TRIALS, "seed": 3, "evaluate_every": 4}
    budget = {"products": 150.0, "evaluate_at_products": [50.0, 70.0, 90.0, 110.0]}
    settings = parse(RunSettings, values | {"schedule": [stage]} | budget, "test")
    expected = trainer.run(ROWS, settings)
    assert 0 < expected.meta["iterations"] < 40
    run, calls = None, 0

    def stopping():
        nonlocal calls
        calls += 1
        return 15 if calls % 3 == 0 else None

    while run is None:
        with suppress(StoppedError):
            run = trainer.run(ROWS, settings, checkpoint=tmp_path / "c.npz", checkpoint_seconds=0, stopping=stopping)
    pd.testing.assert_frame_equal(run.curve, expected.curve, check_exact=True)
    assert calls >= 3
