# SPDX-License-Identifier: BSD-3-Clause
"""Estimators whose number of chains is not the number of rows of a mini-batch."""

import numpy as np
import pytest
from core_helpers import binary_data, random_rbm, sigmoid, training_stream
from scipy.stats import chi2

from rbmbench import estimators
from rbmbench.estimators._chains import chain_starts
from rbmbench.kernels import on_host
from rbmbench.model.gibbs import Buffers, Population
from rbmbench.training import trainer
from shim import NEEDS_COMPILER, DeviceArray, cuda_on_cpu

R, ROWS, CHAINS, M, N = 3, 7, 11, 5, 2
ERROR_RATE = 1e-4  # of every statistical test in this file


def mini_batch(rbm, rows=ROWS):
    """Return a mini-batch of a number of replicas, with its hidden means."""
    visible = np.stack([binary_data(rows, M, seed=r) for r in range(len(rbm.W))]).astype(rbm.W.dtype)
    return Population(visible, sigmoid(visible @ rbm.W + rbm.c[:, None]).astype(rbm.W.dtype))


@pytest.fixture(scope="module")
def rbm():
    return random_rbm(M, N, (R,), seed=4)


@pytest.mark.parametrize("whole_set", [False, True])
def test_starts_are_rows_of_the_mini_batch_with_their_own_means(rbm, whole_set):
    positive, stream = mini_batch(rbm), training_stream(R)
    if whole_set:  # one array for all replicas, as mini-batches of all rows are
        visible = np.broadcast_to(positive.visible[0], positive.visible.shape)
        positive = Population(visible, sigmoid(visible @ rbm.W + rbm.c[:, None]))
    starts = chain_starts(positive, CHAINS, stream, Buffers())
    assert stream.number == 1
    assert starts.visible.shape == (R, CHAINS, M)
    assert starts.hidden.shape == (R, CHAINS, N)
    assert starts.weights is None
    for r in range(R):
        rows = {row.tobytes() for row in positive.visible[r]}
        assert {row.tobytes() for row in starts.visible[r]} <= rows
    rows = start_rows(positive, starts)[..., None]
    np.testing.assert_array_equal(starts.hidden, np.take_along_axis(positive.hidden, rows, axis=1))


def start_rows(positive, starts):
    """Return the row of the mini-batch at each start, from its hidden mean, which differs between rows."""
    same = (starts.hidden[:, :, None] == positive.hidden[:, None]).all(axis=-1)
    np.testing.assert_array_equal((positive.visible[:, None] == starts.visible[:, :, None]).all(axis=-1) & same, same)
    return same.argmax(axis=-1)


def test_starts_are_drawn_uniformly_and_independently():
    # Pearson's statistic over the pairs of rows that the first two chains of many replicas start at.
    replicas, rows = 20_011, 5
    mean = np.repeat(np.linspace(0.1, 0.9, rows)[None, :, None], replicas, axis=0)
    visible = np.zeros((replicas, rows, M))
    starts = chain_starts(Population(visible, mean), 2, training_stream(replicas, seed=11), Buffers())
    index = np.rint((starts.hidden[..., 0] - 0.1) / 0.2).astype(int)
    counts = np.bincount(index[:, 0] * rows + index[:, 1], minlength=rows**2)
    expected = replicas / rows**2
    assert ((counts - expected) ** 2 / expected).sum() < chi2.isf(ERROR_RATE, rows**2 - 1)


@pytest.mark.parametrize("name", ["cd", "pcd"])
@pytest.mark.parametrize("chains", [1, CHAINS])
def test_the_negative_phase_has_as_many_rows_as_chains(name, chains, rbm):
    positive, stream = mini_batch(rbm), training_stream(R)
    estimator = estimators.create(name, k=2, chains=chains)
    state = estimator.start(rbm, binary_data(23, M), ROWS, stream)
    assert {array.shape for array in state.values()} == ({(R, chains, M)} if name == "pcd" else set())
    estimate = estimator.estimate(rbm, positive.visible, state, stream)
    assert estimate.positive.visible.shape == (R, ROWS, M)
    assert estimate.negative.visible.shape == (R, chains, M)
    assert stream.number == 5  # the starts, and two draws a step
    positive_part, negative_part = estimator.phase_sums(estimate)
    assert (positive_part.scale, negative_part.scale) == (1 / ROWS, 1 / chains)
    expected = positive.visible.mean(axis=1) - estimate.negative.visible.mean(axis=1)
    np.testing.assert_allclose(estimator.gradient(estimate).b, expected, rtol=0, atol=1e-15)


def test_state_of_pcd_is_its_negative_phase_for_any_mini_batch(rbm):
    estimator, stream = estimators.create("pcd", chains=CHAINS), training_stream(R)
    state = estimator.start(rbm, binary_data(23, M), ROWS, stream)
    for rows in (ROWS, 2):
        estimate = estimator.estimate(rbm, mini_batch(rbm, rows).visible, state, stream)
        np.testing.assert_array_equal(estimate.state["visible"], estimate.negative.visible)


@pytest.mark.parametrize("name", ["cd", "pcd"])
def test_default_number_of_chains_is_the_number_of_rows(name):
    options = {"hidden": N, "estimator": name, "batch": 6, "iterations": 5, "trials": 2, "seed": 3}
    data = binary_data(23, M)
    default = trainer.train(data, **options)
    without_number = trainer.train(data, options={"chains": None}, **options)
    as_many_as_rows = trainer.train(data, options={"chains": 6}, **options)
    assert default.rbm.W.tobytes() == without_number.rbm.W.tobytes()
    # With as many chains as rows PCD is the same; chains of CD then start at other rows.
    assert (default.rbm.W.tobytes() == as_many_as_rows.rbm.W.tobytes()) == (name == "pcd")


@pytest.mark.parametrize(("name", "k"), [("cd", 2), ("pcd", 1), ("ucd", 1), ("ucd", 3)])
def test_measuring_the_variance_does_not_change_the_gradient(name, k, rbm):
    results = []
    for variance in (False, True):
        estimator, stream = estimators.create(name, k=k, chains=CHAINS, variance=variance), training_stream(R)
        state = estimator.start(rbm, binary_data(23, M), ROWS, stream)
        for _ in range(2):
            estimate = estimator.estimate(rbm, mini_batch(rbm).visible, state, stream)
        names = {name for name in estimate.diagnostics if name.startswith("gradient_variance_")}
        assert len(names) == 3 * variance
        results.append((stream.number, estimator.gradient(estimate).flat()))
    assert results[0][0] == results[1][0]
    # Compiled code adds up the terms of UCD in another order.
    np.testing.assert_allclose(results[1][1], results[0][1], rtol=0, atol=1e-14 if name == "ucd" else 0)


@NEEDS_COMPILER
@pytest.mark.parametrize("name", ["cd", "pcd", "ucd"])
def test_chains_and_variances_on_a_device_are_those_on_the_host(name, rbm):
    variances, chains = [], []
    with cuda_on_cpu():
        for array in (np.empty(0), DeviceArray(np.empty(0))):
            on_device, batch = rbm.like(array), np.asarray(mini_batch(rbm).visible, like=array)
            estimator, stream = estimators.create(name, k=2, chains=CHAINS, variance=True), training_stream(R)
            state = estimator.start(on_device, np.asarray(binary_data(23, M), like=array), ROWS, stream)
            estimate = estimator.estimate(on_device, batch, state, stream)
            variances.append([on_host(estimate.diagnostics[f"gradient_variance_{part}"]) for part in "Wbc"])
            if name != "ucd":  # UCD returns statistics
                assert type(estimate.negative.visible) is type(array)
                chains.append(on_host(estimate.negative.visible))
    np.testing.assert_allclose(*variances, rtol=1e-9)
    if chains:
        np.testing.assert_array_equal(*chains)
