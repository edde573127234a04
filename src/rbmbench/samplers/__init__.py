# SPDX-License-Identifier: BSD-3-Clause
"""Samplers of RBMs: one file each.

Samplers of streams are created by name, see `create`; `CoupledGibbs`, `exact_samples` and `TrajectoryTempering` are
imported directly.
"""

from rbmbench.model.enumeration import distribution_after, transition_matrix
from rbmbench.samplers._base import REGISTRY, Sampler
from rbmbench.samplers.coupled_gibbs import CoupledGibbs, stopping_times
from rbmbench.samplers.exact import exact_samples
from rbmbench.samplers.parallel_tempering import ParallelTemperingSampler
from rbmbench.samplers.trajectory_tempering import TrajectoryTempering, choose_ladder

__all__ = [
    "REGISTRY",
    "CoupledGibbs",
    "ParallelTemperingSampler",
    "Sampler",
    "TrajectoryTempering",
    "choose_ladder",
    "create",
    "distribution_after",
    "exact_samples",
    "stopping_times",
    "transition_matrix",
]


def create(name: str, **options) -> Sampler:
    """Return the sampler ``name`` with the given options.

    Raises a `SettingsError` if the name or an option is unknown (the nearest is named), or a value is not allowed.
    """
    return REGISTRY.create(name, options)
