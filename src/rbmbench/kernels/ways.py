# SPDX-License-Identifier: BSD-3-Clause
"""Ways to multiply binary states by matrices, and the choice between them on a processor.

The choice depends on the shape of the product of one replica: rows of states, contracted units, columns. So results do
not depend on data, other replicas, shards or threads.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from rbmbench.base.errors import SettingsError

VARIABLE = "RBMBENCH_PRODUCTS"
NAMES = ("auto", "library", "tables")
AUTO, LIBRARY, TABLES = range(3)
"""Tables are for processors; GPUs use the library."""

# Tables pay from this number of rows on, plus one share for narrow matrices, and one for few units: measured with
# AVX-512 and AVX2 on 4 to 500 rows of 16 to 784 units and columns.
LEAST_ROWS, NARROW, FEW_UNITS = 16, 640, 4800
LEAST_MATRIX = 4096  # entries

_by_hand = os.environ.get(VARIABLE) or NAMES[AUTO]


def check_switch() -> None:
    """Raise a `SettingsError` if the environment variable RBMBENCH_PRODUCTS names no way."""
    if _by_hand not in NAMES:
        raise SettingsError(f"{VARIABLE}: must be one of {', '.join(NAMES)}, got {_by_hand!r}")


def requested() -> str:
    """Return the way named by RBMBENCH_PRODUCTS, or "auto"."""
    return _by_hand


@contextmanager
def by_hand(name: str) -> Iterator[None]:
    """Use the way of this name within the block, in all threads. No computation may run across its start or end."""
    global _by_hand
    before, _by_hand = _by_hand, name
    try:
        yield
    finally:
        _by_hand = before


def number() -> int:
    """Return AUTO, or the number of the way named by RBMBENCH_PRODUCTS, for `takes_tables`."""
    return NAMES.index(_by_hand) if _by_hand in NAMES else AUTO


def takes_tables(way: int, rows: int, units: int, columns: int) -> bool:
    """Return whether a product of states (rows, units) with a matrix (units, columns) takes tables."""
    if way == AUTO:
        matrix = units * columns
        return matrix >= LEAST_MATRIX and (rows - LEAST_ROWS) * matrix >= NARROW * units + FEW_UNITS * columns
    return way == TABLES


def ways_of_step(rows: int, visible: int, hidden: int) -> str:
    """Return the ways of the products of a training step with mini-batches of ``rows`` rows, in a few words.

    They are those of v W, W h and v' p(h|v).
    """
    shapes = (rows, visible, hidden), (rows, hidden, visible), (visible, rows, hidden)
    taken = {TABLES if takes_tables(number(), *shape) else LIBRARY for shape in shapes}
    return " and ".join(NAMES[way] for way in sorted(taken))
