"""The kernels compiled by Numba: what NumPy arrays run on where Numba is installed.

The interface is that of `rbmbench.kernels.numpy_home`, which documents every kernel. Compiled code is cached on disk.
"""

import numba

# LLVM keeps to half-width vectors on CPUs with AVX-512 unless told; sampling runs 1.3 times faster at full width.
if numba.config.CPU_FEATURES is None and numba.config.CPU_NAME is None:
    from llvmlite import binding

    _features = binding.get_host_cpu_features()
    if _features.get("avx512f"):
        _names = [name for name in _features.flatten().split(",") if "prefer-256-bit" not in name]
        numba.config.CPU_FEATURES = ",".join([*_names, "-prefer-256-bit"])

from rbmbench.kernels.numba_home.bernoulli import (  # noqa: E402
    ascend,
    bernoulli_mean,
    bernoulli_mean_and_softplus_sum,
    gather_rows,
    sample,
    sample_bernoulli,
    sample_bernoulli_and_log_probability,
    softplus_sum,
)
from rbmbench.kernels.numba_home.enumeration import hidden_log_weights  # noqa: E402
from rbmbench.kernels.numba_home.random import uniforms  # noqa: E402
from rbmbench.kernels.numba_home.tempering import tempered_sweeps  # noqa: E402

__all__ = [
    "ascend",
    "bernoulli_mean",
    "bernoulli_mean_and_softplus_sum",
    "gather_rows",
    "hidden_log_weights",
    "sample",
    "sample_bernoulli",
    "sample_bernoulli_and_log_probability",
    "softplus_sum",
    "tempered_sweeps",
    "uniforms",
]
