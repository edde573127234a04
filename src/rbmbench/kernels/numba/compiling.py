# SPDX-License-Identifier: BSD-3-Clause
"""Compilation of kernels: cached if possible, without the interpreter's lock, and independent of the first caller."""

import hashlib
import warnings
from functools import cache
from pathlib import Path

import numba

from rbmbench.base.errors import RbmbenchWarning
from rbmbench.io.caches import user_cache, why_not_writable

_HERE = Path(__file__).resolve().parent


def _cache_folder() -> str | None:
    """Return the cache folder for these sources; None, with a warning, if none can be written."""
    users = numba.config.CACHE_DIR
    bases = [Path(users)] if users else [_HERE / "__pycache__", user_cache("kernels")]
    sources = b"".join(path.read_bytes() for path in sorted([*_HERE.glob("*.py"), *_HERE.parent.glob("*.py")]))
    folders = [base / hashlib.sha256(sources).hexdigest()[:12] for base in bases if base]
    reasons = {}
    for folder in folders:
        if (reason := why_not_writable(folder)) is None:
            return str(folder)
        reasons[folder] = reason
    warn_of_no_cache("; ".join(f"{folder}: {reason}" for folder, reason in reasons.items()))
    return None


@cache
def warn_of_no_cache(reason: str) -> None:
    """Warn that compiled kernels are not kept; once, although Numba resets the registry of warnings."""
    text = f"compiled kernels cannot be kept ({reason}), so that every process compiles them; set NUMBA_CACHE_DIR"
    warnings.warn(f"{text} to a folder that can be written", RbmbenchWarning, stacklevel=2)


CACHE_FOLDER = _cache_folder()


def compiled(fastmath=False, error_model="python", inline="never", allocates=True):
    """Return the decorator of a kernel.

    In Numba a function without its own options inherits ``fastmath`` and ``error_model`` from the function that calls
    it while it is compiled. Cached code, and the last digits, would depend on the first caller. So both are always set.

    A kernel that neither makes nor returns arrays should have ``allocates=False``: Numba then counts no references to
    its array arguments and to slices of them. Counting is atomic, and took a quarter of the time of
    coupled chains with 16 units. Such a kernel cannot assign one slice to another, which allocates a copy.

    A kernel is compiled once more for a literal argument, and all that it calls is optimised again in each caller: the
    kernels count from ``np.int64(0)`` and pass ``np.bool_(False)``, and a compiled loop that only calls one kernel is
    not worth its seconds.
    """
    cache = CACHE_FOLDER is not None
    return numba.njit(
        cache=cache, nogil=True, fastmath=fastmath, error_model=error_model, inline=inline, _nrt=allocates,
        no_cfunc_wrapper=True,
    )  # fmt: skip
