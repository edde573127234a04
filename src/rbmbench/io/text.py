"""Plain data from JSON and YAML: texts, numbers, truth values, null, lists and mappings by text; nothing else."""

import json
from typing import Any

from rbmbench.io.guard import UnreadableError, one_line

__all__ = ["MOST_JSON_BYTES", "MOST_YAML_BYTES", "plain_json", "plain_yaml"]

MOST_JSON_BYTES = 2**24
# The YAML reader takes a second for 100 kB; the longest file of config/ has 13.
MOST_YAML_BYTES = 2**18
MOST_YAML_VALUES = 2**16
MOST_DEPTH = 64
PLAIN = (str, int, float, bool, type(None), dict, list)


@one_line
def plain_json(text: str | bytes) -> Any:
    """Return what a JSON text holds.

    Raises
    ------
    UnreadableError
        If it is not JSON, too long, nested too deeply, has a key twice, or a whole number of more than 64 bits.
    """
    values = json.loads(_decoded(text, MOST_JSON_BYTES), object_pairs_hook=_once)
    _check_plain(values)
    return values


@one_line
def plain_yaml(text: str | bytes) -> Any:
    """Return what a YAML text holds.

    Raises
    ------
    UnreadableError
        If it is not YAML, too long, nested too deeply, grows too large by its aliases, has a key twice, or a value that
        JSON has not: a date, a set, bytes.
    """
    import yaml

    decoded = _decoded(text, MOST_YAML_BYTES)
    try:
        values = yaml.load(decoded, _loader())
    except yaml.YAMLError as error:
        raise UnreadableError(str(error)) from None
    _check_plain(values)
    return values


def _decoded(text: str | bytes, most: int) -> str:
    """Return a text, of bounded length."""
    if len(text) > most:
        raise UnreadableError(f"found {len(text)} bytes; allowed: at most {most}")
    return text.decode("utf-8") if isinstance(text, bytes) else text


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object as a mapping; a key that stands there twice would hide one of its values."""
    values = dict(pairs)
    if len(values) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for number, key in enumerate(keys) if key in keys[:number])
        raise UnreadableError(f"found the key {twice!r} twice in one mapping; allowed: once")
    return values


def _check_plain(values: Any) -> None:
    """Refuse what is no plain data, is nested too deeply, or cannot be computed with or written again."""
    waiting = [(values, 1)]
    while waiting:
        value, depth = waiting.pop()
        if not isinstance(value, PLAIN):
            raise UnreadableError(f"found a {type(value).__name__}; allowed: text, numbers, lists, mappings")
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise UnreadableError(f"found a whole number of {value.bit_length()} bits; allowed: at most 63 and a sign")
        if isinstance(value, str) and not value.isascii():
            value.encode("utf-8")  # half a surrogate pair cannot be
        if isinstance(value, dict):
            for key in value:
                if not isinstance(key, str):
                    raise UnreadableError(f"found the key {key!r}; allowed: text; use quotes")
        if isinstance(value, dict | list):
            if depth > MOST_DEPTH:
                raise UnreadableError(f"is nested too deeply; allowed: at most {MOST_DEPTH} levels")
            parts = [*value, *value.values()] if isinstance(value, dict) else value
            waiting += [(part, depth + 1) for part in parts]


def _loader() -> type:
    """Return PyYAML's safe loader with bounds on depth and on size once its aliases are followed."""
    import yaml
    from yaml.constructor import ConstructorError

    class Bounded(yaml.SafeLoader):
        """Refuses a document while its nodes are put together, before any value is made of them."""

        def __init__(self, stream):
            super().__init__(stream)
            self._depth, self._sizes = 0, {}

        def compose_node(self, parent, index):
            mark = self.peek_event().start_mark
            self._depth += 1
            if self._depth > MOST_DEPTH:
                raise ConstructorError(None, None, f"more than {MOST_DEPTH} levels", mark)
            node = super().compose_node(parent, index)
            self._depth -= 1
            if id(node) not in self._sizes:
                # An alias may name a node that is not finished: itself, from within.
                if isinstance(node, yaml.CollectionNode) and node.end_mark is None:
                    raise ConstructorError(None, None, "an alias of what it is a part of", mark)
                self._sizes[id(node)] = self._size(node, mark)
            return node

        def _size(self, node, mark) -> int:
            """Return how many values a node stands for."""
            parts = node.value if isinstance(node, yaml.CollectionNode) else []
            if isinstance(node, yaml.MappingNode):
                self._check_keys(node)
                parts = [part for pair in parts for part in pair]
            size = 1 + sum(self._sizes[id(part)] for part in parts)
            if size > MOST_YAML_VALUES:
                raise ConstructorError(None, None, f"more than {MOST_YAML_VALUES} values", mark)
            return size

        def _check_keys(self, node) -> None:
            """Refuse a key that stands in a mapping twice."""
            seen = set()
            for key, _ in node.value:
                if isinstance(key, yaml.ScalarNode):
                    if (key.tag, key.value) in seen:
                        raise ConstructorError(None, None, f"found the key {key.value!r} twice", key.start_mark)
                    seen.add((key.tag, key.value))

    return Bounded
