# SPDX-License-Identifier: BSD-3-Clause
"""A practitioner's hour: the CSV of a survey becomes a model and a page, and new rows are scored."""

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
    """Answers of yes and no that hang together by a trait of the person, and the person's age."""
    rng = np.random.default_rng(seed)
    trait, hard = rng.normal(size=(rows, 1)), np.linspace(-1, 1, ITEMS)
    answers = (rng.random((rows, ITEMS)) < 1 / (1 + np.exp(hard - 2 * trait))).astype(int)
    return pd.DataFrame(answers, columns=NAMES).assign(age=rng.integers(18, 90, rows))


def command(*arguments):
    return main([str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def hour(tmp_path_factory):
    """A folder with the survey, and a run that was fitted to it."""
    folder = tmp_path_factory.mktemp("hour")
    survey(PEOPLE, 1).to_csv(folder / "survey.csv", index=False)
    options = "--hidden", 3, "--estimator", "pcd", "--iterations", 400, "--drop-columns", "age", "--trials", 2
    assert command("fit", folder / "survey.csv", *options, "--out", folder / "run") == 0
    return folder


def test_the_page_has_what_one_asks(hour):
    page = (hour / "run" / "index.html").read_text()
    result = rbmbench.load_run(hour / "run")
    assert result.meta["data"]["rows"] == {"train": PEOPLE - 21, "validation": 21, "test": 0}
    assert result.columns == NAMES
    for words in ("log-likelihood", "held-out log-likelihood", "independent units", "certificate of the first model"):
        assert f'<th scope="row">{words}</th>' in page
    assert f'<th scope="row">rows</th><td>{PEOPLE - 21} training rows, 21 held-out rows</td>' in page
    assert "<li>log-likelihood of the training rows: " in page
    last = result.curve.query("iteration == 400 and metric == 'validation_log_likelihood'")["value"]
    assert f"{last.mean():.4g} nats per row" in page


def test_baseline_and_likelihoods_are_those_of_the_rows(hour, capsys):
    # The rows that were held out are found by their number and by what independent units make of them.
    result, answers = rbmbench.load_run(hour / "run"), survey(PEOPLE, 1)[NAMES].to_numpy()
    of_file = rbmbench.datasets.load(result.meta["data"]["name"], **result.meta["settings"]["data"]["options"])
    assert sorted(map(tuple, np.concatenate([of_file.train, of_file.validation]))) == sorted(map(tuple, answers))
    rates = (of_file.train.sum(axis=0) + 1) / (len(of_file.train) + 2)
    parts = of_file.train, of_file.validation
    expected = [np.log(np.where(rows == 1, rates, 1 - rates)).sum(axis=1).mean() for rows in parts]
    words = "independent units</th><td>training rows {:.4g}, held-out rows {:.4g} nats per row".format(*expected)
    assert words in (hour / "run" / "index.html").read_text()
    table = Enumerated.of(result.rbm[1])
    law = np.log(table.joint.sum(axis=1))
    for metric, rows in (("log_likelihood", of_file.train), ("validation_log_likelihood", of_file.validation)):
        value = result.curve.query(f"iteration == 400 and metric == '{metric}' and trial == 1")["value"].item()
        assert value == pytest.approx(law[table.numbers_of(rows)].mean(), abs=1e-9)


def test_new_rows_are_scored_by_their_columns(hour, capsys):
    new = survey(NEW, 2)
    new[[*reversed(NAMES), "age"]].to_csv(hour / "new.csv", index=False)  # another order, and a column more
    assert command("score", hour / "run", hour / "new.csv", "--out", hour / "scores.csv") == 0
    scores, models = pd.read_csv(hour / "scores.csv"), rbmbench.load_run(hour / "run").rbm
    assert list(scores.columns) == ["trial", "row", "log_likelihood", "standard_error"]
    assert (scores["standard_error"] == 0).all()
    for trial in range(2):
        table = Enumerated.of(models[trial])
        expected = np.log(table.joint.sum(axis=1))[table.numbers_of(new[NAMES].to_numpy())]
        ours = scores.query(f"trial == {trial}")
        np.testing.assert_allclose(ours["log_likelihood"], expected, rtol=0, atol=1e-9)
        assert ours["row"].tolist() == list(range(1, NEW + 1))
    printed = capsys.readouterr()
    assert f"model 1: mean of {NEW} rows: {expected.mean():.5g} nats per row\n" in printed.err
    assert command("score", hour / "run", hour / "new.csv") == 0
    assert capsys.readouterr().out == (hour / "scores.csv").read_text()


def test_columns_that_were_left_out_may_be_left_out_again(hour, capsys):
    survey(NEW, 2).to_csv(hour / "new.csv", index=False)
    assert command("score", hour / "run", hour / "new.csv") == 0
    expected = capsys.readouterr().out
    assert command("score", hour / "run", hour / "new.csv", "--drop-columns", "age") == 0
    assert capsys.readouterr().out == expected
    line = refused(capsys, command("score", hour / "run", hour / "new.csv", "--drop-columns", "agee"))
    assert "unknown column 'agee'" in line


def test_a_missing_column_is_named(hour, capsys):
    survey(NEW, 2).drop(columns="item 3").to_csv(hour / "less.csv", index=False)
    line = refused(capsys, command("score", hour / "run", hour / "less.csv"))
    assert "less.csv: cannot be read as .csv (must have the column 'item 3' of the training rows" in line


def test_a_certificate_calls_rows_what_they_are(hour, capsys):
    budget = "--settings", '{"models": 1, "sweeps": 128, "walkers": 16, "steps": 8}'
    survey(NEW, 2).to_csv(hour / "new.csv", index=False)
    for file, words in (("survey.csv", "training rows"), ("new.csv", "rows of new.csv")):
        assert command("certify", hour / "run", "--data", hour / file, *budget) == 0
        printed = capsys.readouterr().out
        assert f"log-likelihood of the {words}: " in printed
        assert ("of test rows" in printed) == (file == "survey.csv")  # those that were held out


def test_the_three_lines_that_are_printed_load_the_model(hour, capsys):
    data = survey(PEOPLE, 1)[NAMES]
    data.to_csv(hour / "again.csv", index=False)
    options = "--hidden", 3, "--iterations", 5, "--no-certificate", "--validation", 0.25
    assert command("fit", hour / "again.csv", *options, "--out", hour / "other run's") == 0
    printed = capsys.readouterr().out.splitlines()
    assert "certificate" not in "".join(printed)
    space = {}
    exec("\n".join([*printed[-3:-1], f"samples = {printed[-1]}"]), space)
    assert space["samples"].shape == (10, ITEMS)
    assert rbmbench.load_run(hour / "other run's").meta["data"]["rows"]["validation"] == 53


def test_the_settings_of_a_run_train_the_same_again(hour, tmp_path):
    settings = json.dumps(rbmbench.load_run(hour / "run").meta["settings"])
    options = "--settings", settings, "--drop-columns", "age"
    assert command("train", "--data", hour / "survey.csv", *options, "--out", tmp_path / "again") == 0
    for name in ("model.npz", "curve.parquet"):
        assert (tmp_path / "again" / name).read_bytes() == (hour / "run" / name).read_bytes()


@pytest.mark.parametrize(
    ("share", "line"), [(1, "--validation: must leave some of the 23 rows"), (1.5, "argument --v")]
)
def test_shares_that_leave_nothing_are_one_line(tmp_path, capsys, share, line):
    np.save(tmp_path / "own.npy", binary_data(23, 5))
    code = command("fit", tmp_path / "own.npy", "--hidden", 2, "--out", tmp_path / "run", "--validation", share)
    assert refused(capsys, code).startswith(line)


def test_models_that_cannot_be_enumerated_are_scored_with_an_error(tmp_path, capsys, monkeypatch):
    # A model of 27 x 29 units that is two of 7 x 5 and units that are free coins: its log Z is known exactly.
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


def test_columns_that_were_left_out_are_left_out_of_the_annealing(tmp_path, monkeypatch):
    monkeypatch.setattr(fitting, "ANNEALING", fitting.ANNEALING.model_copy(update={"particles": 7, "temperatures": 13}))
    np.savetxt(tmp_path / "own.csv", np.column_stack([np.arange(31), binary_data(31, 29)]), "%d", ",")
    options = "--hidden", 27, "--iterations", 3, "--drop-columns", 1, "--no-certificate"
    assert command("fit", tmp_path / "own.csv", *options, "--out", tmp_path / "run") == 0
    assert rbmbench.load_run(tmp_path / "run").rbm.visible_units == 29
