# SPDX-License-Identifier: BSD-3-Clause
"""Reconstruction log-likelihood: its distribution on small models, and its values in runs."""

import numpy as np
import pytest
from core_helpers import (
    Enumerated,
    binary_data,
    expected_tosses,
    random_rbm,
    repeated,
    sigmoid,
    training_stream,
    two_mode_rbm,
)
from scipy.stats import norm

from rbmbench.base.errors import SettingsError
from rbmbench.base.parsing import parse
from rbmbench.base.settings import RunSettings
from rbmbench.base.streams import Purpose, Stream
from rbmbench.likelihood import reconstruction, reconstruction_log_likelihood
from rbmbench.training import trainer
from shim import NEEDS_COMPILER, DeviceArray, cuda_on_cpu

ERROR_RATE = 1e-4
M, N = 5, 3
METRIC = "reconstruction_log_likelihood"


def stream_of(replicas, seed=5):
    return training_stream(replicas, seed, Purpose.RECONSTRUCTION)


@pytest.mark.parametrize("steps", [1, 3])
def test_the_average_over_chains_has_the_expectation_of_the_gibbs_chain(steps):
    # With one chain the value is log p(v|h), h at the chain's end: E p(v|h) = K^(steps+1)(v, v). Bonferroni over rows.
    model, replicas, rows = two_mode_rbm(M, N, coupling=5.0), 20_011, np.array([[1] * M, [1, 1, 1, 1, 0], [0] * M])
    table = Enumerated.of(model)
    for number, row in enumerate(rows):
        state = table.numbers_of(row)
        expected, shorter, longer = (np.linalg.matrix_power(table.gibbs, steps + d)[state, state] for d in (1, 0, 2))
        stream = stream_of(replicas, seed=number)
        models = repeated(model, replicas)
        probabilities = np.exp(reconstruction_log_likelihood(models, row[None], stream, chains=1, steps=steps).value)
        error = probabilities.std(ddof=1) / np.sqrt(replicas)
        assert abs(probabilities.mean() - expected) < norm.isf(ERROR_RATE / len(rows) / 2) * error
        # The test has power: a step less or more gives another value.
        assert min(abs(shorter - expected), abs(longer - expected)) > 8 * error


@pytest.mark.parametrize("chains", [1, 4])
def test_value_equals_the_formula_for_the_same_random_numbers(chains):
    steps, rbm, rows = 2, random_rbm(M, N, (3,), seed=4), binary_data(7, M)
    stream = stream_of(3)

    def tossed(mean):
        return (expected_tosses(stream.next(), mean[0].size).reshape(mean.shape) < mean).astype(float)

    h = tossed(np.repeat(sigmoid(rows @ rbm.W + rbm.c[:, None]), chains, axis=1))
    for _ in range(steps):
        v = tossed(sigmoid(h @ rbm.W.swapaxes(1, 2) + rbm.b[:, None]))
        h = tossed(sigmoid(v @ rbm.W + rbm.c[:, None]))
    mean = sigmoid(h @ rbm.W.swapaxes(1, 2) + rbm.b[:, None]).reshape(3, len(rows), chains, M)
    probability = np.where(rows[:, None, :] == 1, mean, 1 - mean).prod(axis=-1)
    again = stream_of(3)
    log_likelihood = reconstruction_log_likelihood(rbm, rows, again, chains=chains, steps=steps).value
    np.testing.assert_allclose(log_likelihood, np.log(probability.mean(axis=-1)).mean(axis=-1), rtol=1e-12)
    assert again.number == stream.number


def test_error_is_the_deviation_of_values_of_equal_models():
    # The delta method neglects terms of order 1 / chains. The spread of 2003 values has an error of 4.7 % (3 sigma).
    rbm, rows = repeated(random_rbm(M, N, seed=5), 2003), binary_data(7, M)
    estimate = reconstruction_log_likelihood(rbm, rows, stream_of(2003), chains=101, steps=2)
    assert np.sqrt((estimate.error**2).mean()) == pytest.approx(estimate.value.std(), rel=0.06)
    assert np.isnan(reconstruction_log_likelihood(rbm[:2], rows, stream_of(2), chains=1, steps=2).error).all()


def test_a_replica_does_not_depend_on_others_and_on_blocks(monkeypatch):
    rbm, rows = random_rbm(M, N, (5,), seed=4, dtype=np.float32), binary_data(11, M)
    monkeypatch.setattr(reconstruction, "BLOCK_BYTES", 8 * 3 * (M + N) * 4)  # four rows per block, one replica each
    estimates = np.transpose(reconstruction_log_likelihood(rbm, rows, stream_of(5), chains=3, steps=2))
    for r in range(5):
        alone = Stream(5, [r], Purpose.RECONSTRUCTION)
        same = reconstruction_log_likelihood(rbm[r : r + 1], rows, alone, chains=3, steps=2)
        np.testing.assert_array_equal(np.transpose(same), estimates[r : r + 1])
        assert alone.number == 3 * 5  # blocks, each with a draw of the start and two per step
    assert len(set(estimates[:, 0])) == 5


@pytest.mark.parametrize("leading", [(), (2, 3)])
def test_leading_axes_are_those_of_the_models(leading):
    rbm, rows, count = random_rbm(M, N, leading), binary_data(7, M), int(np.prod(leading))
    estimate = reconstruction_log_likelihood(rbm, rows, stream_of(count), chains=3, steps=2)
    expected = reconstruction_log_likelihood(rbm.replicas, rows, stream_of(count), chains=3, steps=2)
    for values, flat_values in zip(estimate, expected, strict=True):
        assert values.shape == leading
        np.testing.assert_array_equal(values.ravel(), flat_values)
    with pytest.raises(SettingsError, match=rf"^stream: must have {count} trials, one per RBM, got 5$"):
        reconstruction_log_likelihood(rbm, rows, stream_of(5))


@pytest.mark.parametrize("option", ["chains", "steps"])
def test_no_chains_or_no_steps_raise(option):
    counts = {"chains": 1, "steps": 1} | {option: 0}
    with pytest.raises(SettingsError, match=f"option '{option}': must be an integer >= 1, got 0"):
        reconstruction_log_likelihood(random_rbm(M, N, (1,)), binary_data(2, M), stream_of(1), **counts)


@NEEDS_COMPILER
def test_value_on_a_device_is_that_on_the_host():
    host, rows = random_rbm(M, N, (3,)), binary_data(7, M)
    with cuda_on_cpu():
        models = host.like(DeviceArray(np.empty(0))), host
        estimate, expected = (
            reconstruction_log_likelihood(rbm, rows, stream_of(3), chains=4, steps=2) for rbm in models
        )
    np.testing.assert_allclose(estimate, expected, rtol=1e-12)


DATA = binary_data(23, 29)
PROXY = {"chains": 3, "steps": 2, "rows": 7}


def settings_for(hidden=4, **changes):
    stage = {"until": 12, "estimator": {"name": "cd"}, "rate": 0.1}
    values = {"data": {"name": "toy"}, "hidden": hidden, "batch": 12, "schedule": [stage], "trials": 2, "seed": 3}
    return parse(RunSettings, values | {"first_trial": 4, "evaluate_every": 3, "proxy": PROXY} | changes, "test")


def values_of(result):
    curve = result.curve[result.curve["metric"] == METRIC]
    return curve.pivot(index="iteration", columns="trial", values="value")


@pytest.mark.parametrize("hidden", [4, 31])
def test_runs_evaluate_the_reconstruction_log_likelihood(hidden):
    result, plain = (trainer.run(DATA, settings_for(hidden, **changes)) for changes in ({}, {"proxy": None}))
    curves = values_of(result)
    assert curves.index.tolist() == [0, 3, 6, 9, 12]
    assert curves.columns.tolist() == [4, 5]
    # Training and the other metrics do not depend on it.
    assert result.rbm.W.tobytes() == plain.rbm.W.tobytes()
    assert result.snapshots.keys() == plain.snapshots.keys()
    others = result.curve[~result.curve["metric"].str.startswith(METRIC)].reset_index(drop=True)
    assert others.equals(plain.curve)
    assert set(result.curve["metric"]) - set(plain.curve["metric"]) == {METRIC, f"{METRIC}_error"}
    # The last value, by hand: rows 0, 3, 6, 9, 13, 16, 19 of 23, a stream of the iteration.
    stream = Stream(3, [4, 5], Purpose.RECONSTRUCTION, 12 << 32)
    rows = DATA[[0, 3, 6, 9, 13, 16, 19]]
    expected = reconstruction_log_likelihood(result.rbm, rows, stream, chains=3, steps=2).value
    np.testing.assert_array_equal(curves.loc[12], expected)


def test_values_depend_on_seed_trial_and_iteration_only():
    often, seldom = (values_of(trainer.run(DATA, settings_for(evaluate_every=every))) for every in (3, 6))
    np.testing.assert_array_equal(often.loc[[0, 6, 12]], seldom)
    alone = values_of(trainer.run(DATA, settings_for(trials=1, first_trial=5)))
    np.testing.assert_array_equal(alone[5], often[5])


def test_invalid_proxy_settings_raise():
    with pytest.raises(SettingsError, match=r"^proxy: rows: must be at most the 23 rows of the data set, got 24"):
        trainer.run(DATA, settings_for(proxy=PROXY | {"rows": 24}))
    with pytest.raises(SettingsError, match=r"^test: proxy\.steps: must .*, got 0"):
        settings_for(proxy={"steps": 0})
