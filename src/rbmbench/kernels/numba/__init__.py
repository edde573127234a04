"""Kernels for NumPy arrays, compiled by Numba. See `rbmbench.kernels.numpy` for the documentation of each kernel.

Compiled code is cached on disk in a folder named after a hash of the sources, because Numba does not notice changes
of functions called by a compiled function.
"""

import hashlib
import os
from pathlib import Path

import numba

_HERE = Path(__file__).resolve().parent


def _cache_folder() -> str:
    """Return the cache folder for these sources."""
    sources = b"".join(path.read_bytes() for path in sorted(_HERE.glob("*.py")))
    base = Path(numba.config.CACHE_DIR) if numba.config.CACHE_DIR else _HERE / "__pycache__"
    if not os.access(_HERE, os.W_OK) and not numba.config.CACHE_DIR:
        from platformdirs import user_cache_path

        base = user_cache_path("rbmbench") / "kernels"
    return str(base / hashlib.sha256(sources).hexdigest()[:12])


def _use_full_vectors() -> None:
    """Let LLVM use 512-bit vectors where available, which it avoids by default: sampling is 1.3 times faster."""
    from llvmlite import binding

    features = binding.get_host_cpu_features()
    if features.get("avx512f"):
        names = [name for name in features.flatten().split(",") if "prefer-256-bit" not in name]
        numba.config.CPU_FEATURES = ",".join([*names, "-prefer-256-bit"])


if numba.config.CPU_FEATURES is None and numba.config.CPU_NAME is None:
    _use_full_vectors()

_users_folder, numba.config.CACHE_DIR = numba.config.CACHE_DIR, _cache_folder()
try:
    from rbmbench.kernels.numba import pairs  # noqa: F401, uses the same cache folder
    from rbmbench.kernels.numba.bernoulli import (
        ascend,
        bernoulli_mean,
        gather_rows,
        sample,
        sample_bernoulli,
        sample_bernoulli_and_log_probability,
    )
    from rbmbench.kernels.numba.coupling import couple_visible, mean_of_rows, sample_rows
    from rbmbench.kernels.numba.differences import add_products_of_differences, multiply_neighbours, multiply_states
    from rbmbench.kernels.numba.enumeration import hidden_log_weights
    from rbmbench.kernels.numba.random import uniforms
    from rbmbench.kernels.numba.samples import (
        add_states,
        add_states_and_sample,
        count_distances,
        unlearn_lazily,
        unlearn_samples,
    )
    from rbmbench.kernels.numba.softplus import bernoulli_mean_and_softplus_sum, softplus_difference, softplus_sum
    from rbmbench.kernels.numba.tempering import tempered_sweeps
finally:
    numba.config.CACHE_DIR = _users_folder

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
