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
TYPES = {np.dtype(np.float32): "float", np.dtype(np.float64): "double"}
SHARED_BYTES = 48 * 1024  # default limit of shared memory per block on every CUDA device


@cache
def source() -> str:
    """Return the source of the kernels with all headers inlined, as CuPy caches compiled code by this text."""
    text = (_HERE / "kernels.cu").read_text(encoding="utf-8")
    return re.sub(r'#include "(.+)"', lambda match: (_HERE / match[1]).read_text(encoding="utf-8"), text)


@cache
def _module(dtype: np.dtype):
    import cupy

    return cupy.RawModule(code=source(), options=(*OPTIONS, f"-DREAL={TYPES[dtype]}"))


@cache
def _function(name: str, dtype: np.dtype):
    return _module(dtype).get_function(name)


def launch(
    name: str, dtype: np.dtype, grid: int, block: tuple[int, int], arguments: tuple, shared_bytes: int = 0
) -> None:
    """Launch a kernel for the type of REAL ``dtype``, float32 or float64.

    ``grid`` is the number of thread blocks, ``block`` the shape of their threads. Arguments are device arrays, and
    NumPy scalars of exactly the types of the kernel's parameters; uint64 zero is a null pointer. ``shared_bytes`` is
    the dynamic shared memory per block.
    """
    function = _function(name, dtype)
    if shared_bytes > SHARED_BYTES:
        function.max_dynamic_shared_size_bytes = shared_bytes
    function((grid,), block, arguments, shared_mem=shared_bytes)


@cache
def _product_types(character: str) -> tuple:
    """Return cuBLAS's types of the entries and sums of products of type "f" or "d", and host arrays of 1 and 0."""
    from cupy.cuda import runtime
    from cupy_backends.cuda.libs import cublas

    double = runtime.CUDA_R_64F, cublas.CUBLAS_COMPUTE_64F
    types = double if character == "d" else (runtime.CUDA_R_32F, cublas.CUBLAS_COMPUTE_32F)
    return *types, np.ones(1, character), np.zeros(1, character)


def multiply(states, across: bool, matrix, transposed: bool, out) -> None:
    """Write the products of states with matrices to contiguous ``out`` (replicas, rows, columns).

    States are (replicas, rows, units), or (replicas, units, rows) if they lie ``across``; matrices (replicas, units,
    columns), or (replicas, columns, units) if ``transposed``; those of a replica are contiguous, and may be the same
    for all. All arrays are float32, or all float64.

    Unlike `cupy.matmul` it copies no transposed operand.
    """
    from cupy.cuda import device
    from cupy_backends.cuda.libs import cublas

    replicas, rows, columns = out.shape
    units = states.shape[1 if across else 2]
    if not out.size or not units:
        out[...] = 0
        return
    entries, sums, one, zero = _product_types(matrix.dtype.char)
    # cuBLAS stores columns first: it reads these matrices as transposes, and multiplies them in the other order.
    operations = [cublas.CUBLAS_OP_T if turned else cublas.CUBLAS_OP_N for turned in (transposed, across)]
    cublas.gemmStridedBatchedEx(
        device.get_cublas_handle(), *operations, columns, rows, units, one.ctypes.data,
        matrix.data.ptr, entries, matrix.shape[2], matrix.strides[0] // matrix.itemsize,
        states.data.ptr, entries, states.shape[2], states.strides[0] // states.itemsize, zero.ctypes.data,
        out.data.ptr, entries, columns, rows * columns,
        replicas, sums, cublas.CUBLAS_GEMM_DEFAULT,
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
