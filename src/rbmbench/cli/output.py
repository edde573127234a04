# SPDX-License-Identifier: BSD-3-Clause
"""Standard output, standard error and the log of a command; errors of writing end no computation."""

import errno
import faulthandler
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import TextIO

from rbmbench.base.errors import ResultsError
from rbmbench.io.atomic import writable

MESSAGES, TO_LOG = "RBMBENCH_MESSAGES", "log"
"""Variable with which a command with a log prints only warnings, and its value; all else goes to the log."""


class Log:
    """A file that gets all that is printed; its first error is one warning on standard error.

    Nothing is buffered, so that nothing is lost when the process is killed.
    """

    def __init__(self, path: Path):
        self._path, self.has_crashes = path, False
        self.file: FileIO | None = None
        with self._warned():
            path.parent.mkdir(parents=True, exist_ok=True)
            self.file = FileIO(writable(path), "w")

    def write(self, text: str) -> None:
        """Append a text."""
        content = text.encode(errors="backslashreplace")
        with self._warned():
            while content and self.file:
                content = content[self.file.write(content) :]

    def close(self) -> None:
        """Close the file."""
        if self.file:
            with suppress(OSError):
                self.file.close()
        self.file = None

    @contextmanager
    def _warned(self) -> Iterator[None]:
        try:
            yield
        except (ResultsError, OSError) as error:
            self.close()
            reason = f"{self._path}: cannot be written ({error.strerror})" if isinstance(error, OSError) else error
            _write_to_stderr(f"rbmbench: warning: {reason}; the command goes on without this log\n")


class LoggedStream:
    """A text stream that copies its text to a log, and raises no error of writing."""

    def __init__(self, stream: TextIO):
        self._stream = stream
        self.error: OSError | None = None  # the first one; later text goes to the null device
        self.log: Log | None = None

    def write(self, text: str) -> int:
        """Write a text at once; to the log alone, if the environment has `MESSAGES` and the log can be written."""
        if self.log and self.log.file and os.environ.get(MESSAGES) == TO_LOG:
            self.log.write(text)
            return len(text)
        return self.show(text)

    def show(self, text: str) -> int:
        """Write a text at once, even if others go to the log only."""
        if self.log:
            self.log.write(text)
        self._try(lambda: self._stream.write(text))
        self.flush()
        return len(text)

    def flush(self) -> None:
        """See `io.TextIOBase.flush`."""
        self._try(self._stream.flush)

    def _try(self, write: Callable[[], object]) -> None:
        try:
            write()
        except OSError as error:
            # At its end Python flushes the buffer, and would end with the exit code 120.
            with suppress(OSError, ValueError, AttributeError):  # a stream may be of no file
                os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
            if self.error is None:
                self.error = error
                if self.log:
                    name = getattr(self._stream, "name", "output").strip("<>")
                    self.log.write(f"rbmbench: warning: {name}: cannot be written ({error.strerror})\n")

    def isatty(self) -> bool:
        """Return whether it is a terminal without a log, which takes no progress bars."""
        return self.log is None and self._stream.isatty()

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


class Output:
    """Context manager in which `sys.stdout` and `sys.stderr` are each a `LoggedStream`.

    Standard files that were closed when Python started are opened on the null device: otherwise the next file that is
    opened would get their numbers, and with them the output of libraries.
    """

    def __enter__(self) -> "Output":
        self._log: Log | None = None
        self._before = sys.stdout, sys.stderr
        for number in (0, 1, 2):
            try:
                os.fstat(number)
            except OSError:
                os.open(os.devnull, os.O_RDWR)
        sys.stdout, sys.stderr = (LoggedStream(stream or open(os.devnull, "w")) for stream in self._before)  # noqa: SIM115
        return self

    def __exit__(self, _kind, error: BaseException | None, _trace) -> None:
        if isinstance(error, Exception) and self._log:
            self._log.write("".join(traceback.format_exception(error)))
        if self._log:
            if self._log.has_crashes:
                faulthandler.disable()
            self._log.close()
        sys.stdout, sys.stderr = self._before

    def log_to(self, path: Path | None) -> None:
        """Copy all later output to a log, with the stacks of a crash; None: to no log."""
        if path is None:
            return
        self._log = sys.stdout.log = sys.stderr.log = Log(path)
        if self._log.file and not faulthandler.is_enabled():
            faulthandler.enable(self._log.file)
            self._log.has_crashes = True

    def lost(self) -> str | None:
        """Return the reason why standard output is lost; None if it is not, or if its reader has closed it."""
        error = sys.stdout.error
        if self._log is not None or error is None or error.errno == errno.EPIPE:
            return None
        return f"standard output: cannot be written ({error.strerror})"


def write_now(text: str) -> None:
    """Write a text to standard error and its log, as signal handlers may: print is not reentrant."""
    _write_to_stderr(text)
    if log := getattr(sys.stderr, "log", None):
        log.write(text)


def _write_to_stderr(text: str) -> None:
    with suppress(OSError):
        os.write(2, text.encode(errors="backslashreplace"))
