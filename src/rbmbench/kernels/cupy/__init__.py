"""The kernels for CUDA devices, which CuPy arrays run on: one function a kernel, which sizes and starts it.

The interface is that of `rbmbench.kernels.numpy`, which documents every kernel. Arrays are C-contiguous, but for
the index of `gather_rows`. Small arrays that a device must have, such as the trials of a draw, are copied there once
for as long as they stay the same: a step of training copies nothing.
"""

from rbmbench.kernels.cupy.bernoulli import (
    ascend,
    bernoulli_mean,
    bernoulli_mean_and_softplus_sum,
    gather_rows,
    sample,
    sample_bernoulli,
    sample_bernoulli_and_log_probability,
    softplus_difference,
    softplus_sum,
    uniforms,
)
from rbmbench.kernels.cupy.coupling import (
    add_products_of_differences,
    couple_visible,
    mean_of_rows,
    multiply_neighbours,
    multiply_states,
    sample_rows,
)
from rbmbench.kernels.cupy.enumeration import hidden_log_weights
from rbmbench.kernels.cupy.samples import (
    add_states,
    add_states_and_sample,
    count_distances,
    unlearn_samples,
    unlearn_waiting,
)
from rbmbench.kernels.cupy.tempering import tempered_sweeps

__all__ = [
    "add_products_of_differences",
    "add_states",
    "add_states_and_sample",
    "ascend",
    "bernoulli_mean",
    "bernoulli_mean_and_softplus_sum",
    "count_distances",
    "couple_visible",
    "gather_rows",
    "hidden_log_weights",
    "mean_of_rows",
    "multiply_neighbours",
    "multiply_states",
    "sample",
    "sample_bernoulli",
    "sample_bernoulli_and_log_probability",
    "sample_rows",
    "softplus_difference",
    "softplus_sum",
    "tempered_sweeps",
    "uniforms",
    "unlearn_samples",
    "unlearn_waiting",
]
