# SPDX-License-Identifier: BSD-3-Clause
"""Streams of samples of trained models: what is sampled, what it is held against, and the subcommand."""

import json

import numpy as np
import pandas as pd
import pytest
from core_helpers import binary_data, random_rbm

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
def test_replicas_are_sampled_alike_in_whatever_shards(rbm, data, measurement, monkeypatch, size):
    monkeypatch.setattr(sampling, "SHARD_BYTES", size)
    cut = sampled(rbm, data, parse(SamplingSettings, SETTINGS, "test"))
    pd.testing.assert_frame_equal(cut.likelihoods, measurement.likelihoods)
    assert all(np.array_equal(cut.shown[name], shown) for name, shown in measurement.shown.items())


def test_numbers_of_samples_are_even_in_logarithm_and_end_with_all():
    assert log_grid(37, 5) == [1, 2, 6, 15, 37]
    assert log_grid(1, 5) == [1]
    assert log_grid(3, 60) == [1, 2, 3]


def test_every_setting_and_model_has_a_line_at_every_number(measurement):
    table = measurement.likelihoods
    assert list(table.columns) == list(results.COLUMNS["isl.parquet"])
    streams = table[table["sampler"] != TRAINING_SET].groupby(["sampler", "setting", "trial"])["samples"].apply(list)
    assert streams.tolist() == [log_grid(37, 5)] * (TRIALS * (2 + 4 + 1 + 1))


def stream_of(rbm, data, name, trial, **options):
    """Return the samples of one model alone, as the sampler of this name draws them."""
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
def test_streams_are_those_of_the_setting_alone(measurement, rbm, data, key, setting, name, options):
    table = measurement.likelihoods
    for trial in range(TRIALS):
        samples, means = stream_of(rbm, data, name, trial, **options)
        own = table[(table["sampler"] == key) & (table["setting"] == setting) & (table["trial"] == trial)]
        for line in own.itertuples():
            held = {part: IndirectSampling(getattr(data, part)) for part in ("validation", "test")}
            for counted in held.values():
                counted.add(samples[None, : line.samples])
            flip = held["validation"].best_flips()
            assert line.flip == flip[0]
            assert line.validation == pytest.approx(held["validation"].log_likelihood(flip)[0, 0], rel=1e-12)
            assert line.test == pytest.approx(held["test"].log_likelihood(flip)[0, 0], rel=1e-12)
        if trial == 0:
            shown = samples if means is None else means
            np.testing.assert_array_equal(
                measurement.shown[f"{key}-{setting}"], np.rint(255.0 * shown[:11]).astype(np.uint8)
            )


def test_the_training_rows_are_held_against_the_same_rows(measurement, data):
    line = measurement.likelihoods.query("sampler == @TRAINING_SET").iloc[0]
    counted = IndirectSampling(data.test)
    counted.add(data.train[None])
    assert (line["trial"], line["samples"]) == (-1, 29)
    assert line["test"] == pytest.approx(counted.log_likelihood(line["flip"])[0, 0])


def test_settings_that_do_not_fit_together_are_sampled_one_after_the_other(measurement, rbm, data, monkeypatch):
    monkeypatch.setattr(sampling, "COUNT_BYTES", 1)
    alone = sampled(rbm, data, parse(SamplingSettings, SETTINGS, "test"))
    keys = ["sampler", "setting", "trial", "samples"]
    table, other = (part.likelihoods.sort_values(keys, ignore_index=True) for part in (measurement, alone))
    assert table[keys].equals(other[keys])
    np.testing.assert_allclose(table["test"], other["test"], rtol=1e-12)


def test_fewer_rows_are_the_first(rbm, data):
    few = {"samplers": {"gibbs": {"name": "gibbs"}}, "samples": 7, "rows": 5}
    line = sampled(rbm, data, parse(SamplingSettings, few, "test")).likelihoods.iloc[0]
    counted = IndirectSampling(data.test[:5])
    counted.add(data.train[None])
    assert line["test"] == pytest.approx(counted.log_likelihood(line["flip"])[0, 0])


def test_data_without_test_rows_are_one_line(rbm):
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
    counted = min(wall["measuring_seconds"], wall["measuring_cpu_seconds"])
    assert record.seconds["measuring"] == pytest.approx(counted, rel=1e-12)


def test_wrong_settings_are_one_line(capsys):
    wrong = json.dumps(SETTINGS | {"samplers": {}})
    assert main(["job", "sample", "--settings", wrong, "--data", "x", "--model", "y", "--out", "z"]) == 2
    assert "samplers: must " in capsys.readouterr().err
