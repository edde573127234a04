# SPDX-License-Identifier: BSD-3-Clause
"""Division of the rows of a replica among threads.

Compiled kernels compute rows independently, and release the interpreter's lock: results do not depend on the division.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, wait
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")
Item = TypeVar("Item")

LEAST_ROWS = 32
"""Rows of a part: with fewer, making tables of sums takes longer than the rows."""

_threads: ContextVar[tuple[Executor, int] | None] = ContextVar("threads of rows", default=None)


@contextmanager
def threads_of_rows(executor: Executor, count: int) -> Iterator[None]:
    """Divide rows among ``count`` threads within the block: this one, and others of the executor."""
    token = _threads.set((executor, count))
    try:
        yield
    finally:
        _threads.reset(token)


def map_items(executor: Executor, threads: int, compute: Callable[[Item], T], items: Sequence[Item]) -> list[T]:
    """Return compute(item) of all items, side by side; with more threads than items these share the rows of items."""

    def compute_item(item: Item) -> T:
        with threads_of_rows(executor, threads // len(items)):
            return compute(item)

    return list(executor.map(compute_item, items))


def divide_rows(compute: Callable[[int, int, int], T], rows: int) -> list[T]:
    """Return the results of compute(part, begin, end) for parts that cover the rows, see `threads_of_rows`."""
    threads = _threads.get()
    parts = min(threads[1], rows // LEAST_ROWS) if threads else 1
    if parts < 2:
        return [compute(0, 0, rows)]
    ends = [rows * part // parts for part in range(parts + 1)]
    others = [threads[0].submit(compute, part, ends[part], ends[part + 1]) for part in range(1, parts)]
    try:
        first = compute(0, 0, ends[1])
    finally:  # no part runs on after an error of another one
        wait(others)
    return [first, *(other.result() for other in others)]
