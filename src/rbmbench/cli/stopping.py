# SPDX-License-Identifier: BSD-3-Clause
"""Signals that stop a long computation where it can be resumed: SIGTERM, Ctrl-C, a closed terminal."""

import signal
from types import FrameType

from rbmbench.cli.output import write_now

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopSignals:
    """Context manager that records SIGINT, SIGTERM and SIGHUP; a call returns the number of the first signal, or None.

    Before the first call, a signal also raises a KeyboardInterrupt: a computation that starts, which may take a minute
    of compiling, has nothing to save. A second SIGINT ends the process at once. Signals that were ignored before remain
    ignored.
    """

    def __init__(self):
        self._received: int | None = None
        self._is_starting = True
        self._before: dict[int, object] = {}

    def __enter__(self) -> "StopSignals":
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._receive)
        return self

    def __exit__(self, *_) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def __call__(self) -> int | None:
        """Return the number of the first signal received, or None."""
        self._is_starting = False
        return self._received

    def _receive(self, number: int, _frame: FrameType | None) -> None:
        if self._received is None:
            name = signal.Signals(number).name
            write_now(f"rbmbench: {name}: stopping in some seconds; a second SIGINT ends it at once\n")
        is_first, self._received = self._received is None, self._received or number
        if signal.SIGINT in self._before:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        if self._is_starting and is_first:
            raise KeyboardInterrupt
