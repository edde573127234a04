# SPDX-License-Identifier: BSD-3-Clause
"""CUDA kernels on the CPU: the same source compiled by g++, with device arrays in host memory."""

import pytest

from shim.device import HostDevice, cuda_on_cpu, missing_compiler
from shim.host_array import DeviceArray
from shim.kernels import cuda_kernels
from shim.runs import runs_on_cpu

__all__ = ["NEEDS_COMPILER", "DeviceArray", "HostDevice", "cuda_kernels", "cuda_on_cpu", "runs_on_cpu"]
NEEDS_COMPILER = pytest.mark.skipif(missing_compiler() is not None, reason=str(missing_compiler()))
