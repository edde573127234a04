# SPDX-License-Identifier: BSD-3-Clause
"""Comparison of libraries with the conformance set."""

import json
import shutil
import sys
from dataclasses import replace

import numpy as np
import pytest
from conformance import peers, reference
from conformance.__main__ import main
from conformance.peers import Result, compare, difference
from conformance.reference import FOLDER, INDEX

from rbmbench.io.results import read_json

FEW = ("random-1x1", "random-2x3", "random-7x5", "overflow-5x3", "bars_and_stripes-9x5")


@pytest.fixture(scope="module")
def models(request):
    references = reference.read(FOLDER)
    return [model for model in references if model.name in FEW]


class Made:
    """A library whose numbers are a function of the exact ones."""

    name = package = "made"

    def __init__(self, quantity: str, change):
        self._quantity, self._change = quantity, change

    def results(self, model):
        yield Result("call", self._quantity, self._change(model.arrays[self._quantity]))


def blocks(exact, deviation: float, offset: float = 0.0) -> np.ndarray:
    """Return blocks of normal estimates."""
    normal = np.random.default_rng(7).normal(size=(peers.BLOCKS, *exact.shape))
    return exact + offset + deviation * normal


def rows_of(library, models) -> dict:
    return {(row.call, row.quantity): row for row in compare(library, models).itertuples()}


def test_rbmbench_passes(models):
    table = compare(peers.Own(), models)
    assert table["passes"].all(), table
    assert set(table["models"]) == {len(FEW)}
    assert {f"cd_{k}_{part}" for k in reference.STEPS for part in "Wbc"} <= set(table["quantity"])


def test_known_deviations_of_scikit_learn(models):
    rows = rows_of(peers.ScikitLearn(), models)
    wrong = {key: row.fails for key, row in rows.items() if not row.passes}
    half = "partial_fit, half a batch"
    assert wrong == {
        # With one visible unit the pseudo-likelihood is the likelihood.
        ("score_samples", "log_likelihood"): "random-2x3",
        (half, "cd_1_W"): "random-1x1",
        (half, "cd_1_b"): "random-1x1",
        (half, "cd_1_c"): "random-1x1",
    }
    assert ("gibbs", "cd_1_b") in rows
    assert ("score_samples, mean of many", "pseudo_log_likelihood") in rows


@pytest.mark.parametrize(
    "change",
    [
        lambda exact: exact + 1e-8 * np.maximum(1, np.abs(exact)),
        lambda exact: -exact,
        lambda exact: np.full_like(exact, np.inf),
        lambda exact: exact.astype(np.float32) * np.float32(1.001),
    ],
    ids=["1e-8", "sign", "infinite", "float32"],
)
def test_wrong_numbers_do_not_pass(models, change):
    (row,) = compare(Made("free_energy", change), models).itertuples()
    assert not row.passes
    assert row.fails == "random-1x1"
    assert row.error > row.allowed


def test_rounding_errors_of_the_type_pass(models):
    for change in (lambda exact: exact * (1 + 1e-14), lambda exact: exact.astype(np.float32)):
        (row,) = compare(Made("free_energy", change), models).itertuples()
        assert row.passes
        assert row.fails == ""


@pytest.mark.parametrize(("offset", "passes"), [(0.0, True), (0.02, False)])
def test_estimates_are_compared_by_their_standard_error(offset, passes):
    exact = np.linspace(-0.5, 0.5, 30)
    error, allowed = difference(Result("call", "cd_1_b", blocks(exact, 0.01, offset), chains=10**6), exact)
    assert (error <= allowed) == passes


def test_nan_values_are_not_compared():
    exact, energies = np.arange(3.0), np.array([0.0, np.nan, 2.5])
    assert difference(Result("call", "energy", energies), exact) == (0.5, pytest.approx(2e-10))
    energies[2] = 2.0
    assert difference(Result("call", "energy", energies), exact)[0] == 0.0


def test_a_wrong_number_in_the_set_does_not_pass(models):
    model = models[0]
    wrong = replace(model, arrays=model.arrays | {"log_partition": model.arrays["log_partition"] + 1e-6})
    assert not rows_of(peers.Own(), [wrong])["likelihood.exact_log_partition", "log_partition"].passes


def test_command_names_libraries_that_are_not_installed(repository, monkeypatch, capsys):
    monkeypatch.chdir(repository)
    monkeypatch.setattr(peers, "version", lambda library: None)
    assert main(["check", "rbms"]) == 0
    assert capsys.readouterr().out == "rbms: not installed\n"
    assert main(["check", "torch"]) == 2
    assert "unknown library 'torch'" in capsys.readouterr().err


def test_command_names_a_library_that_cannot_be_imported(repository, monkeypatch, capsys):
    monkeypatch.chdir(repository)
    monkeypatch.setattr(peers, "version", lambda library: "0.7")
    monkeypatch.setitem(sys.modules, "torch", None)
    assert main(["check", "rbms"]) == 0
    assert "cannot be imported: " in capsys.readouterr().out


def test_the_command_prints_a_table(repository, tmp_path, monkeypatch, capsys):
    kept, made = tmp_path / "models", tmp_path / "set"
    kept.mkdir(parents=True)
    shutil.copy(FOLDER / "random-2x3.npz", kept)
    entry = read_json(FOLDER / INDEX)["random-2x3"]
    (kept / INDEX).write_text(json.dumps({"random-2x3": entry}))
    monkeypatch.chdir(tmp_path)
    assert main(["make", "set", "--models", str(kept)]) == 0
    assert main(["check", "BernoulliRBM", "--folder", str(made)]) == 0
    lines = capsys.readouterr().out.splitlines()
    (row,) = [line for line in lines if line.startswith("score_samples ")]
    assert row.split()[1:3] == ["log_likelihood", "1"]
    assert row.split()[-2:] == ["no", "random-2x3"]


@pytest.mark.parametrize("command", [["check", "--folder", "."], ["make", "set", "--models", "."]])
def test_error_of_a_folder_without_the_set_is_one_line(tmp_path, monkeypatch, capsys, command):
    monkeypatch.chdir(tmp_path)
    assert main([*command]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "index.json" in line
    assert not list(tmp_path.iterdir())
