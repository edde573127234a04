"""Tables of numbers and short texts from parquet and csv."""

import os
from io import BytesIO

from rbmbench.io.guard import UnreadableError, bounded_bytes, one_line

__all__ = ["MOST_CSV_BYTES", "csv_table", "parquet_table"]

MOST_VALUES = 2**26
MOST_UNPACKED = 2**29
MOST_TEXT = 2**28
MOST_CSV_BYTES = 2**26


@one_line
def parquet_table(path: str | os.PathLike):
    """Return the table of a parquet file of flat columns of numbers and texts.

    Texts are read as they are stored, each once, so that a file of one long text in a million lines stays small until
    it is refused.

    Raises
    ------
    UnreadableError
        If it is damaged, has columns of other kinds, or declares more than is allowed.
    """
    import pyarrow as pa
    from pyarrow import parquet, types

    with parquet.ParquetFile(path) as file:
        declared, names, texts = file.metadata, [], []
        for field in file.schema_arrow:
            text = types.is_string(field.type) or types.is_large_string(field.type)
            if not (text or types.is_integer(field.type) or types.is_floating(field.type)):
                raise UnreadableError(f"column {field.name!r} holds {str(field.type)[:50]}; allowed: numbers and text")
            names.append(field.name)
            texts += [field.name] if text else []
        if len(set(names)) < len(names):
            raise UnreadableError("has two columns of one name")
        groups = [declared.row_group(number) for number in range(declared.num_row_groups)]
        unpacked = sum(group.total_byte_size for group in groups)
        if declared.num_rows * len(names) > MOST_VALUES or unpacked > MOST_UNPACKED:
            found = f"{declared.num_rows} rows of {len(names)} columns, {unpacked} bytes"
            raise UnreadableError(f"declares {found}; allowed: at most {MOST_VALUES} values, {MOST_UNPACKED} bytes")
    with parquet.ParquetFile(path, read_dictionary=texts) as file:
        table = file.read(use_threads=False)
    for name in texts:
        _check_texts(name, table[name])
    plain = pa.table({name: table[name].cast(pa.string()) if name in texts else table[name] for name in names})
    return plain.to_pandas(ignore_metadata=True)


def _check_texts(name: str, column) -> None:
    """Refuse texts that would be too long, each written out in its line."""
    from pyarrow import compute, types

    for chunk in column.chunks:
        words = chunk.dictionary if types.is_dictionary(chunk.type) else chunk
        longest = compute.max(compute.binary_length(words)).as_py() or 0
        if longest * len(column) > MOST_TEXT:
            raise UnreadableError(
                f"column {name!r} has {len(column)} texts of up to {longest} bytes; allowed: {MOST_TEXT} in all"
            )


@one_line
def csv_table(path: str | os.PathLike, **options):
    """Return the table of a csv file; ``options`` are those of ``pandas.read_csv``.

    Raises
    ------
    UnreadableError
        If it is damaged or too large.
    """
    import pandas as pd

    return pd.read_csv(BytesIO(bounded_bytes(path, MOST_CSV_BYTES)), **options)
