# SPDX-License-Identifier: BSD-3-Clause
"""Exact samples of small RBMs, and the data set simulated_rbm."""

import numpy as np
import pytest
from core_helpers import (
    Enumerated,
    expected_uniforms,
    holds,
    random_rbm,
    total_variation,
    total_variation_bound,
    training_stream,
)
from scipy.stats import norm

from rbmbench import datasets
from rbmbench.base.errors import DataError, SettingsError
from rbmbench.datasets.simulated_rbm import true_rbm
from rbmbench.likelihood import exact_log_partition, log_likelihood
from rbmbench.samplers import exact_samples

ERROR_RATE = 1e-4  # of every statistical test in this file
SHAPES = pytest.mark.parametrize(("m", "n"), [(5, 3), (3, 5), (4, 1), (1, 4)])


@SHAPES
def test_samples_have_the_enumerated_distribution(m, n):
    rbm = random_rbm(m, n, (2,), scale=1.5, seed=9)
    samples = exact_samples(rbm, 2**16, training_stream(2))
    assert samples.shape == (2, 2**16, m)
    for r in range(2):
        table = Enumerated.of(rbm[r])
        law, other = (Enumerated.of(rbm[replica]).joint.sum(axis=1) for replica in (r, 1 - r))
        bound = total_variation_bound(law, 2**16, ERROR_RATE / 2)
        assert total_variation(table.numbers_of(samples[r]), law) < bound
        assert total_variation(table.numbers_of(samples[r]), other) > 2 * bound  # the test has power


def test_samples_of_one_replica_are_independent():
    # The lagged product of the states' energies, standardised, over 20 011 pairs.
    rbm = random_rbm(5, 3, (1,), scale=1.5, seed=9)
    table = Enumerated.of(rbm[0])
    energy = -np.log(table.joint.sum(axis=1))[table.numbers_of(exact_samples(rbm, 20_012, training_stream(1))[0])]
    centred = (energy - energy.mean()) / energy.std()
    assert abs((centred[1:] * centred[:-1]).mean()) < norm.isf(ERROR_RATE / 2) / np.sqrt(20_011)


@SHAPES
def test_samples_are_computed_by_inverse_cdf(m, n):
    rbm, stream = random_rbm(m, n, (2,), seed=4), training_stream(2)
    upper, lower = (expected_uniforms(stream.next(), 11, np.float64) for _ in range(2))
    u = upper - 2.0**-33 + lower * 2.0**-32
    samples = exact_samples(rbm, 11, training_stream(2))
    for r in range(2):
        table = Enumerated.of(rbm[r])
        small = table.joint.sum(axis=0 if n <= m else 1)
        numbers = (u[r][:, None] > small.cumsum()).sum(axis=1)
        if n > m:
            np.testing.assert_array_equal(table.numbers_of(samples[r]), numbers)
        else:  # the distribution of visible states is tested above
            assert (table.visible_given_hidden[numbers, table.numbers_of(samples[r])] > 1e-9).all()


def test_too_many_units_raise():
    with pytest.raises(
        SettingsError,
        match=r"^exact samples: must have at most 25 units in the smaller layer, got 26 visible and 29 hidden units",
    ):
        exact_samples(random_rbm(26, 29, (1,)), 1, training_stream(1))


def test_the_data_set_is_drawn_from_its_true_model():
    data = datasets.load("simulated_rbm", visible=7, hidden=3, rows=20_011, seed=5)
    table, rows = Enumerated.of(true_rbm(data)), data.train
    law = table.joint.sum(axis=1)
    assert rows.shape == (20_011, 7)
    assert holds(table.numbers_of(rows), law, ERROR_RATE)
    # The exact log-likelihood of the true model is within the error of minus the entropy.
    likelihood = log_likelihood(true_rbm(data), rows, exact_log_partition(true_rbm(data)))
    error = np.sqrt(law @ np.log(law) ** 2 - (law @ np.log(law)) ** 2) / np.sqrt(len(rows))
    assert abs(likelihood - law @ np.log(law)) < norm.isf(ERROR_RATE / 2) * error


def test_default_size_is_that_of_the_paper():
    data = datasets.load("simulated_rbm")
    rbm = true_rbm(data)
    assert data.train.shape == (1000, 200)
    assert rbm.W.shape == (200, 20)
    for parameter in (rbm.W, rbm.b, rbm.c):  # standard normal: mean and variance within their errors, Bonferroni
        bound = norm.isf(ERROR_RATE / 12) / np.sqrt(parameter.size)
        assert abs(parameter.mean()) < bound
        assert abs((parameter**2).mean() - 1) < 1.5 * np.sqrt(2) * bound  # chi-squared has a heavier tail
    assert data.provenance["preprocessing"].endswith("by inverse CDF over all 2^20 of them, visible states given them")
    assert data.provenance["arrays"]["true_W"]["shape"] == [200, 20]


def test_data_set_depends_only_on_its_options():
    first, again, other = (datasets.load("simulated_rbm", visible=11, hidden=7, rows=13, seed=s) for s in (3, 3, 5))
    assert first.provenance == again.provenance
    assert np.array_equal(first.train, again.train)
    assert not np.array_equal(first.train, other.train)
    assert not np.array_equal(first.arrays["true_W"], other.arrays["true_W"])
    wide = datasets.load("simulated_rbm", visible=11, hidden=7, rows=13, seed=3, width=3.0)
    np.testing.assert_allclose(wide.arrays["true_b"], 3 * first.arrays["true_b"], rtol=1e-15)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"visible": 0}, "option 'visible': must be a whole number from 1 to 4096, got 0"),
        ({"hidden": 2.0}, "option 'hidden': must be a whole number from 1 to 4096, got 2.0"),
        ({"rows": 227_273}, "option 'rows': must be a whole number from 1 to 227272, got 227273"),
        ({"width": -1}, "option 'width': must be a number from 0 to 100, got -1"),
        ({"width": float("inf")}, "option 'width': must be a number from 0 to 100, got inf"),
        ({"seed": 2**32}, "option 'seed': must be a whole number from 0 to 4294967295, got 4294967296"),
        (
            {"hidden": 26},
            "options 'visible', 'hidden': one must be at most 25, since rows are sampled exactly, got 200, 26",
        ),
    ],
)
def test_invalid_options_raise_one_line(options, words):
    with pytest.raises(SettingsError, match=rf"\Adata set 'simulated_rbm': {words}[^\n]*\Z"):
        datasets.load("simulated_rbm", **options)


def data_set_of(**arrays):
    return datasets.build("made", "Made", train=[[0, 1]], source="x", preprocessing="x", options={}, arrays=arrays)


def test_arrays_are_saved_with_the_rows(tmp_path):
    arrays = {"W": np.linspace(0, 1, 6).reshape(2, 3)[:, ::-1], "count": np.array(7)}
    data, path = data_set_of(**arrays), tmp_path / "made.npz"
    datasets.save(data, path)
    again = datasets.read(path)
    assert again.provenance == data.provenance
    assert again.arrays.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(again.arrays[name], array)
        assert again.arrays[name].dtype == array.dtype
    before = path.read_bytes()
    datasets.save(again, path)
    assert path.read_bytes() == before


def test_read_raises_on_changed_arrays(tmp_path):
    path = tmp_path / "made.npz"
    datasets.save(data_set_of(W=np.ones(3)), path)
    with np.load(path) as file:
        arrays = dict(file)
    np.savez(path, **arrays | {"W": np.zeros(3)})
    with pytest.raises(DataError, match="array 'W' is not as its provenance states"):
        datasets.read(path)
    del arrays["W"]
    np.savez(path, **arrays)
    with pytest.raises(DataError, match=r"made\.npz: not a data set, or damaged"):
        datasets.read(path)


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"train": np.ones(2)}, "made: train: must "),
        ({"provenance": np.ones(2)}, "made: provenance: must "),
        ({"W": np.array([{}])}, "made: W: must be numbers, got object"),
        ({"W": np.array(["a"])}, "made: W: must be numbers, got <U1"),
    ],
)
def test_invalid_arrays_raise(arrays, words):
    with pytest.raises(DataError, match=f"^{words}"):
        data_set_of(**arrays)
