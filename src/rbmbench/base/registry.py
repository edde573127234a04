# SPDX-License-Identifier: BSD-3-Clause
"""Registries of named parts (estimators, samplers, update rules, data sets), and checks of the parts' options."""

import inspect
import os
import pkgutil
from collections.abc import Callable, Collection, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from rbmbench.base import plugins
from rbmbench.base.errors import SettingsError, unknown_name
from rbmbench.base.parsing import plain
from rbmbench.base.settings import LARGEST, MOST_COUNT

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Part = TypeVar("Part")

LARGEST_FAST_RATE = 1000  # upper limit of eps_F in FPCD and the samplers with fast weights, far above useful values


@cache
def _modules(folders: tuple[str, ...], _files: tuple[tuple[str, ...], ...]) -> list[str]:
    """Return the names of the modules in folders; ``_files``, their files, are a key of the cache."""
    return [module.name for module in pkgutil.iter_modules(folders)]


@cache
def _options(maker: Callable) -> dict[str, object]:
    parameters = inspect.signature(maker).parameters.values()
    return {parameter.name: parameter.default for parameter in parameters if not parameter.name.startswith("_")}


class Registry(Generic[Part]):
    """Registry of the named parts of one package, by module name, imported on demand.

    Every module of ``package`` whose name has no leading underscore and is not in ``exclude`` defines the part of that
    name: a class or function decorated with ``@REGISTRY.register``, whose keyword arguments are the options of the
    part. So do the modules of plug-ins, see `rbmbench.base.plugins`; ``package`` is their group of entry points.
    ``kind`` is the noun for parts in error messages, ``attributes`` are those that the class of a part must have.
    """

    def __init__(self, package: str, kind: str, exclude: Collection[str] = (), attributes: Collection[str] = ()):
        self.package = package
        self.exclude = exclude
        self.attributes = attributes
        self.kind = kind
        self._makers: dict[str, type[Part]] = {}

    def register(self, maker: type[Part]) -> type[Part]:
        """Register ``maker`` as the factory of the part named after its module.

        Raises a `SettingsError` if the name of a plug-in is taken, and a `TypeError` if the maker lacks a required
        attribute or a method, or if a class that is such an attribute lacks a method.
        """
        missing = sorted(getattr(maker, "__abstractmethods__", ()))
        for name in self.attributes:
            methods = getattr(getattr(maker, name, None), "__abstractmethods__", ())
            missing += [f"{name}.{method}" for method in sorted(methods)] if hasattr(maker, name) else [name]
        if missing:
            raise TypeError(f"{maker.__name__} must define {', '.join(missing)}")
        package, _, name = maker.__module__.rpartition(".")
        if package != self.package:
            self._check_is_free(name, maker)
            plugins.note_registered(lambda: self._makers.pop(name, None))
        self._makers[name] = maker
        return maker

    def names(self) -> list[str]:
        """Return the names of all parts, sorted, those of plug-ins included."""
        plugins.load_named()
        return sorted({*self._own_names(), *self._points(), *self._makers})

    def get(self, name: str) -> type[Part]:
        """Return the factory of the part ``name``; raise a SettingsError that names the nearest if there is none."""
        plugins.load_named()
        if name not in self._makers:
            if name not in self.names():
                raise SettingsError(unknown_name(self.kind, name, self.names()))
            if point := self._points().get(name):
                module = plugins.load_point(point)
                if name not in self._makers:
                    text = "allowed: a module of this name with @REGISTRY.register"
                    place = f"{plugins.place_of(point)}: {module.__name__}"
                    raise SettingsError(f"{place} registers no {self.kind} of this name; {text}")
            else:
                import_module(f"{self.package}.{name}")
        maker = self._makers[name]
        if maker.__module__.rpartition(".")[0] != self.package:
            plugins.use(maker.__module__)
        return maker

    def origin(self, name: str) -> str:
        """Return the origin of the part ``name``: "rbmbench", the file of a plug-in, or an entry point."""
        if not self.is_foreign(name):
            return "rbmbench"
        maker = self._makers.get(name)
        return plugins.plugin_of(maker.__module__).place if maker else plugins.place_of(self._points()[name])

    def is_foreign(self, name: str) -> bool:
        """Return whether a part ``name`` exists outside the package of the registry."""
        plugins.load_named()
        return (name in self._makers or name in self._points()) and name not in self._own_names()

    def _own_names(self) -> list[str]:
        folders = tuple(plugins.folders_of(self.package))
        modules = _modules(folders, tuple(tuple(os.listdir(folder)) for folder in folders))
        return [name for name in modules if not name.startswith("_") and name not in self.exclude]

    def _points(self) -> "dict[str, EntryPoint]":
        points = plugins.entry_points(self.package)
        for name in points.keys() & set(self._own_names()):
            raise self._taken(plugins.place_of(points[name]), name, "rbmbench itself")
        return points

    def _check_is_free(self, name: str, maker: Callable) -> None:
        """Refuse a part of a plug-in whose name is taken, unless it is the same part, imported again."""
        place, other = plugins.plugin_of(maker.__module__).place, self._makers.get(name)
        if name in self._own_names():
            raise self._taken(place, name, "rbmbench itself")
        point = self._points().get(name)
        if point and point.module != maker.__module__:
            raise self._taken(place, name, plugins.place_of(point))
        identity = maker.__module__, maker.__qualname__
        if other is not None and name != "__main__" and (other.__module__, other.__qualname__) != identity:
            raise self._taken(place, name, plugins.plugin_of(other.__module__).place)

    def _taken(self, place: str, name: str, other: str) -> SettingsError:
        reason = f"registers the {self.kind} {name!r}, which is in {other} already"
        allowed = "one part of a kind per file, and another name of the file"
        return SettingsError(f"plug-in {place}: {reason}; allowed: {allowed}")

    def options(self, name: str) -> dict[str, object]:
        """Return the options of the part ``name`` with their defaults."""
        maker: Callable = self.get(name)
        return dict(_options(maker))

    def summary(self, name: str) -> str:
        """Return the first paragraph of the documentation of the module of the part ``name``, on one line."""
        text = inspect.getdoc(inspect.getmodule(self.get(name))) or inspect.getdoc(self.get(name)) or ""
        return " ".join(text.partition("\n\n")[0].split())

    def create(self, name: str, options: Mapping[str, object] | None = None) -> Part:
        """Return a new part with options; `SettingsError` if it or an option is unknown, or a value not allowed."""
        maker, options = self.get(name), dict(options or {})
        allowed = self.options(name)
        for option in options:
            if option not in allowed:
                raise SettingsError(f"{self.kind} {name!r}: {unknown_name('option', option, allowed)}")
        for option, default in allowed.items():
            if default is inspect.Parameter.empty and option not in options:
                raise SettingsError(f"{self.kind} {name!r}: option {option!r} must be given, got nothing")
        return maker(**options)


def name_of(part: object) -> str:
    """Return the name under which an instance of a registered class is created: that of its module."""
    return type(part).__module__.rpartition(".")[2]


def positive_integer(name: str, value: object, least: int = 1, most: int | None = None) -> int:
    """Return ``value`` if it is an integer of at least ``least``, else raise a `SettingsError` that names the option.

    ``most`` is by default the limit of this name in `rbmbench.base.settings.LARGEST`, or else the largest count.
    """
    most = LARGEST.get(name, MOST_COUNT) if most is None else most
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise SettingsError(f"option {name!r}: must be an integer >= {least}, got {value!r}")
    if value > most:
        raise SettingsError(f"option {name!r}: must be an integer from {least} to {most}, got {value!r}")
    return int(value)


def number_within(name: str, value: object, most: float, below: bool = False) -> float:
    """Return ``value`` if it is a number from 0 to ``most``, else raise a `SettingsError` that names the option.

    With ``below`` it has to be less than ``most``.
    """
    value = plain(value)
    is_refused = isinstance(value, bool) or (below and value == most)
    if isinstance(value, int | float) and 0 <= value <= most and not is_refused:
        return value
    allowed = f">= 0 and < {most:g}" if below else f"from 0 to {most:g}"
    raise SettingsError(f"option {name!r}: must be a number {allowed}, got {value!r}")


def truth_value(name: str, value: object) -> bool:
    """Return ``value`` if it is true or false, else raise a `SettingsError` that names the option."""
    value = plain(value)
    if not isinstance(value, bool):
        raise SettingsError(f"option {name!r}: must be true or false, got {value!r}")
    return value
