"""Read files that nobody vouches for: sizes are checked before memory is taken, and no content is ever run as code.

Every reader of the package's inputs goes through here. What cannot be read, or declares more than is allowed, is an
`UnreadableError`: one line with what was found and what is allowed. The callers put the file's name in front of it.
"""

from rbmbench.reading._arrays import npy_array, npz_arrays, text_array
from rbmbench.reading._guard import UnreadableError, bounded_bytes
from rbmbench.reading._matlab import mat_arrays
from rbmbench.reading._tables import csv_table, parquet_table
from rbmbench.reading._text import MOST_JSON_BYTES, MOST_YAML_BYTES, plain_json, plain_yaml

__all__ = [
    "MOST_JSON_BYTES",
    "MOST_YAML_BYTES",
    "UnreadableError",
    "bounded_bytes",
    "csv_table",
    "mat_arrays",
    "npy_array",
    "npz_arrays",
    "parquet_table",
    "plain_json",
    "plain_yaml",
    "text_array",
]
