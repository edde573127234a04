# SPDX-License-Identifier: BSD-3-Clause
"""The subcommand that lists the named parts: estimators, rules, samplers, data sets, kinds of figures and of jobs."""

import json
import textwrap
from argparse import Namespace
from importlib import import_module
from inspect import Parameter, signature

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
            part = registry.get(name)
            options = [
                f"{key}={'(required)' if entry.default is Parameter.empty else json.dumps(entry.default, default=dict)}"
                for key, entry in signature(getattr(part, "Settings", part)).parameters.items()  # of kinds of jobs
            ]
            lines.append(f"  {name}  ({registry.origin(name)})" if registry.is_foreign(name) else f"  {name}")
            for text in (registry.summary(name), f"options: {', '.join(options) or 'none'}"):
                lines.append(textwrap.fill(text, WIDTH, initial_indent=INDENT, subsequent_indent=INDENT))
        blocks.append("\n".join(lines))
    print("\n\n".join(blocks))
