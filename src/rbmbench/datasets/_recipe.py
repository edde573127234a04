# SPDX-License-Identifier: BSD-3-Clause
"""The base class of data sets, and checks of their options."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Annotated, Any, ClassVar, get_type_hints

from rbmbench.base.errors import SettingsError
from rbmbench.datasets._dataset import Dataset, build

Check = Callable[[object, object], tuple[bool, str]]
"""Takes the value of an option and the recipe; returns whether the value is allowed, and in words what is allowed."""


@dataclass(frozen=True)
class Recipe:
    """Base of data sets, each a dataclass in a module of its name. The fields are the options.

    A field is annotated with its type and its check, such as ``Annotated[int, whole_number(1, 4096)]``. Checks run on
    creation, in the order of the fields; None is allowed where it is the default. A subclass defines ``load``, which
    takes `Sources`, downloads files if necessary, and returns the `Dataset`.

    Raises
    ------
    SettingsError
        If the value of an option is not allowed.
    """

    image: ClassVar[tuple[int, int] | None] = None
    """Rows and columns of the images that the rows of the data set are, row-major; None if they are no images."""

    def __post_init__(self):
        hints = get_type_hints(type(self), include_extras=True)
        for option in fields(self):
            value = getattr(self, option.name)
            is_allowed, allowed = hints[option.name].__metadata__[0](value, self)
            if not is_allowed and not (value is None is option.default):
                raise self.refused(option.name, allowed)

    @property
    def name(self) -> str:
        """Name in the registry: that of the module."""
        return type(self).__module__.rpartition(".")[2]

    @property
    def own_file(self) -> str | None:
        """The user's own file that the rows are read from, if there is one."""
        return None

    @property
    def made_from(self) -> tuple[str, ...]:
        """Names of other data sets that the rows are computed from."""
        return ()

    def refused(self, option: str, allowed: str) -> SettingsError:
        """Return the error of an option whose value is not one of those ``allowed``."""
        value = getattr(self, option)
        return SettingsError(f"data set {self.name!r}: option {option!r}: must be {allowed}, got {value!r}")

    def build(self, title: str, **contents) -> Dataset:
        """Return the data set of these options; ``contents`` are further arguments of `rbmbench.datasets.build`."""
        defaults = {"source": "generated", "stand_in_for": getattr(self, "stands_in_for", None)}
        options = {option.name: getattr(self, option.name) for option in fields(self)}
        return build(self.name, title, options=options, **defaults | contents)


def whole_number(low: int, high: int | Callable[[Any], int]) -> Check:
    """Return the check of a whole number from ``low`` to ``high``, which may be a function of the recipe."""
    return _within(Integral, "a whole number", low, high)


def number(low: float, high: float) -> Check:
    """Return the check of a number from ``low`` to ``high``."""
    return _within(Real, "a number", low, high)


def _within(kind: type, words: str, low: float, high: float | Callable[[Any], float]) -> Check:
    def check(value, recipe):
        most = high(recipe) if callable(high) else high
        is_allowed = isinstance(value, kind) and not isinstance(value, bool) and low <= value <= most
        return is_allowed, f"{words} from {low} to {most}"

    return check


def one_of(*allowed: str) -> Check:
    """Return the check of a text that must be one of those ``allowed``."""
    return lambda value, _: (value in allowed, ", ".join(allowed))


def text(value: object, _recipe: object) -> tuple[bool, str]:
    """Check a text, which must not be empty."""
    return isinstance(value, str) and bool(value.strip()), "a text that is not empty"


def truth_value(value: object, _recipe: object) -> tuple[bool, str]:
    """Check a truth value."""
    return isinstance(value, bool), "true, false"


Seed = Annotated[int, whole_number(0, 2**32 - 1)]
