# SPDX-License-Identifier: BSD-3-Clause
"""Data of users: files of other programs, data frames and sparse matrices."""

import numpy as np
import pandas as pd
import pytest
from core_helpers import binary_data
from own_data import refused
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.datasets import dump_svmlight_file
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import rbmbench
from rbmbench import RBMTransformer
from rbmbench.cli import main
from rbmbench.io import results
from rbmbench.model.sparse_rows import SparseRows

ROWS, M = 53, 7
DATA = binary_data(ROWS, M)
NAMES = list("abcdefg")


def text(rows=DATA, separator=",", header=False, ends="\n", mark=""):
    lines = [separator.join(map(str, row)) for row in rows.tolist()]
    return (mark + ends.join([separator.join(NAMES)] * header + lines) + ends).encode()


FILES = {
    "header.csv": (text(header=True), ()),
    "labels_last.csv": (text(np.column_stack([DATA, np.arange(ROWS)])), ("--drop-columns", "8")),
    "grey.csv": (text(np.where(DATA == 1, 0.875, 0.125)), ("--threshold", "0.5")),
    "capitals.NPZ": (lambda path: np.savez(path.open("wb"), x_train=DATA), ("--array", "x_train")),
    "sparse.npz": (lambda path: sparse.save_npz(path, sparse.csr_matrix(DATA)), ()),
    "set.libsvm": (lambda path: dump_svmlight_file(DATA.astype(float), np.arange(ROWS), str(path)), ()),
}


def command(*arguments):
    return main([str(argument) for argument in arguments])


def write_file(folder, name):
    content, options = FILES[name]
    content(folder / name) if callable(content) else (folder / name).write_bytes(content)
    return folder / name, options


@pytest.fixture(scope="module")
def expected():
    return rbmbench.train(DATA, hidden=3, batch=ROWS, iterations=2).rbm.W


@pytest.mark.parametrize("name", FILES)
def test_train_reads_files_of_other_programs(tmp_path, expected, name):
    file, options = write_file(tmp_path, name)
    size = "--hidden", 3, "--iterations", 2
    assert command("train", "--data", file, *options, *size, "--out", tmp_path / "run") == 0
    np.testing.assert_array_equal(results.read_model(tmp_path / "run")["W"], expected)


@pytest.mark.parametrize("name", ["header.csv", "labels_last.csv"])
def test_fit_reads_files_of_other_programs(tmp_path, expected, name):
    file, options = write_file(tmp_path, name)
    size = "--hidden", 3, "--iterations", 2, "--no-certificate"
    assert command("fit", file, *options, *size, "--out", tmp_path / "run") == 0
    np.testing.assert_array_equal(results.read_model(tmp_path / "run")["W"], expected)
    assert rbmbench.load_run(tmp_path / "run").columns == (NAMES if name == "header.csv" else [])


INVALID = {
    "labels_last.csv": (
        text(np.column_stack([DATA, 2 + np.arange(ROWS)])),
        "line 1, column '8': must be 0 or 1, got 2",
    ),
    "words.csv": (b"a,b\n0,1\n1,x\n", ".csv (line 3, column 'b' (2): must be 0 or 1, got 'x'; drop_columns"),
    "cut.npy": (b"0", "cannot be read as .npy ("),
    "missing.txt": (None, "cannot be read (No such file or directory)"),
    "matlab.mat": (b"MATLAB 5.0", "must be .csv, .tsv, .txt, .dat, .data, .amat, .libsvm"),
}


@pytest.mark.parametrize("name", INVALID)
@pytest.mark.parametrize("program", ["train", "fit"])
def test_error_names_the_place_of_an_invalid_value(tmp_path, capsys, name, program):
    content, words = INVALID[name]
    if content is not None:
        (tmp_path / name).write_bytes(content)
    of_data = ["--data", tmp_path / name] if program == "train" else [tmp_path / name]
    line = refused(capsys, command(program, *of_data, "--hidden", 3, "--iterations", 2, "--out", tmp_path / "run"))
    assert str(tmp_path / name) in line
    assert words in line
    assert not (tmp_path / "run").exists()


def test_train_reads_a_path_or_its_string(tmp_path, expected):
    file, _ = write_file(tmp_path, "header.csv")
    for path in (file, str(file)):
        result = rbmbench.train(path, hidden=3, batch=ROWS, iterations=2)
        np.testing.assert_array_equal(result.rbm.W, expected)
    assert result.columns == NAMES


def test_transformer_accepts_word_counts_and_categories():
    texts = ["a rose is a rose", "is it a rose", "no it is not", "it is not a rose"] * 3
    words = make_pipeline(CountVectorizer(token_pattern=r"\w+"), RBMTransformer(2, n_iter=1))
    assert words.fit_transform(texts).shape == (12, 2)
    frame = pd.DataFrame({"colour": ["red", "blue", "red", "green"] * 3, "size": ["s", "l", "l", "m"] * 3})
    coded = make_column_transformer((OneHotEncoder(), ["colour", "size"]))
    assert make_pipeline(coded, RBMTransformer(2, n_iter=1)).fit_transform(frame).shape == (12, 2)


@pytest.mark.parametrize("name", ["sparse.npz", "set.libsvm"])
def test_rows_of_sparse_files_stay_sparse_in_training(tmp_path, monkeypatch, name):
    big = binary_data(211, M, seed=3)
    sparse.save_npz(tmp_path / "sparse.npz", sparse.csr_array(big))
    dump_svmlight_file(big.astype(float), np.arange(211), str(tmp_path / "set.libsvm"), zero_based=False)
    np.save(tmp_path / "dense.npy", big)
    options = "--hidden", 3, "--iterations", 5, "--no-certificate"
    assert command("fit", tmp_path / "dense.npy", *options, "--out", tmp_path / "dense") == 0
    monkeypatch.delattr(SparseRows, "__array__")  # makes all rows dense
    assert command("fit", tmp_path / name, *options, "--out", tmp_path / "run") == 0
    dense, sparse_run = (rbmbench.load_run(tmp_path / folder) for folder in ("dense", "run"))
    np.testing.assert_array_equal(sparse_run.rbm.W, dense.rbm.W)
    np.testing.assert_allclose(sparse_run.curve["value"], dense.curve["value"], rtol=1e-12)
    assert sparse_run.meta["data"]["content_sha256"] == dense.meta["data"]["content_sha256"]
    result = rbmbench.train(tmp_path / name, hidden=3, batch=7, iterations=5)
    np.testing.assert_array_equal(result.rbm.W, rbmbench.train(big, hidden=3, batch=7, iterations=5).rbm.W)


def test_score_reads_libsvm_files_without_their_last_features(tmp_path, capsys):
    labelled = np.column_stack([np.ones(ROWS), DATA])  # the first column is left out
    new = labelled * np.repeat([1, 0], [5, labelled.shape[1] - 5])
    for name, rows in (("train", labelled), ("new", new)):
        dump_svmlight_file(rows, np.arange(ROWS), str(tmp_path / f"{name}.svm"), zero_based=False)
    np.save(tmp_path / "new.npy", new)
    size = "--hidden", 3, "--iterations", 2, "--no-certificate", "--drop-columns", 1
    assert command("fit", tmp_path / "train.svm", *size, "--out", tmp_path / "run") == 0
    scores = []
    for name in ("new.svm", "new.npy"):
        capsys.readouterr()
        assert command("score", tmp_path / "run", tmp_path / name) == 0
        scores.append(capsys.readouterr().out)
    assert scores[0] == scores[1]


def test_score_reads_rows_without_the_column_that_training_left_out(tmp_path, capsys):
    np.savetxt(tmp_path / "labelled.csv", np.column_stack([np.arange(ROWS), DATA]), "%d", ",")
    np.savetxt(tmp_path / "new.csv", DATA, "%d", ",")
    size = "--hidden", 3, "--iterations", 2, "--no-certificate", "--drop-columns", 1
    assert command("fit", tmp_path / "labelled.csv", *size, "--out", tmp_path / "run") == 0
    score = "score", tmp_path / "run", tmp_path / "new.csv"
    assert "; --drop-columns alone leaves out none" in refused(capsys, command(*score))
    assert command(*score, "--drop-columns") == 0


def test_errors_of_sparse_files_name_the_place(tmp_path, capsys):
    rows = DATA.astype(np.int16)
    rows[4, 2] = 7
    sparse.save_npz(tmp_path / "x.npz", sparse.csr_array(rows))
    size = "--hidden", 3, "--iterations", 2, "--out", tmp_path / "run"
    line = refused(capsys, command("train", "--data", tmp_path / "x.npz", *size))
    assert "x.npz: cannot be read as .npz (row 5, column '3': must be 0 or 1, got 7; drop_columns leaves" in line
    assert command("train", "--data", tmp_path / "x.npz", *size, "--threshold", 0.5, "--drop-columns", 1, 7) == 0
    expected = rbmbench.train(DATA[:, 1:6] | (rows[:, 1:6] == 7), hidden=3, batch=ROWS, iterations=2).rbm.W
    np.testing.assert_array_equal(results.read_model(tmp_path / "run")["W"], expected)
    line = refused(capsys, command("train", "--data", tmp_path / "x.npz", *size, "--drop-columns", "8"))
    assert "drop_columns: unknown column '8'" in line
