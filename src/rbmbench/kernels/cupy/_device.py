"""The device as the launch layer sees it: running a kernel, and making arrays there.

This is all of `rbmbench.kernels.cupy` that names CuPy. Tests put functions of the same names in place of these,
which run the same kernels on a CPU.
"""

import re
from functools import cache
from pathlib import Path

__all__ = ["SHARED_BYTES", "copy_in", "empty", "launch", "most_shared_bytes", "source"]

_HERE = Path(__file__).resolve().parent
# No -use_fast_math: they agree with the other backends to rounding. CuPy adds -ftz=true: numbers below 1e-38 are zero.
OPTIONS = ("-std=c++17",)
TYPES = {"float32": "float", "float64": "double"}
SHARED_BYTES = 48 * 1024  # what every CUDA device gives a block without being asked for more


@cache
def source() -> str:
    """Return the whole source of the kernels, the headers put in: what is cached by its text must hold all of it."""
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
    """Run a kernel.

    Parameters
    ----------
    name : str
    dtype : {"float32", "float64"}
        What REAL is.
    grid : int
        Number of thread blocks.
    block : (int, int)
        Threads of a block.
    arguments : tuple
        Device arrays, and NumPy scalars of exactly the types the kernel takes; uint64 zero for no array.
    shared_bytes : int
        Dynamic shared memory of a block.
    """
    function = _function(name, dtype)
    if shared_bytes > SHARED_BYTES:
        function.max_dynamic_shared_size_bytes = shared_bytes
    function((grid,), block, arguments, shared_mem=shared_bytes)


def most_shared_bytes() -> int:
    """Return the most dynamic shared memory that a block gets if it asks for it."""
    import cupy

    return cupy.cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"]


def empty(shape: tuple[int, ...], dtype):
    """Return a device array, uninitialised."""
    import cupy

    return cupy.empty(shape, dtype)


def copy_in(array):
    """Return a device array that holds what a NumPy array holds."""
    import cupy

    return cupy.asarray(array)
