"""Access to the device: launching kernels and creating arrays.

Only this module of `rbmbench.kernels.cupy` imports CuPy. Tests replace its functions to run the kernels on a CPU.
"""

import re
from functools import cache
from pathlib import Path

_HERE = Path(__file__).resolve().parent
# Without -use_fast_math, results agree with the other backends up to rounding. CuPy adds -ftz=true, which flushes
# numbers below 1e-38 to zero.
OPTIONS = ("-std=c++17",)
TYPES = {"float32": "float", "float64": "double"}
SHARED_BYTES = 48 * 1024  # default limit of shared memory per block on every CUDA device


@cache
def source() -> str:
    """Return the source of the kernels with all headers inlined, as CuPy caches compiled code by this text."""
    text = (_HERE / "kernels.cu").read_text(encoding="utf-8")
    return re.sub(r'#include "(.+)"', lambda match: (_HERE / match[1]).read_text(encoding="utf-8"), text)


@cache
def _module(dtype: str):
    import cupy

    return cupy.RawModule(code=source(), options=(*OPTIONS, f"-DREAL={TYPES[dtype]}"))


@cache
def _function(name: str, dtype: str):
    return _module(dtype).get_function(name)


def launch(name: str, dtype: str, grid: int, block: tuple[int, int], arguments: tuple, shared_bytes: int = 0) -> None:
    """Launch a kernel for the type of REAL ``dtype``, "float32" or "float64".

    ``grid`` is the number of thread blocks, ``block`` the shape of their threads. Arguments are device arrays, and
    NumPy scalars of exactly the types of the kernel's parameters; uint64 zero is a null pointer. ``shared_bytes`` is
    the dynamic shared memory per block.
    """
    function = _function(name, dtype)
    if shared_bytes > SHARED_BYTES:
        function.max_dynamic_shared_size_bytes = shared_bytes
    function((grid,), block, arguments, shared_mem=shared_bytes)


def most_shared_bytes() -> int:
    """Return the largest dynamic shared memory that a block can request."""
    import cupy

    return cupy.cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"]


def empty(shape: tuple[int, ...], dtype):
    """Return an uninitialised device array."""
    import cupy

    return cupy.empty(shape, dtype)


def copy_in(array):
    """Return a device copy of a NumPy array."""
    import cupy

    return cupy.asarray(array)
