# SPDX-License-Identifier: BSD-3-Clause
"""Update rules of the parameters: one file each, found by name."""

from rbmbench.base.registry import Registry

__all__ = ["REGISTRY", "create"]

REGISTRY = Registry("rbmbench.updates", "update rule")


def create(name: str, **options):
    """Return the update rule ``name`` with the given options.

    Raises a `SettingsError` if the name or an option is unknown (the nearest is named), or a value is not allowed.
    """
    return REGISTRY.create(name, options)
