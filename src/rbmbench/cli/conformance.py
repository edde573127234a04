# SPDX-License-Identifier: BSD-3-Clause
"""The subcommands of the conformance set: compute its numbers, and check libraries against it."""

from argparse import Namespace

import pandas as pd
from tabulate import tabulate

from rbmbench.base.errors import SettingsError, unknown_name
from rbmbench.measurements import conformance, peers

HEADER = ("function", "number", "models", "difference", "allowed", "passes", "fails first for")


def make(arguments: Namespace) -> None:
    """Write the kept models, and their exact numbers computed anew."""
    for model in conformance.make(arguments.folder):
        print(f"{arguments.folder / model.name}.npz: {model.what}")


def check(arguments: Namespace) -> None:
    """Print what libraries compute of the models, and whether it is right."""
    known = {library.name: library for library in peers.LIBRARIES}
    for name in arguments.libraries:
        if name not in known:
            raise SettingsError(f"LIBRARY: {unknown_name('library', name, list(known))}")
    models = conformance.read(arguments.folder)
    for name in arguments.libraries or known:
        version = peers.version(known[name])
        print(f"{name}: " + (f"{known[name].package} {version}" if version else "not installed"))
        if version:
            print(f"\n{_compared(known[name], models)}\n")


def _compared(library: peers.Library, models: list[conformance.Reference]) -> str:
    """Return the table of a library, or why there is none: another version may have other modules."""
    try:
        return _shown(peers.compare(library, models))
    except ImportError as error:
        return f"cannot be imported: {error}"


def _shown(table: pd.DataFrame) -> str:
    """Return a comparison as a text table."""
    rows = [
        (row.call, row.quantity, row.models, f"{row.error:.1e}", f"{row.allowed:.1e}", _word(row.passes), row.fails)
        for row in table.itertuples()
    ]
    return tabulate(rows, HEADER, disable_numparse=True, colalign=("left", "left", *["right"] * 3, "left", "left"))


def _word(passes: bool) -> str:
    return "yes" if passes else "no"
