# SPDX-License-Identifier: BSD-3-Clause
"""scikit-learn: its own checks of estimators, exact likelihoods by enumeration, models there and back."""

import pickle

import numpy as np
import pandas as pd
import pytest
from core_helpers import Enumerated, binary_data, random_rbm, total_variation, total_variation_bound
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import BernoulliRBM
from sklearn.utils.estimator_checks import parametrize_with_checks

import rbmbench
from rbmbench import RBMTransformer, from_scikit_learn, to_scikit_learn
from rbmbench.base.errors import DataError, SettingsError
from rbmbench.likelihood.pseudo import pseudo_log_likelihood
from rbmbench.training import scikit_learn

DATA = binary_data(23, 7)


def fitted(**parameters):
    defaults = {"n_components": 5, "batch_size": 3, "n_iter": 2, "random_state": 11}
    return RBMTransformer(**defaults | parameters).fit(DATA)


@parametrize_with_checks([RBMTransformer(n_components=3, n_iter=1)])
def test_the_checks_of_scikit_learn_pass(estimator, check):
    check(estimator)


def test_it_is_trained_as_by_train():
    seed = int(np.random.RandomState(11).randint(2**32, dtype=np.uint64))
    options = {"hidden": 5, "batch": 3, "estimator": "cd", "options": {"k": 2}, "rate": 0.5, "seed": seed}
    theirs = rbmbench.train(DATA, iterations=14, **options).rbm[0]
    ours = fitted(estimator="cd", options={"k": 2}, learning_rate=0.5).rbm_
    for parameter, other in zip(ours.parameters, theirs.parameters, strict=True):
        np.testing.assert_array_equal(parameter, other)


def test_likelihoods_and_features_are_those_of_the_enumerated_model():
    model = fitted(learning_rate=0.5, n_iter=29)
    table = Enumerated.of(model.rbm_)
    numbers = table.numbers_of(DATA)
    expected = np.log(table.joint.sum(axis=1))[numbers]
    np.testing.assert_allclose(model.score_samples(DATA), expected, rtol=0, atol=1e-9)
    assert model.score(DATA) == pytest.approx(expected.mean(), abs=1e-9)
    hidden = (table.hidden_given_visible @ table.hidden)[numbers]
    np.testing.assert_allclose(model.transform(DATA), hidden, rtol=0, atol=1e-12)


def test_values_above_the_threshold_are_1():
    grey, model = DATA * 0.5 + 0.2, fitted(threshold=0.3)
    np.testing.assert_array_equal(model.transform(grey), model.transform(DATA))


def test_what_train_refuses_is_refused_in_one_line():
    with pytest.raises(SettingsError, match=r"^unknown estimator 'pdc'; nearest: 'pcd'"):
        fitted(estimator="pdc")
    with pytest.raises(SettingsError, match=r"^train: hidden: must .*, got 0"):
        fitted(n_components=0)
    for name, wrong in (("batch_size", 0), ("batch_size", "all"), ("n_iter", 0), ("n_iter", 2.5)):
        with pytest.raises(SettingsError, match=rf"^option '{name}': must be an integer >= 1, got {wrong!r}"):
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
    for parameter, other in zip(from_scikit_learn(theirs).parameters, ours.parameters, strict=True):
        np.testing.assert_array_equal(parameter, other)
    before = ours.W.copy()
    theirs.set_params(batch_size=23).partial_fit(DATA)
    assert (before != theirs.components_.T).any()
    np.testing.assert_array_equal(ours.W, before)


def test_what_is_no_single_fitted_model_is_one_line():
    with pytest.raises(SettingsError, match=r"BernoulliRBM: no components_; allowed: a fitted model"):
        from_scikit_learn(BernoulliRBM())
    with pytest.raises(SettingsError, match=r"must be one model, .*, got an RBM of shape \(2, 7, 5\)"):
        to_scikit_learn(random_rbm(7, 5, (2,)))


def test_grids_of_numpy_numbers_are_taken():
    search = GridSearchCV(RBMTransformer(n_iter=1), {"n_components": np.arange(2, 4)}, cv=2, error_score="raise")
    assert search.fit(DATA).best_params_["n_components"] in (2, 3)


@pytest.mark.parametrize("pack", [np.asarray, sparse.csr_array, sparse.csc_array, pd.DataFrame])
def test_values_between_0_and_1_need_a_threshold(pack):
    grey = DATA * 0.9
    model = RBMTransformer(n_components=5, n_iter=1)
    row, column = np.argwhere(grey)[0]
    name = repr(str(column)) if pack is pd.DataFrame else column + 1
    rows = pack(grey).rename(columns=str) if pack is pd.DataFrame else pack(grey)
    for method in (model.fit, model.partial_fit, fitted().transform, fitted().score):
        if method.__self__ is not model and pack is pd.DataFrame:
            continue  # fitted without names
        with pytest.raises(DataError, match=rf"^X: row {row + 1}, column {name}: must be a whole number.* got 0.9;"):
            method(rows)
    model.set_params(threshold=0.5).fit(rows)


def test_counts_are_1_from_1_on():
    model = fitted()
    np.testing.assert_array_equal(model.transform(DATA * 3), model.transform(DATA))
    np.testing.assert_array_equal(model.transform(DATA * 2.0 - 1), model.transform(DATA))


def test_passes_one_by_one_are_a_fit():
    # Without chains that go on, the third pass of partial_fit would be another one.
    for update in ("sgd", {"name": "momentum", "options": {"momentum": 0.5}}):
        whole, parts = fitted(n_iter=3, update=update), RBMTransformer(5, batch_size=3, update=update, random_state=11)
        for _ in range(3):
            parts.partial_fit(DATA)
        again = fitted(n_iter=1, update=update, warm_start=True).set_params(n_iter=2).fit(DATA)
        for other in (parts, again):
            np.testing.assert_array_equal(other.components_, whole.components_)
            assert other.n_iter_ == 3
    assert (fitted(n_iter=1).fit(DATA).components_ != whole.components_).any()


def test_a_pass_over_other_rows_goes_on_and_refuses_other_columns():
    model = RBMTransformer(5, random_state=11).partial_fit(DATA)
    first, kept = model.rbm_, model.rbm_.W.copy()
    rate = model.learning_rate
    model.partial_fit(binary_data(2, 7, seed=3))  # a mini-batch of fewer rows: chains start anew
    assert 0 < np.abs(model.rbm_.W - kept).max() < 2 * rate
    np.testing.assert_array_equal(first.W, kept)
    with pytest.raises(ValueError, match="5 features"):
        model.partial_fit(binary_data(3, 5))
    with pytest.raises(SettingsError, match=r"^warm_start: the model has 7 visible and 5 hidden units, got 7 and 3"):
        model.set_params(warm_start=True, n_components=3).fit(DATA)
    assert model.set_params(warm_start=False).fit(DATA).components_.shape == (3, 7)


def test_a_pickled_transformer_is_trained_further_as_the_first():
    model = fitted()
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.partial_fit(DATA).components_, copy.partial_fit(DATA).components_)


def test_gibbs_steps_have_the_enumerated_law():
    model, steps, error_rate = fitted(learning_rate=2.0, n_iter=7), 7001, 1e-5
    table = Enumerated.of(model.rbm_)
    drawn = model.gibbs(np.repeat(DATA[:1], steps, axis=0))
    assert (drawn.shape, drawn.dtype) == ((steps, 7), np.uint8)
    law = table.gibbs[table.numbers_of(DATA[0])]
    assert total_variation(table.numbers_of(drawn), law) < total_variation_bound(law, steps, error_rate)
    assert (drawn != model.gibbs(np.repeat(DATA[:1], steps, axis=0))).any()


def test_hidden_means_go_back_to_visible_means():
    model = fitted()
    hidden = model.transform(DATA)
    W, b = model.components_.astype(float), model.intercept_visible_.astype(float)
    np.testing.assert_allclose(model.inverse_transform(hidden), 1 / (1 + np.exp(-hidden @ W - b)), rtol=1e-12)


def test_pseudo_likelihoods_are_those_of_the_enumerated_model():
    model = fitted(learning_rate=0.5, n_iter=29)
    table = Enumerated.of(model.rbm_)
    law = table.joint.sum(axis=1)
    flipped = [DATA ^ np.eye(7, dtype=np.uint8)[unit] for unit in range(7)]
    ours = law[table.numbers_of(DATA)]
    expected = sum(np.log(ours / (ours + law[table.numbers_of(rows)])) for rows in flipped)
    np.testing.assert_allclose(model.pseudo_likelihood(DATA), expected, rtol=1e-10)
    # Of some units: the mean over all choices of one unit is the whole.
    one_by_one = [pseudo_log_likelihood(model.rbm_, DATA, [unit]) for unit in range(7)]
    np.testing.assert_allclose(np.mean(one_by_one, axis=0), expected, rtol=1e-10)
    several = random_rbm(7, 5, (2, 3), seed=3)
    assert pseudo_log_likelihood(several, DATA).shape == (2, 3, 23)
    values = pseudo_log_likelihood(several, DATA)[1, 2]
    np.testing.assert_array_equal(values, pseudo_log_likelihood(several[1, 2], DATA))


def test_log_z_has_an_error(monkeypatch):
    model = fitted()
    assert model.log_partition_error_ == 0
    exact = model.log_partition_
    model.fit(DATA)
    monkeypatch.setattr(scikit_learn, "is_enumerable", lambda *_: False)
    assert 0 < model.log_partition_error_ < 0.05
    assert abs(model.log_partition_ - exact) < 5 * model.log_partition_error_  # error rate 6e-7


@pytest.mark.parametrize("enumerable", [True, False])
def test_training_stops_early_with_the_model_of_the_best_pass(monkeypatch, enumerable, capsys):
    monkeypatch.setattr(scikit_learn, "is_enumerable", lambda *_: enumerable)
    rows = binary_data(61, 7, p=0.5)  # coins: any fit of them overfits
    options = {"early_stopping": True, "validation_fraction": 0.3, "n_iter_no_change": 3, "verbose": True}
    model = RBMTransformer(5, learning_rate=0.5, n_iter=97, **options)
    model.set_params(random_state=3).fit(rows)
    scores = model.validation_scores_
    best = int(np.argmax(scores))
    assert model.n_iter_ == len(scores) < 97
    assert max(scores) == scores[best]
    # The rule, written out: three passes in succession without a rise by more than tol over the best before.
    rises = [score > max(scores[:number], default=-np.inf) + model.tol for number, score in enumerate(scores)]
    assert not any(rises[-3:])
    assert all(any(rises[end - 3 : end]) for end in range(3, len(rises)))
    # The best model is kept: trained for so many passes only, it is the same.
    shorter = RBMTransformer(**model.get_params()).set_params(n_iter=best + 1, verbose=False).fit(rows)
    np.testing.assert_array_equal(shorter.components_, model.components_)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(scores)
    kind = "log-likelihood" if enumerable else "pseudo-likelihood"
    assert lines[0].startswith(f"[RBMTransformer] pass 1, {kind} of held-out rows = {scores[0]:.4f}, time = ")


@pytest.mark.parametrize("share", [0, 1, 1.0, -0.1, 0.001, "0.1", None])
def test_shares_that_hold_out_nothing_or_everything(share):
    with pytest.raises(SettingsError, match=r"^validation_fraction: must be between 0 and 1 and leave rows on"):
        fitted(early_stopping=True, validation_fraction=share)


@pytest.mark.parametrize("tol", ["a", None, -1, np.nan])
def test_the_tolerance_is_a_number(tol):
    with pytest.raises(SettingsError, match=r"^option 'tol': must be a number from 0 to inf, got"):
        fitted(early_stopping=True, validation_fraction=0.3, tol=tol)


def test_a_fit_that_failed_leaves_no_model():
    model = RBMTransformer(0)
    with pytest.raises(SettingsError):
        model.fit(DATA)
    with pytest.raises(NotFittedError):
        model.transform(DATA)


def test_a_model_that_is_trained_further_is_scored_on_the_same_rows(monkeypatch):
    held_out, split = [], RBMTransformer._split

    def kept(model, rows):
        held_out.append(split(model, rows)[0])
        return split(model, rows)

    monkeypatch.setattr(RBMTransformer, "_split", kept)
    fitted(early_stopping=True, validation_fraction=0.3, n_iter=2, warm_start=True).fit(DATA)
    np.testing.assert_array_equal(*held_out)


@pytest.mark.parametrize(("tol", "passes"), [(0, 20), (10, 4)])
def test_a_pass_counts_as_a_rise_if_the_score_rises_by_more_than_tol(tol, passes):
    options = {"n_iter": 20, "learning_rate": 0.02, "validation_fraction": 0.3, "n_iter_no_change": 3}
    assert fitted(early_stopping=True, tol=tol, **options).n_iter_ == passes


@pytest.mark.parametrize("threshold", ["a", np.nan, np.inf])
def test_a_threshold_that_is_no_finite_number_is_an_error(threshold):
    with pytest.raises(SettingsError, match=r"^threshold: must be None or a finite number, got "):
        fitted(threshold=threshold)


def test_zeros_of_sparse_rows_are_above_a_negative_threshold():
    options = {"n_iter": 2, "random_state": 3, "threshold": -0.5}
    dense, thin = (RBMTransformer(5, **options).fit(rows) for rows in (DATA, sparse.csr_array(DATA)))
    np.testing.assert_array_equal(thin.components_, dense.components_)
