# SPDX-License-Identifier: BSD-3-Clause
"""Strategies: what can be wrong with bytes, texts and plain data, starting from some that are right."""

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


def a_device() -> Path:
    """Make a device that swallows what is written, or else a pipe, in a folder of its own: never draw a real one."""
    folder = tempfile.mkdtemp(prefix="rbmbench-fuzz-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    device = Path(folder, "device")
    try:
        os.mknod(device, stat.S_IFCHR | 0o600, os.makedev(1, 3))
    except PermissionError:
        os.mkfifo(device)
    return device


DEVICE = a_device()
NUMBERS = (0, 1, 2, 3, 7, 8, 127, 128, 255, 256, 2**15, 2**16, 2**24, 2**31 - 1, 2**31, 2**32 - 1)


@st.composite
def mutated(draw, content: bytes) -> bytes:
    """Bytes near ``content``: some flipped, cut, doubled, moved, or overwritten by numbers that headers are made of."""
    data = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(("flip", "byte", "number", "cut", "drop", "double", "splice", "zeros", "insert")))
        place = draw(st.integers(0, max(len(data) - 1, 0)))
        length = draw(st.sampled_from((1, 2, 4, 8, 16, 64, 1000)))
        if kind == "flip" and data:
            data[place] ^= 1 << draw(st.integers(0, 7))
        elif kind == "byte" and data:
            data[place] = draw(st.integers(0, 255))
        elif kind == "number":
            data[place : place + 4] = struct.pack(draw(st.sampled_from("<>")) + "I", draw(st.sampled_from(NUMBERS)))
        elif kind == "cut":
            del data[place:]
        elif kind == "drop":
            del data[place : place + length]
        elif kind == "double":
            data[place:place] = data[place : place + length]
        elif kind == "splice":
            other = draw(st.integers(0, max(len(data) - 1, 0)))
            data[place : place + length] = data[other : other + length]
        elif kind == "zeros":
            data[place : place + length] = bytes(len(data[place : place + length]))
        else:
            data[place:place] = draw(st.binary(max_size=12))
    return bytes(data)


DTYPES = (
    "<f4",
    "<f8",
    ">i4",
    "|u1",
    "|b1",
    "|O",
    "<U3",
    "<U0",
    "|S0",
    "|V8",
    "<M8[s]",
    "<c16",
    "f2,(3)f4",
    "<f16",
    "x",
    "",
)
SIZES = st.sampled_from((-1, 0, 1, 2, 3, 5, 784, 2**31, 2**40, 2**63, 10**30)) | st.integers(0, 7)
DESCRIPTIONS = st.sampled_from(DTYPES).map(repr) | st.sampled_from(
    (
        "[('a', '<f4')]",
        "[('a', '|O')]",
        "('<f4', (2**31,))",
        "('<f4', (2, 3))",
        "None",
        "[[[[[]]]]]",
        "{'a': 1}",
        "-" * 900 + "1",
    )
)


@st.composite
def npy_files(draw) -> bytes:
    """.npy files whose header may tell anything."""
    data = draw(st.binary(max_size=64) | st.just(bytes(24)))
    if draw(st.booleans()):
        shape = tuple(draw(st.lists(SIZES, max_size=4)))
        order = draw(st.sampled_from(("False", "True", "0", "None")))
        header = f"{{'descr': {draw(DESCRIPTIONS)}, 'fortran_order': {order}, 'shape': {shape!r}, }}"
    else:
        header = draw(
            st.sampled_from(("", "{}", "[" * 5000, "(" * 80 + ")" * 80, "__import__('os')", "\0", "é", "1 +" * 999))
        )
    encoded = header.encode("utf-8")
    version = draw(st.sampled_from(((1, 0), (2, 0), (3, 0), (9, 9))))
    length = draw(st.sampled_from((len(encoded), len(encoded) + 7, 0, 2**16 - 1)))
    return b"\x93NUMPY" + bytes(version) + struct.pack("<H" if version == (1, 0) else "<I", length) + encoded + data


@st.composite
def small_arrays(draw) -> np.ndarray:
    """Arrays of many types and shapes, few of which are what is asked for."""
    kinds = ("float32", "float64", "int64", "uint8", "bool", "uint64", "complex64", "float16", "U5", "S3", "M8[s]")
    dtype = np.dtype(draw(st.sampled_from(kinds)))
    shape = tuple(draw(st.lists(st.integers(0, 5), max_size=4)))
    fill = draw(st.sampled_from((0, 1, 2, 255)))
    array = np.full(shape, fill).astype(dtype)
    if array.size and dtype.kind == "f":
        with np.errstate(over="ignore"):
            array.flat[0] = draw(st.sampled_from((0.0, 1.0, np.nan, np.inf, -np.inf, 1e300)))
    return array


def npy_of(array) -> bytes:
    """An array as the bytes of an .npy file; objects are pickled."""
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
        kind = draw(st.sampled_from(("drop", "header", "array", "bytes")))
        if kind == "drop":
            members.pop(name, None)
        elif kind == "header":
            members[name] = draw(npy_files())
        elif kind == "array":
            members[name] = npy_of(draw(small_arrays()))
        else:
            members[name] = draw(mutated(members.get(name, b"text")))
    buffer = io.BytesIO()
    packing = draw(st.sampled_from((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2)))
    with zipfile.ZipFile(buffer, "w", packing) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}{draw(st.sampled_from(('.npy', '.npy', '.npy', '')))}", content)
    packed = buffer.getvalue()
    return draw(mutated(packed)) if draw(st.integers(0, 3)) == 0 else packed


# Plain data.

SCALARS = st.sampled_from(
    (None, True, False, 0, 1, -1, 2, 3, 7, 2**31, 2**32, 2**62, 2**63, 10**30, 0.0, -0.5, 1e-320, 1e308, 10.0**300)
) | st.sampled_from(
    (
        float("nan"),
        float("inf"),
        "",
        " ",
        "cd",
        "a",
        "fig1.a",
        "../..",
        str(DEVICE),
        "\0",
        "a\nb",
        "\x1b[31m",
        "é",
        "x" * 3000,
    )
)
VALUES = st.recursive(
    SCALARS,
    lambda part: (
        st.lists(part, max_size=3) | st.dictionaries(st.sampled_from(("a", "name", "k", "kind", "")), part, max_size=3)
    ),
    max_leaves=5,
)


def places(values, here=()) -> list[tuple]:
    """Return the places of all values below a mapping or a list."""
    found = []
    parts = values.items() if isinstance(values, dict) else enumerate(values) if isinstance(values, list) else ()
    for key, part in parts:
        found += [(*here, key), *places(part, (*here, key))]
    return found


@st.composite
def edited(draw, values):
    """Plain data near ``values``: parts dropped, replaced, swapped, renamed, or added."""
    values = copy.deepcopy(values)
    for _ in range(draw(st.integers(1, 3))):
        all_places = places(values)
        if not all_places:
            break
        *above, last = draw(st.sampled_from(all_places))
        holder = values
        for key in above:
            holder = holder[key]
        kind = draw(st.sampled_from(("replace", "drop", "copy", "add", "wrap")))
        if kind == "replace":
            holder[last] = draw(VALUES)
        elif kind == "drop":
            del holder[last]
        elif kind == "copy":
            other = values
            for key in draw(st.sampled_from(all_places)):
                other = other[key] if isinstance(other, dict | list) and _has(other, key) else other
            holder[last] = copy.deepcopy(other)
        elif kind == "wrap":
            holder[last] = draw(st.sampled_from(([holder[last]], {"a": holder[last]}, [holder[last]] * 2)))
        elif isinstance(holder, dict):
            holder[draw(st.sampled_from(("new", "", "k", "options", "grid", "name", "é", "a\nb", "x" * 300)))] = draw(
                VALUES
            )
        else:
            holder.append(draw(VALUES))
    return values


def _has(holder, key) -> bool:
    return key in holder if isinstance(holder, dict) else isinstance(key, int) and key < len(holder)


FRAGMENTS = (
    "\t", "\0", "\ufeff", "\r", "&a ", "*a", "<<: *a", "!!python/object/apply:os.system ['x']", "!!timestamp 1",
    "!!int x", "!!binary é", "!!set {a}", "!!omap [a]", "{", "[", "]", "}", ": ", "- ", "? ", "'", '"', "%YAML 9.9\n",
    "---\n", "...\n", "1e999999", "0x" + "f" * 5000, "9" * 5000, "0b", "0x_", ".nan", ".inf", "2001-99-99", "1:99:99",
    "~", "on: off", "#", "|\n", ">-\n", "[" * 200, "{a: " * 200, "\x1b[0m", "\ud7ff", "!<", "@", "`", "NaN", "Infinity",
    '"\\ud800"', "1E400", "-0",
)  # fmt: skip


@st.composite
def mutated_text(draw, text: str) -> bytes:
    """Texts near ``text``, as bytes: fragments put in, lines moved, doubled, indented; or bytes changed."""
    lines = text.splitlines(keepends=True)
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(("fragment", "fragment", "line", "double", "move", "indent", "bytes")))
        at = draw(st.integers(0, max(len(lines) - 1, 0)))
        if not lines or kind == "bytes":
            return draw(mutated("".join(lines).encode()))
        if kind == "fragment":
            column = draw(st.integers(0, len(lines[at])))
            lines[at] = lines[at][:column] + draw(st.sampled_from(FRAGMENTS)) + lines[at][column:]
        elif kind == "line":
            del lines[at]
        elif kind == "double":
            lines.insert(at, lines[at])
        elif kind == "move":
            lines.insert(draw(st.integers(0, len(lines) - 1)), lines.pop(at))
        else:
            lines[at] = draw(st.sampled_from((" ", "  ", "\t"))) + lines[at]
    return "".join(lines).encode("utf-8", "surrogatepass")
