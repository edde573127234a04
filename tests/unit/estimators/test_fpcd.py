# SPDX-License-Identifier: BSD-3-Clause
"""Fast PCD: the recursion of its fast parameters, and PCD without a fast rate."""

import numpy as np
import pytest
from core_helpers import binary_data, expected_tosses, random_rbm, sigmoid, training_stream

from rbmbench import estimators
from rbmbench.base.errors import SettingsError
from rbmbench.training import trainer

R, ROWS, M, N = 2, 7, 5, 3


@pytest.fixture(scope="module")
def rbm():
    return random_rbm(M, N, (R,), seed=4)


def batches(count):
    """Return mini-batches (R, ROWS, M), float64."""
    data = [np.stack([binary_data(ROWS, M, R * i + r) for r in range(R)]) for i in range(count)]
    return [batch.astype(float) for batch in data]


def statistics_by_hand(visible, hidden):
    """Return the means of (v h', v, h) over the rows."""
    return [np.einsum("rai,raj->rij", visible, hidden) / visible.shape[1], visible.mean(axis=1), hidden.mean(axis=1)]


def fpcd_by_hand(rbm, data, fast_rate, decay, k):
    """Yield the negative rows and the fast parameters after each mini-batch, from the formulas alone."""
    stream = training_stream(R)
    estimator = estimators.create("pcd", k=k)
    visible = estimator.start(rbm, data[0][0].astype(np.uint8), ROWS, stream)["visible"]
    fast = [np.zeros_like(part) for part in (rbm.W, rbm.b, rbm.c)]
    for batch in data:
        W, b, c = (part + other for part, other in zip((rbm.W, rbm.b, rbm.c), fast, strict=True))

        def sampled(mean):
            return (expected_tosses(stream.next(), mean[0].size).reshape(mean.shape) < mean).astype(float)

        for _ in range(k):
            hidden = sampled(sigmoid(visible @ W + c[:, None]))
            visible = sampled(sigmoid(hidden @ W.swapaxes(1, 2) + b[:, None]))
        up = statistics_by_hand(batch, sigmoid(batch @ rbm.W + rbm.c[:, None]))
        down = statistics_by_hand(visible, sigmoid(visible @ W + c[:, None]))
        fast = [decay * f + fast_rate * (u - d) for f, u, d in zip(fast, up, down, strict=True)]
        yield visible, fast


@pytest.mark.parametrize(("fast_rate", "decay", "k"), [(0.7, 0.95, 1), (0.3, 1.0, 2), (1.1, 0.0, 1)])
def test_the_fast_parameters_follow_their_recursion(rbm, fast_rate, decay, k):
    data, stream = batches(6), training_stream(R)
    estimator = estimators.create("fpcd", k=k, fast_rate=fast_rate, decay=decay)
    state = estimator.start(rbm, data[0][0].astype(np.uint8), ROWS, stream)
    for batch, (visible, fast) in zip(data, fpcd_by_hand(rbm, data, fast_rate, decay, k), strict=True):
        estimate = estimator.estimate(rbm, batch, state, stream)
        state = estimate.state
        np.testing.assert_array_equal(estimate.negative.visible, visible)
        for name, expected in zip(("fast_W", "fast_b", "fast_c"), fast, strict=True):
            np.testing.assert_allclose(state[name], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("options", [{"k": 1}, {"k": 3, "chains": 11}])
def test_fpcd_without_a_fast_rate_is_pcd_bit_for_bit(precision, options):
    settings = {"hidden": N, "batch": 6, "iterations": 41, "trials": 2, "precision": precision, "evaluate_every": 10}
    pcd = trainer.train(binary_data(23, M), estimator="pcd", options=options, **settings)
    fpcd = trainer.train(binary_data(23, M), estimator="fpcd", options=options | {"fast_rate": 0.0}, **settings)
    for part in ("W", "b", "c"):
        assert getattr(fpcd.rbm, part).tobytes() == getattr(pcd.rbm, part).tobytes()
    assert fpcd.curve.value.tolist() == pcd.curve.value.tolist()


def test_gradient_is_the_difference_of_phases_summed_once(rbm):
    (batch,) = batches(1)
    estimator, stream = estimators.create("fpcd", fast_rate=0.4), training_stream(R)
    state = estimator.start(rbm, batch[0].astype(np.uint8), ROWS, stream)
    estimate = estimator.estimate(rbm, batch, state, stream)
    assert estimator.phase_sums(estimate) is estimate.sums
    up = statistics_by_hand(batch, estimate.positive.hidden)
    down = statistics_by_hand(estimate.negative.visible, estimate.negative.hidden)
    for part, u, d in zip(estimator.gradient(estimate), up, down, strict=True):
        np.testing.assert_allclose(part, u - d, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("options", "value"),
    [
        ({"fast_rate": -0.1}, "-0.1"),
        ({"fast_rate": float("inf")}, "inf"),
        ({"decay": 1.1}, "1.1"),
        ({"decay": True}, "True"),
        ({"fast_rate": "a"}, "'a'"),
    ],
)
def test_invalid_options_raise(options, value):
    with pytest.raises(SettingsError, match=f"option '{next(iter(options))}': must be a number .*, got {value}"):
        estimators.create("fpcd", **options)
