# SPDX-License-Identifier: BSD-3-Clause
"""Tables from csv files that may be compressed, and from parquet files."""

import gzip

import pyarrow as pa
import pytest
from pyarrow import parquet

from rbmbench.io import tables
from rbmbench.io.guard import UnreadableError


def test_a_compressed_table_is_that_of_its_content(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2.5\n")
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"x,y\n1,2.5\n"))
    assert tables.csv_table(tmp_path / "a.csv.gz").equals(tables.csv_table(tmp_path / "a.csv"))


@pytest.mark.parametrize(
    "content", [b"", b"x,y\n1,2\n", gzip.compress(b"x,y\n1,2\n" * 99)[:-9]], ids=["empty", "plain", "cut"]
)
def test_what_was_not_compressed_or_is_cut_short_is_refused(tmp_path, content):
    (tmp_path / "a.csv.gz").write_bytes(content)
    with pytest.raises(UnreadableError):
        tables.csv_table(tmp_path / "a.csv.gz")


def test_what_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "MOST_CSV_BYTES", 1000)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"x\n" * 501))
    with pytest.raises(UnreadableError, match="unpacks to more than 1000 bytes"):
        tables.csv_table(tmp_path / "a.csv.gz")


def test_a_column_of_no_texts_may_be_one_of_nothing(tmp_path):
    """As pandas 2 writes it; a column of nothing with rows is no column of texts."""
    for rows in ([], [None]):
        table = pa.table({"metric": pa.array(rows, pa.null()), "value": pa.array([1.0] * len(rows), pa.float64())})
        parquet.write_table(table, tmp_path / f"{len(rows)}.parquet", write_page_checksum=True)
    assert len(tables.parquet_table(tmp_path / "0.parquet")) == 0
    with pytest.raises(UnreadableError, match="column 'metric' must hold numbers or text, got null"):
        tables.parquet_table(tmp_path / "1.parquet")
