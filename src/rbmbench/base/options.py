"""Checks of the options of estimators, samplers and update rules: each returns the value, or names the option."""

from typing import Any

import numpy as np

from rbmbench.base.errors import SettingsError

__all__ = ["LARGEST_FAST_RATE", "number_within", "positive_integer", "truth_value"]

LARGEST_FAST_RATE = 1000  # of eps_F in FPCD and in the samplers with fast weights: a sanity bound, far above any use


def positive_integer(name: str, value: Any) -> int:
    """Return ``value`` if it is an integer of at least 1, else raise a `SettingsError` that names the option."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise SettingsError(f"option {name!r}: found {value!r}; allowed: an integer >= 1")
    return int(value)


def number_within(name: str, value: Any, most: float) -> float:
    """Return ``value`` if it is a number from 0 to ``most``, else raise a `SettingsError` that names the option."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise SettingsError(f"option {name!r}: found {value!r}; allowed: a number from 0 to {most:g}")
    return value


def truth_value(name: str, value: Any) -> bool:
    """Return ``value`` if it is true or false, else raise a `SettingsError` that names the option."""
    if not isinstance(value, bool):
        raise SettingsError(f"option {name!r}: found {value!r}; allowed: true, false")
    return value
