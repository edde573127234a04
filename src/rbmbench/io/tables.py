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
MOST_TEXT = 2**28
MOST_CSV_BYTES = 2**26


@one_line
def parquet_table(file: str | os.PathLike | BinaryIO, truth_values: bool = False):
    """Return the table of a parquet file with flat columns of numbers and text, and of truth values if allowed.

    Page checksums are verified.
    """
    import pyarrow as pa
    from pyarrow import compute, parquet

    with regular_file(file) if isinstance(file, str | os.PathLike) else nullcontext(file) as content:
        texts = _text_columns(parquet.ParquetFile(content), truth_values)
        # Repeated texts stay dictionaries until their total length is checked.
        texts_once = {"read_dictionary": texts, "page_checksum_verification": True}
        table = parquet.ParquetFile(content, **texts_once).read(use_threads=False)
    for name in texts:
        words = table[name].combine_chunks() if len(table) else pa.array([], pa.string())
        longest = compute.max(compute.binary_length(getattr(words, "dictionary", words))).as_py() or 0
        if longest * len(words) > MOST_TEXT:
            found = f"{len(words)} texts of up to {longest} bytes"
            raise UnreadableError(f"column {name!r} has {found}; allowed: at most {MOST_TEXT} bytes in all")
        table = table.set_column(table.column_names.index(name), name, words.cast(pa.string()))
    return table.to_pandas(ignore_metadata=True)


def _text_columns(file, truth_values: bool) -> list[str]:
    """Return the names of the text columns of a parquet file, after checking the columns and sizes that it declares."""
    from pyarrow import types

    declared, schema = file.metadata, file.schema_arrow
    # Before pandas 3 a column of no texts is written as one of nothing.
    kinds = (types.is_string, types.is_large_string, *[types.is_null] * (declared.num_rows == 0))
    texts = [field.name for field in schema if any(is_one(field.type) for is_one in kinds)]
    for field in schema:
        is_number = types.is_integer(field.type) or types.is_floating(field.type)
        if not (is_number or field.name in texts or (truth_values and types.is_boolean(field.type))):
            raise UnreadableError(f"column {field.name!r} holds {str(field.type)[:50]}; allowed: numbers and text")
    if len(set(schema.names)) < len(schema.names):
        raise UnreadableError("has two columns of one name")
    size = sum(declared.row_group(number).total_byte_size for number in range(declared.num_row_groups))
    if declared.num_rows * len(schema.names) > MOST_VALUES or size > MOST_BYTES:
        found = f"{declared.num_rows} rows of {len(schema.names)} columns, {size} bytes"
        raise UnreadableError(f"declares {found}; allowed: at most {MOST_VALUES} values, {MOST_BYTES} bytes")
    return texts


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
