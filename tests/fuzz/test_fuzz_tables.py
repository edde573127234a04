# SPDX-License-Identifier: BSD-3-Clause
"""Tables: learning curves, stopping times, likelihoods of samples (parquet); verdicts and measured steps (csv)."""

import json
import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import strategies as st
from mutations import mutated, mutated_text, parquet_of
from properties import holds_for_files

from rbmbench.base.errors import RbmbenchError
from rbmbench.io import results
from rbmbench.reporting import speed
from rbmbench.reporting.claims.verdict import Verdict, read_verdicts
from rbmbench.reporting.page import html

COLUMNS = ["trial", "iteration", "metric", "value"]
CURVE = pd.DataFrame([(0, 0, "log_likelihood", 0.5), (0, 5, "b", np.nan), (1, 0, "b", -2.0)], columns=COLUMNS)
OTHER_KINDS = (pa.array([[1], [], None]), pa.array([b"\xff", b"", b"c"]), pa.array([True, False, None]))
ARRAYS = [[1, 2, 3], [1, None, 3], [0.5, np.inf, np.nan], ["a", None, "c"], ["a" * 5000] * 3, [{"a": 1}] * 3]
TYPED = ([2**40] * 3, pa.timestamp("ns")), ([1, 2, 3], pa.uint64()), (["a"] * 3, pa.large_string()), ([None] * 3, None)
repeating = pa.array(["a", "b", "a"]).dictionary_encode()
columns = st.sampled_from([*OTHER_KINDS, *map(pa.array, ARRAYS), *(pa.array(*typed) for typed in TYPED), repeating])
names = st.sampled_from(("trial", "iteration", "metric", "value", "", "é", "trial"))
tables = st.lists(st.tuples(names, columns), max_size=5).map(
    lambda parts: pa.table([part for _, part in parts], names=[name for name, _ in parts])
)
packings = st.sampled_from(("zstd", "snappy", "none", "gzip"))
VALID = pa.Table.from_pandas(CURVE)
RECORD = {"claim": "popcd_1.a", "paper": "popcd", "standing": "published", "where": "Fig", "text": "text"}
RECORD |= {"what": "number", "published": 2.0}
RECORD |= {"measured": 0.5, "low": 0.1, "high": 0.9, "above": 0.0, "below": math.inf}
VERDICTS = {"version": 1, "verdicts": [Verdict(**RECORD).decided().model_dump(mode="json")]}
# For every file: inputs, its reader, and a property of its output.
READERS = {
    "curve.parquet": (
        st.builds(lambda table, packing: parquet_of(table, compression=packing), tables, packings)
        | packings.flatmap(lambda packing: mutated(parquet_of(VALID, compression=packing))),
        lambda path: results.read_table(path.parent, path.name),
        lambda table: table["trial"].dtype.kind in "iu",
    ),
    "claims.json": (mutated_text(json.dumps(VERDICTS)), read_verdicts, lambda verdicts: html.claims_table(verdicts)),
    "steps.csv": (mutated_text(",".join(speed.COLUMNS) + "\na,1.5,b,floor,2.5,0.6,1\n"), speed.read_steps),
}


@pytest.mark.parametrize("name", READERS)
def test_invalid_tables_are_read_or_raise_a_one_line_error(folder, name):
    holds_for_files(folder / name, *READERS[name])


@pytest.mark.parametrize("table", [CURVE, CURVE.iloc[:0]])
def test_valid_tables_are_read_as_by_pandas(folder, table):
    results.write_table(folder / "curve.parquet", table)
    expected = pd.read_parquet(folder / "curve.parquet")
    pd.testing.assert_frame_equal(results.read_table(folder, "curve.parquet"), expected)


@pytest.mark.parametrize("more", OTHER_KINDS)
def test_columns_of_other_types_raise(folder, more):
    (folder / "curve.parquet").write_bytes(parquet_of(VALID.append_column("more", more)))
    with pytest.raises(RbmbenchError, match="column 'more' must hold"):
        results.read_table(folder, "curve.parquet")
