# SPDX-License-Identifier: BSD-3-Clause
"""Base of all readers: regular files of bounded size, and errors of one line."""

import os
import stat
from collections.abc import Callable
from functools import wraps
from typing import BinaryIO

MOST_CHARACTERS = 500
BLOCK_BYTES = 2**16
MOST_BYTES = 2**29  # of a file, or of the arrays or the table that it holds, unless its reader has another limit
SHARE_OF_MEMORY = 0.25
"""Share of the free memory for the rows of a data set or the arrays of an archive, of which readers make copies."""


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
            raise UnreadableError("needs more memory than there is") from None
        except RecursionError:
            raise UnreadableError("is nested too deeply") from None
        except Exception as error:
            raise UnreadableError(f"{type(error).__name__}: {error}".removesuffix(": ")) from error

    return guarded


def regular_file(path: str | os.PathLike) -> BinaryIO:
    """Open a file for reading; raise an `UnreadableError` if it is not a regular one.

    All readers use this function: a device may have no end, and a pipe may wait for ever.
    """
    if "\0" in os.fspath(path):
        raise UnreadableError("its name holds a NUL character")
    return open(path, "rb", opener=_regular_handle)


def _regular_handle(path: str | os.PathLike, flags: int) -> int:
    """Open as `open` does, without waiting for another process to open a pipe. Folders are left to the caller."""
    handle = os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)
    mode = os.fstat(handle).st_mode
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return handle
    os.close(handle)
    raise UnreadableError("is not a regular file")


def most_array_bytes() -> int:
    """Return the limit of bytes of arrays: `MOST_BYTES`, or a share of the free memory if that is more."""
    import resource

    import psutil

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    free = psutil.virtual_memory().available
    if limit != resource.RLIM_INFINITY:
        free = min(free, limit - psutil.Process().memory_info().vms)
    return max(MOST_BYTES, int(SHARE_OF_MEMORY * free))


def bounded_bytes(path: str | os.PathLike, most: int = MOST_BYTES) -> bytes:
    """Return the bytes of a file; raise an `UnreadableError` if it is not regular or has more than ``most`` bytes."""
    with regular_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        content = file.read(size + 1) if size <= most else b""
        # Some files of the system hold more bytes than their size.
        while size < len(content) <= most and (block := file.read(BLOCK_BYTES)):
            content += block
    if max(size, len(content)) > most:
        raise UnreadableError(f"must have at most {most} bytes, got {max(size, len(content))}")
    return content
