"""The property that all tests here share, and a record of what was tried."""

import json
import resource
from collections import defaultdict
from pathlib import Path
from time import process_time

import numpy as np

from rbmbench.base.errors import RbmbenchError

TRIED = defaultdict(lambda: {"inputs": 0, "refused": 0, "longest_processor_seconds": 0.0})
MOST_CHARACTERS = 2100


def one_line(error: Exception) -> str:
    """Return the message of an error, after checking that it is one line that can be shown."""
    line = str(error)
    assert line.strip()
    assert line.isprintable() or not any(ord(letter) < 32 or letter in "\x7f\x85\u2028\u2029" for letter in line)
    assert len(line) < MOST_CHARACTERS
    return line


def read_or_refused(kind: str, read, *names: str, errors=RbmbenchError):
    """Return what ``read`` returns, or None where it refuses its input in one line that has ``names`` in it.

    Any other exception passes through, and fails the test.
    """
    seen, started = TRIED[kind], process_time()
    try:
        return read()
    except errors as error:
        seen["refused"] += 1
        line = one_line(error)
        for name in names:
            assert name in line
        return None
    finally:
        seen["inputs"] += 1
        seen["longest_processor_seconds"] = max(seen["longest_processor_seconds"], process_time() - started)


def is_plain_matrix(rows) -> bool:
    """Tell whether what was read is what a data set may hold."""
    return isinstance(rows, np.ndarray) and rows.dtype == np.uint8 and rows.ndim == 2 and rows.max(initial=0) <= 1


def write(path: str) -> None:
    """Add what was tried to a JSON file."""
    file = Path(path)
    known = json.loads(file.read_text()) if file.is_file() else {}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    file.write_text(json.dumps(known | {name: seen | {"peak_mb": peak} for name, seen in TRIED.items()}, indent=1))
