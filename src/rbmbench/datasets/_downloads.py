# SPDX-License-Identifier: BSD-3-Clause
"""Published files of data sets: read from a mirror or the cache, or downloaded from their public addresses."""

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache as remembered
from importlib.resources import files as package_files
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from rbmbench.base.errors import DataError, ResultsError
from rbmbench.datasets._formats import GZIP, gunzip
from rbmbench.datasets._http import UnavailableError, download, is_address, without_credentials
from rbmbench.io.atomic import replaced
from rbmbench.io.caches import user_cache, why_not_writable
from rbmbench.io.guard import UnreadableError, bounded_bytes

Content = TypeVar("Content")


@dataclass(frozen=True)
class File:
    """A published file as declared in files.yaml, which explains the fields; ``folder`` is the data set's name."""

    folder: str
    name: str
    addresses: tuple[str, ...]
    bytes: int | None = None
    sha256: str | None = None
    at_most_bytes: int = 0
    unpacked_bytes: int = 0
    unpacked_sha256: str | None = None
    git_object: str | None = None
    instead_of: str | None = None

    @property
    def limit(self) -> int:
        """Largest number of bytes of a copy."""
        return self.bytes or self.at_most_bytes

    @property
    def local_names(self) -> list[str]:
        """Names of copies on disk: its own, and that of its content where the checksum of this is known."""
        return [self.name, self.name.removesuffix(".gz")] if self.unpacked_sha256 else [self.name]

    @property
    def expected(self) -> str:
        """Properties of a good copy, in words."""
        if self.sha256:
            return f"sha256 {self.sha256}"
        by = f"of git object {self.git_object}" if self.git_object else "with the right rows (its sha256 is not known)"
        return f"a {self.name} {by}"


@dataclass(frozen=True)
class Entry:
    """The files of a data set as declared in files.yaml, with number of rows and content_sha256 where stated."""

    source: str
    licence: str
    files: tuple[File, ...]
    rows: int | None = None
    content_sha256: str | None = None

    @property
    def choices(self) -> list[list[File]]:
        """The files, each with those that may replace it."""
        own = [file for file in self.files if file.instead_of is None]
        return [[file, *(other for other in self.files if other.instead_of == file.name)] for file in own]


@dataclass(frozen=True)
class Sources:
    """The mirror, which is a folder, a base address or None, and the cache, a folder that need not exist, or None."""

    mirror: str | None
    cache: Path | None

    @classmethod
    def resolve(cls, mirror: str | os.PathLike | None = None, cache: str | os.PathLike | None = None) -> "Sources":
        """Return the given places, or else those of the environment, or else no mirror and the user's cache folder.

        A user without a home has no cache folder.

        A DataError is raised if the mirror is neither an address nor an existing folder, or the cache is in the home
        folder of a user that there is not.
        """
        mirror = os.fspath(mirror or os.environ.get("RBMBENCH_DATA_MIRROR") or "") or None
        if mirror and not is_address(mirror) and not os.path.isdir(os.path.expanduser(mirror)):
            raise DataError(f"data mirror {mirror!r}: no such folder; allowed: a folder, or an http or https address")
        cache = cache or os.environ.get("RBMBENCH_DATA_CACHE")
        if not cache:
            return cls(mirror, user_cache("data"))
        # Unlike that of pathlib, it leaves "~name" as it is where there is no such user.
        cache = os.path.expanduser(cache)
        if os.fspath(cache).startswith("~"):
            raise DataError(f"data cache {os.fspath(cache)!r}: no such user; allowed: a folder")
        return cls(mirror, Path(cache))

    def kept(self, file: File) -> Path | None:
        """Return the path of a file in the cache, if there is one."""
        return self.cache and self.cache / file.folder / file.name


class Copy(NamedTuple, Generic[Content]):
    """The content of a file, and its record: name, sha256, from ("mirror", "cache" or an address, never a path)."""

    value: Content
    record: dict[str, str]


class FileStatus(NamedTuple):
    """Place of a published file, or of one that replaces it.

    ``origin`` is "mirror" or "cache", or "public" if it would be downloaded; ``bytes`` is its size, None if unknown;
    ``wrong`` is an error message about a wrong copy.
    """

    data_set: str
    name: str
    origin: str
    bytes: int | None
    wrong: str | None = None


@remembered
def catalogue() -> dict[str, Entry]:
    """Return the entries of files.yaml by the name of their data set."""
    import yaml

    text = (package_files("rbmbench.datasets") / "files.yaml").read_text(encoding="utf-8")
    entries = {}
    for name, entry in yaml.safe_load(text).items():
        files = [File(folder=name, **file | {"addresses": tuple(file.get("addresses", ()))}) for file in entry["files"]]
        entries[name] = Entry(**entry | {"files": tuple(files)})
    return entries


def fetch(files: Sequence[File], sources: Sources, read: Callable[[File, bytes, str], Content]) -> Copy[Content]:
    """Return what ``read`` makes of the first good copy of one of the files, of which any one will do.

    The mirror is tried first, then the cache, then the public addresses; downloads from the latter are kept in the
    cache. A copy is good if its sha256 is the declared one and ``read`` accepts it: ``read`` takes the file, its bytes
    and where they are from, and raises a DataError for wrong bytes. A DataError is raised if the mirror holds a wrong
    copy, or there is no good copy.
    """
    failures = []
    for origin, file, place in _places(files, sources):
        kept = sources.kept(file)
        if origin == "public" and (reason := why_not_writable(kept.parent) if kept else "the user has no home folder"):
            where = f"{kept.parent}: cannot be written" if kept else "none"
            raise DataError(f"data cache: {where} ({reason}); set RBMBENCH_DATA_CACHE to a folder that can be written")
        try:
            content, sha256 = _content(file, place)
            value = read(file, content, without_credentials(place))
        except DataError as error:
            # The user chose the mirror: passing over a wrong copy would hide that it is damaged.
            if origin == "mirror" and not isinstance(error, UnavailableError):
                raise
            failures.append(str(error))
            continue
        if origin == "public":
            try:
                with replaced(kept) as temporary:
                    temporary.write_bytes(content)
            except ResultsError as error:  # such as a full disk
                raise DataError(f"data cache: {error}; set RBMBENCH_DATA_CACHE to another folder") from error
        return Copy(value, {"name": file.name, "sha256": sha256, "from": place if origin == "public" else origin})
    names = " or ".join(file.name for file in files)
    expected = " or ".join(file.expected for file in files)
    if sources.mirror and not is_address(sources.mirror):
        failures = [f"mirror {sources.mirror}: no such file", *failures]
    by_hand = f"into {sources.kept(files[0]).parent}{os.sep}, or " if sources.cache else ""
    raise DataError(
        f"cannot get {names}: tried {'; '.join(failures)}; expected {expected}; "
        f"put the file by hand {by_hand}into a folder named by RBMBENCH_DATA_MIRROR"
    )


def fetch_parts(
    data_set: str, sources: Sources, read: Callable[[File, bytes, str], Content], parts: Sequence[str] = ("train",)
) -> tuple[dict[str, Content], dict]:
    """Return by part what ``read`` makes of the files of a data set, in the order of files.yaml; see `fetch`.

    The second value holds the arguments ``source`` and ``files`` of `rbmbench.datasets.build`.
    """
    entry = catalogue()[data_set]
    copies = [fetch(files, sources, read) for files in entry.choices]
    content = {name: copy.value for name, copy in zip(parts, copies, strict=True)}
    source = f"{entry.source} (licence: {entry.licence})"
    return content, {"source": source, "files": [copy.record for copy in copies]}


def file_status(sources: Sources) -> Iterator[FileStatus]:
    """Yield the place of each published file, without downloading any. Copies on disk are checked."""
    for data_set, entry in catalogue().items():
        for files in entry.choices:
            on_disk = (place for place in _places(files, sources) if not is_address(place[2]))
            origin, file, path = next(on_disk, ("public", files[0], ""))
            size, wrong = file.bytes, None
            try:
                size = len(_content(file, path)[0]) if path else size
            except DataError as error:
                wrong = str(error)
            yield FileStatus(data_set, file.name, origin, size, wrong)


def _places(files: Sequence[File], sources: Sources) -> Iterator[tuple[str, File, str]]:
    """Yield origin, file, and path or address of every place to try, in order."""
    for file in files:
        for place in _in_mirror(file, sources.mirror):
            yield "mirror", file, place
    for file in files:
        if sources.cache and os.path.exists(sources.kept(file)):
            yield "cache", file, str(sources.kept(file))
    for file in files:
        for address in file.addresses:
            yield "public", file, address


def _in_mirror(file: File, mirror: str | None) -> list[str]:
    """Return the places of a file in a mirror: in its data set's folder, at the top, or in another folder.

    Data sets may have files of the same name, so a file in another folder must have the right checksum.
    """
    if mirror is None:
        return []
    if is_address(mirror):
        return [f"{mirror.rstrip('/')}/{file.folder}/{file.name}", f"{mirror.rstrip('/')}/{file.name}"]
    top = Path(os.path.expanduser(mirror))
    own = [path for folder in (top / file.folder, top) for name in file.local_names if (path := folder / name).exists()]
    if own:
        return list(map(str, own))
    others = [path for name in file.local_names for path in sorted(top.glob(f"*/{name}"))]
    return [str(path) for path in others if _is_good(file, path)]


def _is_good(file: File, path: Path) -> bool:
    try:
        _content(file, str(path))
    except DataError:
        return False
    return bool(file.sha256 or file.git_object)


def _content(file: File, place: str) -> tuple[bytes, str]:
    """Return the bytes at a path or an address, and their sha256; raise a DataError if another is declared."""
    try:
        if is_address(place):
            content = download(place, file.name, file.limit)
        else:  # which may be unpacked
            limit = max(file.limit, file.unpacked_bytes if file.unpacked_sha256 else 0)
            content = bounded_bytes(place, limit)
    except OSError as error:
        raise DataError(f"{place}: cannot be read ({error.strerror})") from error
    except UnreadableError as error:
        raise DataError(f"{place}: wrong {file.name}: {error}; expected {file.expected}") from error
    sha256 = hashlib.sha256(content).hexdigest()
    kind, expected, actual = "sha256", file.sha256, sha256
    if file.git_object:
        blob = b"blob %d\0" % len(content) + content
        kind, expected, actual = "git object", file.git_object, hashlib.sha1(blob, usedforsecurity=False).hexdigest()
    if expected not in (None, actual) and not _has_content(file, content):
        # Servers answer with web pages in place of files that they do not have.
        is_page = content[:1000].lstrip().lower().startswith((b"<!doctype html", b"<html"))
        raise DataError(
            f"{without_credentials(place)}: wrong checksum of {file.name}: must be {kind} {expected}, got {actual}"
            f"{' (a web page)' if is_page else ''}"
        )
    return content, sha256


def _has_content(file: File, content: bytes) -> bool:
    """Return whether bytes, or what they unpack to, are the content of a file whose checksum is declared."""
    if not file.unpacked_sha256:
        return False
    try:
        unpacked = gunzip(file, content, file.name) if content[:2] == GZIP else content
    except DataError:
        return False
    return hashlib.sha256(unpacked).hexdigest() == file.unpacked_sha256
