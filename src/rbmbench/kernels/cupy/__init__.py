# SPDX-License-Identifier: BSD-3-Clause
"""Kernels for CuPy arrays: one function per CUDA kernel, which launches it. Documented in `rbmbench.kernels.numpy`.

Arrays are C-contiguous, except the index of `gather_rows`. Small constant arrays, such as the trials of a draw, are
copied to the device once, so that a training step copies nothing.
"""

from rbmbench.kernels import numpy as _reference
from rbmbench.kernels.cupy.bernoulli import *
from rbmbench.kernels.cupy.coupling import *
from rbmbench.kernels.cupy.enumeration import *
from rbmbench.kernels.cupy.products import *
from rbmbench.kernels.cupy.samples import *
from rbmbench.kernels.cupy.tempering import *

# Array operations without compiled code, which also take CuPy arrays; matrix products use cuBLAS.
from rbmbench.kernels.numpy import add_deviations
from rbmbench.kernels.numpy.coupling import multiply_neighbours, multiply_states
from rbmbench.kernels.numpy.samples import draw_lazily, herd_lazily, unlearn_lazily

__all__ = _reference.__all__
