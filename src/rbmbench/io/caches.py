# SPDX-License-Identifier: BSD-3-Clause
"""Folders for files that can be made or fetched again: compiled kernels and downloads."""

from pathlib import Path
from tempfile import TemporaryFile


def user_cache(name: str) -> Path | None:
    """Return the folder ``name`` in the user's cache folder of rbmbench; None if the user has no home."""
    from platformdirs import user_cache_path

    try:
        folder = user_cache_path("rbmbench") / name
    except RuntimeError:
        return None
    return folder if folder.is_absolute() else None  # older versions of platformdirs leave the ~ in it


def why_not_writable(folder: Path) -> str | None:
    """Return why no file can be written to a folder, which need not exist, in a few words; None if one can.

    A file is written: permissions are not enough, since some file systems refuse any file.
    """
    try:
        nearest = next(path for path in (folder, *folder.absolute().parents) if path.exists())
        with TemporaryFile(dir=nearest) as file:
            file.write(b"x")
    except OSError as error:
        return (error.strerror or str(error)).lower()
    return None
