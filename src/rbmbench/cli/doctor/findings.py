"""What an examination finds, line by line: plain data that is printed as a table or as JSON."""

from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

__all__ = ["FACT", "FAILED", "OK", "WARNING", "Finding", "Section", "examined", "first_line"]

FACT, OK, WARNING, FAILED = "", "ok", "warning", "FAILED"
"""States of a finding: nothing to judge; judged and good; may do harm, but works; does not work."""


@dataclass(frozen=True)
class Finding:
    """One line: what was looked at, what was found in words, its state, and the same in numbers for machines."""

    what: str
    found: str
    state: str = FACT
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Section:
    """The findings about one subject."""

    title: str
    findings: tuple[Finding, ...]


def first_line(error: BaseException) -> str:
    """Return the kind of an error and the first line of what it says."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def examined(title: str, module: str, function: str, *arguments: Any) -> Section:
    """Return the section that a function of a module of this package finds.

    One that cannot be examined, or not even imported, is a section of one failed finding, and stops no other.
    """
    try:
        return Section(title, tuple(getattr(import_module(f"rbmbench.cli.doctor.{module}"), function)(*arguments)))
    except Exception as error:  # whatever is broken here is what the user has to be told
        return Section(title, (Finding(title, f"could not be examined ({first_line(error)})", FAILED),))
