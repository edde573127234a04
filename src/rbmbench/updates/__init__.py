# SPDX-License-Identifier: BSD-3-Clause
"""Update rules of the parameters: one file each, by name."""

from collections.abc import Callable
from functools import partial

from rbmbench import estimators
from rbmbench.base.registry import Registry
from rbmbench.base.settings import Choice
from rbmbench.updates._base import UpdateRule

__all__ = ["REGISTRY", "create", "products_of"]

REGISTRY: Registry[UpdateRule] = Registry("rbmbench.updates", "update rule")


def create(name: str, **options) -> UpdateRule:
    """Return the update rule ``name`` with the given options.

    Raises a `SettingsError` if the name or an option is unknown (the nearest is named), or a value is not allowed.
    """
    return REGISTRY.create(name, options)


def products_of(estimator: Choice, update: Choice, sizes: tuple[int, int, int]) -> Callable[..., float]:
    """Return the matrix products of an iteration as a function of its diagnostics.

    ``sizes`` are rows of a mini-batch, visible and hidden units.
    """
    instance = estimators.create(estimator.name, **estimator.options)
    return partial(create(update.name, **update.options).products, instance, *sizes)
