"""Kernels for CuPy arrays: one function per CUDA kernel, which launches it. Documented in `rbmbench.kernels.numpy`.

Arrays are C-contiguous, except the index of `gather_rows`. Small constant arrays, such as the trials of a draw, are
copied to the device once, so that a training step copies nothing.
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
    unlearn_lazily,
    unlearn_samples,
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
    "unlearn_lazily",
    "unlearn_samples",
]
