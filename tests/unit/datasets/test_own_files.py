# SPDX-License-Identifier: BSD-3-Clause
"""Files of users: formats, options and error messages."""

import gzip

import numpy as np
import pandas as pd
import pytest
from core_helpers import binary_data
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from rbmbench import datasets
from rbmbench.base.errors import DataError

ROWS = binary_data(13, 5)
FRAME = pd.DataFrame(ROWS, columns=list("abcde"))


def text(separator=",", *, header=False, newline="\n", end=""):
    lines = [separator.join(map(str, row)) + end for row in [*([FRAME.columns] if header else []), *ROWS]]
    return newline.join([*lines, ""])


TEXTS = {
    "plain.csv": text(),
    "upper.CSV": text(),
    "header.csv": text(header=True),
    "bom.csv": "\ufeff" + text(),
    "bom_and_header.csv": "\ufeff" + text(header=True),
    "windows.csv": text(newline="\r\n"),
    "semicolons.csv": text(";", header=True),
    "tabs.tsv": text("\t"),
    "blanks.txt": text(" "),
    "aligned.amat": text("  ", end=" "),
    "ucla.data": text(),
    "spaces.csv": text(", "),
    "floats.dat": text().replace("1", "1.0"),
    "savetxt.txt": text(" ").replace("1", "1.000000000000000000e+00"),
    "truth.csv": text().replace("1", "True").replace("0", "False"),
    "last_separator.csv": text(end=","),
    "empty_lines.csv": "\n\n" + text(newline="\n\n"),
    "quoted.csv": '"a","b","c","d","e"\n' + text(),
    "counted.csv": "0,1,2,3,4\n" + text(),
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("packed", [False, True])
def test_text_formats(tmp_path, name, packed):
    content = TEXTS[name].encode()
    path = tmp_path / (f"{name}.gz" if packed else name)
    path.write_bytes(gzip.compress(content) if packed else content)
    data = datasets.read_file(path)
    np.testing.assert_array_equal(data.train, ROWS)
    assert data.title == name.partition(".")[0]


def test_text_in_utf_16(tmp_path):
    (tmp_path / "x.txt").write_bytes(text("\t").encode("utf-16"))
    np.testing.assert_array_equal(datasets.read_file(tmp_path / "x.txt").train, ROWS)


def save_frame(frame):
    return lambda path: frame.to_parquet(path)


BINARY = {
    "x.npy": lambda path: np.save(path, ROWS),
    "x.parquet": save_frame(FRAME),
    "truth.parquet": save_frame(FRAME.astype(bool)),
    "x.libsvm": lambda path: dump_svmlight_file(ROWS.astype(float), np.arange(13.0), str(path), zero_based=False),
    "one.npz": lambda path: np.savez(path, spins=ROWS),
    "train.npz": lambda path: np.savez(path, train=ROWS, labels=np.arange(13)),
    "names.npz": lambda path: np.savez(path, train=ROWS, names=np.array(["x"] * 13, dtype="S1")),
    "sparse.npz": lambda path: sparse.save_npz(path, sparse.csr_array(ROWS)),
    "sparse_columns.npz": lambda path: sparse.save_npz(path, sparse.csc_matrix(ROWS)),
    "coordinates.npz": lambda path: sparse.save_npz(path, sparse.coo_array(ROWS)),
}


@pytest.mark.parametrize("header", ["", "a,b,c\n", "a,b,c,\n"])
def test_lines_may_end_with_a_separator(tmp_path, header):
    (tmp_path / "x.csv").write_text(header + "0,1,1,\n1,0,1,\n")
    np.testing.assert_array_equal(datasets.read_file(tmp_path / "x.csv").train, [[0, 1, 1], [1, 0, 1]])


@pytest.mark.parametrize("name", BINARY)
def test_formats_of_arrays_and_tables(tmp_path, name):
    BINARY[name](tmp_path / name)
    np.testing.assert_array_equal(datasets.read_file(tmp_path / name).train, ROWS)


def test_an_array_is_chosen_by_its_name(tmp_path):
    np.savez(tmp_path / "x.npz", X=ROWS, y=1 - ROWS, test=ROWS[:3])
    data = datasets.read_file(tmp_path / "x.npz", key="y")
    np.testing.assert_array_equal(data.train, 1 - ROWS)
    np.testing.assert_array_equal(data.test, ROWS[:3])
    with pytest.raises(DataError, match=r"x\.npz: cannot be read as \.npz \(array 'train': unknown array 'train'"):
        datasets.read_file(tmp_path / "x.npz")


def test_columns_are_dropped_by_name_or_number(tmp_path):
    FRAME.assign(label=np.arange(13)).to_csv(tmp_path / "named.csv", index=False)
    np.testing.assert_array_equal(datasets.read_file(tmp_path / "named.csv", drop_columns=["label"]).train, ROWS)
    np.savetxt(tmp_path / "numbered.csv", np.column_stack([np.arange(13), ROWS]), fmt="%d", delimiter=",")
    np.testing.assert_array_equal(datasets.read_file(tmp_path / "numbered.csv", drop_columns=["1"]).train, ROWS)
    with pytest.raises(DataError, match="drop_columns: unknown column 'labels'; nearest: 'label'"):
        datasets.read_file(tmp_path / "named.csv", drop_columns=["labels"])


def test_numbers_above_the_threshold_are_1(tmp_path):
    np.save(tmp_path / "grey.npy", np.array([[0.0, 0.5, 0.7], [1.0, 0.2, 0.51]]))
    rows = datasets.read_file(tmp_path / "grey.npy", threshold=0.5).train
    np.testing.assert_array_equal(rows, [[0, 0, 1], [1, 0, 1]])


def test_missing_values_of_a_sparse_file_raise(tmp_path):
    rows = ROWS.astype(float)
    rows[2, 3] = np.nan
    sparse.save_npz(tmp_path / "x.npz", sparse.csr_array(rows))
    with pytest.raises(DataError, match=r"row 3, column '4': must be 0 or 1, got nan"):
        datasets.read_file(tmp_path / "x.npz", threshold=0.5)


def test_the_row_labels_of_a_frame_are_no_column(tmp_path):
    FRAME[FRAME["a"] == 1].to_parquet(tmp_path / "x.parquet")
    np.testing.assert_array_equal(
        datasets.read_file(tmp_path / "x.parquet", threshold=0.5).train, ROWS[ROWS[:, 0] == 1]
    )


def test_number_of_features_of_a_libsvm_file_may_be_chosen(tmp_path):
    (tmp_path / "x.svm").write_text("1 1:1 3:1\n-1 2:1\n")
    rows = datasets.read_file(tmp_path / "x.svm", features=5).train
    np.testing.assert_array_equal(rows, [[1, 0, 1, 0, 0], [0, 1, 0, 0, 0]])
    with pytest.raises(DataError, match=r"x\.svm: cannot be read as \.svm \(must have at most 2 features, got 3\)"):
        datasets.read_file(tmp_path / "x.svm", features=2)
    np.save(tmp_path / "x.npy", ROWS)
    with pytest.raises(DataError, match=r"features must be those of a \.libsvm file, got 5"):
        datasets.read_file(tmp_path / "x.npy", features=5)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("x.csv", "a,b,c\n0,1,1\n\n0,2,1\n", "line 4, column 'b' (2): must be 0 or 1, got 2; drop_columns"),
        ("x.csv", "0,1,1\n0,,1\n", "line 2, column '2': must be 0 or 1, got a missing value; drop_columns"),
        ("x.csv", "0,1,1\n0,?,1\n", "line 2, column '2': must be 0 or 1, got a missing value"),
        ("x.csv", "a,b\n0,1\n1,yes\n", "line 3, column 'b' (2): must be 0 or 1, got 'yes'"),
        ("x.csv", "0,1,1\n0,1,1,1\n", "Expected 3 fields in line 2, saw 4"),
        ("x.csv", "0,1,1\n0,1\n", "line 2, column '3': must be 0 or 1, got a missing value"),
        ("x.csv", "a,b\n0,1,1\n", "its rows have more columns than its header"),
        ("x.csv", "a,b\n0,1,1\n1,0,1\n", "its rows have more columns than its header"),
        ("x.txt", " \n", "must have numbers, got none"),
        ("x.csv", ",a,b\n0,1,1\n1,0,1\n2,1,1\n", "line 4, column 'Unnamed: 0' (1): must be 0 or 1, got 2"),
    ],
)
def test_errors_name_the_place_of_an_invalid_value(tmp_path, name, content, reason):
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError) as error:
        datasets.read_file(tmp_path / name)
    assert str(error.value).startswith(f"{tmp_path / name}: cannot be read as ")
    assert reason in str(error.value)
    assert "\n" not in str(error.value)


def test_a_too_large_sparse_matrix_raises(tmp_path):
    sparse.save_npz(tmp_path / "x.npz", sparse.coo_array(([1], ([0], [0])), shape=(2**31, 2**31)))
    with pytest.raises(DataError, match=r"its shape .* takes .* bytes"):
        datasets.read_file(tmp_path / "x.npz")


@pytest.mark.parametrize("index", [2, 5_000_000, -1])
def test_a_sparse_index_outside_the_shape_raises(tmp_path, index):
    matrix = sparse.csr_array(np.eye(2))
    matrix.indices[1] = index
    sparse.save_npz(tmp_path / "x.npz", matrix)
    with pytest.raises(DataError, match=r"x\.npz: cannot be read as \.npz \(.*ind"):
        datasets.read_file(tmp_path / "x.npz")


def test_a_gzip_file_with_a_too_large_content_raises(tmp_path, monkeypatch):
    monkeypatch.setattr("rbmbench.datasets._own_files.most_array_bytes", lambda: 1000)
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(b"0,1\n" * 1000))
    with pytest.raises(DataError, match="unpacks to more than 1000 bytes"):
        datasets.read_file(tmp_path / "x.csv.gz")
