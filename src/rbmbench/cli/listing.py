"""The subcommand that lists the named parts: estimators, update rules, samplers and data sets."""

import json
import textwrap
from argparse import Namespace
from inspect import Parameter

from rbmbench.base.registry import Registry

WIDTH = 110
INDENT = " " * 6


def list_parts(arguments: Namespace) -> None:
    """Print name, description and options of every part of the kinds asked for, by default of all."""
    from rbmbench import datasets, estimators, samplers, updates

    parts = {"estimators": estimators, "updates": updates, "samplers": samplers, "datasets": datasets}
    lines = [_lines(kind, parts[kind].REGISTRY) for kind in arguments.kinds or parts]
    print("\n\n".join(lines))


def _lines(kind: str, registry: Registry) -> str:
    """Return the heading of a kind, and the lines of its parts."""
    found = [f"{kind}: each is one {registry.kind}, by its name; options with their defaults"]
    for name in registry.names():
        options = [f"{key}={_shown(value)}" for key, value in registry.options(name).items()]
        texts = registry.summary(name), f"options: {', '.join(options) or 'none'}"
        found += [f"  {name}", *map(_indented, texts)]
    return "\n".join(found)


def _indented(text: str) -> str:
    return textwrap.fill(text, WIDTH, initial_indent=INDENT, subsequent_indent=INDENT)


def _shown(default) -> str:
    """Return a default as the command line and the configuration take it."""
    return "(required)" if default is Parameter.empty else json.dumps(default)
