"""Array kernels for several backends with one interface; the type of the array picks the backend.

All arrays carry one leading axis of replicas: activations and states are (replicas, rows, units), biases
(replicas, units), draws hold one key per replica. ``numpy`` is the readable reference and the fallback,
``numba`` what NumPy arrays run on where Numba is installed, ``cupy`` what CuPy arrays run on. Backends agree on
the same uniforms.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

import numpy as np

__all__ = [
    "backend_name",
    "fused_kernels",
    "is_host_array",
    "kernels_for",
    "on_host",
    "pair_kernels",
    "reference_kernels",
]

_reference_only = False


@cache
def _kernels_for_type(array_type: type, reference_only: bool) -> ModuleType:
    if _is_cupy(array_type):
        return import_module("rbmbench.kernels.cupy")
    if not issubclass(array_type, np.ndarray):
        raise TypeError(f"no kernels for arrays of type {array_type.__name__}; allowed: numpy.ndarray, cupy.ndarray")
    name = "numba" if _has_numba() and not reference_only else "numpy"
    return import_module(f"rbmbench.kernels.{name}")


def _is_cupy(array_type: type) -> bool:
    """Tell a CuPy array by its type's name: CuPy is imported by those who have such an array, and by nobody else."""
    return array_type.__module__.partition(".")[0] == "cupy"


def _has_numba() -> bool:
    try:
        return find_spec("numba") is not None
    except ValueError:  # a module that was blocked by hand has no spec
        return False


def kernels_for(array) -> ModuleType:
    """Return the module whose kernels work on arrays of this type.

    Raises
    ------
    TypeError
        If no backend has kernels for the type.
    """
    return _kernels_for_type(type(array), _reference_only)


@contextmanager
def reference_kernels() -> Iterator[None]:
    """Let NumPy arrays take the reference kernels within the block, in all threads, whether Numba is there or not.

    For comparing one backend with another; a computation that is under way must not cross the block's ends.
    """
    global _reference_only
    before, _reference_only = _reference_only, True
    try:
        yield
    finally:
        _reference_only = before


def backend_name(array) -> str:
    """Return the short name of the backend: "numpy", "numba" or "cupy"."""
    return kernels_for(array).__name__.rpartition(".")[2]


def fused_kernels(array) -> ModuleType | None:
    """Return the module whose kernels make whole iterations of training on such arrays, or None if there is none.

    `rbmbench.kernels.cupy.fused` documents what such a module offers.
    """
    return import_module("rbmbench.kernels.cupy.fused") if _is_cupy(type(array)) else None


def pair_kernels(array) -> ModuleType | None:
    """Return the module whose kernels follow pairs of coupled chains to their end, or None if there is none.

    `rbmbench.kernels.numba.pairs` documents what such a module offers.
    """
    return import_module("rbmbench.kernels.numba.pairs") if backend_name(array) == "numba" else None


def is_host_array(array) -> bool:
    """Return whether the array is in host memory.

    Work on host arrays is best divided to stay in the processor's cache, and an entry can be read without waiting;
    a device works best on everything at once, and has to finish all queued work before an entry can be read.
    """
    return not _is_cupy(type(array))


def on_host(array):
    """Return the array in the host's memory: itself if it is a NumPy array, else a copy."""
    return array if isinstance(array, np.ndarray) else array.get()
