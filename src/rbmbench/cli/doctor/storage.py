# SPDX-License-Identifier: BSD-3-Clause
"""Data sets in mirror and cache, and the folders that are written to."""

import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from rbmbench.base.errors import DataError, ResultsError
from rbmbench.cli.doctor import FAILED, OK, WARNING, Finding
from rbmbench.datasets import Sources, file_status, without_credentials
from rbmbench.io.caches import why_not_writable
from rbmbench.io.results import check_writable

LEAST_BYTES = 2**30
ANSWERS = {None: "", True: ", its address answers", False: ", no address answers"}


def data_sets(mirror: str | None, cache: str | None, online: bool) -> Iterator[Finding]:
    """Yield where every published file of the data sets is, without downloading any.

    ``mirror`` and ``cache`` are those of `rbmbench.datasets.load`; ``online`` says whether to ask the addresses of
    missing files if they answer.
    """
    try:
        sources = Sources.resolve(mirror, cache)
    except DataError as error:
        yield Finding("mirror", str(error), FAILED)
        return
    yield Finding("mirror", without_credentials(sources.mirror) if sources.mirror else "none")
    yield Finding("cache", str(sources.cache or "none: the user has no home folder"))
    unknown = []
    for file in file_status(sources, online):
        name = f"{file.data_set}: {file.name}"
        if file.wrong:
            # As for `load`: a wrong copy in a mirror is an error, one in the cache is replaced.
            yield Finding(name, file.wrong, FAILED if file.origin == "mirror" else WARNING)
        elif file.origin != "public":
            yield Finding(name, f"{file.origin}, {_size(file.bytes)}", OK)
        else:
            unknown += [] if file.answers else [file]
            yield Finding(name, f"would be downloaded, {_size(file.bytes)}{ANSWERS[file.answers]}")
    if unknown:
        total = sum(file.bytes or 0 for file in unknown)
        why = "no address answers" if online else "not asked if it answers; --online asks"
        yield Finding("downloads", f"{len(unknown)} files, {_size(total)} or more, need a network ({why})", WARNING)


def _size(count: int | None) -> str:
    return "size not published" if count is None else f"{count / 1e6:.1f} MB"


def folders(results: Path, mirror: str | None, cache: str | None) -> Iterator[Finding]:
    """Yield whether results and downloads can be written, and the free space there."""
    yield _folder("results", results, FAILED)
    with suppress(DataError):  # reported with the data sets
        if found := Sources.resolve(mirror, cache).cache:
            yield _folder("downloads", found, WARNING)


def _folder(what: str, folder: Path, otherwise: str) -> Finding:
    """Return whether a folder, which need not exist, can be written; ``otherwise`` is the state if it cannot."""
    nearest = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    try:
        check_writable(folder)
    except ResultsError as error:
        return Finding(what, str(error), otherwise)
    if reason := why_not_writable(folder):
        return Finding(what, f"{folder}: cannot be written ({reason})", otherwise)
    free = shutil.disk_usage(nearest).free
    state, more = (OK, "") if free >= LEAST_BYTES else (WARNING, ", which is little")
    return Finding(what, f"{folder}: writable, {free / 2**30:.1f} GB free{more}", state)
