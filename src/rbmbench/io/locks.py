"""One process at a time: an advisory lock on a file, which the system drops when its holder ends, however it ends."""

import errno
import fcntl
import os
import platform
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rbmbench.base.errors import InUseError, RbmbenchWarning
from rbmbench.io.atomic import cannot_write, remove, writable

__all__ = ["locked"]

# What a file system answers that knows no locks, as some network file systems do.
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold ``path``, by a lock on ``path``.lock, which names the holder; the file is removed at the end.

    A lock file that a killed process has left holds nobody up. Where the file system knows no locks, a warning says so,
    and nothing is held.

    Raises
    ------
    InUseError
        If another process holds it; names that process.
    ResultsError
        If the lock file cannot be written.
    """
    file = path.with_name(f"{path.name}.lock")
    writable(file)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = _acquired(file, path)
    except OSError as error:
        raise cannot_write(file, error) from error
    try:
        yield
    finally:
        # While it is still held: who comes later finds another file, or none.
        with suppress(OSError):
            remove(file)
        os.close(descriptor)


def _acquired(file: Path, path: Path) -> int:
    """Return an open descriptor of a lock file that this process has the lock of."""
    while True:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
        try:
            _lock(descriptor, path)
            # The holder before may have removed the file between the two calls: then the lock is of no file.
            if _is(descriptor, file):
                os.truncate(descriptor, 0)
                os.write(descriptor, f"process {os.getpid()} on {platform.node()}".encode())
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _lock(descriptor: int, path: Path) -> None:
    """Take the lock of an open file; warn where there is no such thing."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(descriptor, 1000).decode(errors="replace") or "another process"
        raise InUseError(
            f"{path}: in use by {holder}, which computes the same; wait until it ends, or end it, and run the same "
            "command again"
        ) from None
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
        text = f"{path}: this file system knows no locks ({error.strerror}); take care that nobody else writes here"
        warnings.warn(text, RbmbenchWarning, stacklevel=2)


def _is(descriptor: int, file: Path) -> bool:
    """Tell whether a descriptor is of the file that has this name now."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(file))
    except FileNotFoundError:
        return False
