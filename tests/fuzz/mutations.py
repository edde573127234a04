# SPDX-License-Identifier: BSD-3-Clause
"""Strategies: invalid bytes, texts and plain data near valid ones."""

import atexit
import copy
import io
import os
import shutil
import stat
import struct
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st
from pyarrow import parquet


def make_device() -> Path:
    """Return a new null device, or a pipe, in a temporary folder, so that no real device is drawn."""
    folder = tempfile.mkdtemp(prefix="rbmbench-fuzz-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    device = Path(folder, "device")
    try:
        os.mknod(device, stat.S_IFCHR | 0o600, os.makedev(1, 3))
    except PermissionError:
        os.mkfifo(device)
    return device


DEVICE = make_device()
NUMBERS = (0, 1, 2, 3, 7, 8, 127, 128, 255, 256, 2**15, 2**16, 2**24, 2**31 - 1, 2**31, 2**32 - 1)
numbers = st.builds(struct.pack, st.sampled_from(("<I", ">I")), st.sampled_from(NUMBERS))


@st.composite
def mutated(draw, content: bytes) -> bytes:
    """Bytes near ``content``: stretches dropped, doubled, moved, or overwritten by numbers as in headers."""
    data = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        start, other = (draw(st.integers(0, max(len(data) - 1, 0))) for _ in range(2))
        length = draw(st.sampled_from((0, 1, 2, 4, 8, 16, 64, 1000, len(data))))
        moved = st.just(bytes(data[other : other + length]))
        data[start : start + length] = draw(numbers | moved | st.just(bytes(length)) | st.binary(max_size=12))
    return bytes(data)


DTYPES = ("<f4", "<f8", ">i4", "|u1", "|b1", "|O", "<U3", "<U0", "|S0", "|V8", "<M8[s]", "<c16", "f2,(3)f4", "x", "")
RECORDS = ("[('a', '<f4')]", "[('a', '|O')]", "('<f4', (2**31,))", "None", "[[[[[]]]]]", "{'a': 1}", "-" * 900 + "1")
HEADERS = ("", "{}", "[" * 5000, "(" * 80 + ")" * 80, "__import__('os')", "\0", "é", "1 +" * 999)
SIZES = st.sampled_from((-1, 0, 1, 2, 3, 5, 784, 2**31, 2**40, 2**63, 10**30)) | st.integers(0, 7)


@st.composite
def npy_files(draw) -> bytes:
    """.npy files with arbitrary headers."""
    shape = tuple(draw(st.lists(SIZES, max_size=4)))
    described = draw(st.sampled_from(DTYPES).map(repr) | st.sampled_from(RECORDS))
    order = draw(st.sampled_from(("False", "True", "0", "None")))
    valid = f"{{'descr': {described}, 'fortran_order': {order}, 'shape': {shape!r}, }}"
    header = draw(st.just(valid) | st.sampled_from(HEADERS)).encode()
    version = draw(st.sampled_from(((1, 0), (2, 0), (3, 0), (9, 9))))
    length = draw(st.sampled_from((len(header), len(header) + 7, 0, 2**16 - 1)))
    packed = struct.pack("<H" if version == (1, 0) else "<I", length)
    return b"\x93NUMPY" + bytes(version) + packed + header + draw(st.binary(max_size=64) | st.just(bytes(24)))


@st.composite
def small_arrays(draw) -> np.ndarray:
    """Arrays of many types and shapes, few of them valid."""
    kinds = ("float32", "float64", "int64", "uint8", "bool", "uint64", "complex64", "float16", "U5", "S3", "M8[s]")
    shape = tuple(draw(st.lists(st.integers(0, 5), max_size=4)))
    array = np.full(shape, draw(st.sampled_from((0, 1, 2, 255)))).astype(draw(st.sampled_from(kinds)))
    if array.size and array.dtype.kind == "f":
        with np.errstate(over="ignore"):
            array.flat[0] = draw(st.sampled_from((0.0, 1.0, np.nan, np.inf, -np.inf, 1e300)))
    return array


def npy_of(array) -> bytes:
    """Return an array as the bytes of an .npy file; objects are pickled."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


def parquet_of(table: pa.Table, **options) -> bytes:
    buffer = io.BytesIO()
    parquet.write_table(table, buffer, **options)
    return buffer.getvalue()


@st.composite
def npz_files(draw, arrays: dict[str, np.ndarray]) -> bytes:
    """Archives near one of ``arrays``: members left out, replaced, damaged before they are packed, or packed twice."""
    members = {name: npy_of(array) for name, array in arrays.items()}
    for _ in range(draw(st.integers(0, 3))):
        name = draw(st.sampled_from((*sorted(arrays), "other", "\n")))
        dropped = members.pop(name, b"text")
        if draw(st.booleans()):
            members[name] = draw(npy_files() | small_arrays().map(npy_of) | mutated(dropped))
    buffer = io.BytesIO()
    packing = draw(st.sampled_from((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2)))
    with zipfile.ZipFile(buffer, "w", packing) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}{draw(st.sampled_from(('.npy', '.npy', '.npy', '')))}", content)
    packed = buffer.getvalue()
    return draw(mutated(packed)) if draw(st.integers(0, 3)) == 0 else packed


# Plain data.

INTEGERS = (0, 1, -1, 2, 3, 7, 2**31, 2**32, 2**62, 2**63, 10**30)
FLOATS = (0.0, -0.5, 1e-320, 1e308, 10.0**300, float("nan"), float("inf"))
NAMES = ("", " ", "cd", "a", "fig1.a", "../..", str(DEVICE), "\0", "a\nb", "\x1b[31m", "é", "x" * 3000)
SCALARS = st.sampled_from((None, True, False, *INTEGERS, *FLOATS, *NAMES))
KEYS = st.sampled_from(("new", "", "a", "k", "kind", "options", "grid", "name", "é", "a\nb", "x" * 300))
VALUES = st.recursive(
    SCALARS, lambda part: st.lists(part, max_size=3) | st.dictionaries(KEYS, part, max_size=3), max_leaves=5
)


def places(values) -> list[tuple]:
    """Return (holder, key) of all values below a mapping or a list."""
    pairs = values.items() if isinstance(values, dict) else enumerate(values) if isinstance(values, list) else ()
    return [place for key, part in pairs for place in ((values, key), *places(part))]


@st.composite
def edited(draw, values):
    """Plain data near ``values``: parts dropped, replaced, copied, wrapped, or added."""
    values = copy.deepcopy(values)
    for _ in range(draw(st.integers(1, 3))):
        if not places(values):
            break
        (holder, key), (other, other_key) = (draw(st.sampled_from(places(values))) for _ in range(2))
        kind = draw(st.sampled_from(("replace", "drop", "copy", "add", "wrap")))
        if kind == "drop":
            del holder[key]
        elif kind == "add" and isinstance(holder, list):
            holder.append(draw(VALUES))
        elif kind == "add":
            holder[draw(KEYS)] = draw(VALUES)
        else:
            wrapped = [[holder[key]], {"a": holder[key]}, [holder[key]] * 2]
            copied = copy.deepcopy(other[other_key])
            holder[key] = draw({"replace": VALUES, "copy": st.just(copied), "wrap": st.sampled_from(wrapped)}[kind])
    return values


FRAGMENTS = (
    "\t", "\0", "\ufeff", "\r", "&a ", "*a", "<<: *a", "!!python/object/apply:os.system ['x']", "!!timestamp 1",
    "!!int x", "!!binary é", "!!set {a}", "!!omap [a]", "{", "[", "]", "}", ": ", "- ", "? ", "'", '"', "%YAML 9.9\n",
    "---\n", "...\n", "1e999999", "0x" + "f" * 5000, "9" * 5000, "0b", "0x_", ".nan", ".inf", "2001-99-99", "1:99:99",
    "~", "on: off", "#", "|\n", ">-\n", "[" * 200, "{a: " * 200, "\x1b[0m", "\ud7ff", "!<", "@", "`", "NaN", "Infinity",
    '"\\ud800"', "1E400", "-0",
)  # fmt: skip


@st.composite
def mutated_text(draw, text: str) -> bytes:
    """Texts near ``text``, as bytes: fragments put in, lines dropped, doubled, moved, indented; or bytes changed."""
    lines = text.splitlines(keepends=True) or [""]
    if draw(st.integers(0, 3)) == 0:
        return draw(mutated(text.encode()))
    for _ in range(draw(st.integers(1, 3))):
        at, to = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
        column = draw(st.integers(0, len(lines[at])))
        fragment = lines[at][:column] + draw(st.sampled_from(FRAGMENTS)) + lines[at][column:]
        indented = draw(st.sampled_from((" ", "  ", "\t"))) + lines[at]
        lines[at : at + 1] = draw(st.sampled_from(([fragment], [], [lines[at]] * 2, [indented], [lines[to]]))) or [""]
    return "".join(lines).encode("utf-8", "surrogatepass")
