# SPDX-License-Identifier: BSD-3-Clause
"""Kernels for NumPy arrays, compiled by Numba. Documented in `rbmbench.kernels.numpy`.

Compiled code is cached on disk in a folder named after a hash of the sources, because Numba does not notice changes
of functions called by a compiled function. Processes that compile at the same time take turns to write to it. Where no
folder can be written, code is compiled by every process.
"""

import pickle
import warnings
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import numba
from filelock import FileLock
from numba.core import caching

from rbmbench.base.errors import RbmbenchWarning
from rbmbench.kernels import numpy as _reference
from rbmbench.kernels.numba.compiling import CACHE_FOLDER, warn_of_no_cache


def _use_full_vectors() -> None:
    """Let LLVM use 512-bit vectors where available, which it avoids by default: sampling is 1.3 times faster."""
    from llvmlite import binding

    features = binding.get_host_cpu_features()
    if features.get("avx512f"):
        names = [name for name in features.flatten().split(",") if "prefer-256-bit" not in name]
        numba.config.CPU_FEATURES = ",".join([*names, "-prefer-256-bit"])


DIGEST = sha256().digest_size


class LockedCacheFile(caching.IndexDataCacheFile):
    """Numba's cache of one function, for writers that take turns, with checksums.

    Otherwise two processes that compile two overloads at the same time may give their files one name, and the code of
    one overload is loaded for the other. See https://github.com/numba/numba/issues/4807. A damaged file could end the
    process by an error of pickle or by its machine code: it is removed, and its kernel compiled again.
    """

    def save(self, key, data):
        """Save a new entry."""
        try:
            with FileLock(f"{self._index_path}.lock", fallback_to_soft=False):
                super().save(key, data)
        except OSError as error:  # such as a full disk, or a file system without locks
            warn_of_no_cache(f"{Path(self._index_path).parent}: {error.strerror or error}")

    def _dump(self, obj):
        content = super()._dump(obj)
        return content + sha256(content).digest()  # after the end of a pickle, where loading ignores it

    def _load_index(self):
        # Numba writes its version first, outside the content.
        begin = len(pickle.dumps(self._version, protocol=-1))
        return super()._load_index() if _is_intact(self._index_path, begin) else {}

    def _load_data(self, name):
        return super()._load_data(name) if _is_intact(self._data_path(name)) else None


def _is_intact(path: str, begin: int = 0) -> bool:
    """Return whether a file of the cache ends with its checksum; a file that does not is removed with a warning."""
    with suppress(FileNotFoundError):  # which Numba handles
        content = Path(path).read_bytes()
        if content[-DIGEST:] != sha256(content[begin:-DIGEST]).digest():
            Path(path).unlink(missing_ok=True)
            warnings.warn(f"{path}: damaged, removed; its kernel is compiled again", RbmbenchWarning, stacklevel=2)
            return False
    return True


if numba.config.CPU_FEATURES is None and numba.config.CPU_NAME is None:
    _use_full_vectors()

# Both settings are read when a function is declared, so that they hold for these kernels alone.
_users_folder, numba.config.CACHE_DIR = numba.config.CACHE_DIR, CACHE_FOLDER or ""
_cache_file, caching.IndexDataCacheFile = caching.IndexDataCacheFile, LockedCacheFile
try:
    from rbmbench.kernels.numba import chains, pairs  # use the same cache folder
    from rbmbench.kernels.numba.bernoulli import *
    from rbmbench.kernels.numba.coupling import *
    from rbmbench.kernels.numba.differences import *
    from rbmbench.kernels.numba.enumeration import *
    from rbmbench.kernels.numba.products import *
    from rbmbench.kernels.numba.random import *
    from rbmbench.kernels.numba.samples import *
    from rbmbench.kernels.numba.softplus import *
    from rbmbench.kernels.numba.tempering import *
finally:
    numba.config.CACHE_DIR, caching.IndexDataCacheFile = _users_folder, _cache_file

__all__ = _reference.__all__
