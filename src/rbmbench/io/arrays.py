# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of numbers and text from .npy, .npz and text files, checked by their declared sizes; never a pickle.

Other and damaged files, and those that declare more than they may hold, are an `UnreadableError`.
"""

import math
import os
import warnings
from collections.abc import Iterable
from contextlib import nullcontext
from io import BytesIO
from typing import BinaryIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np

from rbmbench.io.guard import UnreadableError, most_array_bytes, one_line, regular_file

MOST_RATIO = 64  # times the size of an archive that its arrays may unpack to, if that is more than `most_array_bytes`
KINDS = "buifU"


@one_line
def npy_array(content: bytes) -> np.ndarray:
    """Return the array of an .npy file."""
    stream = BytesIO(content)
    version = np.lib.format.read_magic(stream)
    headers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in headers:
        raise UnreadableError(f"must have version 1.0 or 2.0 of the npy format, got {version}")
    shape, _, dtype = headers[version](stream)
    if dtype.kind not in KINDS:
        raise UnreadableError(f"must be an array of numbers or text, got an array of {str(dtype)[:50]}")
    declared, held = math.prod(shape) * dtype.itemsize, len(content) - stream.tell()
    if any(size < 0 for size in shape) or declared != held or math.prod(shape) > max(held, 1):
        raise UnreadableError(f"its header declares shape {str(shape)[:80]} of {str(dtype)[:50]}; it has {held} bytes")
    return np.load(BytesIO(content), allow_pickle=False)


@one_line
def npz_arrays(file: str | os.PathLike | BinaryIO, names: Iterable[str] | None = None) -> dict[str, np.ndarray]:
    """Return arrays of an .npz file by name: those of ``names`` that it has, or all."""
    opened = regular_file(file) if isinstance(file, str | os.PathLike) else nullcontext(file)
    with opened as content, ZipFile(content) as archive:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        if len(members) < len(archive.infolist()):
            raise UnreadableError("holds two arrays of one name")
        chosen = list(members) if names is None else [name for name in names if name in members]
        size = archive.fp.seek(0, os.SEEK_END)
        # zipfile reads no more of a member than is declared.
        declared = sum(members[name].file_size for name in chosen)
        if declared > MOST_RATIO * size and declared > (most := most_array_bytes()):
            most = max(most, MOST_RATIO * size)
            raise UnreadableError(f"declares {declared} bytes; allowed: at most {most} for a file of {size}")
        arrays = {}
        for name in chosen:
            if members[name].compress_type not in (ZIP_STORED, ZIP_DEFLATED):
                raise UnreadableError(f"array {name!r}: unknown compression; allowed: stored, deflated")
            try:
                arrays[name] = npy_array(archive.read(members[name]))  # compares its checksum
            except UnreadableError as error:
                raise UnreadableError(f"array {name!r}: {error}") from None
        return arrays


@one_line
def text_array(content: bytes, delimiter: str | None, dtype: type) -> np.ndarray:
    """Return the numbers of a text, of which there must be some, as a matrix (lines, numbers per line)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # no numbers, which is an error below
        numbers = np.loadtxt(BytesIO(content), dtype, delimiter=delimiter, ndmin=2)
    if numbers.size == 0:
        raise UnreadableError("must have numbers, got none")
    return numbers
