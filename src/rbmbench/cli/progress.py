"""Progress of long computations: a bar on a terminal, lines otherwise."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

SECONDS_BETWEEN_LINES = 30.0


@contextmanager
def shown_progress(title: str, value: str = "") -> Iterator[Callable[..., None]]:
    """Yield a function ``progress(done, total, value)`` that shows the progress of a computation.

    Parameters
    ----------
    title : str
        Name of the computation, at the start of each line.
    value : str
        Name of the value, which is optional in calls.
    """
    if sys.stderr.isatty():
        from tqdm import tqdm

        with tqdm(desc=title, dynamic_ncols=True, file=sys.stderr) as bar:
            yield _bar_progress(bar, value)
    else:
        yield _line_progress(title, value)


def _bar_progress(bar, value: str) -> Callable[..., None]:
    """Return a function that updates a progress bar."""

    def progress(done: float, total: int, found: float | None = None) -> None:
        if bar.total is None:
            # The part done by an earlier process must not count for the speed.
            bar.total, bar.initial = total, done
        bar.n = done
        bar.set_postfix_str("" if found is None else f"{value} {found:.4g}", refresh=False)
        bar.refresh()

    return progress


def _line_progress(title: str, value: str) -> Callable[..., None]:
    """Return a function that prints a line for the first and the last call, and periodically between."""
    first: list[tuple[float, float]] = []
    shown = [0.0]

    def progress(done: float, total: int, found: float | None = None) -> None:
        now = time.monotonic()
        first.append((now, done)) if not first else None
        if now - shown[0] < SECONDS_BETWEEN_LINES and done < total:
            return
        shown[0] = now
        began, at = first[0]
        left = (now - began) / (done - at) * (total - done) if done > at else None
        parts = [f"{done if done % 1 else int(done)} of {total}"]
        parts += [f"{value} {found:.4g}"] if found is not None else []
        parts += [f"{_duration(left)} left"] if left else []
        # The computation continues if the reader of stderr is gone.
        with suppress(OSError):
            print(f"{title}: {', '.join(parts)}", file=sys.stderr, flush=True)

    return progress


def _duration(seconds: float) -> str:
    """Return a duration as text: "45 s", "12 min", "3 h 05 min"."""
    minutes = round(seconds / 60)
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"
