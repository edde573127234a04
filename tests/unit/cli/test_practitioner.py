# SPDX-License-Identifier: BSD-3-Clause
"""`rbmbench fit`, `score` and `certify` on the CSV file of a survey."""

import json

import numpy as np
import pandas as pd
import pytest
from core_helpers import Enumerated, binary_data
from own_data import refused

import rbmbench
from rbmbench.cli import fitting, main

ITEMS, PEOPLE, NEW = 7, 211, 13
NAMES = [f"item {number}" for number in range(1, ITEMS + 1)]


def survey(rows, seed):
    """Return correlated binary answers, and the ages of the persons."""
    rng = np.random.default_rng(seed)
    trait, hard = rng.normal(size=(rows, 1)), np.linspace(-1, 1, ITEMS)
    answers = (rng.random((rows, ITEMS)) < 1 / (1 + np.exp(hard - 2 * trait))).astype(int)
    return pd.DataFrame(answers, columns=NAMES).assign(age=rng.integers(18, 90, rows))


def command(*arguments):
    return main([str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A folder with the survey, and a run that was fitted to it."""
    folder = tmp_path_factory.mktemp("study")
    survey(PEOPLE, 1).to_csv(folder / "survey.csv", index=False)
    options = "--hidden", 3, "--estimator", "pcd", "--iterations", 400, "--drop-columns", "age", "--trials", 2
    assert command("fit", folder / "survey.csv", *options, "--out", folder / "run") == 0
    return folder


def test_page_shows_rows_likelihoods_and_certificate(study):
    page = (study / "run" / "index.html").read_text()
    result = rbmbench.load_run(study / "run")
    assert result.meta["data"]["rows"] == {"train": PEOPLE - 21, "validation": 21, "test": 0}
    assert result.columns == NAMES
    for words in ("log-likelihood", "held-out log-likelihood", "independent units", "certificate of the first model"):
        assert f'<th scope="row">{words}</th>' in page
    assert f'<th scope="row">rows</th><td>{PEOPLE - 21} training rows, 21 held-out rows</td>' in page
    assert "<li>log-likelihood of the training rows: " in page
    last = result.curve.query("iteration == 400 and metric == 'validation_log_likelihood'")["value"]
    assert f"{last.mean():.4g} nats per row" in page


def test_baseline_and_likelihoods_equal_enumeration(study, capsys):
    # The held-out rows are checked by their number and by the likelihood of independent units.
    result, answers = rbmbench.load_run(study / "run"), survey(PEOPLE, 1)[NAMES].to_numpy()
    of_file = rbmbench.datasets.load(result.meta["data"]["name"], **result.meta["settings"]["data"]["options"])
    assert sorted(map(tuple, np.concatenate([of_file.train, of_file.validation]))) == sorted(map(tuple, answers))
    rates = (of_file.train.sum(axis=0) + 1) / (len(of_file.train) + 2)
    parts = of_file.train, of_file.validation
    expected = [np.log(np.where(rows == 1, rates, 1 - rates)).sum(axis=1).mean() for rows in parts]
    words = "independent units</th><td>training rows {:.4g}, held-out rows {:.4g} nats per row".format(*expected)
    assert words in (study / "run" / "index.html").read_text()
    table = Enumerated.of(result.rbm[1])
    law = np.log(table.joint.sum(axis=1))
    for metric, rows in (("log_likelihood", of_file.train), ("validation_log_likelihood", of_file.validation)):
        value = result.curve.query(f"iteration == 400 and metric == '{metric}' and trial == 1")["value"].item()
        assert value == pytest.approx(law[table.numbers_of(rows)].mean(), abs=1e-9)


def test_score_reads_columns_by_name(study, capsys):
    new = survey(NEW, 2)
    new[[*reversed(NAMES), "age"]].to_csv(study / "new.csv", index=False)  # another order, and one more column
    assert command("score", study / "run", study / "new.csv", "--out", study / "scores.csv") == 0
    scores, models = pd.read_csv(study / "scores.csv"), rbmbench.load_run(study / "run").rbm
    assert list(scores.columns) == ["trial", "row", "log_likelihood", "standard_error"]
    assert (scores["standard_error"] == 0).all()
    for trial in range(2):
        table = Enumerated.of(models[trial])
        expected = np.log(table.joint.sum(axis=1))[table.numbers_of(new[NAMES].to_numpy())]
        trial_scores = scores.query(f"trial == {trial}")
        np.testing.assert_allclose(trial_scores["log_likelihood"], expected, rtol=0, atol=1e-9)
        assert trial_scores["row"].tolist() == list(range(1, NEW + 1))
    printed = capsys.readouterr()
    assert f"model 1: mean of {NEW} rows: {expected.mean():.5g} nats per row\n" in printed.err
    assert command("score", study / "run", study / "new.csv") == 0
    assert capsys.readouterr().out == (study / "scores.csv").read_text()


def test_score_accepts_the_dropped_columns_of_the_fit(study, capsys):
    survey(NEW, 2).to_csv(study / "new.csv", index=False)
    assert command("score", study / "run", study / "new.csv") == 0
    expected = capsys.readouterr().out
    assert command("score", study / "run", study / "new.csv", "--drop-columns", "age") == 0
    assert capsys.readouterr().out == expected
    line = refused(capsys, command("score", study / "run", study / "new.csv", "--drop-columns", "agee"))
    assert "unknown column 'agee'" in line


def test_error_names_a_missing_column(study, capsys):
    survey(NEW, 2).drop(columns="item 3").to_csv(study / "less.csv", index=False)
    line = refused(capsys, command("score", study / "run", study / "less.csv"))
    assert "less.csv: cannot be read as .csv (must have the column 'item 3' of the training rows" in line


def test_certificate_names_training_rows_and_other_rows(study, capsys):
    budget = "--settings", '{"models": 1, "sweeps": 128, "walkers": 16, "steps": 8}'
    survey(NEW, 2).to_csv(study / "new.csv", index=False)
    for file, words in (("survey.csv", "training rows"), ("new.csv", "rows of new.csv")):
        assert command("certify", study / "run", "--data", study / file, *budget) == 0
        printed = capsys.readouterr().out
        assert f"log-likelihood of the {words}: " in printed
        assert ("of test rows" in printed) == (file == "survey.csv")  # those that were held out


def test_printed_lines_of_python_load_the_model(study, capsys):
    data = survey(PEOPLE, 1)[NAMES]
    data.to_csv(study / "again.csv", index=False)
    options = "--hidden", 3, "--iterations", 5, "--no-certificate", "--validation", 0.25
    assert command("fit", study / "again.csv", *options, "--out", study / "other run's") == 0
    printed = capsys.readouterr().out.splitlines()
    assert "certificate" not in "".join(printed)
    space = {}
    exec("\n".join([*printed[-3:-1], f"samples = {printed[-1]}"]), space)
    assert space["samples"].shape == (10, ITEMS)
    assert rbmbench.load_run(study / "other run's").meta["data"]["rows"]["validation"] == 53


def test_settings_of_a_run_reproduce_it(study, tmp_path):
    settings = json.dumps(rbmbench.load_run(study / "run").meta["settings"])
    options = "--settings", settings, "--drop-columns", "age"
    assert command("train", "--data", study / "survey.csv", *options, "--out", tmp_path / "again") == 0
    for name in ("model.npz", "curve.parquet"):
        assert (tmp_path / "again" / name).read_bytes() == (study / "run" / name).read_bytes()


@pytest.mark.parametrize(
    ("share", "line"), [(1, "--validation: must leave some of the 23 rows"), (1.5, "argument --v")]
)
def test_errors_of_validation_shares_are_one_line(tmp_path, capsys, share, line):
    np.save(tmp_path / "own.npy", binary_data(23, 5))
    code = command("fit", tmp_path / "own.npy", "--hidden", 2, "--out", tmp_path / "run", "--validation", share)
    assert refused(capsys, code).startswith(line)


def test_scores_of_large_models_have_a_standard_error(tmp_path, capsys, monkeypatch):
    # 7 x 5 units are coupled, and the others are independent: log Z is known exactly.
    rng, m, n = np.random.default_rng(3), 27, 29
    W, b, c = np.zeros((m, n)), np.zeros(m), np.zeros(n)
    W[:7, :5], b[:7], c[:5] = rng.normal(size=(7, 5)), rng.normal(size=7), rng.normal(size=5)
    model = rbmbench.RBM(W, b, c)
    small = Enumerated.of(rbmbench.RBM(W[:7, :5], b[:7], c[:5]))
    model.save(tmp_path / "model.npz")
    rows = binary_data(17, m)
    np.save(tmp_path / "rows.npy", rows)
    assert command("score", tmp_path / "model.npz", tmp_path / "rows.npy", "--out", tmp_path / "scores.csv") == 0
    assert "log Z is annealed, standard error" in capsys.readouterr().err
    scores = pd.read_csv(tmp_path / "scores.csv")
    error = scores["standard_error"].unique().item()
    assert 0 < error < 0.1
    expected = np.log(small.joint.sum(axis=1))[small.numbers_of(rows[:, :7])] - (m - 7) * np.log(2)
    difference = scores["log_likelihood"] - expected
    assert difference.std() < 1e-9
    assert abs(difference.mean()) < 5 * error  # error rate 6e-7, were the estimate normal


def test_dropped_columns_are_dropped_for_the_annealing(tmp_path, monkeypatch):
    monkeypatch.setattr(fitting, "ANNEALING", fitting.ANNEALING.model_copy(update={"particles": 7, "temperatures": 13}))
    np.savetxt(tmp_path / "own.csv", np.column_stack([np.arange(31), binary_data(31, 29)]), "%d", ",")
    options = "--hidden", 27, "--iterations", 3, "--drop-columns", 1, "--no-certificate"
    assert command("fit", tmp_path / "own.csv", *options, "--out", tmp_path / "run") == 0
    assert rbmbench.load_run(tmp_path / "run").rbm.visible_units == 29
