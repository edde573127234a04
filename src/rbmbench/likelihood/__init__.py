"""Partition functions and log-likelihoods, in float64."""

from rbmbench.likelihood.exact import (
    LARGEST_ENUMERABLE_LAYER,
    data_statistics,
    exact_gradient,
    exact_log_partition,
    exact_model_statistics,
    log_likelihood,
)

__all__ = [
    "LARGEST_ENUMERABLE_LAYER",
    "data_statistics",
    "exact_gradient",
    "exact_log_partition",
    "exact_model_statistics",
    "log_likelihood",
]
