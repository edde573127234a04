# SPDX-License-Identifier: BSD-3-Clause
"""Access to the device: launching kernels and creating arrays.

Only this module of `rbmbench.kernels.cupy` imports CuPy. Tests replace its functions to run the kernels on a CPU.
"""

import re
from functools import cache
from pathlib import Path

import numpy as np

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


def multiply_halves(states, across: bool, matrix, transposed: bool, out, add: bool) -> None:
    """Write, or add, the products of states with matrices of bfloat16 numbers (as uint16) to float32 ``out``.

    States are (replicas, rows, units), or (replicas, units, rows) if they lie ``across``; matrices (replicas, units,
    columns), or (replicas, columns, units) if ``transposed``; ``out`` (replicas, rows, columns). All are contiguous.
    """
    import cupy
    from cupy_backends.cuda.libs import cublas

    replicas, rows, columns = out.shape
    units = states.shape[1 if across else 2]
    if not out.size or not units:
        return
    # cuBLAS stores columns first: it reads these matrices as transposes, and multiplies them in the other order.
    operations = [cublas.CUBLAS_OP_T if turned else cublas.CUBLAS_OP_N for turned in (transposed, across)]
    alpha, beta = np.ones(1, np.float32), np.full(1, add, np.float32)
    bfloat16, float32 = cupy.cuda.runtime.CUDA_R_16BF, cupy.cuda.runtime.CUDA_R_32F
    handle = cupy.cuda.device.get_cublas_handle()
    cublas.setStream(handle, cupy.cuda.get_current_stream().ptr)
    cublas.gemmStridedBatchedEx(
        handle, *operations, columns, rows, units, alpha.ctypes.data,
        matrix.data.ptr, bfloat16, matrix.shape[2], units * columns,
        states.data.ptr, bfloat16, states.shape[2], rows * units, beta.ctypes.data,
        out.data.ptr, float32, columns, rows * columns,
        replicas, cublas.CUBLAS_COMPUTE_32F, cublas.CUBLAS_GEMM_DEFAULT,
    )  # fmt: skip


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
