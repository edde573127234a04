# SPDX-License-Identifier: BSD-3-Clause
"""Write files whole or not at all."""

import errno
import glob
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rbmbench.base.errors import ResultsError


@contextmanager
def replaced(path: str | os.PathLike) -> Iterator[Path]:
    """Give a temporary name beside ``path``; when the block ends well, rename it to ``path``.

    A reader sees the old file or the new one, never a part, also after a loss of power. The folder is made if need be.
    A symbolic link is followed: its target is replaced, and the link stays. Raises a `ResultsError` if the folder or
    the file cannot be written, with the free space of a full device, or if ``path`` is no regular file.
    """
    path = writable(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=path.suffix, dir=path.parent)
        temporary = Path(name)
        try:
            os.close(handle)
            yield temporary
            with temporary.open("rb") as written:  # some file systems, such as NFS, report a full device only here
                os.fsync(written)
            # mkstemp makes private files; results have the default permissions.
            umask = os.umask(0)
            os.umask(umask)
            with suppress(OSError):  # file systems without permissions
                temporary.chmod(0o666 & ~umask)
            writable(path)
            os.replace(temporary, path)
        finally:  # before free space is measured
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from error


def write_json(path: str | os.PathLike, values: object, indent: int = 1) -> None:
    """Write plain data as JSON with sorted keys: the same text for the same values."""
    write_text(json.dumps(values, indent=indent, sort_keys=True, ensure_ascii=False), path)


def write_text(text: str, path: str | os.PathLike) -> None:
    """Write a text and a line break; `ResultsError` if the file cannot be written."""
    with replaced(path) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")


def writable(path: str | os.PathLike) -> Path:
    """Return ``path``, or the target of a symbolic link; raise a `ResultsError` unless it is a regular file or missing.

    Renaming over a device, a pipe or a socket would replace it for every program of the machine, if run by root.
    """
    real = Path(os.path.realpath(path)) if os.path.islink(path) else Path(path)
    if os.path.exists(real) and not os.path.isfile(real):
        raise ResultsError(f"{path}: cannot be written (is no regular file; must be one, or none yet)")
    return real


def remove(path: str | os.PathLike) -> None:
    """Remove a regular file; do nothing if ``path`` is anything else, such as a symbolic link."""
    if os.path.isfile(path) and not os.path.islink(path):
        Path(path).unlink(missing_ok=True)


def cannot_write(path: str | os.PathLike, error: OSError) -> ResultsError:
    """Return the error of a file that cannot be written, with the reason and, for a full device, the remedy."""
    reason = error.strerror or error
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        folder = next(folder for folder in Path(path).absolute().parents if folder.exists())
        free = shutil.disk_usage(folder).free / 1e6
        cause = "no space left on device" if error.errno == errno.ENOSPC else "disk quota exceeded"
        reason = f"{cause}, {free:.1f} MB free; make room and run the same command again"
    return ResultsError(f"{path}: cannot be written ({reason})")


def remove_leftovers(path: str | os.PathLike) -> None:
    """Remove the temporary files of processes that were killed while they wrote ``path``; call with its lock held."""
    path = Path(path)
    for leftover in path.parent.glob(f".{glob.escape(path.name)}.????????{glob.escape(path.suffix)}"):
        remove(leftover)
