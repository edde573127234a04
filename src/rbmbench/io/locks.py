# SPDX-License-Identifier: BSD-3-Clause
"""Advisory locks: one process at a time computes a file. The system releases the lock of a process that ends."""

import errno
import os
import platform
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rbmbench.base.errors import InUseError, RbmbenchWarning, ResultsError
from rbmbench.io.atomic import cannot_write, remove, writable

# Error codes of file systems without locks, such as some network file systems.
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
# Seconds to try for. A single attempt would fail if the previous holder removes the lock file during it.
PATIENCE = 0.2


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock on ``path``.lock, which names the holder and is removed at the end.

    The lock file of a killed process does not count as held. On a file system without locks a `RbmbenchWarning` is
    issued and nothing is held; a lock that only consists of a file would outlive a process killed on another machine.
    Raises an `InUseError` that names the holder if it is another process, and a `ResultsError` if the lock file cannot
    be written or is no regular file.
    """
    from filelock import FileLock, Timeout

    if not path.name:
        raise ResultsError(f"{path}: must be the name of a file, got a folder")
    file = path.with_name(f"{path.name}.lock")
    writable(file)
    lock = FileLock(file, timeout=PATIENCE, fallback_to_soft=False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
        file.write_text(f"process {os.getpid()} on {platform.node()}", encoding="utf-8")
    except Timeout:
        holder = "another process"
        with suppress(OSError):
            holder = file.read_text(errors="replace")[:1000] or holder
        advice = "which computes the same; wait until it ends, or end it, and run the same command again"
        raise InUseError(f"{path}: in use by {holder}, {advice}") from None
    except OSError as error:
        lock.release()
        if error.errno not in NO_LOCKS:
            raise cannot_write(file, error) from error
        text = f"{path}: this file system has no locks ({error.strerror}); make sure that no other process writes here"
        warnings.warn(text, RbmbenchWarning, stacklevel=3)
    try:
        yield
    finally:
        # Removed before the lock is released: afterwards the file may be another process's.
        with suppress(OSError):
            remove(file)
        lock.release()
