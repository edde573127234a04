# SPDX-License-Identifier: BSD-3-Clause
"""Plain data from JSON and YAML: texts, numbers, truth values, null, lists, and mappings with text keys."""

import json
import re
from functools import cache
from typing import Any

from rbmbench.io.guard import UnreadableError, one_line

MOST_JSON_BYTES = 2**24
# PyYAML alone, without libyaml, takes about a second for 100 kB.
MOST_YAML_BYTES = 2**18
MOST_YAML_VALUES = 2**16  # with aliases followed
MOST_DEPTH = 64


@one_line
def plain_json(text: str | bytes) -> Any:
    """Return the content of a JSON text.

    An `UnreadableError` is raised if it is not JSON, too long, nested too deeply, has a key twice, or an integer of
    more than 64 bits.
    """
    return _plain(json.loads(_bounded(text, MOST_JSON_BYTES), object_pairs_hook=_mapping), MOST_JSON_BYTES)


@one_line
def plain_yaml(text: str | bytes) -> Any:
    """Return the content of a YAML text; errors are as for `plain_json`, also for a date, a set or bytes."""
    import yaml

    try:
        values = yaml.load(_bounded(text, MOST_YAML_BYTES), _loader())
    except yaml.YAMLError as error:
        raise UnreadableError(str(error)) from None
    return _plain(values, MOST_YAML_VALUES)


def _bounded(text: str | bytes, most: int) -> str:
    if len(text) > most:
        raise UnreadableError(f"must have at most {most} bytes, got {len(text)}")
    return text.decode("utf-8") if isinstance(text, bytes) else text


def _mapping(pairs: list[tuple[object, object]]) -> dict:
    """Return a mapping; a duplicate key would hide one of its values."""
    keys, values = [key for key, _ in pairs], dict(pairs)
    if len(values) < len(keys):
        raise UnreadableError(
            f"must have each key once, got {next(key for key in keys if keys.count(key) > 1)!r} twice"
        )
    return values


def _plain(values: object, most: int) -> object:
    """Return values after refusing those that JSON cannot hold or NumPy cannot compute with, and too many of them."""
    waiting, count = [(values, 1)], 1
    while waiting:
        value, depth = waiting.pop()
        if isinstance(value, dict):
            if wrong := [key for key in value if not isinstance(key, str)]:
                raise UnreadableError(f"must have text in quotes as keys, got {wrong[0]!r}")
            value = [*value, *value.values()]
        if isinstance(value, list):
            count += len(value)
            if depth > MOST_DEPTH or count > most:
                raise UnreadableError(f"must have at most {MOST_DEPTH} levels and {most} values")
            waiting += [(entry, depth + 1) for entry in value]
        elif isinstance(value, str):
            value.encode("utf-8")  # half a surrogate pair cannot be
        elif not isinstance(value, int | float | None):
            raise UnreadableError(f"must hold text, numbers, lists or mappings, got a {type(value).__name__}")
        elif isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise UnreadableError(f"must have integers of 64 bits, got {value.bit_length()}")
    return values


@cache
def _loader() -> type:
    """Return PyYAML's safe loader, which also refuses duplicate keys and reads 1e-2 as a number.

    Text is taken apart by libyaml, where PyYAML has it, and put together in Python: libyaml's own composer overflows
    the stack of the process when values are nested deeply.
    """
    import yaml
    from yaml.composer import Composer

    fast = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(Composer, fast):
        def __init__(self, text):
            fast.__init__(self, text)
            Composer.__init__(self)

        def compose_mapping_node(self, anchor):
            node = super().compose_mapping_node(anchor)
            _mapping([(key.value, None) for key, _ in node.value if isinstance(key.value, str)])
            return node

    number = re.compile(r"[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$")  # of YAML 1.2; 1e-2 is text in PyYAML
    Loader.add_implicit_resolver("tag:yaml.org,2002:float", number, list("-+0123456789"))
    return Loader
