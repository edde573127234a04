# SPDX-License-Identifier: BSD-3-Clause
"""scikit-learn: its own checks of estimators, exact likelihoods by enumeration, models there and back."""

import numpy as np
import pytest
from core_helpers import Enumerated, binary_data, random_rbm
from scipy import sparse
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import BernoulliRBM
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import rbmbench
from rbmbench import RBMTransformer, from_scikit_learn, to_scikit_learn
from rbmbench.base.errors import RbmbenchWarning, SettingsError
from rbmbench.training import scikit_learn

DATA = binary_data(23, 7)


def fitted(**parameters):
    return RBMTransformer(**{"n_components": 5, "batch_size": 3, "n_iter": 2, "random_state": 11} | parameters).fit(
        DATA
    )


@parametrize_with_checks([RBMTransformer(n_components=3, n_iter=1)])
def test_the_checks_of_scikit_learn_pass(estimator, check):
    check(estimator)


def test_it_is_trained_as_by_train():
    seed = int(np.random.RandomState(11).randint(2**32, dtype=np.uint64))
    options = {"hidden": 5, "batch": 3, "estimator": "cd", "options": {"k": 2}, "rate": 0.5, "seed": seed}
    theirs = rbmbench.train(DATA, iterations=14, **options).rbm[0]
    ours = fitted(estimator="cd", options={"k": 2}, learning_rate=0.5).rbm_
    for one, other in zip(ours.parameters, theirs.parameters, strict=True):
        np.testing.assert_array_equal(one, other)


def test_likelihoods_and_features_are_those_of_the_enumerated_model():
    model = fitted(learning_rate=0.5, n_iter=29)
    table = Enumerated.of(model.rbm_)
    numbers = table.numbers_of(DATA)
    expected = np.log(table.joint.sum(axis=1))[numbers]
    np.testing.assert_allclose(model.score_samples(DATA), expected, rtol=0, atol=1e-9)
    assert model.score(DATA) == pytest.approx(expected.mean(), abs=1e-9)
    hidden = (table.hidden_given_visible @ table.hidden)[numbers]
    np.testing.assert_allclose(model.transform(DATA), hidden, rtol=0, atol=1e-12)


def test_a_new_fit_has_a_likelihood_of_its_own():
    model = fitted()
    before = model.log_partition_
    model.set_params(n_components=3).fit(DATA)
    assert model.log_partition_ == pytest.approx(Enumerated.of(model.rbm_).log_partition, abs=1e-9)
    assert model.log_partition_ != before


def test_log_z_of_large_models_is_annealed(monkeypatch):
    model = fitted()
    exact = model.log_partition_
    monkeypatch.setattr(scikit_learn, "is_enumerable", lambda *_: False)
    del model.log_partition_
    assert model.log_partition_ != exact
    assert model.log_partition_ == pytest.approx(exact, abs=0.05)


def test_values_above_the_threshold_are_1():
    grey, model = DATA * 0.5 + 0.2, fitted(threshold=0.3)
    np.testing.assert_array_equal(model.transform(grey), model.transform(DATA))


def test_what_train_refuses_is_refused_in_one_line():
    with pytest.raises(SettingsError, match=r"^unknown estimator 'pdc'; nearest: 'pcd'"):
        fitted(estimator="pdc")
    with pytest.raises(SettingsError, match=r"^train: hidden: found 0; "):
        fitted(n_components=0)
    for name, wrong in (("batch_size", 0), ("batch_size", "all"), ("n_iter", 0), ("n_iter", 2.5)):
        with pytest.raises(SettingsError, match=rf"^option '{name}': found {wrong!r}; allowed: an integer >= 1"):
            fitted(**{name: wrong})


def test_a_model_of_scikit_learn_is_taken():
    theirs = BernoulliRBM(n_components=5, n_iter=3, random_state=0).fit(DATA)
    ours = from_scikit_learn(theirs)
    np.testing.assert_allclose(ours.hidden_mean(DATA), theirs.transform(DATA.astype(float)), rtol=1e-12)
    np.testing.assert_allclose(ours.free_energy(DATA), theirs._free_energy(DATA), rtol=1e-12)
    theirs.components_ += 1
    assert not np.shares_memory(ours.W, theirs.components_)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_model_is_given_to_scikit_learn_and_comes_back(dtype):
    ours = random_rbm(7, 5, seed=1, dtype=dtype)
    theirs = to_scikit_learn(ours)
    np.testing.assert_allclose(theirs.transform(DATA.astype(dtype)), ours.hidden_mean(DATA), rtol=1e-6)
    assert list(theirs.get_feature_names_out()) == [f"bernoullirbm{number}" for number in range(5)]
    for one, other in zip(from_scikit_learn(theirs).parameters, ours.parameters, strict=True):
        np.testing.assert_array_equal(one, other)
    before = ours.W.copy()
    theirs.set_params(batch_size=23).partial_fit(DATA)
    assert (before != theirs.components_.T).any()
    np.testing.assert_array_equal(ours.W, before)


def test_what_is_no_single_fitted_model_is_one_line():
    with pytest.raises(SettingsError, match=r"BernoulliRBM: no components_; allowed: a fitted model"):
        from_scikit_learn(BernoulliRBM())
    with pytest.raises(SettingsError, match=r"found an RBM of shape \(2, 7, 5\); allowed: one model"):
        to_scikit_learn(random_rbm(7, 5, (2,)))


def test_it_is_a_step_of_a_pipeline():
    features = make_pipeline(RBMTransformer(n_components=5, n_iter=1), RBMTransformer(n_components=3, n_iter=1))
    assert features.fit_transform(DATA).shape == (23, 3)


def test_a_score_above_0_gives_a_warning():
    model = fitted()
    model.__dict__["log_partition_"] = model.log_partition_ - 100
    with pytest.warns(RbmbenchWarning, match="^log-likelihood of binary rows: must be at most 0"):
        assert model.score(DATA) > 0


def test_sparse_rows_and_grids_of_numpy_numbers_are_taken():
    rows = binary_data(31, 7)
    fitted = [RBMTransformer(5, n_iter=3, random_state=2).fit(X) for X in (rows, sparse.csr_array(rows))]
    np.testing.assert_array_equal(fitted[0].components_, fitted[1].components_)
    np.testing.assert_array_equal(fitted[0].transform(rows), fitted[1].transform(sparse.csc_array(rows)))
    search = GridSearchCV(RBMTransformer(n_iter=1), {"n_components": np.arange(2, 4)}, cv=2, error_score="raise")
    assert search.fit(rows).best_params_["n_components"] in (2, 3)
