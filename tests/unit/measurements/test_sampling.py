# SPDX-License-Identifier: BSD-3-Clause
"""Streams of samples of trained models: likelihoods, training rows and the subcommand."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from core_helpers import binary_data, random_rbm
from scipy import sparse

from rbmbench import datasets, samplers
from rbmbench.base.errors import DataError
from rbmbench.base.parsing import parse
from rbmbench.base.settings import SamplingSettings
from rbmbench.base.streams import Purpose, Stream
from rbmbench.cli import main
from rbmbench.io import results
from rbmbench.likelihood import IndirectSampling
from rbmbench.measurements import sampling
from rbmbench.measurements.sampling import TRAINING_SET, log_grid, sampled
from rbmbench.model.sparse_rows import SparseRows
from rbmbench.planning.forecast.records import records_of

M, N, TRIALS = 13, 5, 2
SAMPLERS = {
    "gibbs": {"name": "gibbs", "grid": {"k": [1, 3]}},
    "rates": {"name": "rates_fpcd", "options": {"decay": 1.0}, "grid": {"fast_rate": [0.02, 0.2], "k": [1, 2]}},
    "herding": {"name": "rates_herding", "options": {"fast_rate": 0.5}},
    "tempering": {"name": "parallel_tempering", "options": {"temperatures": 3}},
}
SETTINGS = {"samplers": SAMPLERS, "samples": 37, "points": 5, "shown": 11, "seed": 3}


@pytest.fixture(scope="module")
def data():
    parts = {"train": binary_data(29, M, 1), "validation": binary_data(17, M, 2), "test": binary_data(23, M, 3)}
    return datasets.build("made", "Made", **parts, source="test", preprocessing="none", options={})


@pytest.fixture(scope="module")
def rbm():
    return random_rbm(M, N, (TRIALS,), seed=4, dtype=np.float32)


@pytest.fixture(scope="module")
def measurement(rbm, data):
    return sampled(rbm, data, parse(SamplingSettings, SETTINGS, "test"))


@pytest.mark.parametrize("size", [1, 3 * 4 * M * N * 3])
def test_samples_do_not_depend_on_shards(rbm, data, measurement, monkeypatch, size):
    monkeypatch.setattr(sampling, "SHARD_BYTES", size)
    sharded = sampled(rbm, data, parse(SamplingSettings, SETTINGS, "test"))
    pd.testing.assert_frame_equal(sharded.likelihoods, measurement.likelihoods)
    assert all(np.array_equal(sharded.shown[name], shown) for name, shown in measurement.shown.items())


def test_log_grid_is_logarithmic_and_ends_with_all_samples():
    assert log_grid(37, 5) == [1, 2, 6, 15, 37]
    assert log_grid(1, 5) == [1]
    assert log_grid(3, 60) == [1, 2, 3]


def test_every_setting_and_model_has_a_row_per_number_of_samples(measurement):
    table = measurement.likelihoods
    assert list(table.columns) == list(results.COLUMNS["isl.parquet"])
    streams = table[table["sampler"] != TRAINING_SET].groupby(["sampler", "setting", "trial"])["samples"].apply(list)
    assert streams.tolist() == [log_grid(37, 5)] * (TRIALS * (2 + 4 + 1 + 1))


def stream_of(rbm, data, name, trial, **options):
    """Return the samples of one model by the named sampler, and their means."""
    sampler, stream = samplers.create(name, **options), Stream(3, [trial], Purpose.SAMPLES)
    state = sampler.start(rbm[trial : trial + 1], data.train, 1, stream)
    out = np.empty((1, 1, 37, M), np.uint8)
    means = np.empty(out.shape, np.float32) if sampler.has_means else None
    sampler.draw(rbm[trial : trial + 1], state, stream, out, means)
    return out[0, 0], None if means is None else means[0, 0]


@pytest.mark.parametrize(
    ("key", "setting", "name", "options"),
    [
        ("gibbs", 1, "gibbs", {"k": 3}),
        ("rates", 1, "rates_fpcd", {"fast_rate": 0.02, "decay": 1.0, "k": 2}),
        ("rates", 2, "rates_fpcd", {"fast_rate": 0.2, "decay": 1.0, "k": 1}),
        ("herding", 0, "rates_herding", {"fast_rate": 0.5}),
        ("tempering", 0, "parallel_tempering", {"temperatures": 3}),
    ],
)
def test_samples_of_a_setting_do_not_depend_on_others(measurement, rbm, data, key, setting, name, options):
    table = measurement.likelihoods
    for trial in range(TRIALS):
        samples, means = stream_of(rbm, data, name, trial, **options)
        own = table[(table["sampler"] == key) & (table["setting"] == setting) & (table["trial"] == trial)]
        for line in own.itertuples():
            likelihoods_of = {part: IndirectSampling(getattr(data, part)) for part in ("validation", "test")}
            for likelihood in likelihoods_of.values():
                likelihood.add(samples[None, : line.samples])
            flip = likelihoods_of["validation"].best_flips()
            assert line.flip == flip[0]
            assert line.validation == pytest.approx(likelihoods_of["validation"].log_likelihood(flip)[0, 0], rel=1e-12)
            assert line.test == pytest.approx(likelihoods_of["test"].log_likelihood(flip)[0, 0], rel=1e-12)
        if trial == 0:
            shown = samples if means is None else means
            np.testing.assert_array_equal(
                measurement.shown[f"{key}-{setting}"], np.rint(255.0 * shown[:11]).astype(np.uint8)
            )


def test_likelihood_of_training_rows_is_that_on_the_test_rows(measurement, data):
    line = measurement.likelihoods.query("sampler == @TRAINING_SET").iloc[0]
    likelihood = IndirectSampling(data.test)
    likelihood.add(data.train[None])
    assert (line["trial"], line["samples"]) == (-1, 29)
    assert line["test"] == pytest.approx(likelihood.log_likelihood(line["flip"])[0, 0])


def test_samples_do_not_depend_on_settings_drawn_together(measurement, rbm, data, monkeypatch):
    monkeypatch.setattr(sampling, "COUNT_BYTES", 1)
    alone = sampled(rbm, data, parse(SamplingSettings, SETTINGS, "test"))
    keys = ["sampler", "setting", "trial", "samples"]
    table, other = (part.likelihoods.sort_values(keys, ignore_index=True) for part in (measurement, alone))
    assert table[keys].equals(other[keys])
    np.testing.assert_allclose(table["test"], other["test"], rtol=1e-12)


def test_sparse_and_dense_training_rows_give_the_same_samples(rbm, data, measurement):
    thin = replace(data, train=SparseRows(sparse.csr_array(data.train)))
    again = sampled(rbm, thin, parse(SamplingSettings, SETTINGS, "test"))
    pd.testing.assert_frame_equal(again.likelihoods, measurement.likelihoods)


def test_option_rows_takes_the_first_rows(rbm, data):
    few = {"samplers": {"gibbs": {"name": "gibbs"}}, "samples": 7, "rows": 5}
    line = sampled(rbm, data, parse(SamplingSettings, few, "test")).likelihoods.iloc[0]
    likelihood = IndirectSampling(data.test[:5])
    likelihood.add(data.train[None])
    assert line["test"] == pytest.approx(likelihood.log_likelihood(line["flip"])[0, 0])


def test_data_without_test_rows_raise(rbm):
    parts = {"train": binary_data(29, M), "validation": binary_data(17, M)}
    bare = datasets.build("bare", "Bare", **parts, source="test", preprocessing="none", options={})
    with pytest.raises(DataError, match="bare: test: must have rows, got none"):
        sampled(rbm, bare, parse(SamplingSettings, SETTINGS, "test"))


def test_the_subcommand_writes_likelihoods_samples_and_meta(rbm, data, measurement, tmp_path):
    datasets.save(data, tmp_path / "data.npz")
    model = {"W": rbm.W, "b": rbm.b, "c": rbm.c, "iteration": 1, "seed": 1}
    results.write_arrays(tmp_path / "made-5h-run" / "model.npz", model)
    arguments = ["--settings", json.dumps(SETTINGS), "--data", str(tmp_path / "data.npz"), "--scale", "tiny"]
    arguments += ["--model", str(tmp_path / "made-5h-run"), "--out", str(tmp_path / "samples")]
    assert main(["job", "sample", *arguments]) == 0
    table = results.read_table(tmp_path / "samples", "isl.parquet")
    np.testing.assert_allclose(table["test"], measurement.likelihoods["test"], rtol=1e-12)
    shown = results.read_arrays(tmp_path / "samples" / "shown.npz", ["gibbs-0", "rates-3", "herding-0"])
    np.testing.assert_array_equal(shown["rates-3"], measurement.shown["rates-3"])
    meta = results.read_meta(tmp_path / "samples")
    assert meta["grids"]["rates"][3] == {"decay": 1.0, "fast_rate": 0.2, "k": 2}
    assert (meta["run"], meta["trials"], meta["data"]["title"]) == ("made-5h-run", TRIALS, "Made")
    (record,) = records_of(meta)
    wall = meta["wall"]
    seconds = min(wall["measuring_seconds"], wall["measuring_cpu_seconds"])
    assert record.seconds["measuring"] == pytest.approx(seconds, rel=1e-12)


def test_invalid_settings_are_an_error(capsys):
    settings = json.dumps(SETTINGS | {"samplers": {}})
    assert main(["job", "sample", "--settings", settings, "--data", "x", "--model", "y", "--out", "z"]) == 2
    assert "samplers: must " in capsys.readouterr().err
