# SPDX-License-Identifier: BSD-3-Clause
"""Folders for files that can be made or fetched again: compiled kernels and downloads."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile

_temporary: list[TemporaryDirectory] = []  # cache folders that are removed when the process ends


def user_cache(name: str) -> Path | None:
    """Return the folder ``name`` in the user's cache folder of rbmbench; None if the user has no home."""
    from platformdirs import user_cache_path

    try:
        folder = user_cache_path("rbmbench") / name
    except RuntimeError:
        return None
    return folder if folder.is_absolute() else None  # older versions of platformdirs leave the ~ in it


def replace_unwritable_cache() -> str | None:
    """Set XDG_CACHE_HOME to a temporary folder if the user's cache folder cannot be made; return the reason, in a line.

    Other programs, such as Snakemake, end with a traceback if they cannot make a folder in it.
    """
    folder = user_cache("")
    reason = why_not_writable(folder) if folder else "the user has no home folder"
    if not reason:
        return None
    _temporary.append(TemporaryDirectory(prefix="rbmbench-cache-"))
    os.environ["XDG_CACHE_HOME"] = _temporary[-1].name
    where = f"{folder.parent}: cannot be written" if folder else "none"
    return f"cache folder: {where} ({reason}); a temporary one is used; XDG_CACHE_HOME names another"


def why_not_writable(folder: Path) -> str | None:
    """Return the reason why no file can be written to a folder, which need not exist; None if one can.

    A file is written: permissions are not enough, since some file systems refuse any file.
    """
    try:
        nearest = next(path for path in (folder, *folder.absolute().parents) if path.exists())
        with TemporaryFile(dir=nearest) as file:
            file.write(b"x")
    except OSError as error:
        return (error.strerror or str(error)).lower()
    return None
