# SPDX-License-Identifier: BSD-3-Clause
"""Kernels for NumPy arrays, compiled by Numba. Documented in `rbmbench.kernels.numpy`.

Compiled code is cached on disk in a folder named after a hash of the sources, because Numba does not notice changes
of functions called by a compiled function. Processes that compile at the same time take turns to write to it. Where no
folder can be written, code is compiled by every process.
"""

import numba
from filelock import FileLock
from numba.core import caching

from rbmbench.kernels import numpy as _reference
from rbmbench.kernels.numba.compiling import CACHE_FOLDER, warn_of_no_cache


def _use_full_vectors() -> None:
    """Let LLVM use 512-bit vectors where available, which it avoids by default: sampling is 1.3 times faster."""
    from llvmlite import binding

    features = binding.get_host_cpu_features()
    if features.get("avx512f"):
        names = [name for name in features.flatten().split(",") if "prefer-256-bit" not in name]
        numba.config.CPU_FEATURES = ",".join([*names, "-prefer-256-bit"])


class LockedCacheFile(caching.IndexDataCacheFile):
    """Numba's cache of one function, for writers that take turns.

    Otherwise two processes that compile two overloads at the same time may give their files one name, and the code of
    one overload is loaded for the other. See https://github.com/numba/numba/issues/4807.
    """

    def save(self, key, data):
        """Save a new entry."""
        try:
            with FileLock(f"{self._index_path}.lock"):
                super().save(key, data)
        except OSError as error:  # such as a full disk
            warn_of_no_cache(f"{self._index_path}: {error.strerror or error}")


if numba.config.CPU_FEATURES is None and numba.config.CPU_NAME is None:
    _use_full_vectors()

# Both settings are read when a function is declared, so that they hold for these kernels alone.
_users_folder, numba.config.CACHE_DIR = numba.config.CACHE_DIR, CACHE_FOLDER or ""
_cache_file, caching.IndexDataCacheFile = caching.IndexDataCacheFile, LockedCacheFile
try:
    from rbmbench.kernels.numba import pairs  # uses the same cache folder
    from rbmbench.kernels.numba.bernoulli import *
    from rbmbench.kernels.numba.coupling import *
    from rbmbench.kernels.numba.differences import *
    from rbmbench.kernels.numba.distances import *
    from rbmbench.kernels.numba.enumeration import *
    from rbmbench.kernels.numba.products import *
    from rbmbench.kernels.numba.random import *
    from rbmbench.kernels.numba.samples import *
    from rbmbench.kernels.numba.softplus import *
    from rbmbench.kernels.numba.tempering import *
finally:
    numba.config.CACHE_DIR, caching.IndexDataCacheFile = _users_folder, _cache_file

__all__ = _reference.__all__
