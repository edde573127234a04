# SPDX-License-Identifier: BSD-3-Clause
"""Sparse matrices give the models of dense ones, and are never converted as a whole."""

import tracemalloc

import numpy as np
import pytest
from core_helpers import binary_data, random_rbm
from scipy import sparse

import rbmbench
from rbmbench import RBMTransformer, plot_samples
from rbmbench.base.errors import DataError
from rbmbench.base.settings import CertificateSettings
from rbmbench.likelihood.indirect_sampling import IndirectSampling
from rbmbench.measurements.certificate import certificate
from rbmbench.model.sparse_rows import SparseRows, training_rows

ROWS, M = 203, 31
DATA = binary_data(ROWS, M, p=0.1)
MODELS = [
    (5, "cd", "sgd", {}),
    (5, "exact", "momentum", {"initial": {"biases": "base_rate"}}),
    (5, "pcd", "centered", {"proxy": {"rows": 7, "chains": 3, "steps": 2}}),
    (29, "parallel_tempering", "cs_dcp", {"trials": 2}),
    (29, "trajectory_tempering", "sgd", {}),
    (29, "pcd", "sgd", {"batch": ROWS}),
]


@pytest.mark.parametrize(("hidden", "estimator", "update", "more"), MODELS)
def test_models_of_sparse_and_dense_rows_are_equal(hidden, estimator, update, more):
    options = {"hidden": hidden, "estimator": estimator, "update": update, "batch": 13, "iterations": 17} | more
    if update == "cs_dcp":
        options["estimator"] = "cd"
    dense, sparse_result = (rbmbench.train(data, **options) for data in (DATA, sparse.csc_array(DATA)))
    for parameter, expected in zip(sparse_result.rbm.parameters, dense.rbm.parameters, strict=True):
        np.testing.assert_array_equal(parameter, expected)
    # Likelihoods of equal rows are summed in another order.
    np.testing.assert_allclose(sparse_result.curve["value"], dense.curve["value"], rtol=1e-12)
    if hidden == 29:
        budget = {"particles": 3, "temperatures": 5}
        pairs = (dense, DATA), (sparse_result, sparse.coo_array(DATA))
        curves = [result.annealed(data, **budget).curve for result, data in pairs]
        np.testing.assert_allclose(curves[1]["value"], curves[0]["value"], rtol=1e-12)


def test_measurements_of_sparse_and_dense_rows_are_equal():
    rbm, settings = random_rbm(M, 3, (1,), dtype=np.float32), CertificateSettings(chains=4, sweeps=128, walkers=5)
    thin = SparseRows(sparse.csr_array(DATA))
    numbers, expected = (certificate(rbm, rows, settings)["value"] for rows in (thin, DATA))
    np.testing.assert_array_equal(numbers, expected)
    np.testing.assert_array_equal(plot_samples(thin).images[0].get_array(), plot_samples(DATA).images[0].get_array())
    assert IndirectSampling(thin).counts.shape == IndirectSampling(DATA).counts.shape


@pytest.mark.parametrize("hidden", [2, 29])
def test_memory_of_sparse_training_is_below_that_of_dense_rows(hidden):
    rows, columns = 5003, 20011
    matrix = sparse.random_array((rows, columns), density=1e-3, format="csr", rng=0, dtype=np.float32)
    matrix.data[:] = 1
    batch = {"batch": 11, "iterations": 3}
    rbmbench.train(matrix[:23], hidden=hidden, **batch)  # compilation
    tracemalloc.start()
    rbmbench.train(matrix, hidden=hidden, **batch)
    RBMTransformer(hidden, batch_size=97, n_iter=1).fit(matrix).transform(matrix)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < rows * columns  # bytes of the dense matrix


def test_a_transformer_gives_equal_results_for_sparse_and_dense_rows():
    matrix = sparse.csr_array(DATA * 0.75)
    models = [RBMTransformer(5, n_iter=3, threshold=0.5, early_stopping=True, random_state=3) for _ in range(2)]
    for model, rows in zip(models, (matrix.toarray(), matrix), strict=True):
        model.fit(rows)
    np.testing.assert_array_equal(models[0].components_, models[1].components_)
    for method in ("transform", "score_samples", "pseudo_likelihood"):
        outputs = [getattr(model, method)(rows) for model, rows in zip(models, (matrix.toarray(), matrix), strict=True)]
        np.testing.assert_allclose(outputs[1], outputs[0], rtol=1e-12)
    # At a threshold below 0, entries that are not stored are 1.
    np.testing.assert_array_equal(
        *(RBMTransformer(5, n_iter=1, threshold=-1, random_state=3).fit(rows).components_ for rows in (matrix, DATA))
    )


def test_duplicate_entries_are_summed_and_zeros_dropped():
    stored = sparse.coo_array(([1, 0, 2, -1], ([0, 0, 1, 1], [1, 2, 0, 0])), shape=(3, 5))
    rows = SparseRows(stored)
    np.testing.assert_array_equal(rows[:], stored.toarray())
    np.testing.assert_array_equal(rows[np.array([[2, 1], [1, 0]])], stored.toarray()[[[2, 1], [1, 0]]])
    np.testing.assert_array_equal(rows.mean(axis=0), stored.toarray().mean(axis=0))
    np.testing.assert_array_equal(np.concatenate(list(rows.blocks())), np.asarray(rows))


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (sparse.csr_array(2 * DATA), "data: must be 0 or 1, got 2"),
        (sparse.csr_array((0, 5)), r"data: must have at least one row and one column, got shape \(0, 5\)"),
        (sparse.coo_array(DATA[0]), r"data: must have at least one row and one column, got shape \(31,\)"),
        (sparse.csr_array(DATA[:, :-2]), "data: must be 31, .*, got 29 columns"),
    ],
)
def test_sparse_matrices_other_than_of_0_and_1_raise(matrix, message):
    with pytest.raises(DataError, match=f"^{message}"):
        training_rows(matrix, units=None if 0 in matrix.shape else M)
