# SPDX-License-Identifier: BSD-3-Clause
"""Standard output, standard error and the log of a command: what cannot be written ends no computation."""

import errno
import faulthandler
import os
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

from rbmbench.base.errors import ResultsError
from rbmbench.io.atomic import writable

NAMES = ("stdout", "stderr")
MESSAGES, TO_LOG = "RBMBENCH_MESSAGES", "log"
"""Variable by which a command with a log prints warnings alone, and its value; all else goes to the log."""


class Log:
    """A file that gets all that is printed; an error of the file is told once, on standard error, and not raised.

    Every text is written at once, without a buffer: nothing is lost when the process is killed.
    """

    def __init__(self, path: Path):
        self._path, self.has_failed = path, False
        self.handle: int | None = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self.handle = os.open(writable(path), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o666)
        except ResultsError as error:
            self._tell(str(error))
        except OSError as error:
            self._tell(f"{path}: cannot be written ({error.strerror or error})")

    def write(self, text: str) -> None:
        """Append a text."""
        content = memoryview(text.encode(errors="backslashreplace"))
        try:
            while content and self.handle is not None:
                content = content[os.write(self.handle, content) :]
        except OSError as error:
            self._tell(f"{self._path}: cannot be written ({error.strerror or error})")

    def close(self) -> None:
        """Close the file."""
        if self.handle is not None:
            with suppress(OSError):
                os.close(self.handle)
        self.handle = None

    def _tell(self, text: str) -> None:
        if not self.has_failed:
            self.has_failed = True
            _write_to_stderr(f"rbmbench: warning: {text}; the command goes on without this log\n")


class Stream:
    """A text stream that copies what is written to a log, and raises no error of writing.

    Attributes
    ----------
    error : OSError or None
        The first error. From then on, what the stream was opened for goes nowhere.
    is_for_log : bool
        Whether texts are written to the log alone, as long as it can be written.
    """

    def __init__(self, stream: TextIO, name: str):
        self._stream, self._name = stream, name
        self.error: OSError | None = None
        self.log: Log | None = None
        self.is_for_log = False

    def write(self, text: str) -> int:
        """Write a text at once."""
        if self.is_for_log and self.log is not None and not self.log.has_failed:
            self.log.write(text)
            return len(text)
        return self.show(text)

    def show(self, text: str) -> int:
        """Write a text at once, also where all others are for the log alone."""
        if self.log is not None:
            self.log.write(text)
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError as error:
            self._give_up(error)
        return len(text)

    def flush(self) -> None:
        """Write what others have left in the buffer."""
        try:
            self._stream.flush()
        except OSError as error:
            self._give_up(error)

    def isatty(self) -> bool:
        """Return whether it is a terminal, and this alone: a log takes no progress bars."""
        return self.log is None and self._stream.isatty()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _give_up(self, error: OSError) -> None:
        # Python writes what is left in the buffer when it ends, and would end with the exit code 120.
        with suppress(OSError, ValueError, AttributeError):  # a stream may be of no file
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)
        if self.error is None:
            self.error = error
            if self.log is not None:
                self.log.write(f"rbmbench: warning: {self._name}: cannot be written ({error.strerror})\n")


class Output:
    """Context manager in which `sys.stdout` and `sys.stderr` are each a `Stream`.

    A standard file that was closed when Python started leads nowhere: else the next file that is opened would get its
    number, and with it what libraries print.
    """

    def __init__(self):
        self._before: dict[str, TextIO | None] = {}
        self._log: Log | None = None
        self._tells_crashes = False

    def __enter__(self) -> "Output":
        _open_standard_files()
        for name in NAMES:
            self._before[name] = getattr(sys, name)
            setattr(sys, name, Stream(self._before[name] or open(os.devnull, "w"), name))
        return self

    def __exit__(self, _kind, error: BaseException | None, _trace) -> None:
        if isinstance(error, Exception) and self._log is not None:
            self._log.write("".join(traceback.format_exception(error)))
        for name in NAMES:
            if self._before[name] is None:
                getattr(sys, name).close()
            setattr(sys, name, self._before[name])
        if self._tells_crashes:
            faulthandler.disable()
        if self._log is not None:
            self._log.close()

    def log_to(self, path: Path | None) -> None:
        """Copy all that is written from now on to a log, with the stacks of a crash; None: to no log."""
        if path is None:
            return
        self._log = sys.stdout.log = sys.stderr.log = Log(path)
        sys.stdout.is_for_log = sys.stderr.is_for_log = os.environ.get(MESSAGES) == TO_LOG
        if self._log.handle is not None and not faulthandler.is_enabled():
            faulthandler.enable(self._log.handle)
            self._tells_crashes = True

    def lost(self) -> str | None:
        """Return why what was printed on standard output is lost; None if it is not, or if nobody reads it."""
        error = sys.stdout.error
        if self._log is not None or error is None or error.errno == errno.EPIPE:
            return None
        return f"standard output: cannot be written ({error.strerror})"


def write_now(text: str) -> None:
    """Write a text to standard error and its log, as signal handlers may: print is not reentrant."""
    _write_to_stderr(text)
    log = getattr(sys.stderr, "log", None)
    if log is not None:
        log.write(text)


def _write_to_stderr(text: str) -> None:
    with suppress(OSError):
        os.write(2, text.encode(errors="backslashreplace"))


def _open_standard_files() -> None:
    """Open the null device in place of each standard file that is closed."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
