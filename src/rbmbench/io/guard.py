"""What all readers share: regular files of bounded size, and errors of one line."""

import os
import stat
from collections.abc import Callable
from functools import wraps
from pathlib import Path

MOST_CHARACTERS = 500


class UnreadableError(ValueError):
    """The input is damaged, of another kind, or too large. The message is one line of bounded length."""

    def __init__(self, message: str):
        # Some libraries repeat their whole input.
        super().__init__(" ".join(message[:MOST_CHARACTERS].split()))


def one_line(reader: Callable) -> Callable:
    """Return ``reader`` with every error turned into an `UnreadableError`, except those of the file system.

    The libraries raise many kinds of errors for damaged input, so none is listed.
    """

    @wraps(reader)
    def guarded(*arguments, **options):
        try:
            return reader(*arguments, **options)
        except (UnreadableError, FileNotFoundError, IsADirectoryError, PermissionError):
            raise
        except MemoryError:
            raise UnreadableError("asks for more memory than there is") from None
        except RecursionError:
            raise UnreadableError("is nested too deeply") from None
        except Exception as error:
            raise UnreadableError(f"{type(error).__name__}: {error}".removesuffix(": ")) from error

    return guarded


def bounded_bytes(path: str | os.PathLike, most: int) -> bytes:
    """Return the bytes of a file; raise an `UnreadableError` if it is not regular or has more than ``most`` bytes."""
    if "\0" in os.fspath(path):
        raise UnreadableError("its name holds a NUL character")
    status = os.stat(path)
    # Reading a device or a pipe may never end; reading a folder is an OSError.
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        raise UnreadableError("is not a regular file")
    if status.st_size > most and stat.S_ISREG(status.st_mode):
        raise UnreadableError(f"found {status.st_size} bytes; allowed: at most {most}")
    return Path(path).read_bytes()
