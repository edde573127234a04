"""Registries of named parts (estimators, samplers, update rules, data sets), and checks of the parts' options."""

import inspect
import pkgutil
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from rbmbench.base.errors import SettingsError, unknown_name
from rbmbench.base.settings import LARGEST, MOST_COUNT

LARGEST_FAST_RATE = 1000  # upper limit of eps_F in FPCD and the samplers with fast weights, far above useful values


class Registry:
    """Registry of the named parts of one package, found by module name and imported on demand.

    Every module of the package whose name has no leading underscore defines the part of that name: a class or function
    decorated with ``@REGISTRY.register``, whose keyword arguments are the options of the part.

    Parameters
    ----------
    package : str
        Full name of the package.
    kind : str
        What the parts are, for error messages.
    exclude : collection of str
        Modules of the package that define no part.
    """

    def __init__(self, package: str, kind: str, exclude: Collection[str] = ()):
        self.package = package
        self.exclude = exclude
        self.kind = kind
        self._makers: dict[str, Callable] = {}

    def register(self, maker: Callable) -> Callable:
        """Register ``maker`` as the factory of the part named after its module."""
        self._makers[maker.__module__.rpartition(".")[2]] = maker
        return maker

    def names(self) -> list[str]:
        """Return the names of all parts, sorted."""
        paths = find_spec(self.package).submodule_search_locations
        modules = (module.name for module in pkgutil.iter_modules(paths))
        return sorted(name for name in modules if not name.startswith("_") and name not in self.exclude)

    def get(self, name: str) -> Callable:
        """Return the factory of the part ``name``; raise a SettingsError that names the nearest if there is none."""
        if name not in self._makers:
            if name not in self.names():
                raise SettingsError(unknown_name(self.kind, name, self.names()))
            import_module(f"{self.package}.{name}")
        return self._makers[name]

    def options(self, name: str) -> dict[str, Any]:
        """Return the options of the part ``name`` with their defaults."""
        parameters = inspect.signature(self.get(name)).parameters.values()
        return {part.name: part.default for part in parameters if not part.name.startswith("_")}

    def summary(self, name: str) -> str:
        """Return the first paragraph of the documentation of the module of the part ``name``, on one line."""
        text = inspect.getdoc(inspect.getmodule(self.get(name))) or inspect.getdoc(self.get(name)) or ""
        return " ".join(text.partition("\n\n")[0].split())

    def create(self, name: str, options: Mapping[str, Any] | None = None) -> Any:
        """Return a new part ``name`` with the given options.

        Raises
        ------
        SettingsError
            If the part or an option is unknown, or the value of an option is not allowed.
        """
        maker, options = self.get(name), dict(options or {})
        allowed = self.options(name)
        for option in options:
            if option not in allowed:
                raise SettingsError(f"{self.kind} {name!r}: {unknown_name('option', option, allowed)}")
        return maker(**options)


def positive_integer(name: str, value: Any, least: int = 1, most: int | None = None) -> int:
    """Return ``value`` if it is an integer of at least ``least``, else raise a `SettingsError` that names the option.

    ``most`` is by default the limit of this name in `rbmbench.base.settings.LARGEST`, or else the largest count.
    """
    most = LARGEST.get(name, MOST_COUNT) if most is None else most
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise SettingsError(f"option {name!r}: found {value!r}; allowed: an integer >= {least}")
    if value > most:
        raise SettingsError(f"option {name!r}: found {value!r}; allowed: an integer from {least} to {most}")
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
