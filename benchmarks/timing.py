# SPDX-License-Identifier: BSD-3-Clause
"""Timing of functions in alternation, and rows of the table of results."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import wraps
from time import perf_counter

import numpy as np

from rbmbench.kernels import ways

FLOOR, PRODUCTS, PEER, OTHER = "floor", "products", "peer", "other"
"""Kinds of comparison: with the dense products of the same step, with its products as rbmbench makes them, with another
program, or with another method of rbmbench."""
DENSE, BINARY = "its dense matrix products", "its binary matrix products"


@dataclass(frozen=True)
class Clock:
    """Timer of functions in alternation, for at most ``most_rounds`` rounds; ``timer`` returns the time in seconds."""

    most_rounds: int
    timer: Callable[[], float] = perf_counter

    def rounds(self, wanted: int) -> int:
        """Return the number of rounds to make, at most ``wanted``."""
        return max(1, min(wanted, self.most_rounds))

    def best(self, *functions: Callable[[], object], rounds: int = 15) -> list[float]:
        """Return the shortest time of each function in seconds over alternating calls, after one call to warm up.

        Times are divided by the attribute ``steps`` of a function, if it has one.
        """
        for function in functions:
            function()
        best = [float("inf")] * len(functions)
        for _ in range(self.rounds(rounds)):
            for i, function in enumerate(functions):
                started = self.timer()
                function()
                best[i] = min(best[i], (self.timer() - started) / getattr(function, "steps", 1))
        return best


def in_way(way: str, function: Callable[[], object]) -> Callable[[], object]:
    """Return the function with all products with binary states made in this way, see `rbmbench.kernels.ways`."""
    return within(lambda: ways.by_hand(way), function)


def within(context: Callable[[], AbstractContextManager], function: Callable[[], object]) -> Callable[[], object]:
    """Return the function called within a context."""

    @wraps(function)  # with its attribute ``steps``
    def run():
        with context():
            function()

    return run


def line(label: str, seconds: float, against: str, kind: str, reference: float, aim: str = "") -> dict:
    """Return one row of the table; an empty ``aim`` sets no aim."""
    return {
        "what": label,
        "milliseconds": 1000 * seconds,
        "against": against,
        "kind": kind,
        "reference_milliseconds": 1000 * reference,
        "ratio": seconds / reference,
        "aim": aim,
    }


def matrix_products(
    visible, hidden, batch, k, trials=1, place=lambda array: array, multiply=np.matmul
) -> Callable[[], object]:
    """Return a function with the matrix products of one CD-k step: 2 k + 1 for the chains, 2 for the statistics.

    ``multiply(states, matrix, out)`` makes them: NumPy's dense product, or a kernel for binary states.
    """
    rng = np.random.default_rng(1)
    v = place((rng.random((trials, batch, visible)) < 0.13).astype(np.float32))
    h = place((rng.random((trials, batch, hidden)) < 0.5).astype(np.float32))
    W = place(rng.normal(0, 0.1, (trials, visible, hidden)).astype(np.float32))
    v_W, h_W, statistics = np.empty_like(h), np.empty_like(v), np.empty_like(W)

    def products():
        for _ in range(k):
            multiply(v, W, v_W)
            multiply(h, W.swapaxes(-1, -2), h_W)
        multiply(v, W, v_W)
        multiply(v.swapaxes(-1, -2), h, statistics)
        multiply(v.swapaxes(-1, -2), h, statistics)

    return products
