# SPDX-License-Identifier: BSD-3-Clause
"""Numbers of the conformance set are sums over all states, in plain NumPy."""

import json
import math

import numpy as np
import pytest
from conformance import reference
from conformance.reference import FOLDER, STEPS
from conformance.reference import INDEX as INDEX_NAME

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


def states(units: int) -> np.ndarray:
    """Return all states of a layer, in any order."""
    return np.array(np.meshgrid(*[[0.0, 1.0]] * units)).reshape(units, -1).T


def log_sum(values: np.ndarray, axis=None) -> np.ndarray:
    largest = values.max(axis=axis, keepdims=True)
    return np.squeeze(largest, axis) + np.log(np.exp(values - largest).sum(axis=axis))


class Joint:
    """All states of both layers, and distributions computed from their energies."""

    def __init__(self, arrays):
        self.visible, self.hidden = states(len(arrays["b"])), states(len(arrays["c"]))
        self.minus_energy = (
            np.einsum("vi,ij,hj->vh", self.visible, arrays["W"], self.hidden)
            + (self.visible * arrays["b"]).sum(1)[:, None]
            + (self.hidden * arrays["c"]).sum(1)
        )
        self.log_partition = log_sum(self.minus_energy)
        self.hidden_given_visible = np.exp(self.minus_energy - log_sum(self.minus_energy, 1)[:, None])
        self.visible_given_hidden = np.exp(self.minus_energy - log_sum(self.minus_energy, 0))

    def index(self, rows: np.ndarray) -> list[int]:
        """Return the numbers of visible states."""
        known = {tuple(state): number for number, state in enumerate(self.visible)}
        return [known[tuple(map(float, row))] for row in rows]

    def log_visible(self, beta: float) -> np.ndarray:
        """Return the logarithms of the probabilities of the visible states at an inverse temperature."""
        tempered = log_sum(beta * self.minus_energy, 1)
        return tempered - log_sum(tempered)

    def after(self, start: np.ndarray, k: int) -> np.ndarray:
        """Return the distribution of the visible states after k Gibbs steps."""
        for _ in range(k):
            start = self.visible_given_hidden @ (self.hidden_given_visible.T @ start)
        return start

    def moments(self, of_visible: np.ndarray) -> list[np.ndarray]:
        """Return the means of v h', v and h, where h is drawn from p(h|v)."""
        joint = of_visible[:, None] * self.hidden_given_visible
        return [self.visible.T @ joint @ self.hidden, joint.sum(1) @ self.visible, joint.sum(0) @ self.hidden]


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
    joint, rows = Joint(arrays), arrays["rows"]
    at = joint.index(rows)
    assert_close(arrays["log_partition"], joint.log_partition)
    assert_close(arrays["free_energy"], -log_sum(joint.minus_energy, 1)[at])
    assert_close(arrays["log_likelihood"], joint.log_visible(1.0)[at])
    assert_close(arrays["hidden_mean"], (joint.hidden_given_visible @ joint.hidden)[at])
    data = np.bincount(at, minlength=len(joint.visible)) / len(rows)
    positive = joint.moments(data)
    model = joint.moments(np.exp(joint.log_visible(1.0)))
    assert_parts(arrays, "gradient", [moment - other for moment, other in zip(positive, model, strict=True)])
    for k in STEPS:
        negative = joint.moments(joint.after(data, k))
        assert_parts(arrays, f"cd_{k}", [moment - other for moment, other in zip(positive, negative, strict=True)])
    pseudo = np.zeros(len(rows))
    for unit in range(rows.shape[1]):
        flipped = rows.copy()
        flipped[:, unit] = 1 - flipped[:, unit]
        log_pair = joint.log_visible(1.0)[np.array([at, joint.index(flipped)])]
        pseudo += log_pair[0] - log_sum(log_pair, 0)
    assert_close(arrays["pseudo_log_likelihood"], pseudo)


@pytest.mark.parametrize("name", SMALL)
def test_swap_acceptances_of_small_models_are_metropolis_ratios(models, name):
    arrays = models[name].arrays
    joint, beta = Joint(arrays), arrays["beta"]
    hidden = {tuple(state): number for number, state in enumerate(joint.hidden)}
    of_visible = joint.index(arrays["swap_visible"])
    of_hidden = [hidden[tuple(map(float, state))] for state in arrays["swap_hidden"]]
    assert_close(arrays["energy"], -joint.minus_energy[of_visible, of_hidden])
    assert_close(arrays["tempered_log_partition"], [log_sum(beta_i * joint.minus_energy) for beta_i in beta])
    # Metropolis: the ratio of the probabilities of both chains after and before the swap.
    log_joint = [beta_i * joint.minus_energy - log_sum(beta_i * joint.minus_energy) for beta_i in beta]
    log_visible = [joint.log_visible(beta_i) for beta_i in beta]
    for i in range(len(beta)):
        for j in range(len(beta)):
            here, there = (of_visible[i], of_hidden[i]), (of_visible[j], of_hidden[j])
            ratio = log_joint[i][there] + log_joint[j][here] - log_joint[i][here] - log_joint[j][there]
            assert_close(arrays["swap_acceptance"][i, j], math.exp(min(0.0, ratio)))
            log_p, other = log_visible[i], log_visible[j]
            ratio = log_p[there[0]] + other[here[0]] - log_p[here[0]] - other[there[0]]
            assert_close(arrays["swap_acceptance_visible"][i, j], math.exp(min(0.0, ratio)))


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_numbers_of_large_models_are_sums_over_the_hidden_states(models, name):
    arrays = models[name].arrays
    W, b, c, rows = (np.asarray(arrays[part], np.float64) for part in ("W", "b", "c", "rows"))
    hidden, beta = states(len(c)), arrays["beta"]
    parts = np.array_split(np.arange(len(hidden)), len(hidden) // 4096)
    log_weights = np.empty((len(beta), len(hidden)))
    for part in parts:
        activation = hidden[part] @ W.T + b
        for number, beta_i in enumerate(beta):
            log_weights[number, part] = beta_i * (hidden[part] @ c) + np.logaddexp(0, beta_i * activation).sum(1)
    assert beta[-1] == 1
    log_partition = log_sum(log_weights[-1])
    assert_close(arrays["tempered_log_partition"], log_sum(log_weights, 1))
    assert_close(arrays["log_partition"], log_partition)
    of_hidden = np.exp(log_weights[-1] - log_partition)
    model = [np.zeros(W.shape), np.zeros(b.shape), of_hidden @ hidden]
    for part in parts:
        joint = of_hidden[part, None] * logistic(hidden[part] @ W.T + b)
        model[0] += joint.T @ hidden[part]
        model[1] += joint.sum(0)
    hidden_mean = logistic(rows @ W + c)
    assert_close(arrays["hidden_mean"], hidden_mean)
    free_energy = -(rows * b).sum(1) - np.logaddexp(0, rows @ W + c).sum(1)
    assert_close(arrays["free_energy"], free_energy)
    assert_close(arrays["log_likelihood"], -free_energy - log_partition)
    data = [rows.T @ hidden_mean / len(rows), rows.mean(0), hidden_mean.mean(0)]
    assert_parts(arrays, "gradient", [moment - other for moment, other in zip(data, model, strict=True)])


def logistic(activation: np.ndarray) -> np.ndarray:
    return 0.5 * (1 + np.tanh(activation / 2))


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
