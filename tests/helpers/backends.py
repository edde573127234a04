# SPDX-License-Identifier: BSD-3-Clause
"""Parameters of tests of kernels: all backends, including CUDA on the CPU, and both floating-point types."""

import numpy as np
import pytest

from rbmbench.kernels import kernels_for
from rbmbench.kernels import numpy as numpy_kernels
from shim import NEEDS_COMPILER, cuda_kernels

_OF_HOST = [numpy_kernels, kernels_for(np.empty(0))]
BACKENDS, HOST_BACKENDS = (
    pytest.mark.parametrize("kernels", backends, ids=lambda kernels: kernels.__name__.rpartition(".")[2])
    for backends in ([*_OF_HOST, pytest.param(cuda_kernels, marks=NEEDS_COMPILER)], _OF_HOST)
)
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])
