# SPDX-License-Identifier: BSD-3-Clause
"""Compare libraries for RBMs with models whose numbers are exact, or compute these numbers anew.

python -m conformance check [LIBRARY ...] [--folder FOLDER]
python -m conformance make FOLDER [--models FOLDER]
"""

import argparse
import sys
from pathlib import Path

from tabulate import tabulate

from conformance import peers, reference
from rbmbench.base.errors import RbmbenchError, SettingsError, unknown_name

HEADER = ("function", "number", "models", "difference", "allowed", "passes", "fails first for")


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m conformance", description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("check", help="compare libraries with the models, and print a table of each")
    command.add_argument("libraries", nargs="*", metavar="LIBRARY", help="default: all that are known")
    command.add_argument("--folder", type=Path, default=reference.FOLDER, help="folder of the models")
    command.set_defaults(run=check)
    command = commands.add_parser("make", help="write the models, with numbers computed anew")
    command.add_argument("folder", type=Path, help="folder to write")
    command.add_argument("--models", type=Path, default=reference.FOLDER, help="folder of the models")
    command.set_defaults(run=make)
    options = parser.parse_args(arguments)
    try:
        options.run(options)
    except RbmbenchError as error:
        print(f"conformance: error: {error}", file=sys.stderr)
        return 2
    return 0


def make(arguments: argparse.Namespace) -> None:
    """Write the kept models, and their exact numbers computed anew."""
    for model in reference.make(arguments.folder, arguments.models):
        print(f"{arguments.folder / model.name}.npz: {model.what}")


def check(arguments: argparse.Namespace) -> None:
    """Print the results of libraries for the models, and whether they are correct."""
    libraries = {library.name: library for library in peers.LIBRARIES}
    for name in arguments.libraries:
        if name not in libraries:
            raise SettingsError(f"LIBRARY: {unknown_name('library', name, list(libraries))}")
    models = reference.read(arguments.folder)
    for name in arguments.libraries or libraries:
        version = peers.version(libraries[name])
        print(f"{name}: " + (f"{libraries[name].package} {version}" if version else "not installed"))
        if version:
            print(f"\n{_compared(libraries[name], models)}\n")


def _compared(library: peers.Library, models: list[reference.Reference]) -> str:
    """Return the table of a library, or the reason for none: another version may have other modules."""
    try:
        table = peers.compare(library, models)
    except ImportError as error:
        return f"cannot be imported: {error}"
    words = {True: "yes", False: "no"}
    rows = [
        (row.call, row.quantity, row.models, f"{row.error:.1e}", f"{row.allowed:.1e}", words[row.passes], row.fails)
        for row in table.itertuples()
    ]
    return tabulate(rows, HEADER, disable_numparse=True, colalign=("left", "left", *["right"] * 3, "left", "left"))


if __name__ == "__main__":
    sys.exit(main())
