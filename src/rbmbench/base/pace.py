"""How much of a long computation to make until its next pause, by the clock: pauses change no result."""

from collections.abc import Callable

__all__ = ["PAUSE_SECONDS", "Pace", "Progress", "Stopping"]

PAUSE_SECONDS = 2.0
# What a computation that pauses may be given: told how far it is, and asked for the signal that stops it, if one came.
Progress = Callable[..., None]
Stopping = Callable[[], int | None]


class Pace:
    """How many ``steps`` to make until the next pause: one at first, then as many as take some 2 seconds."""

    def __init__(self):
        self.steps = 1

    def update(self, steps: int, seconds: float) -> None:
        """Learn what so many steps took; a few that were quick do not tell much, so it grows by two at most."""
        fitting = int(steps * PAUSE_SECONDS / max(seconds, 1e-9))
        self.steps = max(1, min(fitting, 2 * max(steps, self.steps)))
