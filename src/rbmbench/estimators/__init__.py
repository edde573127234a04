# SPDX-License-Identifier: BSD-3-Clause
"""Estimators of the log-likelihood gradient: one file each, by name."""

from rbmbench.estimators._base import NOTHING, REGISTRY, Estimate, Estimator, check_continues

__all__ = ["NOTHING", "REGISTRY", "Estimate", "Estimator", "check_continues", "create"]


def create(name: str, **options) -> Estimator:
    """Return the estimator ``name`` with the given options.

    Raises a `SettingsError` if the name or an option is unknown (the nearest is named), or a value is not allowed.
    """
    return REGISTRY.create(name, options)
