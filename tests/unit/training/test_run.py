# SPDX-License-Identifier: BSD-3-Clause
"""Results of runs: loading from a folder, representations and plots."""

import json

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from core_helpers import binary_data

import rbmbench
from rbmbench import datasets
from rbmbench.base.errors import ResultsError, SettingsError
from rbmbench.base.settings import AnnealingSettings
from rbmbench.cli import main
from rbmbench.io import results
from rbmbench.io.atomic import write_json
from rbmbench.io.meta import content_checksum
from rbmbench.training.snapshots import annealed_curve

DATA = binary_data(23, 7)
PLAIN = {"hidden": 5, "batch": 3, "iterations": 11, "trials": 2}


def train_in(folder, *more):
    np.save(folder / "own.npy", DATA)
    arguments = ["--hidden", 5, "--batch", 3, "--iterations", 11, "--trials", 2, "--evaluate-every", 7, *more]
    assert main(["train", *map(str, ["--data", folder / "own.npy", "--out", folder / "run", *arguments])]) == 0
    return folder / "run"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return train_in(tmp_path_factory.mktemp("run"))


@pytest.fixture
def copied(folder, tmp_path):
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    return tmp_path


def rewrite_meta(folder, change) -> None:
    """Change a meta and its checksum."""
    meta = json.loads((folder / "meta.json").read_text())
    change(meta)
    write_json(folder / "meta.json", meta | {"content_sha256": content_checksum(meta)})


def test_a_loaded_run_equals_the_trained_one(folder):
    trained, loaded = rbmbench.train(DATA, **PLAIN, evaluate_every=7), rbmbench.load_run(folder)
    for parameter, other in zip(trained.rbm.parameters, loaded.rbm.parameters, strict=True):
        np.testing.assert_array_equal(parameter, other)
    pd.testing.assert_frame_equal(trained.curve, loaded.curve, check_dtype=False)
    unnamed = {"data": datasets.load("diag").provenance | {"name": "x"}}
    assert trained.settings.model_copy(update=unnamed) == loaded.settings.model_copy(update=unnamed)
    assert (trained.timings.keys(), trained.snapshots) == (loaded.timings.keys(), loaded.snapshots)
    assert trained.backend == loaded.backend
    assert loaded.meta["data"]["title"] == "own"


def test_a_loaded_run_has_the_curve_of_its_evaluation(copied):
    other, meta = results.read_table(copied, "curve.parquet"), dict(results.read_meta(copied))
    for name, value in (("evaluation", 13.0), ("elsewhere", 17.0)):
        results.write_table(copied / name / "curve.parquet", other.assign(value=value))
        results.write_meta(copied / name, ("curve.parquet",), meta)
    assert set(rbmbench.load_run(copied, copied / "elsewhere").curve["value"]) == {17.0}
    # Likelihoods of a run with snapshots are those of its evaluation.
    assert 13.0 not in set(rbmbench.load_run(copied).curve["value"])
    arrays, names = results.read_model(copied), ("W", "b", "c")
    snapshots = {f"snapshot_{name}": arrays[name][None] for name in names} | {"snapshot_iterations": np.array([11])}
    results.write_arrays(copied / "model.npz", arrays | snapshots)
    rewrite_meta(copied, lambda meta: meta.pop("sha256"))
    loaded = rbmbench.load_run(copied)
    assert set(loaded.curve["value"]) == {13.0}
    assert loaded.snapshots.keys() == snapshots.keys()
    rewrite_meta(copied / "elsewhere", lambda meta: meta["data"].update(title="other"))
    with pytest.raises(ResultsError, match=r"elsewhere/meta\.json: data: must be those of the run"):
        rbmbench.load_run(copied, copied / "elsewhere")


@pytest.mark.parametrize("file", ["model.npz", "curve.parquet", "meta.json"])
def test_missing_and_damaged_files_raise_a_one_line_error(copied, file):
    content = (copied / file).read_bytes()
    (copied / file).write_bytes(content[:-7] + b"\n}     " if file == "meta.json" else content[: len(content) // 2])
    with pytest.raises(ResultsError, match=rf"^{copied / file}: "):
        rbmbench.load_run(copied)
    (copied / file).unlink()
    with pytest.raises(ResultsError, match=rf"^{copied / file}: is missing$"):
        rbmbench.load_run(copied)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda meta: meta["settings"].update(hidden=3), "model.npz: must have 2 models of 3 hidden units"),
        (lambda meta: meta["settings"].update(trials=3), "model.npz: must have 3 models of 5 hidden units"),
        (lambda meta: meta["settings"].pop("schedule"), "meta.json: settings: schedule: "),
        (lambda meta: meta.pop("settings"), "meta.json: key 'settings' is missing"),
        (lambda meta: meta["settings"].update(seed="x"), "meta.json: settings: seed: must be a valid integer, got 'x'"),
    ],
)
def test_a_meta_of_another_run_raises_a_one_line_error(copied, change, message):
    rewrite_meta(copied, change)
    with pytest.raises(ResultsError) as caught:
        rbmbench.load_run(copied)
    assert str(caught.value).startswith(f"{copied}/{message}")


def test_repr_of_a_run_has_settings_and_likelihoods(folder):
    loaded = rbmbench.load_run(folder)
    last = loaded.curve.query("metric == 'log_likelihood' and iteration == 11")["value"]
    assert repr(loaded) == (
        "TrainingResult(2 RBMs of 7 visible and 5 hidden units; own; cd, sgd, rate 0.1, to iteration 11; batches of 3 "
        f"rows, seed 0; {last.mean():.4g} nats per row, mean over 2 trials ({last.min():.4g} to {last.max():.4g}))"
    )


def test_repr_replaces_line_ends_and_escapes_of_files(copied):
    rewrite_meta(copied, lambda meta: meta["data"].update(title="a\nb\x1b[31m"))
    assert "; a b [31m; " in repr(rbmbench.load_run(copied))


def test_html_escapes_text_of_files(copied):
    rewrite_meta(copied, lambda meta: meta["data"].update(title="<script>&"))
    html = rbmbench.load_run(copied)._repr_html_()
    assert "<td>&lt;script&gt;&amp;</td>" in html
    assert "<script>" not in html


def test_large_models_are_not_evaluated_until_annealed():
    data = binary_data(31, 29)
    options = {"estimator": "pop_cd", "trials": 2, "first_trial": 3}
    result = rbmbench.train(data, hidden=27, batch=31, iterations=2, **options)
    assert "not evaluated" in repr(result)
    with pytest.raises(SettingsError, match=r"^unknown metric 'log_likelihood'; allowed: eff.*`annealed` evaluates"):
        result.plot()
    budget = {"particles": 7, "temperatures": 13, "seed": 5}
    annealed = result.annealed(data, **budget)
    expected = annealed_curve(result.snapshots, data, AnnealingSettings(**budget), first_trial=3)
    pd.testing.assert_frame_equal(annealed.curve[: len(expected)], expected)
    assert set(annealed.curve["metric"][len(expected) :]) == {"effective_sample_size"}
    error = expected.query("metric == 'log_partition_error' and iteration == 2")["value"].max()
    assert repr(annealed).endswith(f"); log Z is annealed, standard error {error:.2g})")
    with pytest.raises(SettingsError, match=r"^annealed: particles: must .*, got 1"):
        result.annealed(data, particles=1)


def test_annealed_without_snapshots_raises():
    with pytest.raises(SettingsError, match=r"^annealed: must have snapshots, got none"):
        rbmbench.train(DATA, **PLAIN).annealed(DATA)


def test_plots_of_a_result_draw_on_the_given_axes():
    result = rbmbench.train(datasets.load("bars_and_stripes", side=3), **PLAIN)
    axes = plt.figure().subplots(1, 3)
    for number, plot in enumerate((result.plot, result.plot_filters, result.plot_samples)):
        assert plot(ax=axes[number]) is axes[number]
    assert axes[0].get_ylabel() == "log-likelihood (nats per row)"
    # 5 filters of 3 x 3 pixels in 2 rows of 3, 100 samples in 10 rows of 10, with a pixel between images.
    assert [ax.images[0].get_array().shape for ax in axes[1:]] == [(9, 13), (41, 41)]
    with pytest.raises(SettingsError, match=r"^trial: must be an integer from 0 to 1, got 2"):
        result.plot_filters(trial=2)
    plt.close("all")


def test_plots_of_array_data_use_the_given_shape():
    result = rbmbench.train(binary_data(23, 6), **PLAIN)
    axes = [result.plot_samples(7, shape=shape, ax=plt.figure().subplots()) for shape in (None, (2, 3))]
    assert [ax.images[0].get_array().shape for ax in axes] == [(6, 7), (10, 13)]
    with pytest.raises(SettingsError, match=r"^shape: must be rows and columns whose product is 6, got \(2, 5\)"):
        result.plot_filters(shape=(2, 5))
    plt.close("all")


@pytest.mark.parametrize(
    ("name", "options", "shape"),
    [
        ("bars_and_stripes", {"side": 3}, (3, 3)),
        ("letters", {}, (16, 8)),
        ("mnist", {}, (28, 28)),
        ("diag", {}, None),
        ("bars_and_stripes", {"side": "x"}, None),
        ("no_such", {}, None),
        (["digits"], {}, None),
        ("digits", 3, None),
    ],
)
def test_image_shape_of_data_sets(name, options, shape):
    assert datasets.image_shape({"name": name, "options": options}) == shape
