# SPDX-License-Identifier: BSD-3-Clause
"""The subcommand that lists the named parts: estimators, update rules, samplers, data sets, kinds of figures."""

import json
import textwrap
from argparse import Namespace
from importlib import import_module
from inspect import Parameter

from rbmbench.cli.parser import PARTS

WIDTH = 110
INDENT = " " * 6


def list_parts(arguments: Namespace) -> None:
    """Print name, description and options of every part of some kinds, by default of all."""
    blocks = []
    for kind in arguments.kinds or PARTS:
        registry = import_module(f"rbmbench.{kind}").REGISTRY
        lines = [f"{kind}: each is one {registry.kind}, by its name; options with their defaults"]
        for name in registry.names():
            options = [
                f"{key}={'(required)' if default is Parameter.empty else json.dumps(default, default=dict)}"
                for key, default in registry.options(name).items()
            ]
            lines.append(f"  {name}  ({registry.origin(name)})" if registry.is_foreign(name) else f"  {name}")
            for text in (registry.summary(name), f"options: {', '.join(options) or 'none'}"):
                lines.append(textwrap.fill(text, WIDTH, initial_indent=INDENT, subsequent_indent=INDENT))
        blocks.append("\n".join(lines))
    print("\n\n".join(blocks))
