"""Stop a long computation where it can go on: what a cluster sends before it kills, and Ctrl-C."""

import os
import signal
from contextlib import suppress
from types import FrameType

__all__ = ["StopSignals"]


class StopSignals:
    """While it is entered, SIGINT and SIGTERM end nothing; called, it tells the number of the one that came, or None.

    A second SIGINT ends the process at once. A signal that was ignored before stays so.
    """

    def __init__(self):
        self._received: int | None = None
        self._before: dict[int, object] = {}

    def __enter__(self) -> "StopSignals":
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def __call__(self) -> int | None:
        """Return the number of the signal that came, or None."""
        return self._received

    def _note(self, number: int, _frame: FrameType | None) -> None:
        if self._received is None:
            name = signal.Signals(number).name
            text = f"rbmbench: {name}: stopping in some seconds; a second SIGINT ends it at once\n"
            # Not by print: the signal may have come in the middle of one. And nobody may be there to read it.
            with suppress(OSError):
                os.write(2, text.encode())
        self._received = self._received or number
        signal.signal(signal.SIGINT, signal.SIG_DFL)
