"""Arrays from MATLAB files of level 5, after their declared sizes are checked against the bytes that are there.

Source: The MathWorks, MAT-File Format, chapter 1 (level 5): data elements, array subelements.
"""

import math
import struct
import zlib
from collections.abc import Iterable, Iterator
from io import BytesIO

import numpy as np

from rbmbench.io.guard import UnreadableError, one_line

__all__ = ["MOST_BYTES", "mat_arrays"]

HEADER = 128
MATRIX, COMPRESSED = 14, 15
CELL, NUMBERS = 1, range(6, 16)
MOST_BYTES = 2**28
MOST_CELL_DEPTH = 8


@one_line
def mat_arrays(content: bytes, names: Iterable[str]) -> dict[str, np.ndarray]:
    """Return the arrays of numbers, and cells of such, that have the given names.

    Raises
    ------
    UnreadableError
        If it is no file of level 5, is damaged, lacks a name, or an array declares more than there is.
    """
    from scipy.io import loadmat

    names = list(names)
    if content[:8] == b"\x89HDF\r\n\x1a\n" or content[124:126] in (b"\x00\x02", b"\x02\x00"):
        raise UnreadableError("a MATLAB file of version 7.3; allowed: versions 5 to 7; save it with '-v7'")
    order = {b"IM": "<", b"MI": ">"}.get(content[126:128])
    if order is None or content[124:126] not in (b"\x00\x01", b"\x01\x00"):
        raise UnreadableError("not a MATLAB file of level 5")
    parts = [content[:HEADER]]
    for kind, body in _unpacked(content, order):
        if kind == MATRIX and _name(body, order) in names:
            _check_array(body, order, 0)
            parts += [struct.pack(order + "II", kind, len(body)), body]
    found = loadmat(BytesIO(b"".join(parts)), variable_names=names)
    for name in names:
        if name not in found:
            raise UnreadableError(f"holds no array {name!r}")
    return {name: found[name] for name in names}


def _unpacked(content: bytes, order: str) -> Iterator[tuple[int, memoryview]]:
    """Yield kind and body of the elements of a file, the compressed ones unpacked, at most MOST_BYTES in all."""
    left = MOST_BYTES
    for kind, body in _elements(memoryview(content)[HEADER:], order):
        if kind != COMPRESSED:
            yield kind, body
            continue
        unpacker = zlib.decompressobj()
        unpacked = unpacker.decompress(body, left + 1)
        left -= len(unpacked)
        if left < 0:
            raise UnreadableError(f"unpacks to more than the {MOST_BYTES} bytes allowed")
        if not unpacker.eof:
            raise UnreadableError("cut short")
        yield from _elements(memoryview(unpacked), order)


def _elements(data: memoryview, order: str) -> Iterator[tuple[int, memoryview]]:
    """Yield kind and body of the elements that lie one after the other."""
    place = 0
    while place < len(data):
        kind, size = struct.unpack_from(order + "II", data, place)
        start, after = place + 8, place + 8 + size
        if kind >> 16:  # up to four bytes are kept in the tag itself
            kind, size, start = kind & 0xFFFF, kind >> 16, place + 4
            after = place + 8
        elif kind != COMPRESSED:
            after += -size % 8
        if start + size > len(data) or (start == place + 4 and size > 4):
            raise UnreadableError(f"an element declares {size} bytes, of which {len(data) - start} are there")
        yield kind, data[start : start + size]
        place = after


def _name(body: memoryview, order: str) -> str:
    """Return the name of an array, the third of its parts."""
    parts = _elements(body, order)
    next(parts), next(parts)
    return bytes(next(parts)[1]).decode("latin-1")


def _check_array(body: memoryview, order: str, depth: int) -> None:
    """Refuse an array that is neither cell nor numbers, or whose sizes tell more than its bytes can hold."""
    (_, flags), (_, sizes), (_, _), *values = _elements(body, order)
    kind = struct.unpack_from(order + "I", flags)[0] & 0xFF
    shape = struct.unpack(f"{order}{len(sizes) // 4}i", sizes)
    if kind != CELL and kind not in NUMBERS:
        raise UnreadableError(f"found an array of class {kind}; allowed: numbers, cells of numbers")
    if len(shape) < 2 or min(shape) < 0 or math.prod(shape) > len(body):
        raise UnreadableError(f"an array declares sizes {str(shape)[:80]}, in {len(body)} bytes")
    if kind == CELL:
        if depth == MOST_CELL_DEPTH or len(values) != math.prod(shape):
            raise UnreadableError(f"a cell of sizes {shape} holds {len(values)} arrays, at depth {depth}")
        for inner, part in values:
            if inner != MATRIX:
                raise UnreadableError(f"a cell holds an element of type {inner}; allowed: arrays")
            _check_array(part, order, depth + 1)
