# SPDX-License-Identifier: BSD-3-Clause
"""Tables from csv files, also compressed, and from parquet files."""

import gzip

import pyarrow as pa
import pytest
from pyarrow import parquet

from rbmbench.io import tables
from rbmbench.io.guard import UnreadableError


def test_a_compressed_table_equals_the_plain_one(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2.5\n")
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"x,y\n1,2.5\n"))
    assert tables.csv_table(tmp_path / "a.csv.gz").equals(tables.csv_table(tmp_path / "a.csv"))


@pytest.mark.parametrize(
    "content", [b"", b"x,y\n1,2\n", gzip.compress(b"x,y\n1,2\n" * 99)[:-9]], ids=["empty", "plain", "cut"]
)
def test_plain_and_truncated_gzip_files_raise(tmp_path, content):
    (tmp_path / "a.csv.gz").write_bytes(content)
    with pytest.raises(UnreadableError):
        tables.csv_table(tmp_path / "a.csv.gz")


def test_a_too_large_content_raises(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "MOST_CSV_BYTES", 1000)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"x\n" * 501))
    with pytest.raises(UnreadableError, match="unpacks to more than 1000 bytes"):
        tables.csv_table(tmp_path / "a.csv.gz")


def test_an_empty_column_of_text_may_have_the_type_null(tmp_path):
    """Pandas 2 writes this type; in a table with rows it raises."""
    for rows in ([], [None]):
        table = pa.table({"metric": pa.array(rows, pa.null()), "value": pa.array([1.0] * len(rows), pa.float64())})
        parquet.write_table(table, tmp_path / f"{len(rows)}.parquet", write_page_checksum=True)
    assert len(tables.parquet_table(tmp_path / "0.parquet")) == 0
    with pytest.raises(UnreadableError, match="column 'metric' must hold numbers or text, got null"):
        tables.parquet_table(tmp_path / "1.parquet")
