"""Samplers from a given RBM: one file each."""

from rbmbench.samplers.coupled_gibbs import CoupledGibbs, stopping_times
from rbmbench.samplers.exact import exact_samples
from rbmbench.samplers.parallel_tempering import ParallelTemperingSampler

__all__ = ["CoupledGibbs", "ParallelTemperingSampler", "exact_samples", "stopping_times"]
