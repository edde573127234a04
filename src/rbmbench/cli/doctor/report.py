"""Findings, in sections; printed as tables or as JSON."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from typing import Any

FACT, OK, WARNING, FAILED = "", "ok", "warning", "FAILED"
"""States of a finding: information; passed; works, but may cause trouble; does not work."""


@dataclass(frozen=True)
class Finding:
    """What was examined, what was found, its state, and the same as values for JSON."""

    what: str
    found: str
    state: str = FACT
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Section:
    """The findings on one subject."""

    title: str
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class Report:
    """All sections."""

    sections: Sequence[Section]

    def count(self, state: str) -> int:
        """Return how many findings have a state."""
        return sum(finding.state == state for section in self.sections for finding in section.findings)

    @property
    def failed(self) -> bool:
        """Whether any finding has failed."""
        return self.count(FAILED) > 0

    @property
    def verdict(self) -> str:
        """The numbers of findings that passed, are warnings, have failed: one line."""
        counts = f"{self.count(OK)} good, warnings: {self.count(WARNING)}, failed: {self.count(FAILED)}"
        return f"{FAILED if self.failed else OK}: {counts}"

    def json(self) -> str:
        """Return failed, verdict, and sections: by title, a list of findings."""
        sections = {section.title: [asdict(finding) for finding in section.findings] for section in self.sections}
        content = {"failed": self.failed, "verdict": self.verdict, "sections": sections}
        return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)


def table(section: Section) -> str:
    """Return a section as a text table: state, what was examined, what was found."""
    from tabulate import tabulate

    rows = [(finding.state, finding.what, finding.found) for finding in section.findings]
    return f"{section.title}\n{tabulate(rows, tablefmt='plain', disable_numparse=True)}"


def examined(title: str, module: str, function: str, *arguments: Any) -> Section:
    """Return the findings that a function of a module of this package yields; one failed finding if it raises."""
    try:
        return Section(title, tuple(getattr(import_module(f"rbmbench.cli.doctor.{module}"), function)(*arguments)))
    except Exception as error:  # a broken installation raises anything
        return Section(title, (Finding(title, f"could not be examined ({first_line(error)})", FAILED),))


def first_line(error: BaseException) -> str:
    """Return the type of an error and the first line of its message."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
