# SPDX-License-Identifier: BSD-3-Clause
"""Pauses of long computations, for progress, checkpoints and stopping. Pauses change no result."""

from collections.abc import Callable

PAUSE_SECONDS = 2.0
Progress = Callable[..., None]  # progress(done, total, *values)
Stopping = Callable[[], int | None]  # returns the number of a signal to stop, or None


class Pace:
    """Number of ``steps`` until the next pause: one at first, then as many as take about 2 seconds."""

    def __init__(self):
        self.steps = 1

    def update(self, steps: int, seconds: float) -> None:
        """Set ``steps`` from the time that the last ones took; it grows by a factor of two at most."""
        fitting = int(steps * PAUSE_SECONDS / max(seconds, 1e-9))
        self.steps = max(1, min(fitting, 2 * max(steps, self.steps)))
