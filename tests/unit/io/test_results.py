# SPDX-License-Identifier: BSD-3-Clause
import os
import time

import numpy as np
import pandas as pd
import pytest

from rbmbench.base.errors import ResultsError
from rbmbench.io import results
from rbmbench.io.atomic import write_json

MODEL = {
    "W": np.arange(3 * 5 * 7, dtype=np.float32).reshape(3, 5, 7),
    "b": np.ones((3, 5), np.float32),
    "c": np.zeros((3, 7), np.float32),
    "iteration": 11,
    "seed": 13,
}
CURVE = pd.DataFrame({"trial": [0, 1], "iteration": [0, 0], "metric": ["log_likelihood"] * 2, "value": [-3.5, -2.5]})


def read_curve(folder):
    return results.read_table(folder, "curve.parquet")


def error_of(function, *arguments) -> str:
    with pytest.raises(ResultsError) as caught:
        function(*arguments)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_equal_models_have_equal_bytes(tmp_path, monkeypatch):
    results.write_arrays(tmp_path / "a.npz", MODEL)
    # The file does not depend on the order of names and on the time.
    monkeypatch.setattr("time.time", lambda: 1.0e9)
    monkeypatch.setattr("time.localtime", lambda *_: (2001, 2, 3, 4, 5, 6, 0, 1, 0))
    results.write_arrays(tmp_path / "b.npz", dict(reversed(MODEL.items())))
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_json_is_sorted_and_read_back(tmp_path):
    write_json(tmp_path / "meta.json", {"b": [1, None], "a": "ä"})
    assert results.read_meta(tmp_path) == {"b": [1, None], "a": "ä"}
    assert (tmp_path / "meta.json").read_text(encoding="utf-8").index('"a"') < 5


def test_errors_name_missing_files(tmp_path):
    for function, name in (
        (read_curve, "curve.parquet"),
        (lambda folder: results.read_table(folder, "bias.parquet"), "bias.parquet"),
        (results.read_model, "model.npz"),
        (results.read_meta, "meta.json"),
    ):
        assert f"{name}: is missing" in error_of(function, tmp_path)


@pytest.mark.parametrize(
    ("write", "read", "name"),
    [
        (lambda path: results.write_arrays(path, MODEL), results.read_model, "model.npz"),
        (lambda path: results.write_table(path, CURVE), read_curve, "curve.parquet"),
        (lambda path: write_json(path, {"a": 1}), results.read_meta, "meta.json"),
    ],
)
def test_truncated_files_raise(tmp_path, write, read, name):
    write(tmp_path / name)
    whole = (tmp_path / name).read_bytes()
    for length in (0, 1, len(whole) // 2):
        (tmp_path / name).write_bytes(whole[:length])
        assert "cannot be read" in error_of(read, tmp_path)


def test_invalid_contents_raise(tmp_path):
    results.write_arrays(tmp_path / "model.npz", {**MODEL, "b": np.ones((3, 7), np.float32)})
    assert "(trials, m, n)" in error_of(results.read_model, tmp_path)
    results.write_arrays(tmp_path / "model.npz", {"W": MODEL["W"]})
    assert "array 'b' is missing" in error_of(results.read_model, tmp_path)
    results.write_table(tmp_path / "curve.parquet", CURVE.drop(columns="metric"))
    assert "column 'metric' is missing" in error_of(results.read_table, tmp_path, "curve.parquet")
    results.write_table(tmp_path / "curve.parquet", CURVE.assign(value=["high", "low"]))
    assert "column 'value'" in error_of(results.read_table, tmp_path, "curve.parquet")
    write_json(tmp_path / "meta.json", [1])
    assert "not a mapping" in error_of(results.read_meta, tmp_path)


def test_check_writable_writes_no_file(tmp_path):
    results.check_writable(tmp_path / "not" / "there" / "yet")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "link").symlink_to(tmp_path / "to" / "be" / "made")
    results.check_writable(tmp_path / "link" / "smoke")
    assert (tmp_path / "link").is_dir()
    assert "not a directory" in error_of(results.check_writable, tmp_path / "file" / "smoke")


def test_date_back_sets_future_dates_to_the_present(tmp_path):
    now, files = time.time(), [tmp_path / "a" / name for name in ("old", "slightly ahead", "ahead", "far ahead")]
    files[0].parent.mkdir()
    for file, date in zip(files, (now - 100, now + 30, now + 5e6, now + 1e9), strict=True):
        file.write_text("")
        os.utime(file, (date, date))
        assert results.date_back(tmp_path) == {files[2]: 2, files[3]: 1}.get(file, 0)
    dates = [file.stat().st_mtime for file in files]
    assert dates[0] == pytest.approx(now - 100)
    assert now <= dates[1] <= dates[2] <= dates[3] <= time.time()
    assert results.date_back(tmp_path / "none") == 0


def test_a_flipped_bit_in_a_page_raises(tmp_path):
    results.write_table(tmp_path / "curve.parquet", CURVE)
    content = bytearray((tmp_path / "curve.parquet").read_bytes())
    page = content.index(b"\x28\xb5\x2f\xfd")  # start of the first page, compressed by zstd
    content[page + 8] ^= 1
    (tmp_path / "curve.parquet").write_bytes(content)
    assert "checksum" in error_of(results.read_table, tmp_path, "curve.parquet").lower()
