"""Where the published files of data sets are, without downloading any."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rbmbench.base.errors import DataError
from rbmbench.datasets._downloads import File, Sources, catalogue, checked, on_disk, places_of
from rbmbench.datasets._transfers import is_address

__all__ = ["Whereabouts", "whereabouts"]

SECONDS = 5


@dataclass(frozen=True)
class Whereabouts:
    """Where one published file is, or another that will do.

    ``origin`` is "mirror" or "cache" where a copy is there, "public" where it would be downloaded; ``bytes`` the copy's
    size, or the published one, None where that is not known; ``wrong`` one line about a copy that is damaged;
    ``answers`` whether a place that it would be downloaded from answers, None where that was not asked.
    """

    data_set: str
    name: str
    origin: str
    bytes: int | None
    wrong: str | None = None
    answers: bool | None = None


def whereabouts(sources: Sources, online: bool = False) -> Iterator[Whereabouts]:
    """Yield where each file of each data set is: copies that are at hand are held against their checksums.

    Parameters
    ----------
    sources : Sources
        The mirror and the cache. Where the mirror is an address, its files are downloads as well.
    online : bool
        Whether to ask addresses, for headers alone, if they have the file.
    """
    for name, entry in catalogue().items():
        for file in entry.files:
            if file.instead_of is None:
                others = [other for other in entry.files if other.instead_of == file.name]
                yield _of(name, [file, *others], sources, online)


def _of(name: str, files: list[File], sources: Sources, online: bool) -> Whereabouts:
    """Return where any of some files is: in the first place that has one, as `fetch` looks for them."""
    addresses = []
    for origin, file, place in places_of(files, sources):
        if is_address(place):
            addresses.append(place)
            continue
        path = Path(place)
        try:
            checked(file, on_disk(file, path), place)
        except DataError as error:
            return Whereabouts(name, file.name, origin, file.bytes, str(error))
        return Whereabouts(name, file.name, origin, path.stat().st_size)
    answers = any(map(_answers, addresses)) if online else None
    return Whereabouts(name, files[0].name, "public", files[0].bytes, answers=answers)


def _answers(address: str) -> bool:
    """Return whether an address has something: its headers are asked for, nothing is downloaded."""
    import requests

    try:
        return requests.head(address, timeout=SECONDS, allow_redirects=True).ok
    except requests.RequestException:
        return False
