# SPDX-License-Identifier: BSD-3-Clause
"""Partition functions and log-likelihoods, in float64."""

from rbmbench.likelihood.annealing import (
    AnnealedEstimate,
    ais_log_partition,
    base_rate_bias,
    inverse_temperatures,
    reverse_ais_log_partition,
)
from rbmbench.likelihood.bracket import BracketedEstimate, bracketed_log_partition
from rbmbench.likelihood.exact import (
    LARGEST_ENUMERABLE_LAYER,
    PackedData,
    data_statistics,
    exact_gradient,
    exact_log_partition,
    exact_model_statistics,
    is_enumerable,
    log_likelihood,
)
from rbmbench.likelihood.indirect_sampling import IndirectSampling
from rbmbench.likelihood.reconstruction import reconstruction_log_likelihood
from rbmbench.likelihood.tempered import TemperedEstimate, tempered_log_partition
from rbmbench.likelihood.trajectories import BennettEstimate, bennett_log_partition, trajectory_ais_log_partition

__all__ = [
    "LARGEST_ENUMERABLE_LAYER",
    "AnnealedEstimate",
    "BennettEstimate",
    "BracketedEstimate",
    "IndirectSampling",
    "PackedData",
    "TemperedEstimate",
    "ais_log_partition",
    "base_rate_bias",
    "bennett_log_partition",
    "bracketed_log_partition",
    "data_statistics",
    "exact_gradient",
    "exact_log_partition",
    "exact_model_statistics",
    "inverse_temperatures",
    "is_enumerable",
    "log_likelihood",
    "reconstruction_log_likelihood",
    "reverse_ais_log_partition",
    "tempered_log_partition",
    "trajectory_ais_log_partition",
]
