"""Where things lie: data sets in mirror and cache, folders that are written to and the room in them."""

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile

import numpy as np

from rbmbench.base.errors import DataError, ResultsError
from rbmbench.cli.doctor.findings import FAILED, OK, WARNING, Finding
from rbmbench.datasets import Sources, shown_place, whereabouts
from rbmbench.io.results import check_writable
from rbmbench.kernels import backend_name

__all__ = ["data_sets", "folders"]

LEAST_BYTES = 2**30


def data_sets(mirror: str | None, cache: str | None, online: bool) -> Iterator[Finding]:
    """Yield where every published file of the data sets is, without fetching any.

    Parameters
    ----------
    mirror, cache : str or None
        As `rbmbench.datasets.load` takes them.
    online : bool
        Whether to ask the addresses of files that are not at hand if they answer.
    """
    try:
        sources = Sources.resolve(mirror, cache)
    except DataError as error:
        yield Finding("mirror", str(error), FAILED)
        return
    yield Finding("mirror", shown_place(sources.mirror) if sources.mirror else "none")
    yield Finding("cache", str(sources.cache))
    away = []
    for file in whereabouts(sources, online):
        name, values = f"{file.data_set}: {file.name}", {"origin": file.origin, "bytes": file.bytes}
        if file.wrong:
            # As `load` does: a wrong copy in a mirror ends it, one in the cache is replaced.
            yield Finding(name, file.wrong, FAILED if file.origin == "mirror" else WARNING, values)
        elif file.origin in ("mirror", "cache"):
            yield Finding(name, f"{file.origin}, {_size(file.bytes)}", OK, values)
        else:
            away.append(file)
            yield Finding(name, f"would be downloaded, {_size(file.bytes)}{_answer(file.answers)}", values=values)
    unknown = [file for file in away if not file.answers]
    if unknown:
        total = sum(file.bytes or 0 for file in unknown)
        why = "no address answers" if online else "not asked if it answers; --online asks"
        yield Finding("downloads", f"{len(unknown)} files, {_size(total)} or more, need a network ({why})", WARNING)


def _answer(answers: bool | None) -> str:
    return "" if answers is None else ", its address answers" if answers else ", no address answers"


def _size(count: int | None) -> str:
    return "size not published" if count is None else f"{count / 1e6:.1f} MB"


def folders(results: Path, mirror: str | None, cache: str | None) -> Iterator[Finding]:
    """Yield whether results, downloads and compiled kernels can be written, and the room there."""
    yield _folder("results", results, FAILED)
    with suppress(DataError):  # which is said where the data sets are
        yield _folder("downloads", Sources.resolve(mirror, cache).cache, WARNING)
    if backend_name(np.empty(0)) == "numba":
        from rbmbench.kernels import numba as numba_kernels

        compiled = getattr(numba_kernels.gather_rows, "stats", None)
        if compiled is None:
            yield Finding("compiled kernels", "none: Numba was told not to compile (NUMBA_DISABLE_JIT)", WARNING)
        else:
            yield _folder("compiled kernels", Path(compiled.cache_path).parent, WARNING)


def _folder(what: str, folder: Path, otherwise: str) -> Finding:
    """Return whether a folder, which need not be there yet, can be written; ``otherwise`` is the state if it cannot."""
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    try:
        check_writable(folder)
        # Permissions do not tell everything: a file without a name is written, and gone when it is closed.
        with TemporaryFile(dir=there) as file:
            file.write(b"x")
    except (ResultsError, OSError) as error:
        words = str(error) if isinstance(error, ResultsError) else f"{folder}: cannot be written ({error.strerror})"
        return Finding(what, words, otherwise, {"folder": str(folder), "writable": False})
    free = shutil.disk_usage(there).free
    room = f"{os.fspath(folder)}: writable, {free / 2**30:.1f} GB free"
    state, more = (OK, "") if free >= LEAST_BYTES else (WARNING, ", which is little")
    return Finding(what, room + more, state, {"folder": str(folder), "writable": True, "free_bytes": free})
