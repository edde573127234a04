"""Time functions side by side, and say what came out as lines of one table."""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

__all__ = ["FLOOR", "OTHER", "PEER", "Clock", "line"]

FLOOR, PEER, OTHER = "floor", "peer", "other"
"""What a time is held against: work that cannot be left out, another program, or another way of rbmbench's own."""


@dataclass(frozen=True)
class Clock:
    """Times functions in turns, at most ``most_rounds`` rounds of them; ``timer`` tells the time in seconds."""

    most_rounds: int
    timer: Callable[[], float] = perf_counter

    def rounds(self, wanted: int) -> int:
        """Return how many rounds to make where ``wanted`` would be good."""
        return max(1, min(wanted, self.most_rounds))

    def best(self, *functions: Callable[[], object], rounds: int = 15) -> list[float]:
        """Return the least seconds of each function over rounds in which they take turns, after one call to warm up.

        A function with an attribute ``steps`` does its work so many times a call.
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


def line(what: str, seconds: float, against: str, kind: str, reference: float, aim: str = "") -> dict:
    """Return one line of the table; an empty ``aim`` sets none."""
    return {
        "what": what,
        "milliseconds": 1000 * seconds,
        "against": against,
        "kind": kind,
        "reference_milliseconds": 1000 * reference,
        "ratio": seconds / reference,
        "aim": aim,
    }
