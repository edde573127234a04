# SPDX-License-Identifier: BSD-3-Clause
"""Progress of long computations: a bar on a terminal, lines otherwise."""

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SECONDS_BETWEEN_LINES = 30.0


@contextmanager
def shown_progress(title: str, value: str = "") -> Iterator[Callable[..., None]]:
    """Yield a function ``progress(done, total, number)`` that shows the progress of a computation.

    Lines begin with ``title``; ``value`` is the name of the number, which may be left out in calls.
    """
    if not sys.stderr.isatty():
        yield _line_progress(title, value)
        return
    from tqdm import tqdm

    with tqdm(desc=title, dynamic_ncols=True, file=sys.stderr) as bar:

        def progress(done: float, total: int, number: float | None = None) -> None:
            if bar.total is None:
                # The part done by an earlier process must not count for the speed.
                bar.total, bar.initial = total, done
            bar.n = done
            bar.set_postfix_str("" if number is None else f"{value} {number:.4g}", refresh=False)
            bar.refresh()

        yield progress


def _line_progress(title: str, value: str) -> Callable[..., None]:
    first, printed = None, 0.0

    def progress(done: float, total: int, number: float | None = None) -> None:
        nonlocal first, printed
        now = time.monotonic()
        first = first or (now, done)
        if now - printed < SECONDS_BETWEEN_LINES and done < total:
            return
        printed = now
        began, at = first
        remaining = (now - began) / (done - at) * (total - done) if done > at else None
        parts = [f"{done if done % 1 else int(done)} of {total}"]
        parts += [f"{value} {number:.4g}"] if number is not None else []
        parts += [f"{duration(remaining)} left"] if remaining else []
        print(f"{title}: {', '.join(parts)}", file=sys.stderr)

    return progress


def duration(seconds: float) -> str:
    """Return a time, rounded up, as text: "40 s", "12 min", "3 h 05 min", "2 d 4 h"."""
    if seconds < 90:
        return f"{math.ceil(seconds)} s"
    minutes = math.ceil(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours < 48 else f"{hours // 24} d {hours % 24} h"
