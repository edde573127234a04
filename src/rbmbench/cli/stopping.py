"""Signals that ask a long computation to stop at a point where it can be resumed: SIGTERM and Ctrl-C."""

import os
import signal
from contextlib import suppress
from types import FrameType


class StopSignals:
    """Context manager that records SIGINT and SIGTERM; a call returns the number of the first signal, or None.

    A second SIGINT ends the process at once. Signals that were ignored before remain ignored.
    """

    def __init__(self):
        self._received: int | None = None
        self._before: dict[int, object] = {}

    def __enter__(self) -> "StopSignals":
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._receive)
        return self

    def __exit__(self, *_) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def __call__(self) -> int | None:
        """Return the number of the first signal received, or None."""
        return self._received

    def _receive(self, number: int, _frame: FrameType | None) -> None:
        if self._received is None:
            name = signal.Signals(number).name
            text = f"rbmbench: {name}: stopping in some seconds; a second SIGINT ends it at once\n"
            # print is not reentrant, and the reader of stderr may be gone.
            with suppress(OSError):
                os.write(2, text.encode())
        self._received = self._received or number
        signal.signal(signal.SIGINT, signal.SIG_DFL)
