# SPDX-License-Identifier: BSD-3-Clause
"""CUDA kernels called with NumPy arrays, for tests on all backends."""

from functools import wraps
from inspect import signature
from types import SimpleNamespace

import numpy as np

from rbmbench.base.streams import RowKeys
from rbmbench.kernels import cupy as cupy_kernels
from shim.device import cuda_on_cpu
from shim.host_array import DeviceArray

__all__ = ["cuda_kernels"]


def _shared(value, name):
    """Return an argument with its arrays on the device, in the same memory; bounds stay on the host."""
    if isinstance(value, RowKeys):
        return RowKeys(*(DeviceArray(part) for part in value))
    return DeviceArray(value) if isinstance(value, np.ndarray) and name != "bounds" else value


def _on_numpy(kernel):
    """Return a kernel that takes NumPy arrays, in place, and returns NumPy arrays."""
    names = list(signature(kernel).parameters)

    @wraps(kernel)
    def run(*arguments, **options):
        with cuda_on_cpu():
            shared = [_shared(value, name) for value, name in zip(arguments, names, strict=False)]
            result = kernel(*shared, **options)
        return result.get() if isinstance(result, DeviceArray) else result

    return run


cuda_kernels = SimpleNamespace(
    __name__="rbmbench.kernels.cupy",
    __all__=cupy_kernels.__all__,
    **{name: _on_numpy(getattr(cupy_kernels, name)) for name in cupy_kernels.__all__},
)
