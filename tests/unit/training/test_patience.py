# SPDX-License-Identifier: BSD-3-Clause
"""Early stopping by the score of the validation rows."""

import numpy as np
import pandas as pd
import pytest
from core_helpers import binary_data
from scipy.sparse import csr_array

from rbmbench import RBM, train
from rbmbench.base.errors import SettingsError
from rbmbench.likelihood.pseudo import pseudo_log_likelihood

ROWS, HELD_OUT = binary_data(23, 29, 1), binary_data(19, 29, 2)
OPTIONS = {"batch": 23, "iterations": 4000, "trials": 2, "seed": 3, "evaluate_every": 20, "rate": 0.5}
OPTIONS |= {"validation": HELD_OUT, "validation_likelihood": True}


@pytest.mark.parametrize(("hidden", "metric"), [(7, ""), (31, "pseudo_")])
def test_training_ends_after_evaluations_without_a_rise(hidden, metric):
    # Few rows are over-fitted, so that the score of the validation rows rises and falls.
    result = train(ROWS, hidden=hidden, **OPTIONS, patience=3)
    curve = result.curve.query(f"metric == 'validation_{metric}log_likelihood'")
    means = curve.groupby("iteration")["value"].mean()
    assert means.index[-1] == result.meta["iterations"] < OPTIONS["iterations"]
    assert int(means.to_numpy().argmax()) == len(means) - 1 - 3
    whole = train(ROWS, hidden=hidden, **OPTIONS | {"iterations": result.meta["iterations"]})
    np.testing.assert_array_equal(result.rbm.W, whole.rbm.W)


def test_validation_pseudo_likelihood_of_few_units_is_exact():
    result = train(ROWS, hidden=31, **OPTIONS | {"iterations": 20}, patience=3)
    last = result.curve.query("metric == 'validation_pseudo_log_likelihood' and iteration == 20")["value"]
    exact = pseudo_log_likelihood(RBM(*result.rbm.parameters), HELD_OUT).mean(axis=-1)
    np.testing.assert_allclose(last, exact, rtol=1e-12)


def test_patience_without_validation_likelihood_raises():
    with pytest.raises(SettingsError, match="patience: needs validation_likelihood"):
        train(ROWS, hidden=7, **OPTIONS | {"validation_likelihood": False}, patience=3)


def test_sparse_rows_end_training_when_dense_ones_do():
    dense, thin = (
        train(wrap(ROWS), hidden=31, **OPTIONS | {"validation": wrap(HELD_OUT)}, patience=2)
        for wrap in (np.asarray, csr_array)
    )
    pd.testing.assert_frame_equal(thin.curve, dense.curve, rtol=1e-12)
