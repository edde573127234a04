# SPDX-License-Identifier: BSD-3-Clause
"""Sampling from trained RBMs, saving and loading them."""

import numpy as np
import pandas as pd
import pytest
from core_helpers import random_rbm

import rbmbench
from rbmbench import RBM
from rbmbench.base.errors import DataError, ResultsError
from rbmbench.io import results

M, N = 5, 3


@pytest.mark.parametrize("leading", [(), (2,), (2, 7)])
def test_samples_have_the_leading_axes_of_the_parameters(leading):
    rbm = random_rbm(M, N, leading, seed=1)
    samples = rbm.sample(11, seed=13, sweeps=2)
    assert (samples.shape, samples.dtype, samples.max()) == ((*leading, 11, M), np.uint8, 1)
    np.testing.assert_array_equal(samples, rbm.sample(11, seed=13, sweeps=2))
    assert (samples != rbm.sample(11, seed=17, sweeps=2)).any()


@pytest.mark.parametrize("leading", [(), (2,)])
def test_rows_with_missing_values_are_completed(leading):
    rows = np.array([[0, 1, np.nan, np.nan, 1], [1, 0, 1, 0, 0], [np.nan] * M])
    rbm = random_rbm(M, N, leading, seed=1)
    samples = rbm.sample(11, seed=13, sweeps=2, clamp=rows)
    assert (samples.shape, samples.dtype) == ((*leading, 3, 11, M), np.uint8)
    assert ((samples == rows[:, None]) | np.isnan(rows[:, None])).all()
    frame = pd.DataFrame(rows).astype("Int64")
    np.testing.assert_array_equal(samples, rbm.sample(11, seed=13, sweeps=2, clamp=frame))
    first = rbm.sample(11, seed=13, sweeps=2, clamp=frame.iloc[0])
    np.testing.assert_array_equal(samples[..., 0, :, :], first)
    # Random numbers depend on the row: two rows with the same clamped units are completed differently.
    twice = rbm.sample(11, seed=13, sweeps=2, clamp=[rows[2]] * 2)
    assert (twice[..., 0, :, :] != twice[..., 1, :, :]).any()


@pytest.mark.parametrize(
    ("clamp", "message"),
    [
        ([0, 1, 0.5, 0, 0], "clamp: must be 0, 1 and missing values .*, got the value 0.5"),
        ([0, 1], "clamp: must be 5, .*, got 2 columns"),
        (["a"] * M, "clamp: must "),
        ([[[0] * M]], r"clamp: must .*, got shape \(1"),
    ],
)
def test_invalid_clamped_units_raise_a_one_line_error(clamp, message):
    with pytest.raises(DataError, match=f"^{message}"):
        random_rbm(M, N).sample(2, clamp=clamp)


@pytest.mark.parametrize("leading", [(), (7,), (2, 7)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_saved_model_is_loaded(tmp_path, leading, dtype):
    rbm = random_rbm(M, N, leading, seed=1, dtype=dtype)
    rbm.save(tmp_path / "mine")
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
    for saved, loaded in zip(rbm.parameters, RBM.load(tmp_path / "mine").parameters, strict=True):
        assert loaded.dtype == saved.dtype
        np.testing.assert_array_equal(loaded, saved)


def test_the_models_of_a_run_are_loaded(tmp_path):
    rbm = random_rbm(M, N, (2,), seed=1)
    results.write_arrays(tmp_path / "model.npz", {**rbm.parameters._asdict(), "iteration": 11, "seed": 13})
    np.testing.assert_array_equal(RBM.load(tmp_path / "model.npz").W, rbm.W)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"W": None}, "array 'W' is missing, got b, c"),
        ({"W": np.zeros(N)}, r"must be \(..., m, n\), \(..., m\), \(..., n\), got W \(3,\), b \(5,\), c \(3,\)"),
        ({"c": np.full(N, np.nan)}, "c: must "),
        ({"b": np.zeros(M, int)}, "b: must be float32 or float64, one type for all, got int64"),
    ],
)
def test_a_file_without_a_model_raises_a_one_line_error(tmp_path, changes, message):
    changes = random_rbm(M, N).parameters._asdict() | changes
    np.savez(tmp_path / "mine.npz", **{name: array for name, array in changes.items() if array is not None})
    with pytest.raises(ResultsError, match=rf"mine\.npz: {message}"):
        RBM.load(tmp_path / "mine.npz")


def test_unreadable_and_unwritable_files_raise_a_one_line_error(tmp_path):
    for path, message in ((tmp_path / "none.npz", "is missing"), (tmp_path, "cannot be read")):
        with pytest.raises(ResultsError, match=message):
            RBM.load(path)
    with pytest.raises(ResultsError, match="cannot be written"):
        random_rbm(M, N).save(tmp_path)


def test_repr_of_a_model_has_its_shapes():
    assert repr(random_rbm(M, N, (2,))) == "RBM(W (2, 5, 3), b (2, 5), c (2, 3), float64)"
    assert rbmbench.RBM is RBM


def test_error_of_too_large_parameters_names_the_file(tmp_path):
    np.savez(tmp_path / "large.npz", W=np.full((M, N), 1e38, np.float32), b=np.zeros(M, "f4"), c=np.zeros(N, "f4"))
    with pytest.raises(ResultsError, match=r"large\.npz: RBM: parameters must be finite"):
        RBM.load(tmp_path / "large.npz")
