# SPDX-License-Identifier: BSD-3-Clause
"""The subcommand that lists the named parts: estimators, update rules, samplers, data sets, kinds of figures."""

import json
import textwrap
from argparse import Namespace
from importlib import import_module
from inspect import Parameter

from rbmbench.base.registry import Registry
from rbmbench.cli.parser import PARTS

WIDTH = 110
INDENT = " " * 6


def list_parts(arguments: Namespace) -> None:
    """Print name, description and options of every part of the kinds asked for, by default of all."""
    asked = {name: import_module(f"rbmbench.{name}").REGISTRY for name in arguments.kinds or PARTS}
    print("\n\n".join(_lines(name, registry) for name, registry in asked.items()))


def _lines(kind: str, registry: Registry) -> str:
    """Return the heading of a kind, and the lines of its parts."""
    found = [f"{kind}: each is one {registry.kind}, by its name; options with their defaults"]
    for name in registry.names():
        options = [f"{key}={_shown(value)}" for key, value in registry.options(name).items()]
        texts = registry.summary(name), f"options: {', '.join(options) or 'none'}"
        origin = f"  ({registry.origin(name)})" if registry.is_foreign(name) else ""
        found += [f"  {name}{origin}", *map(_indented, texts)]
    return "\n".join(found)


def _indented(text: str) -> str:
    return textwrap.fill(text, WIDTH, initial_indent=INDENT, subsequent_indent=INDENT)


def _shown(default) -> str:
    """Return a default as the command line and the configuration take it."""
    return "(required)" if default is Parameter.empty else json.dumps(default, default=dict)
