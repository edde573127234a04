# SPDX-License-Identifier: BSD-3-Clause
"""Reader of R data files (.rda): values as plain arrays, lists and mappings. No code is run.

Source: R Core Team, R Internals, section 1.8 (serialization formats): XDR, version 2, compressed by xz.
"""

import lzma
import struct

import numpy as np

from rbmbench.base.errors import DataError

MAGIC = b"RDX2\nX\n"
MOST_BYTES = 2**24
# A file states how much memory decompression takes; xz needs 65 MB at its highest level.
MOST_MEMORY = 2**27
MOST_DEPTH = 64
NIL, SYMBOL, PAIRS, CHARACTERS, LOGICAL, INTEGER, REAL, TEXTS, VECTOR, S4, REFERENCE = (
    254, 1, 2, 9, 10, 13, 14, 16, 19, 25, 255,
)  # fmt: skip
HAS_ATTRIBUTES, HAS_TAG = 0x200, 0x400


def r_objects(_file, content: bytes, where: str) -> dict:
    """Return the objects of an .rda file by name; an S4 object is the mapping of its slots.

    Numbers are arrays, texts and generic vectors lists; attributes of other objects than S4 are ignored.

    Raises
    ------
    DataError
        If it is no such file, is damaged, or holds anything but data.
    """
    try:
        unpacker = lzma.LZMADecompressor(memlimit=MOST_MEMORY)
        data = unpacker.decompress(content, MOST_BYTES)
        if not unpacker.eof:
            raise ValueError(f"cut short, or more than {MOST_BYTES} bytes")
        if not data.startswith(MAGIC):
            raise ValueError(f"starts with {data[:7]!r}, expected {MAGIC!r}")
        return _Reader(data, len(MAGIC) + 12).item()
    except (lzma.LZMAError, ValueError, struct.error, IndexError, TypeError, EOFError) as error:
        raise DataError(f"{where}: not an R data file, or damaged ({' '.join(str(error).split())})") from None


class _Reader:
    """A position in serialized data, and the symbols read so far."""

    def __init__(self, data: bytes, place: int):
        self._data, self._place, self._symbols, self._depth = data, place, [], 0

    def _integer(self) -> int:
        (number,) = struct.unpack_from(">i", self._data, self._place)
        self._place += 4
        return number

    def _bytes(self, count: int) -> bytes:
        part = self._data[self._place : self._place + count]
        if len(part) != count:
            raise ValueError("cut short")
        self._place += count
        return part

    def item(self):
        """Return the next item."""
        self._depth += 1
        if self._depth > MOST_DEPTH:
            raise ValueError(f"nested more than {MOST_DEPTH} deep")
        flags = self._integer()
        kind = flags & 0xFF
        value = self._value(kind, flags)
        # The attributes of S4 objects are their slots, those of pairs come first; the flags of references are numbers.
        if flags & HAS_ATTRIBUTES and kind not in (NIL, PAIRS, S4, CHARACTERS, REFERENCE):
            self.item()
        self._depth -= 1
        return value

    def _value(self, kind: int, flags: int):
        if kind == NIL:
            return {}
        if kind == PAIRS:
            return self._pairs(flags)
        if kind == S4:
            return self.item()
        if kind == SYMBOL:
            self._symbols.append(self.item())
            return self._symbols[-1]
        if kind == REFERENCE:
            return self._symbols[(flags >> 8) - 1]
        if kind not in (CHARACTERS, LOGICAL, INTEGER, REAL, TEXTS, VECTOR):
            raise ValueError(f"item of type {kind} is no data")
        length = self._integer()
        if kind == CHARACTERS:
            return self._bytes(max(length, 0)).decode("utf-8")
        if kind in (LOGICAL, INTEGER):
            return np.frombuffer(self._bytes(4 * length), ">i4")
        if kind == REAL:
            return np.frombuffer(self._bytes(8 * length), ">f8")
        return [self.item() for _ in range(length)]

    def _pairs(self, flags: int) -> dict:
        """Return a pair list as a mapping. It ends with the first item that is not a pair."""
        pairs = {}
        while flags & 0xFF == PAIRS:
            if flags & HAS_ATTRIBUTES:
                self.item()
            tag = self.item() if flags & HAS_TAG else len(pairs)
            pairs[tag] = self.item()
            flags = self._integer()
        if flags & 0xFF != NIL:
            raise ValueError(f"a list ends with type {flags & 0xFF}")
        return pairs
