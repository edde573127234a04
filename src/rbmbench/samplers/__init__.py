"""Samplers from a given RBM: one file each."""

from rbmbench.samplers.coupled_gibbs import CoupledGibbs, stopping_times
from rbmbench.samplers.enumerated import distribution_after, transition_matrix
from rbmbench.samplers.exact import exact_samples
from rbmbench.samplers.parallel_tempering import ParallelTemperingSampler

__all__ = [
    "CoupledGibbs",
    "ParallelTemperingSampler",
    "distribution_after",
    "exact_samples",
    "stopping_times",
    "transition_matrix",
]
