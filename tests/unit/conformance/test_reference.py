# SPDX-License-Identifier: BSD-3-Clause
"""Numbers of the conformance set are sums over all states, in plain NumPy."""

import json
import math
from functools import reduce

import numpy as np
import pytest
from conformance import reference
from conformance.reference import FOLDER, STEPS
from conformance.reference import INDEX as INDEX_NAME
from core_helpers import Enumerated, all_states, sigmoid

TOLERANCE = 1e-10
"""Relative to the larger of 1 and the number: a bound on the rounding of sums of up to 2^18 terms."""

INDEX = json.loads((FOLDER / INDEX_NAME).read_text(encoding="utf-8"))
SMALL = [name for name, entry in INDEX.items() if entry["visible"] <= 11]
LARGE = [name for name in INDEX if name not in SMALL]


@pytest.fixture(scope="module")
def models():
    """Return the kept models by name."""
    return {model.name: model for model in reference.read(FOLDER)}


def assert_close(array, expected) -> None:
    array, expected = np.asarray(array, np.float64), np.asarray(expected, np.float64)
    assert array.shape == expected.shape
    assert np.all(np.abs(array - expected) <= TOLERANCE * np.maximum(1, np.abs(expected)))


def log_visible(table: Enumerated) -> np.ndarray:
    """Return the logarithms of the probabilities of the visible states."""
    return np.logaddexp.reduce(-table.beta * table.energy, axis=1) - table.log_partition


def moments(table: Enumerated, of_visible: np.ndarray) -> list[np.ndarray]:
    """Return the means of v h', v and h, where h is drawn from p(h|v)."""
    joint = of_visible[:, None] * table.hidden_given_visible
    return [table.visible.T @ joint @ table.hidden, joint.sum(1) @ table.visible, joint.sum(0) @ table.hidden]


def assert_parts(arrays, name: str, expected) -> None:
    for part, values in zip(("W", "b", "c"), expected, strict=True):
        assert_close(arrays[f"{name}_{part}"], values)


def test_set_has_the_sizes_in_its_index(models):
    assert [name for name, model in models.items() if model.is_small] == SMALL
    assert (len(SMALL), len(LARGE)) == (24, 4)
    shapes = {name: (entry["visible"], entry["hidden"], entry["rows"]) for name, entry in INDEX.items()}
    assert shapes == {name: (*model.rbm.W.shape, len(model.arrays["rows"])) for name, model in models.items()}


@pytest.mark.parametrize("name", SMALL)
def test_numbers_of_small_models_are_sums_over_all_states(models, name):
    arrays = models[name].arrays
    table, rows = Enumerated.of(models[name].rbm), arrays["rows"]
    at = table.numbers_of(rows)
    assert_close(arrays["log_partition"], table.log_partition)
    assert_close(arrays["free_energy"], -np.logaddexp.reduce(-table.energy, axis=1)[at])
    assert_close(arrays["log_likelihood"], log_visible(table)[at])
    assert_close(arrays["hidden_mean"], (table.hidden_given_visible @ table.hidden)[at])
    data = np.bincount(at, minlength=len(table.visible)) / len(rows)
    positive = moments(table, data)
    model = moments(table, np.exp(log_visible(table)))
    assert_parts(arrays, "gradient", [moment - other for moment, other in zip(positive, model, strict=True)])
    for k in STEPS:
        negative = moments(table, reduce(lambda law, _: law @ table.gibbs, range(k), data))
        assert_parts(arrays, f"cd_{k}", [moment - other for moment, other in zip(positive, negative, strict=True)])
    pseudo = np.zeros(len(rows))
    for unit in range(rows.shape[1]):
        flipped = rows.copy()
        flipped[:, unit] = 1 - flipped[:, unit]
        log_pair = log_visible(table)[np.array([at, table.numbers_of(flipped)])]
        pseudo += log_pair[0] - np.logaddexp.reduce(log_pair, axis=0)
    assert_close(arrays["pseudo_log_likelihood"], pseudo)


@pytest.mark.parametrize("name", SMALL)
def test_swap_acceptances_of_small_models_are_metropolis_ratios(models, name):
    arrays = models[name].arrays
    tables = [Enumerated.of(models[name].rbm, beta) for beta in arrays["beta"]]
    of_visible = tables[0].numbers_of(arrays["swap_visible"])
    of_hidden = (arrays["swap_hidden"] @ 2.0 ** np.arange(len(arrays["c"]) - 1, -1, -1)).astype(int)
    assert_close(arrays["energy"], tables[0].energy[of_visible, of_hidden])
    assert_close(arrays["tempered_log_partition"], [table.log_partition for table in tables])
    # Metropolis: the ratio of the probabilities of both chains after and before the swap.
    log_joint = [-table.beta * table.energy - table.log_partition for table in tables]
    for i, first in enumerate(tables):
        for j, second in enumerate(tables):
            here, there = (of_visible[i], of_hidden[i]), (of_visible[j], of_hidden[j])
            ratio = log_joint[i][there] + log_joint[j][here] - log_joint[i][here] - log_joint[j][there]
            assert_close(arrays["swap_acceptance"][i, j], math.exp(min(0.0, ratio)))
            log_p, other = log_visible(first), log_visible(second)
            ratio = log_p[there[0]] + other[here[0]] - log_p[here[0]] - other[there[0]]
            assert_close(arrays["swap_acceptance_visible"][i, j], math.exp(min(0.0, ratio)))


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_numbers_of_large_models_are_sums_over_the_hidden_states(models, name):
    arrays = models[name].arrays
    W, b, c, rows = (np.asarray(arrays[part], np.float64) for part in ("W", "b", "c", "rows"))
    hidden, beta = all_states(len(c)), arrays["beta"]
    parts = np.array_split(np.arange(len(hidden)), len(hidden) // 4096)
    log_weights = np.empty((len(beta), len(hidden)))
    for part in parts:
        activation = hidden[part] @ W.T + b
        for number, beta_i in enumerate(beta):
            log_weights[number, part] = beta_i * (hidden[part] @ c) + np.logaddexp(0, beta_i * activation).sum(1)
    assert beta[-1] == 1
    log_partition = np.logaddexp.reduce(log_weights[-1])
    assert_close(arrays["tempered_log_partition"], np.logaddexp.reduce(log_weights, axis=1))
    assert_close(arrays["log_partition"], log_partition)
    of_hidden = np.exp(log_weights[-1] - log_partition)
    model = [np.zeros(W.shape), np.zeros(b.shape), of_hidden @ hidden]
    for part in parts:
        joint = of_hidden[part, None] * sigmoid(hidden[part] @ W.T + b)
        model[0] += joint.T @ hidden[part]
        model[1] += joint.sum(0)
    hidden_mean = sigmoid(rows @ W + c)
    assert_close(arrays["hidden_mean"], hidden_mean)
    free_energy = -(rows * b).sum(1) - np.logaddexp(0, rows @ W + c).sum(1)
    assert_close(arrays["free_energy"], free_energy)
    assert_close(arrays["log_likelihood"], -free_energy - log_partition)
    data = [rows.T @ hidden_mean / len(rows), rows.mean(0), hidden_mean.mean(0)]
    assert_parts(arrays, "gradient", [moment - other for moment, other in zip(data, model, strict=True)])


@pytest.mark.parametrize("name", [*SMALL, *LARGE])
def test_parameters_are_exact_in_single_precision(models, name):
    for part in reference.PARAMETERS:
        values = models[name].arrays[part]
        np.testing.assert_array_equal(values.astype(np.float32), values)
        np.testing.assert_array_equal(np.round(values * 1024), values * 1024)


@pytest.mark.parametrize("name", SMALL)
def test_json_files_have_the_same_numbers(models, name):
    plain = json.loads((FOLDER / f"{name}.json").read_text())
    assert set(plain) == set(models[name].arrays)
    for part, values in models[name].arrays.items():
        np.testing.assert_array_equal(np.array(plain[part], values.dtype), values)


@pytest.mark.parametrize("large", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_make_computes_the_kept_numbers_of_the_kept_models(models, tmp_path, large):
    """Parameters are copied; other numbers differ from the kept ones by rounding alone."""
    names = LARGE if large else SMALL
    written = {file.name: file for file in FOLDER.iterdir() if file.stem in names}
    (tmp_path / "kept").mkdir()
    for name, file in written.items():
        (tmp_path / "kept" / name).write_bytes(file.read_bytes())
    index = {name: INDEX[name] for name in names}
    (tmp_path / "kept" / INDEX_NAME).write_text(json.dumps(index))
    made = list(reference.make(tmp_path / "set", tmp_path / "kept"))
    assert {file.name for file in (tmp_path / "set").iterdir()} == {INDEX_NAME, *written}
    assert json.loads((tmp_path / "set" / INDEX_NAME).read_text()) == index
    for model, read in zip(made, reference.read(tmp_path / "set"), strict=True):
        kept = models[model.name]
        assert (read.name, read.what) == (model.name, model.what) == (kept.name, kept.what)
        assert set(read.arrays) == set(model.arrays) == set(kept.arrays)
        for part, values in model.arrays.items():
            np.testing.assert_array_equal(read.arrays[part], values)
            assert kept.arrays[part].dtype == read.arrays[part].dtype
            if part in reference.MODEL:
                np.testing.assert_array_equal(values, kept.arrays[part])
            else:
                assert_close(kept.arrays[part], values)
        if model.is_small:
            plain = json.loads((tmp_path / "set" / f"{model.name}.json").read_text())
            assert plain == {part: values.tolist() for part, values in model.arrays.items()}
