"""Samplers from a given RBM: one file each."""

from rbmbench.samplers.parallel_tempering import ParallelTemperingSampler

__all__ = ["ParallelTemperingSampler"]
