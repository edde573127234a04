"""Find the files of data sets: in a mirror, in the cache, or at their public addresses."""

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache as remembered
from importlib.resources import files as package_files
from pathlib import Path
from typing import Any

from rbmbench.base.errors import DataError, ResultsError
from rbmbench.datasets._transfers import NotThereError, download, is_address, shown_place
from rbmbench.io.atomic import replaced

__all__ = [
    "Copy",
    "Entry",
    "File",
    "Sources",
    "catalogue",
    "checked",
    "fetch",
    "on_disk",
    "places_of",
]


@dataclass(frozen=True)
class File:
    """A published file, as files.yaml declares it."""

    folder: str
    name: str
    addresses: tuple[str, ...]
    bytes: int | None = None
    sha256: str | None = None
    at_most_bytes: int = 0
    unpacked_bytes: int = 0
    git_object: str | None = None
    instead_of: str | None = None

    @property
    def limit(self) -> int:
        """Most bytes a copy may have."""
        return self.bytes or self.at_most_bytes


@dataclass(frozen=True)
class Entry:
    """The files of one data set, as files.yaml declares them; rows and content_sha256 where a set states them."""

    source: str
    licence: str
    files: tuple[File, ...]
    rows: int | None = None
    content_sha256: str | None = None

    @property
    def described(self) -> str:
        """Source and licence in one text."""
        return f"{self.source} (licence: {self.licence})"


@dataclass(frozen=True)
class Sources:
    """Where files are looked for before their public addresses, and where downloads are kept.

    Attributes
    ----------
    mirror : str or None
        A folder or a base address.
    cache : pathlib.Path
        A folder, made when something is first kept in it.
    """

    mirror: str | None
    cache: Path

    @classmethod
    def resolve(cls, mirror: str | os.PathLike | None = None, cache: str | os.PathLike | None = None) -> "Sources":
        """Return the given places; for what is not given, those of the environment; else no mirror, the user's cache.

        Raises
        ------
        DataError
            If the mirror is neither an address nor a folder that exists.
        """
        mirror = os.fspath(mirror or os.environ.get("RBMBENCH_DATA_MIRROR") or "") or None
        if mirror and not is_address(mirror) and not os.path.isdir(Path(mirror).expanduser()):
            raise DataError(f"data mirror {mirror!r}: no such folder; allowed: a folder, or an http or https address")
        cache = cache or os.environ.get("RBMBENCH_DATA_CACHE")
        if not cache:
            from platformdirs import user_cache_path

            cache = user_cache_path("rbmbench") / "data"
        return cls(mirror, Path(cache).expanduser())

    def kept(self, file: File) -> Path:
        """Return where the cache keeps a file."""
        return self.cache / file.folder / file.name


@dataclass(frozen=True)
class Copy:
    """What was read from a file, and the file's record for the provenance: name, sha256, from.

    "from" is "mirror", "cache" or a public address: no path of the machine.
    """

    value: Any
    record: dict


@remembered
def catalogue() -> dict[str, Entry]:
    """Return the declared files of every data set that has some, by its name."""
    import yaml

    text = (package_files("rbmbench.datasets") / "files.yaml").read_text(encoding="utf-8")
    entries = {}
    for name, entry in yaml.safe_load(text).items():
        files = [File(folder=name, **file | {"addresses": tuple(file.get("addresses", ()))}) for file in entry["files"]]
        entries[name] = Entry(**entry | {"files": tuple(files)})
    return entries


def fetch(files: Sequence[File], sources: Sources, read: Callable[[File, bytes, str], Any]) -> Copy:
    """Return what ``read`` makes of the first good copy of one of the files.

    The mirror is asked first, then the cache, then the public addresses; what is downloaded from there is kept in the
    cache. A copy is good if its sha256 is the declared one and ``read`` accepts it; where no sha256 is declared,
    ``read`` is all that guards.

    Parameters
    ----------
    files : sequence of File
        Files of which any one will do.
    sources : Sources
        The mirror and the cache.
    read : callable
        Takes the file, its bytes and where they are from; raises a DataError for bytes that are not right.

    Raises
    ------
    DataError
        If the mirror holds a wrong copy, or no good copy is found anywhere.
    """
    failures = []
    for origin, file, place in places_of(files, sources):
        try:
            content = download(place, file.name, file.limit) if is_address(place) else on_disk(file, Path(place))
            found = checked(file, content, shown_place(place))
            value = read(file, content, shown_place(place))
        except NotThereError as error:
            failures.append(str(error))
            continue
        except DataError as error:
            # A mirror is the user's own choice: going on without it would hide that it is broken.
            if origin == "mirror":
                raise
            failures.append(str(error))
            continue
        if origin == "public":
            _keep(content, sources.kept(file))
        return Copy(value, {"name": file.name, "sha256": found, "from": place if origin == "public" else origin})
    raise DataError(_nowhere(files, sources, failures))


def places_of(files: Sequence[File], sources: Sources) -> Iterator[tuple[str, File, str]]:
    """Give every place to look at, in order: its kind, the file, and the path or address."""
    for file in files:
        for place in _in_mirror(file, sources.mirror):
            yield "mirror", file, place
    for file in files:
        if os.path.exists(sources.kept(file)):
            yield "cache", file, str(sources.kept(file))
    for file in files:
        for address in file.addresses:
            yield "public", file, address


def _in_mirror(file: File, mirror: str | None) -> list[str]:
    """Return the places in a mirror where a file can be: its own folder, the top, and any folder if the sum is right.

    Data sets may have files of the same name, so a file in another's folder counts by its sha256 only.
    """
    if mirror is None:
        return []
    if is_address(mirror):
        return [f"{mirror.rstrip('/')}/{file.folder}/{file.name}", f"{mirror.rstrip('/')}/{file.name}"]
    top = Path(mirror).expanduser()
    own = [path for path in (top / file.folder / file.name, top / file.name) if os.path.exists(path)]
    others = (path for path in sorted(top.glob(f"*/{file.name}")) if path not in own)
    return [str(path) for path in own or (other for other in others if _digest(other) == file.sha256)]


def on_disk(file: File, path: Path) -> bytes:
    """Return the bytes of a file on disk, unless it is too large."""
    try:
        if path.stat().st_size <= file.limit:
            return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error
    if file.sha256:
        raise DataError(_wrong_checksum(file, str(path), _digest(path)))
    raise DataError(f"{path}: more than the {file.limit} bytes expected")


def _digest(path: Path) -> str:
    """Return the sha256 of a file of any size."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error


def checked(file: File, content: bytes, where: str) -> str:
    """Return the sha256 of a copy; refuse it if another one is declared."""
    found = hashlib.sha256(content).hexdigest()
    if file.sha256 and found != file.sha256:
        raise DataError(_wrong_checksum(file, where, found) + _kind(content))
    if file.git_object and (of_git := _git_object(content)) != file.git_object:
        raise DataError(
            f"{where}: wrong {file.name}: expected git object {file.git_object}, found {of_git}{_kind(content)}"
        )
    return found


def _git_object(content: bytes) -> str:
    """Return the id that git gives to a file of these bytes."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _wrong_checksum(file: File, where: str, found: str) -> str:
    """Return the line for a copy with another sha256 than declared."""
    return f"{where}: wrong checksum of {file.name}: expected sha256 {file.sha256}, found {found}"


def _kind(content: bytes) -> str:
    """Return what to add about wrong bytes: servers and portals answer with web pages where they have no file."""
    start = content[:1000].lstrip().lower()
    return " (a web page)" if start.startswith((b"<!doctype html", b"<html")) else ""


def _keep(content: bytes, path: Path) -> None:
    """Write a download into the cache, in place of a damaged copy if there is one."""
    try:
        with replaced(path) as temporary:
            temporary.write_bytes(content)
    except ResultsError as error:
        raise DataError(f"data cache: {error}; name another folder by RBMBENCH_DATA_CACHE") from error


def _nowhere(files: Sequence[File], sources: Sources, failures: Sequence[str]) -> str:
    """Return the line for files that could not be had: what was tried, what is expected, and what to do by hand."""
    names = " or ".join(file.name for file in files)
    expected = " or ".join(_awaited(file) for file in files)
    if sources.mirror and not is_address(sources.mirror):
        failures = [f"mirror {sources.mirror}: no such file", *failures]
    folder = sources.kept(files[0]).parent
    return (
        f"cannot get {names}: tried {'; '.join(failures)}; expected {expected}; "
        f"put the file by hand into {folder}{os.sep}, or into a folder named by RBMBENCH_DATA_MIRROR"
    )


def _awaited(file: File) -> str:
    """Return what a good copy of a file is known by."""
    if file.sha256:
        return f"sha256 {file.sha256}"
    if file.git_object:
        return f"a {file.name} of git object {file.git_object}"
    return f"a {file.name} with the right rows (its sha256 is not known)"
