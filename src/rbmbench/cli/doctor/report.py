"""The whole examination: its sections, its verdict, and the two forms it is shown in."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from rbmbench.cli.doctor.findings import FAILED, OK, WARNING, Section

__all__ = ["Report", "table"]


def table(section: Section) -> str:
    """Return a section as a table for people: state, what was looked at, what was found."""
    from tabulate import tabulate

    lines = [(finding.state, finding.what, finding.found) for finding in section.findings]
    return f"{section.title}\n{tabulate(lines, tablefmt='plain', disable_numparse=True)}"


@dataclass(frozen=True)
class Report:
    """What was found, by subject."""

    sections: Sequence[Section]

    def count(self, state: str) -> int:
        """Return how many findings have a state."""
        return sum(finding.state == state for section in self.sections for finding in section.findings)

    @property
    def failed(self) -> bool:
        """Whether anything does not work."""
        return self.count(FAILED) > 0

    @property
    def verdict(self) -> str:
        """One line: how many findings are good, are warnings, have failed."""
        counts = f"{self.count(OK)} good, warnings: {self.count(WARNING)}, failed: {self.count(FAILED)}"
        return f"{FAILED if self.failed else OK}: {counts}"

    def json(self) -> str:
        """Return the report as JSON for machines: sections by title, each a list of what, found, state, values."""
        sections = {section.title: [asdict(finding) for finding in section.findings] for section in self.sections}
        verdict = {"failed": self.failed, "verdict": self.verdict, "sections": sections}
        return json.dumps(verdict, indent=1, ensure_ascii=False, allow_nan=False)
