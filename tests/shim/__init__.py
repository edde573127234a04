# SPDX-License-Identifier: BSD-3-Clause
"""The CUDA kernels on the CPU: g++ compiles the very same source, and device arrays are NumPy's in disguise."""

import pytest

from shim.device import HostDevice, cuda_on_cpu, missing_compiler
from shim.host_array import DeviceArray
from shim.kernels import cuda_kernels
from shim.runs import runs_on_cpu

__all__ = ["NEEDS_COMPILER", "DeviceArray", "HostDevice", "cuda_kernels", "cuda_on_cpu", "runs_on_cpu"]
NEEDS_COMPILER = pytest.mark.skipif(missing_compiler() is not None, reason=str(missing_compiler()))
