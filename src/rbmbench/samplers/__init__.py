"""Samplers from a given RBM: one file each."""

from rbmbench.samplers.exact import exact_samples
from rbmbench.samplers.parallel_tempering import ParallelTemperingSampler

__all__ = ["ParallelTemperingSampler", "exact_samples"]
