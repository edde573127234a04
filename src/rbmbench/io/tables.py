# SPDX-License-Identifier: BSD-3-Clause
"""Tables of numbers and short texts from parquet and csv files.

Other and damaged files, and those that are too large, are an `UnreadableError`.
"""

import gzip
import os
from contextlib import nullcontext
from io import BytesIO
from typing import BinaryIO

from rbmbench.io.guard import MOST_BYTES, UnreadableError, bounded_bytes, one_line, regular_file

MOST_VALUES = 2**26
MOST_CSV_BYTES = 2**26


@one_line
def parquet_table(file: str | os.PathLike | BinaryIO, truth_values: bool = False):
    """Return the table of a parquet file with flat columns of numbers and text, and of truth values if allowed.

    Page checksums are verified.
    """
    from pyarrow import parquet, types

    with regular_file(file) if isinstance(file, str | os.PathLike) else nullcontext(file) as content:
        opened = parquet.ParquetFile(content, page_checksum_verification=True)
        declared, schema = opened.metadata, opened.schema_arrow
        kinds = [types.is_integer, types.is_floating, types.is_string, types.is_large_string]
        # Before pandas 3 a column of no texts is written as one of nothing.
        kinds += [types.is_boolean] * truth_values + [types.is_null] * (declared.num_rows == 0)
        for field in schema:
            if not any(is_kind(field.type) for is_kind in kinds):
                raise UnreadableError(f"column {field.name!r} holds {str(field.type)[:50]}; allowed: numbers and text")
        if len(set(schema.names)) < len(schema.names):
            raise UnreadableError("has two columns of one name")
        size = sum(declared.row_group(number).total_byte_size for number in range(declared.num_row_groups))
        if declared.num_rows * len(schema.names) > MOST_VALUES or size > MOST_BYTES:
            sizes = f"{declared.num_rows} rows of {len(schema.names)} columns, {size} bytes"
            raise UnreadableError(f"declares {sizes}; allowed: at most {MOST_VALUES} values, {MOST_BYTES} bytes")
        return opened.read(use_threads=False).to_pandas(ignore_metadata=True)


@one_line
def csv_table(path: str | os.PathLike, **options):
    """Return the table of a csv file, compressed (.gz) or not; ``options`` are those of ``pandas.read_csv``."""
    import pandas as pd

    content = bounded_bytes(path, MOST_CSV_BYTES)
    if str(path).endswith(".gz"):
        content = unpacked(content, MOST_CSV_BYTES)
    return pd.read_csv(BytesIO(content), **options)


@one_line
def unpacked(content: bytes, most: int) -> bytes:
    """Return the content of a gzip file, of at most so many bytes."""
    with gzip.GzipFile(fileobj=BytesIO(content)) as file:
        text = file.read(most + 1)
    if len(text) > most:
        raise UnreadableError(f"unpacks to more than {most} bytes")
    return text
