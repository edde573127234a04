"""Checks of the options of data sets: errors of one line say what was found and what is allowed."""

from numbers import Integral, Real

from rbmbench.base.errors import SettingsError


def check_whole_number(data_set: str, option: str, found: object, low: int, high: int) -> None:
    """Raise a SettingsError unless ``found`` is a whole number from ``low`` to ``high``."""
    if not isinstance(found, Integral) or isinstance(found, bool) or not low <= found <= high:
        raise _not_allowed(data_set, option, found, f"a whole number from {low} to {high}")


def check_number(data_set: str, option: str, found: object, low: float, high: float) -> None:
    """Raise a SettingsError unless ``found`` is a number from ``low`` to ``high``."""
    if not isinstance(found, Real) or isinstance(found, bool) or not low <= found <= high:
        raise _not_allowed(data_set, option, found, f"a number from {low} to {high}")


def check_truth_value(data_set: str, option: str, found: object) -> None:
    """Raise a SettingsError unless ``found`` is true or false."""
    if not isinstance(found, bool):
        raise _not_allowed(data_set, option, found, "true, false")


def check_choice(data_set: str, option: str, found: object, allowed: tuple[str, ...]) -> None:
    """Raise a SettingsError unless ``found`` is one of the texts allowed."""
    if found not in allowed:
        raise _not_allowed(data_set, option, found, ", ".join(allowed))


def check_text(data_set: str, option: str, found: object) -> None:
    """Raise a SettingsError unless ``found`` is a text that is not empty."""
    if not isinstance(found, str) or not found.strip():
        raise _not_allowed(data_set, option, found, "a text that is not empty")


def _not_allowed(data_set: str, option: str, found: object, allowed: str) -> SettingsError:
    """Return the error for an option's value."""
    return SettingsError(f"data set {data_set!r}: option {option!r}: found {found!r}; allowed: {allowed}")
