# SPDX-License-Identifier: BSD-3-Clause
"""Array kernels for several backends with one interface; the type of an array determines the backend.

All arrays have one leading axis of replicas: activations and states are (replicas, rows, units), biases
(replicas, units), and draws hold one key per replica. ``numpy`` is the readable reference and the fallback; ``numba``
serves NumPy arrays where Numba is installed, ``cupy`` serves CuPy arrays. All backends use the same random numbers.
"""

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

import numpy as np

from rbmbench.base.errors import RbmbenchWarning

__all__ = [
    "SMALL_PRODUCT",
    "Array",
    "backend_name",
    "chain_kernels",
    "contiguous",
    "fused_kernels",
    "is_array",
    "is_host_array",
    "is_installed",
    "kernels_for",
    "on_host",
    "pair_kernels",
    "reference_kernels",
]

Array = np.ndarray
"""Type of arrays: that of NumPy; CuPy arrays have the same interface and no type annotations."""
SMALL_PRODUCT = 10**6
"""Multiplications up to which OpenBLAS with AVX-512 multiplies without copying the matrices first."""

_reference_only = False


@cache
def _kernels_for_type(array_type: type, reference_only: bool) -> ModuleType:
    if _is_cupy(array_type):
        return import_module("rbmbench.kernels.cupy")
    if not issubclass(array_type, np.ndarray):
        raise TypeError(f"no kernels for arrays of type {array_type.__name__}; allowed: numpy.ndarray, cupy.ndarray")
    compiles = is_installed("numba") and os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")
    if is_installed("numba") and not compiles:
        text = "NUMBA_DISABLE_JIT is set: the NumPy kernels are used, which are slower"
        warnings.warn(text, RbmbenchWarning, stacklevel=2)
    name = "numba" if compiles and not reference_only else "numpy"
    return import_module(f"rbmbench.kernels.{name}")


def _is_cupy(array_type: type) -> bool:
    """Recognise CuPy arrays by the name of their type, without importing CuPy."""
    return array_type.__module__.partition(".")[0] == "cupy"


def is_installed(module: str) -> bool:
    """Return whether a module can be found, without importing it."""
    try:
        return find_spec(module) is not None
    except ValueError:  # sys.modules[module] is None
        return False


def kernels_for(array) -> ModuleType:
    """Return the module with the kernels for arrays of this type, or raise a `TypeError` if no backend has them."""
    return _kernels_for_type(type(array), _reference_only)


@contextmanager
def reference_kernels() -> Iterator[None]:
    """Use the reference kernels for NumPy arrays within the block, in all threads.

    For comparisons of backends. No computation may run across the start or the end of the block.
    """
    global _reference_only
    before, _reference_only = _reference_only, True
    try:
        yield
    finally:
        _reference_only = before


def backend_name(array) -> str:
    """Return the name of the backend for arrays of this type: "numpy", "numba" or "cupy"."""
    return kernels_for(array).__name__.rpartition(".")[2]


def fused_kernels(array) -> ModuleType | None:
    """Return the module with kernels of whole training iterations, `rbmbench.kernels.cupy.fused`, or None."""
    return import_module("rbmbench.kernels.cupy.fused") if _is_cupy(type(array)) else None


def pair_kernels(array) -> ModuleType | None:
    """Return the module that runs coupled chains until they meet, `rbmbench.kernels.numba.pairs`, or None."""
    return import_module("rbmbench.kernels.numba.pairs") if backend_name(array) == "numba" else None


def chain_kernels(array) -> ModuleType | None:
    """Return the module that runs Gibbs chains in one call, `rbmbench.kernels.numba.chains`, or None."""
    return import_module("rbmbench.kernels.numba.chains") if backend_name(array) == "numba" else None


def is_array(value) -> bool:
    """Return whether a value is an array of NumPy or CuPy, for which there are kernels."""
    return isinstance(value, np.ndarray) or _is_cupy(type(value))


def contiguous(array, dtype, like=None):
    """Return an array in C order, writable, of a type in native byte order; the array itself if it already is.

    Compiled kernels read rows as contiguous numbers of such a type, so every public function converts its arguments.
    The type of the array is that of ``like``, by default of the array itself.
    """
    like, dtype = array if like is None else like, np.dtype(dtype)
    dtype = dtype if dtype.isnative else dtype.newbyteorder("=")
    # Numba would compile all kernels anew for an array that is read-only or not aligned.
    return np.require(array, dtype, "CAWE") if is_host_array(like) else np.asarray(array, dtype, order="C", like=like)


def is_host_array(array) -> bool:
    """Return whether the array is in host memory.

    Work on host arrays is best divided to stay in the processor's cache, and an entry can be read without waiting;
    a device works best on everything at once, and has to finish all queued work before an entry can be read.
    """
    return not _is_cupy(type(array))


def on_host(array):
    """Return the array in the host's memory: a copy of an array of a GPU, others as they are."""
    return array.get() if _is_cupy(type(array)) else array
