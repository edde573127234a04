# SPDX-License-Identifier: BSD-3-Clause
"""Training on a user's file with plain options, and the list of parts."""

import numpy as np
import pytest
from core_helpers import binary_data
from own_data import refused

import rbmbench
from rbmbench import datasets, estimators, jobs, samplers, updates
from rbmbench.cli import main
from rbmbench.io import results

DATA = binary_data(23, 7)
PLAIN = ["--hidden", "5", "--iterations", "11"]


def train(data, out, *arguments) -> int:
    return main(["train", "--data", str(data), "--out", str(out), *map(str, arguments)])


def test_plain_options_train_on_a_file(own, tmp_path):
    options = "--batch", 3, "--estimator", "pcd", "--k", 2, "--rate", 0.5, "--trials", 2, "--seed", 13
    assert train(own, tmp_path / "run", *PLAIN, *options) == 0
    options = {"estimator": "pcd", "options": {"k": 2}, "rate": 0.5, "trials": 2, "seed": 13}
    expected = rbmbench.train(DATA, hidden=5, batch=3, iterations=11, **options)
    np.testing.assert_array_equal(results.read_model(tmp_path / "run")["W"], expected.rbm.W)
    meta = results.read_meta(tmp_path / "run")
    assert meta["run"] == "run"
    assert (meta["data"]["title"], meta["settings"]["data"]["options"]["path"]) == ("own", str(own))


def test_plain_options_train_on_a_data_set_of_the_package(tmp_path):
    datasets.save(datasets.load("bars_and_stripes", side=3), tmp_path / "bars.npz")
    assert train(tmp_path / "bars.npz", tmp_path / "run", *PLAIN) == 0
    meta = results.read_meta(tmp_path / "run")
    assert meta["settings"]["data"] == {"name": "bars_and_stripes", "options": {"side": 3, "distinct": False}}


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ([*PLAIN, "--settings", "{}"], "--settings: must be without --hidden, --iterations"),
        (["--iterations", "11"], "--hidden: must be an integer >= 1, or --settings must be given"),
        (["--hidden", "5"], "--iterations: must be an integer >= 1, or --settings must be given"),
        ([*PLAIN, "--estimator", "exact", "--k", "2"], "estimator 'exact': unknown option 'k'; allowed: none"),
        ([*PLAIN, "--options", "k=2"], "--options: is not JSON"),
        ([*PLAIN, "--k", "2", "--options", '{"k": 3}'], "--k: must be without 'k' in --options, got 2 and 3"),
        ([*PLAIN, "--rate", "-1"], "argument --rate: must be a finite number above 0, got "),
        ([*PLAIN, "--seed", "-1"], "argument --seed: must be an integer from 0 to 4294967295, got '-1'"),
    ],
)
def test_errors_of_plain_options_are_one_line(own, tmp_path, capsys, arguments, line):
    assert refused(capsys, train(own, tmp_path / "run", *arguments)).startswith(line)
    assert not (tmp_path / "run").exists()


def test_list_prints_all_parts_with_their_options(capsys):
    assert main(["list"]) == 0
    printed = capsys.readouterr().out
    for part in (estimators, updates, samplers, datasets, jobs):
        assert all(f"\n  {name}\n" in printed for name in part.REGISTRY.names())
    assert "\n  cd\n      Contrastive divergence, CD-k.\n      options: k=1, chains=null, variance=false\n" in printed
    coupled = "couple\n      Stopping times of coupled chains of a random model: no data, no training.\n      options: "
    assert f"\n  {coupled}visible=(required), hidden=(required), width=0.1, coupling=(required)," in printed
    assert main(["list", "samplers"]) == 0
    printed = capsys.readouterr().out
    assert "rates_herding" in printed
    assert "bars_and_stripes" not in printed
