# SPDX-License-Identifier: BSD-3-Clause
"""Parameters of tests of kernels: every backend, CUDA on the CPU among them, and both types."""

import numpy as np
import pytest

from rbmbench.kernels import kernels_for
from rbmbench.kernels import numpy as numpy_kernels
from shim import NEEDS_COMPILER, cuda_kernels

BACKENDS = pytest.mark.parametrize(
    "kernels",
    [numpy_kernels, kernels_for(np.empty(0)), pytest.param(cuda_kernels, marks=NEEDS_COMPILER)],
    ids=lambda kernels: kernels.__name__.rpartition(".")[2],
)
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])
