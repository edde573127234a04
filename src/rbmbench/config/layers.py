# SPDX-License-Identifier: BSD-3-Clause
"""YAML files merged in layers, each value with the file it comes from."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rbmbench.base.errors import SettingsError
from rbmbench.io.guard import UnreadableError, bounded_bytes
from rbmbench.io.text import MOST_YAML_BYTES, plain_yaml


@dataclass(frozen=True)
class Layers:
    """The mappings that values were merged from, later ones taking precedence, each with its file."""

    parts: tuple[tuple[str, Mapping[str, object]], ...]

    def place(self, location: tuple) -> str:
        """Return the place of the last layer that contains ``location``, or else the longest beginning of it."""
        return max(enumerate(self.parts), key=lambda layer: (_depth(layer[1][1], location), layer[0]))[1][0]

    def refuse(self, location: tuple, message: str) -> SettingsError:
        """Return the error for the value at ``location``."""
        return SettingsError(f"{self.place(location)}: {'.'.join(map(str, location))}: {message}")


def read_yaml(path: str | Path) -> dict[str, object]:
    """Return the mapping in a YAML file; `SettingsError` if it is missing, is not YAML, or contains no mapping."""
    try:
        values = plain_yaml(bounded_bytes(path, MOST_YAML_BYTES))
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read ({error.strerror})") from None
    except UnreadableError as error:
        raise SettingsError(f"{path}: is not YAML, or not plain ({error})") from None
    if not isinstance(values, dict):
        raise SettingsError(f"{path}: must be a mapping of keys, got a {type(values).__name__}")
    return values


def merged(*mappings: Mapping[str, object]) -> dict[str, object]:
    """Return the deep merge of mappings, later ones taking precedence; lists are replaced, not joined.

    Where a later mapping has another ``name``, the options that belong to the first name are dropped.
    """
    result: dict[str, object] = {}
    for mapping in mappings:
        for key, value in mapping.items():
            old = result.get(key)
            if isinstance(value, Mapping) and isinstance(old, Mapping):
                if value.get("name", old.get("name")) != old.get("name"):
                    old = {name: kept for name, kept in old.items() if name != "options"}
                value = merged(old, value)
            result[key] = value
    return result


def _depth(values: Any, location: tuple) -> int:
    """Return how many parts of ``location`` can be followed into ``values``."""
    for depth, step in enumerate(location):
        try:
            values = values[step]
        except (KeyError, IndexError, TypeError):
            return depth
    return len(location)
