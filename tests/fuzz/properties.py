# SPDX-License-Identifier: BSD-3-Clause
"""Shared properties: inputs are read or raise a one-line error; files outside a folder are not changed."""

import json
import os
import sys
from contextlib import contextmanager

import numpy as np
from hypothesis import given

from rbmbench.base.errors import RbmbenchError

THOROUGH = os.environ.get("RBMBENCH_FUZZ") == "thorough"
MOST_CHARACTERS = 2100
# Audit events of changes to the file system, and the numbers of their arguments that are changed paths.
CHANGES = {"os.mkdir": (0,), "os.rename": (0, 1), "os.remove": (0,), "os.rmdir": (0,), "os.truncate": (0,)}
CHANGES |= {"os.link": (1,), "os.symlink": (1,), "os.chmod": (0,), "os.chown": (0,), "os.utime": (0,)}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
OF_LIBRARIES = ("__pycache__", ".hypothesis", "matplotlib", "fontconfig", os.devnull)
_below: list[str] = []
_outside: set[str] = set()


def read_or_refused(read, *names: str, errors=RbmbenchError):
    """Return the result of ``read``, or None if it raises a one-line error that contains ``names``.

    Other exceptions are not caught, and fail the test.
    """
    try:
        return read()
    except errors as error:
        line = str(error)
    assert line.strip()
    assert line.isprintable() or not any(ord(letter) < 32 or letter in "\x7f\x85\u2028\u2029" for letter in line)
    assert len(line) < MOST_CHARACTERS
    for name in names:
        assert name in line
    return None


def holds_for_files(path, inputs, read, holds_for=lambda _: True, names=(), errors=RbmbenchError) -> None:
    """Assert that files of the inputs, bytes or plain data, are read with outputs that ``holds_for``, or raise."""

    @given(inputs)
    def holds(content):
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        output = read_or_refused(lambda: read(path), *(names or [path.name]), errors=errors)
        assert output is None or holds_for(output)

    holds()


@contextmanager
def writes_only_below(folder):
    """Fail if this process creates, writes, moves or removes files outside a folder within the block."""
    _outside.clear()
    _below.append(os.path.realpath(folder))
    try:
        yield
    finally:
        _below.clear()
    assert not _outside, f"written outside of {folder}: {sorted(_outside)}"


@sys.addaudithook
def _note_change(event: str, arguments: tuple) -> None:
    if not _below or (event != "open" and event not in CHANGES):
        return
    if event == "open" and not (isinstance(arguments[2], int) and arguments[2] & WRITING):
        return
    for path in (arguments[place] for place in CHANGES.get(event, (0,))):
        if isinstance(path, str | bytes):
            head, tail = os.path.split(os.path.abspath(os.fsdecode(path)))
            real = os.path.join(os.path.realpath(head), tail)
            if not f"{real}/".startswith(f"{_below[0]}/") and not any(part in real for part in OF_LIBRARIES):
                _outside.add(f"{event} {real}")


def is_plain_matrix(rows) -> bool:
    """Return whether rows are a valid part of a data set."""
    return isinstance(rows, np.ndarray) and rows.dtype == np.uint8 and rows.ndim == 2 and rows.max(initial=0) <= 1
