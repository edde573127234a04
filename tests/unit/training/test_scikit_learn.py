# SPDX-License-Identifier: BSD-3-Clause
"""`RBMTransformer`: checks of scikit-learn, likelihoods against enumeration, conversion of models."""

import pickle

import numpy as np
import pandas as pd
import pytest
from core_helpers import Enumerated, binary_data, holds, random_rbm
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
def test_transformer_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_a_fitted_model_equals_that_of_train():
    seed = int(np.random.RandomState(11).randint(2**32, dtype=np.uint64))
    options = {"hidden": 5, "batch": 3, "estimator": "cd", "options": {"k": 2}, "rate": 0.5, "seed": seed}
    expected = rbmbench.train(DATA, iterations=14, **options).rbm[0]
    rbm = fitted(estimator="cd", options={"k": 2}, learning_rate=0.5).rbm_
    for parameter, other in zip(rbm.parameters, expected.parameters, strict=True):
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
    values, model = DATA * 0.5 + 0.2, fitted(threshold=0.3)
    np.testing.assert_array_equal(model.transform(values), model.transform(DATA))


def test_invalid_parameters_raise_a_one_line_error():
    with pytest.raises(SettingsError, match=r"^unknown estimator 'pdc'; nearest: 'pcd'"):
        fitted(estimator="pdc")
    with pytest.raises(SettingsError, match=r"^train: hidden: must .*, got 0"):
        fitted(n_components=0)
    for name, value in (("batch_size", 0), ("batch_size", "all"), ("n_iter", 0), ("n_iter", 2.5)):
        with pytest.raises(SettingsError, match=rf"^option '{name}': must be an integer >= 1, got {value!r}"):
            fitted(**{name: value})


def test_from_scikit_learn_copies_a_model():
    bernoulli_rbm = BernoulliRBM(n_components=5, n_iter=3, random_state=0).fit(DATA)
    rbm = from_scikit_learn(bernoulli_rbm)
    np.testing.assert_allclose(rbm.hidden_mean(DATA), bernoulli_rbm.transform(DATA.astype(float)), rtol=1e-12)
    np.testing.assert_allclose(rbm.free_energy(DATA), bernoulli_rbm._free_energy(DATA), rtol=1e-12)
    bernoulli_rbm.components_ += 1
    assert not np.shares_memory(rbm.W, bernoulli_rbm.components_)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_model_is_unchanged_by_conversion_to_scikit_learn_and_back(dtype):
    rbm = random_rbm(7, 5, seed=1, dtype=dtype)
    bernoulli_rbm = to_scikit_learn(rbm)
    np.testing.assert_allclose(bernoulli_rbm.transform(DATA.astype(dtype)), rbm.hidden_mean(DATA), rtol=1e-6)
    assert list(bernoulli_rbm.get_feature_names_out()) == [f"bernoullirbm{number}" for number in range(5)]
    for parameter, other in zip(from_scikit_learn(bernoulli_rbm).parameters, rbm.parameters, strict=True):
        np.testing.assert_array_equal(parameter, other)
    before = rbm.W.copy()
    bernoulli_rbm.set_params(batch_size=23).partial_fit(DATA)
    assert (before != bernoulli_rbm.components_.T).any()
    np.testing.assert_array_equal(rbm.W, before)


def test_conversion_of_unfitted_and_several_models_raises():
    with pytest.raises(SettingsError, match=r"BernoulliRBM: no components_; allowed: a fitted model"):
        from_scikit_learn(BernoulliRBM())
    with pytest.raises(SettingsError, match=r"must be one model, .*, got an RBM of shape \(2, 7, 5\)"):
        to_scikit_learn(random_rbm(7, 5, (2,)))


def test_grid_search_accepts_numpy_numbers():
    search = GridSearchCV(RBMTransformer(n_iter=1), {"n_components": np.arange(2, 4)}, cv=2, error_score="raise")
    assert search.fit(DATA).best_params_["n_components"] in (2, 3)


@pytest.mark.parametrize("pack", [np.asarray, sparse.csr_array, sparse.csc_array, pd.DataFrame])
def test_values_between_0_and_1_without_a_threshold_raise(pack):
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


def test_counts_above_0_are_1():
    model = fitted()
    np.testing.assert_array_equal(model.transform(DATA * 3), model.transform(DATA))
    np.testing.assert_array_equal(model.transform(DATA * 2.0 - 1), model.transform(DATA))


def test_passes_of_partial_fit_equal_a_fit():
    # The third pass would differ if chains did not continue.
    for update in ("sgd", {"name": "momentum", "options": {"momentum": 0.5}}):
        whole, parts = fitted(n_iter=3, update=update), RBMTransformer(5, batch_size=3, update=update, random_state=11)
        for _ in range(3):
            parts.partial_fit(DATA)
        again = fitted(n_iter=1, update=update, warm_start=True).set_params(n_iter=2).fit(DATA)
        for other in (parts, again):
            np.testing.assert_array_equal(other.components_, whole.components_)
            assert other.n_iter_ == 3
    assert (fitted(n_iter=1).fit(DATA).components_ != whole.components_).any()


def test_partial_fit_continues_with_other_rows_but_not_other_columns():
    model = RBMTransformer(5, random_state=11).partial_fit(DATA)
    first, before = model.rbm_, model.rbm_.W.copy()
    rate = model.learning_rate
    model.partial_fit(binary_data(2, 7, seed=3))  # fewer rows: chains are started anew
    assert 0 < np.abs(model.rbm_.W - before).max() < 2 * rate
    np.testing.assert_array_equal(first.W, before)
    with pytest.raises(ValueError, match="5 features"):
        model.partial_fit(binary_data(3, 5))
    with pytest.raises(ValueError, match="5 features"):
        model.set_params(warm_start=True).fit(binary_data(3, 5))
    assert model.n_features_in_ == model.transform(DATA).shape[1] + 2 == 7
    model.set_params(n_components=3)
    for method in (model.fit, model.partial_fit):
        with pytest.raises(SettingsError, match=r"^X, n_components: must have the 7 visible and 5 hidden .* 7 and 3$"):
            method(DATA)
    assert model.set_params(warm_start=False).fit(DATA).components_.shape == (3, 7)


def test_partial_fit_of_a_pickled_transformer_equals_the_original():
    model = fitted()
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.partial_fit(DATA).components_, copy.partial_fit(DATA).components_)


def test_gibbs_steps_have_the_enumerated_distribution():
    model, steps = fitted(learning_rate=2.0, n_iter=7), 7001
    table = Enumerated.of(model.rbm_)
    drawn = model.gibbs(np.repeat(DATA[:1], steps, axis=0))
    assert (drawn.shape, drawn.dtype) == ((steps, 7), np.uint8)
    law = table.gibbs[table.numbers_of(DATA[0])]
    assert holds(table.numbers_of(drawn), law)
    assert (drawn != model.gibbs(np.repeat(DATA[:1], steps, axis=0))).any()


def test_inverse_transform_returns_visible_means():
    model = fitted()
    hidden = model.transform(DATA)
    W, b = model.components_.astype(float), model.intercept_visible_.astype(float)
    np.testing.assert_allclose(model.inverse_transform(hidden), 1 / (1 + np.exp(-hidden @ W - b)), rtol=1e-12)


def test_pseudo_likelihoods_are_those_of_the_enumerated_model():
    model = fitted(learning_rate=0.5, n_iter=29)
    table = Enumerated.of(model.rbm_)
    law = table.joint.sum(axis=1)
    flipped = [DATA ^ np.eye(7, dtype=np.uint8)[unit] for unit in range(7)]
    probabilities = law[table.numbers_of(DATA)]
    expected = sum(np.log(probabilities / (probabilities + law[table.numbers_of(rows)])) for rows in flipped)
    np.testing.assert_allclose(model.pseudo_likelihood(DATA), expected, rtol=1e-10)
    # The mean over single units is the pseudo-likelihood of all.
    one_by_one = [pseudo_log_likelihood(model.rbm_, DATA, [unit]) for unit in range(7)]
    np.testing.assert_allclose(np.mean(one_by_one, axis=0), expected, rtol=1e-10)
    several = random_rbm(7, 5, (2, 3), seed=3)
    assert pseudo_log_likelihood(several, DATA).shape == (2, 3, 23)
    values = pseudo_log_likelihood(several, DATA)[1, 2]
    np.testing.assert_array_equal(values, pseudo_log_likelihood(several[1, 2], DATA))


def test_log_partition_has_a_standard_error(monkeypatch):
    model = fitted()
    assert model.log_partition_error_ == 0
    exact = model.log_partition_
    model.fit(DATA)
    monkeypatch.setattr(scikit_learn, "is_enumerable", lambda *_: False)
    assert 0 < model.log_partition_error_ < 0.05
    assert abs(model.log_partition_ - exact) < 5 * model.log_partition_error_  # error rate 6e-7


@pytest.mark.parametrize("enumerable", [True, False])
def test_early_stopping_keeps_the_model_of_the_best_pass(monkeypatch, enumerable, capsys):
    monkeypatch.setattr(scikit_learn, "is_enumerable", lambda *_: enumerable)
    rows = binary_data(61, 7, p=0.5)  # independent fair bits, which every fit overfits
    options = {"early_stopping": True, "validation_fraction": 0.3, "n_iter_no_change": 3, "verbose": True}
    model = RBMTransformer(5, learning_rate=0.5, n_iter=97, **options)
    model.set_params(random_state=3).fit(rows)
    scores = model.validation_scores_
    best = int(np.argmax(scores))
    assert model.n_iter_ == len(scores) < 97
    assert max(scores) == scores[best]
    # Three passes in succession without a rise by more than tol over the best before.
    rises = [score > max(scores[:number], default=-np.inf) + model.tol for number, score in enumerate(scores)]
    assert not any(rises[-3:])
    assert all(any(rises[end - 3 : end]) for end in range(3, len(rises)))
    # The model equals one trained only up to the best pass.
    shorter = RBMTransformer(**model.get_params()).set_params(n_iter=best + 1, verbose=False).fit(rows)
    np.testing.assert_array_equal(shorter.components_, model.components_)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(scores)
    kind = "log-likelihood" if enumerable else "pseudo-likelihood"
    assert lines[0].startswith(f"[RBMTransformer] pass 1, {kind} of held-out rows = {scores[0]:.4f}, time = ")


@pytest.mark.parametrize("share", [0, 1, 1.0, -0.1, 0.001, "0.1", None])
def test_validation_fractions_without_rows_on_both_sides_raise(share):
    with pytest.raises(SettingsError, match=r"^validation_fraction: must be between 0 and 1 and leave rows on"):
        fitted(early_stopping=True, validation_fraction=share)


@pytest.mark.parametrize("tol", ["a", None, -1, np.nan])
def test_invalid_tolerances_raise(tol):
    with pytest.raises(SettingsError, match=r"^option 'tol': must be a number from 0 to inf, got"):
        fitted(early_stopping=True, validation_fraction=0.3, tol=tol)


def test_a_transformer_is_not_fitted_after_a_failed_fit():
    model = RBMTransformer(0)
    with pytest.raises(SettingsError):
        model.fit(DATA)
    with pytest.raises(NotFittedError):
        model.transform(DATA)


def test_warm_start_holds_out_the_same_rows(monkeypatch):
    held_out, split = [], RBMTransformer._split

    def recorded(model, rows):
        held_out.append(split(model, rows)[0])
        return split(model, rows)

    monkeypatch.setattr(RBMTransformer, "_split", recorded)
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
