"""Findings, and their text table."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

FACT, OK, WARNING, FAILED = "", "ok", "warning", "FAILED"
"""States of a finding: information; passed; works, but may cause trouble; does not work."""


class Finding(NamedTuple):
    """What was examined, what was found, its state, and numbers for JSON."""

    what: str
    found: str
    state: str = FACT
    values: Mapping[str, Any] = {}


def table(title: str, findings: Sequence[Finding]) -> str:
    """Return a section as a text table: state, what was examined, what was found."""
    from tabulate import tabulate

    rows = [(finding.state, finding.what, finding.found) for finding in findings]
    return f"{title}\n{tabulate(rows, tablefmt='plain', disable_numparse=True)}"


def examined(title: str, module: str, function: str, *arguments: Any) -> list[Finding]:
    """Return the findings that a function of a module of this package yields; one failed finding if it raises."""
    try:
        return list(getattr(import_module(f"rbmbench.cli.doctor.{module}"), function)(*arguments))
    except Exception as error:  # a broken installation raises anything
        return [Finding(title, f"could not be examined ({first_line(error)})", FAILED)]


def first_line(error: BaseException) -> str:
    """Return the type of an error and the first line of its message."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
