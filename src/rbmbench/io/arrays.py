"""Arrays of numbers and text from .npy and .npz: never an object, and no larger than the file can be believed to hold.

Source: NumPy, NEP 1 (the .npy format); PKWARE, APPNOTE (zip).
"""

import math
import os
import warnings
from collections.abc import Iterable
from io import BytesIO
from typing import BinaryIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import numpy as np

from rbmbench.io.guard import UnreadableError, one_line

__all__ = ["MOST_BYTES", "npy_array", "npz_arrays", "text_array"]

MOST_BYTES = 2**29
"""What the arrays of a small file may unpack to; those of a large one may have MOST_RATIO times its own bytes."""
MOST_RATIO = 64
KINDS = "buifU"


@one_line
def npy_array(content: bytes) -> np.ndarray:
    """Return the array of an .npy file.

    Raises
    ------
    UnreadableError
        If it is none, holds anything else than numbers and text, or has not the bytes that its header tells.
    """
    _check_header(BytesIO(content), len(content))
    return np.lib.format.read_array(BytesIO(content), allow_pickle=False)


@one_line
def npz_arrays(file: str | os.PathLike | BinaryIO, names: Iterable[str] | None = None) -> dict[str, np.ndarray]:
    """Return arrays of an .npz file by name: those of ``names`` that it has, or all.

    Raises
    ------
    UnreadableError
        If it is none, or an array is damaged, holds anything else than numbers and text, or is larger than allowed.
    """
    with ZipFile(file) as archive:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        if len(members) < len(archive.infolist()):
            raise UnreadableError("holds two arrays of one name")
        chosen = list(members) if names is None else [name for name in names if name in members]
        archive.fp.seek(0, os.SEEK_END)
        _check_unpacked([members[name] for name in chosen], archive.fp.tell())
        return {name: _member(archive, name, members[name]) for name in chosen}


@one_line
def text_array(content: bytes, delimiter: str | None, dtype: type) -> np.ndarray:
    """Return the numbers of a text as a matrix, a row a line.

    Raises
    ------
    UnreadableError
        If it holds anything else, lines of different lengths, or nothing.
    """
    if not content.strip():
        raise UnreadableError("found no lines")
    with warnings.catch_warnings():
        # A text of comments alone is warned of, and refused below.
        warnings.simplefilter("ignore", UserWarning)
        numbers = np.loadtxt(BytesIO(content), dtype, delimiter=delimiter, ndmin=2)
    if numbers.size == 0:
        raise UnreadableError("found no numbers")
    return numbers


def _check_unpacked(members: list[ZipInfo], archive_bytes: int) -> None:
    """Refuse members that would unpack to too much; zipfile reads no more than they declare."""
    for info in members:
        if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise UnreadableError(f"{info.filename!r} is compressed in an unknown way")
    declared, most = sum(info.file_size for info in members), max(MOST_BYTES, MOST_RATIO * archive_bytes)
    if declared > most:
        raise UnreadableError(f"declares {declared} bytes; allowed: at most {most} for a file of {archive_bytes}")


def _member(archive: ZipFile, name: str, info: ZipInfo) -> np.ndarray:
    """Return one array of an archive."""
    try:
        with archive.open(info) as stream:
            _check_header(stream, info.file_size)
        with archive.open(info) as stream:
            array = np.lib.format.read_array(stream, allow_pickle=False)
            # The checksum is compared only when the end is reached.
            stream.read(1)
            return array
    except UnreadableError as error:
        raise UnreadableError(f"array {name!r}: {error}") from None


def _check_header(stream: BinaryIO, total: int) -> None:
    """Refuse an .npy stream of ``total`` bytes unless its header tells an array that takes exactly the rest."""
    version = np.lib.format.read_magic(stream)
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in read:
        raise UnreadableError(f"found version {version} of the npy format; allowed: 1.0, 2.0")
    shape, _, dtype = read[version](stream)
    if dtype.kind not in KINDS:
        raise UnreadableError(f"found an array of {str(dtype)[:50]}; allowed: numbers and text")
    declared, found = math.prod(shape) * dtype.itemsize, total - stream.tell()
    if any(size < 0 for size in shape) or declared != found or math.prod(shape) > max(found, 1):
        raise UnreadableError(f"its header tells shape {str(shape)[:80]} of {str(dtype)[:50]}; it has {found} bytes")
