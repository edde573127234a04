# SPDX-License-Identifier: BSD-3-Clause
"""Snapshots of large models, and their annealed curves."""

import json
import re
import shutil
import time
import warnings
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from core_helpers import binary_data

from rbmbench import datasets
from rbmbench.base import pace
from rbmbench.base.errors import CheckpointError, SettingsError, StoppedError
from rbmbench.base.metrics import ANNEALED, COMPARED
from rbmbench.base.parsing import parse
from rbmbench.base.settings import AnnealingSettings, Bracket, RunSettings, Tempering
from rbmbench.cli import main
from rbmbench.datasets._dataset import build
from rbmbench.io import provenance, results
from rbmbench.likelihood import (
    ais_log_partition,
    base_rate_bias,
    bracketed_log_partition,
    exact_log_partition,
    inverse_temperatures,
    log_likelihood,
    tempered_log_partition,
)
from rbmbench.planning.jobs import digest_of
from rbmbench.training import trainer
from rbmbench.training.checkpoint import Checkpointer
from rbmbench.training.evaluation import snapshots_of
from rbmbench.training.snapshots import annealed_curve

M, N, TRIALS = 29, 31, 2  # both layers have more than 25 units
DATA = binary_data(37, M)
RUN_ID = "bars-11h-cd_1-0.1-0123456789"  # of the data set toy, under the key bars
ANNEALING = AnnealingSettings(particles=11, temperatures=13, seed=5)
BRACKETED = ANNEALING.model_copy(update={"bracket": Bracket(steps=7), "spacing": "dense"})
TEMPERING = AnnealingSettings(tempering=Tempering(target_error=0.2, products=20_000), seed=5)
SHORT = TEMPERING.model_copy(update={"tempering": Tempering(target_error=0.2, products=5_000)})
TWO_METHODS = ANNEALING.model_copy(update={"tempering": SHORT.tempering, "compared": 2})


def settings_for(**changes):
    stage = {"until": 7, "estimator": {"name": "pop_cd", "options": {"k": 1}}, "rate": 0.1}
    values = {"data": {"name": "toy"}, "hidden": N, "batch": 12, "schedule": [stage], "trials": TRIALS}
    return parse(RunSettings, values | {"evaluate_every": 3, "seed": 3, "first_trial": 4} | changes, "test")


@pytest.fixture(scope="module")
def result():
    return trainer.run(DATA, settings_for())


def by_metric(curve, metric):
    return curve[curve["metric"] == metric].pivot(index="iteration", columns="trial", values="value")


def test_a_large_run_has_a_snapshot_at_every_evaluation(result):
    iterations, models = snapshots_of(result.snapshots)
    assert iterations == [0, 3, 6, 7]
    assert models.W.shape == (4, TRIALS, M, N)
    assert (models.b.shape, models.c.shape) == ((4, TRIALS, M), (4, TRIALS, N))
    np.testing.assert_array_equal(models.W[-1], result.rbm.W)
    shorter = trainer.run(DATA, settings_for(schedule=[settings_for().schedule[0].model_dump() | {"until": 3}]))
    np.testing.assert_array_equal(models.W[1], shorter.rbm.W)
    assert set(result.curve["metric"]) == {"effective_sample_size"}


TEST = binary_data(17, M, seed=9)
HELD_OUT = {"validation": binary_data(19, M, seed=10), "test": TEST}


@pytest.mark.parametrize("part", HELD_OUT)
def test_held_out_rows_of_a_small_run_are_evaluated_exactly(part):
    run = trainer.run(DATA, settings_for(hidden=3, **{f"{part}_likelihood": True}), **HELD_OUT)
    value = log_likelihood(run.rbm, HELD_OUT[part], exact_log_partition(run.rbm))
    np.testing.assert_allclose(by_metric(run.curve, f"{part}_log_likelihood").loc[7], value, rtol=1e-12)
    plain = trainer.run(DATA, settings_for(hidden=3), **HELD_OUT)
    others = run.curve[run.curve["metric"] != f"{part}_log_likelihood"].reset_index(drop=True)
    pd.testing.assert_frame_equal(others, plain.curve, check_exact=True)


def test_held_out_rows_of_a_large_run_are_annealed_with_the_training_rows(result):
    plain = annealed_curve(result.snapshots, DATA, ANNEALING)
    curve = annealed_curve(result.snapshots, DATA, ANNEALING, HELD_OUT)
    _, models = snapshots_of(result.snapshots)
    log_partition = by_metric(plain, "log_partition").to_numpy()
    names = [f"{part}_log_likelihood" for part in HELD_OUT]
    for name, rows in zip(names, HELD_OUT.values(), strict=True):
        expected = log_likelihood(models, rows, log_partition)
        np.testing.assert_allclose(by_metric(curve, name), expected, rtol=1e-12)
    others = curve[~curve["metric"].isin(names)].reset_index(drop=True)
    pd.testing.assert_frame_equal(others, plain, check_exact=True)


@pytest.mark.parametrize("part", HELD_OUT)
@pytest.mark.parametrize("rows", [None, TEST[:0]])
def test_missing_held_out_rows_raise_before_training(part, rows):
    with pytest.raises(
        SettingsError, match=rf"^{part}_likelihood: must be false, or the data set must have {part} rows, got"
    ):
        trainer.run(DATA, settings_for(**{f"{part}_likelihood": True}), **{part: rows})


def test_a_stopped_large_run_resumes_with_its_snapshots(result, tmp_path, monkeypatch):
    monkeypatch.setattr("rbmbench.training.checkpoint.CHECKPOINT_SECONDS", -1.0)

    def progress(iteration, iterations, *values):
        assert not values  # no likelihood before annealing
        if iteration == 6:
            raise KeyboardInterrupt

    path = tmp_path / "run.npz"
    with pytest.raises(KeyboardInterrupt):
        trainer.run(DATA, settings_for(), checkpoint=path, progress=progress)
    resumed = trainer.run(DATA, settings_for(), checkpoint=path)
    assert resumed.snapshots.keys() == result.snapshots.keys()
    for name, array in result.snapshots.items():
        np.testing.assert_array_equal(resumed.snapshots[name], array)
    assert resumed.curve.equals(result.curve)


NAMES = {"log_partition": "log_partition", "standard_error": "log_partition_error", "low": "log_partition_low"}
NAMES |= {"high": "log_partition_high", "effective_sample_size": "annealing_effective_sample_size"}


def annealed(rbm, keys, base):
    return ais_log_partition(rbm, 11, 13, seed=5, base=base, keys=keys)


def bracketed(rbm, keys):
    return bracketed_log_partition(rbm, DATA, 11, inverse_temperatures(13, "dense"), 5, steps=7, repeat=5, keys=keys)


def tempered(rbm, keys):
    return tempered_log_partition(rbm, DATA, 0.2, 20_000, seed=5, keys=keys)


@pytest.mark.parametrize(
    ("settings", "method"),
    [
        (ANNEALING, partial(annealed, base=base_rate_bias(DATA))),
        (ANNEALING.model_copy(update={"base": "uniform"}), partial(annealed, base=None)),
        (BRACKETED, bracketed),
        (TEMPERING, tempered),
    ],
    ids=["base rate", "uniform", "bracket", "tempering"],
)
def test_annealed_curve_has_the_estimates_of_each_snapshot(result, settings, method):
    curve = annealed_curve(result.snapshots, DATA, settings, first_trial=4)
    iterations, models = snapshots_of(result.snapshots)
    for s, iteration in enumerate(iterations):
        expected = method(models[s], keys=[(4 << 16) + s, (5 << 16) + s])
        likelihood = log_likelihood(models[s], DATA, expected.log_partition)
        np.testing.assert_allclose(by_metric(curve, "log_likelihood").loc[iteration, [4, 5]], likelihood, rtol=1e-13)
        for name, values in vars(expected).items():
            metric = NAMES.get(name, f"log_partition_{name}")
            np.testing.assert_array_equal(by_metric(curve, metric).loc[iteration, [4, 5]], values)


def test_metrics_of_tempering_exclude_particles_and_brackets(result):
    curve = annealed_curve(result.snapshots, DATA, SHORT)
    assert set(ANNEALED) - set(curve["metric"]) == {
        *("validation_log_likelihood", "test_log_likelihood"),
        *("annealing_effective_sample_size", "log_partition_low", "log_partition_high"),
        *(name for name in ANNEALED if name.startswith(COMPARED)),
    }


@pytest.mark.parametrize(("compared", "iterations"), [(1, [7]), (2, [3, 7]), (3, [0, 3, 7]), (11, [0, 3, 6, 7])])
def test_compared_evaluations_equal_those_of_each_method(result, compared, iterations):
    curve = annealed_curve(result.snapshots, DATA, TWO_METHODS.model_copy(update={"compared": compared}), HELD_OUT)
    is_compared = curve["metric"].str.startswith(COMPARED)
    tempered = annealed_curve(result.snapshots, DATA, SHORT, HELD_OUT)
    pd.testing.assert_frame_equal(curve[~is_compared].reset_index(drop=True), tempered, check_exact=True)
    annealed = annealed_curve(result.snapshots, DATA, ANNEALING, HELD_OUT)
    expected = annealed[annealed["iteration"].isin(iterations)]
    expected = expected.assign(metric=COMPARED + expected["metric"]).reset_index(drop=True)
    pd.testing.assert_frame_equal(curve[is_compared].reset_index(drop=True), expected, check_exact=True)


def test_compared_is_omitted_by_default_and_needs_tempering():
    assert "compared" not in SHORT.canonical()
    with pytest.raises(SettingsError, match="compared: needs tempering"):
        parse(AnnealingSettings, {"compared": 3}, "test")


def test_progress_counts_snapshots(result):
    calls = []
    annealed_curve(result.snapshots, DATA, ANNEALING, progress=lambda *call: calls.append(call[:2]))
    assert [call for call in calls if isinstance(call[0], int)] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert calls == sorted(calls)


def changed(array):
    """Return a copy with one entry changed by the least amount."""
    other = array.copy()
    other.flat[5] = 1 - other.flat[5] if other.dtype == np.uint8 else np.nextafter(other.flat[5], np.float32(np.inf))
    return other


@pytest.mark.parametrize("other", ["snapshot_W", "snapshot_c", "train", "test", "first_trial", "seed"])
def test_a_checkpoint_of_other_models_or_data_raises(result, tmp_path, other):
    path = tmp_path / "evaluation.npz"
    stopping = Checkpointer(path, None, lambda: 15)
    with pytest.raises(StoppedError):
        annealed_curve(result.snapshots, DATA, ANNEALING, {"test": TEST}, checkpointer=stopping)
    snapshots = result.snapshots | ({other: changed(result.snapshots[other])} if other in result.snapshots else {})
    with pytest.raises(CheckpointError, match="checkpoint must be of these settings, data and models"):
        annealed_curve(
            snapshots,
            changed(DATA) if other == "train" else DATA,
            ANNEALING.model_copy(update={"seed": 6}) if other == "seed" else ANNEALING,
            {"test": changed(TEST) if other == "test" else TEST},
            first_trial=1 if other == "first_trial" else 0,
            checkpointer=Checkpointer(path),
        )


@pytest.mark.parametrize(
    "settings", [ANNEALING, BRACKETED, SHORT, TWO_METHODS], ids=["annealing", "bracket", "tempering", "both"]
)
def test_an_evaluation_stopped_repeatedly_has_the_same_curve(result, tmp_path, monkeypatch, settings):
    monkeypatch.setattr(pace, "PAUSE_SECONDS", 0.0)
    expected, path = annealed_curve(result.snapshots, DATA, settings), tmp_path / "evaluation.npz"
    curve, snapshots = None, []
    while curve is None:
        signals = iter([None, None, None, None, 15, *[None] * 1000])
        checkpointer, threads = Checkpointer(path, stopping=signals.__next__), 1 + len(snapshots) % 2 * 6
        try:
            curve = annealed_curve(result.snapshots, DATA, settings, checkpointer=checkpointer, threads=threads)
        except StoppedError as stop:
            line = rf"stopped at snapshot (\d) of {4 + settings.compared}; run the same command again to resume from "
            line += re.escape(str(path))
            snapshots.append(int(re.fullmatch(line, str(stop))[1]))
    assert curve.equals(expected)
    assert snapshots == sorted(snapshots)
    assert len(set(snapshots)) > 1
    assert len(snapshots) >= 5


def test_error_of_a_stopped_evaluation_without_a_checkpoint(result):
    with pytest.raises(StoppedError, match=r"^stopped at snapshot 1 of 4; nothing is saved$") as caught:
        annealed_curve(result.snapshots, DATA, ANNEALING, checkpointer=Checkpointer(stopping=lambda: 2))
    assert caught.value.signal == 2


def trained(folder, settings):
    """Train a run with the command line, and return the folder of run and data."""
    dataset = build("toy", "Toy", train=DATA, test=TEST, source="made", preprocessing="none", options={})
    datasets.save(dataset, folder / "data.npz")
    arguments = ["--settings", settings.canonical(), "--data", str(folder / "data.npz"), "--run-id", RUN_ID]
    assert main(["train", *arguments, "--out", str(folder / "run")]) == 0
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("results"), settings_for())


def evaluate(folder: Path, out: str, **changes):
    settings = json.dumps(ANNEALING.model_dump() | changes)
    files = ["--data", str(folder / "data.npz"), "--model", str(folder / "run"), "--out", str(folder / out)]
    return main(["job", "evaluate", "--settings", settings, *files, "--checkpoint", str(folder / "state.npz")])


def test_command_writes_curve_and_meta_of_an_evaluation(folder, result):
    assert evaluate(folder, "evaluation") == 0
    curve, meta = results.read_table(folder / "evaluation", "curve.parquet"), results.read_meta(folder / "evaluation")
    expected = annealed_curve(result.snapshots, DATA, ANNEALING, first_trial=4)
    np.testing.assert_array_equal(by_metric(curve, "log_likelihood"), by_metric(expected, "log_likelihood"))
    assert "effective_sample_size" in set(curve["metric"])
    assert meta["run"] == RUN_ID
    assert meta["evaluation"]["settings"] == ANNEALING.model_dump()
    assert meta["wall"]["annealing_seconds"] > 0
    assert meta["wall"]["training_seconds"] > 0


def test_command_anneals_the_test_rows_of_a_run_with_test_likelihood(tmp_path, result):
    trained(tmp_path, settings_for(test_likelihood=True))
    assert evaluate(tmp_path, "evaluation") == 0
    expected = annealed_curve(result.snapshots, DATA, ANNEALING, {"test": TEST}, first_trial=4)
    curve = results.read_table(tmp_path / "evaluation", "curve.parquet")
    for metric in ("log_likelihood", "test_log_likelihood"):
        np.testing.assert_array_equal(by_metric(curve, metric), by_metric(expected, metric))


def test_command_raises_for_a_run_without_snapshots(folder, capsys):
    arrays = results.read_model(folder / "run")
    small = folder / "small"
    results.write_arrays(small / "model.npz", {name: arrays[name] for name in results.MODEL_ARRAYS})
    results.write_table(small / "curve.parquet", results.read_table(folder / "run", "curve.parquet"))
    results.write_meta(small, ("curve.parquet", "model.npz"), results.read_meta(folder / "run"))
    files = ["--data", str(folder / "data.npz"), "--model", str(small), "--out", str(folder / "none")]
    assert main(["job", "evaluate", "--settings", ANNEALING.canonical(), *files]) == 2
    assert "model.npz: array 'snapshot_iterations' is missing" in capsys.readouterr().err


@pytest.fixture
def scale(folder, tmp_path):
    """A folder of a scale with the run, its data set and an evaluation."""
    shutil.copytree(folder / "run", tmp_path / "runs" / RUN_ID)
    (tmp_path / "datasets").mkdir()
    shutil.copy(folder / "data.npz", tmp_path / "datasets" / "bars.npz")
    files = ["--data", str(folder / "data.npz"), "--model", str(folder / "run")]
    out = ["--out", str(tmp_path / "evaluations" / "toy-ais-0123456789")]
    assert main(["evaluate", "--settings", ANNEALING.canonical(), *files, *out]) == 0
    return tmp_path


def evaluate_again(scale: Path, changes, *more: str) -> int:
    folder = scale / "evaluations" / "toy-ais-0123456789"
    arguments = ["--settings", json.dumps(changes), "--out", str(scale / "evaluations")]
    if not isinstance(changes, dict):
        arguments[1] = str(scale / "changes.json")
        (scale / "changes.json").write_text(json.dumps(changes))
    return main(["evaluate", "--again", str(folder), *arguments, *more])


@pytest.mark.parametrize(
    "changes", [{"particles": 7}, {"tempering": {"products": 900}, "compared": 3}, {"bracket": {"steps": 3}}]
)
def test_evaluate_again_writes_the_curve_of_other_settings(scale, result, changes):
    before = {path: path.read_bytes() for path in scale.rglob("*") if path.is_file()}
    assert evaluate_again(scale, changes) == 0
    settings = AnnealingSettings.model_validate(ANNEALING.model_dump() | changes)
    new = scale / "evaluations" / f"toy-ais-{digest_of(RUN_ID, settings.canonical())}"
    curve, meta = results.read_table(new, "curve.parquet"), results.read_meta(new)
    expected = annealed_curve(result.snapshots, DATA, settings, first_trial=4)
    for metric in set(expected["metric"]):
        np.testing.assert_array_equal(by_metric(curve, metric), by_metric(expected, metric))
    assert meta["evaluation"]["settings"] == settings.model_dump(mode="json")
    assert meta["run"] == RUN_ID
    assert {path: path.read_bytes() for path in before} == before
    assert {path for path in scale.rglob("*") if path.is_file() and path.parent != new} == set(before)


def test_evaluate_again_reads_relative_folders(scale, monkeypatch):
    monkeypatch.chdir(scale / "evaluations")
    assert main(["evaluate", "--again", "toy-ais-0123456789", "--settings", '{"particles": 7}', "--out", "again"]) == 0


def test_times_of_evaluate_again_are_those_of_one_evaluation(scale, monkeypatch):
    monkeypatch.setattr(provenance, "_restarted", time.monotonic() - 3600)
    folders = [scale / "evaluations" / f"{name}-ais-0123456789" for name in ("toy", "other")]
    shutil.copytree(*folders)
    changes = ["--settings", '{"particles": 7}', "--out", str(scale / "evaluations")]
    assert main(["evaluate", "--again", *map(str, folders), *changes]) == 0
    digest = digest_of(RUN_ID, ANNEALING.model_copy(update={"particles": 7}).canonical())
    metas = [results.read_meta(scale / "evaluations" / f"{name}-ais-{digest}") for name in ("toy", "other")]
    first, second = (datetime.fromisoformat(meta["evaluation"]["started"]) for meta in metas)
    assert second - first >= timedelta(hours=1)


def test_invalid_arguments_of_evaluate_again_raise_a_one_line_error(scale, capsys):
    assert evaluate_again(scale, {}, "--checkpoint", "c.npz") == 2
    assert "--checkpoint: must be without --again" in capsys.readouterr().err
    assert evaluate_again(scale, [3]) == 2
    assert "changes.json: must be a mapping, got [3]" in capsys.readouterr().err
    assert evaluate_again(scale, {"particles": 1}) == 2
    assert "--settings: particles: must " in capsys.readouterr().err
    assert evaluate_again(scale, {}, "--again", str(scale / "runs" / RUN_ID)) == 2
    assert "--again: must be folders of evaluations, got" in capsys.readouterr().err
    both = [str(scale / folder) for folder in ("evaluations/toy-ais-0123456789", f"runs/{RUN_ID}")]
    assert evaluate_again(scale, {"particles": 7}, "--again", *both) == 2
    assert f"got {both[1]}, which is none" in capsys.readouterr().err
    assert len(list((scale / "evaluations").iterdir())) == 1  # folders are checked before one is evaluated
    (scale / "datasets" / "bars.npz").rename(scale / "elsewhere.npz")
    assert evaluate_again(scale, {"particles": 7}) == 2
    assert f"{scale / 'datasets' / 'bars.npz'}: no such file" in capsys.readouterr().err
    assert evaluate_again(scale, {"particles": 7}, "--data", str(scale / "elsewhere.npz")) == 0
    shutil.rmtree(scale / "runs")
    assert evaluate_again(scale, {"particles": 5}, "--data", str(scale / "elsewhere.npz")) == 2
    assert str(scale / "runs" / RUN_ID) in capsys.readouterr().err


def test_backend_is_that_of_the_environment_variable(folder, monkeypatch, capsys):
    monkeypatch.setenv("RBMBENCH_BACKEND", "abacus")
    assert evaluate(folder, "elsewhere") == 2
    assert "backend: must be one of auto, numpy, cupy, got 'abacus'" in capsys.readouterr().err
    assert not (folder / "elsewhere").exists()
    monkeypatch.delenv("RBMBENCH_BACKEND")
    assert evaluate(folder, "here") == 0
    assert results.read_meta(folder / "here")["evaluation"]["backend"] in ("numpy", "numba")


def test_failed_annealing_warns_once_for_all_snapshots():
    parameters = {"W": np.zeros((3, 1, M, N)), "b": np.full((3, 1, M), 20.0), "c": np.zeros((3, 1, N))}
    snapshots = {"snapshot_iterations": np.arange(3)} | {f"snapshot_{name}": p for name, p in parameters.items()}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        settings = AnnealingSettings(particles=2, temperatures=1, base="uniform")
        curve = annealed_curve(snapshots, np.ones((5, M)), settings)
    assert (by_metric(curve, "log_likelihood") > 0).all(axis=None)
    (warning,) = caught
    assert str(warning.message).startswith("log-likelihood of binary rows: must be at most 0")
