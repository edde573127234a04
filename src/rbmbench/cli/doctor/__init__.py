# SPDX-License-Identifier: BSD-3-Clause
"""The subcommand ``doctor``: a report on the machine, and a self-test of the installation."""

import json
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

__all__ = ["doctor"]

FACT, OK, WARNING, FAILED = "", "ok", "warning", "FAILED"
"""States of a finding: information; passed; works, but may cause trouble; does not work."""


class Finding(NamedTuple):
    """What was examined, what was found, its state, and numbers for JSON."""

    what: str
    found: str
    state: str = FACT
    values: Mapping[str, Any] = {}


def doctor(arguments: Namespace) -> int:
    """Print the report as tables or as JSON; return 1 if anything has failed, else 0."""
    sections = {}
    for title, findings in examine(arguments):
        sections[title] = findings
        if not arguments.json:
            print(table(title, findings), end="\n\n", flush=True)  # at once: the self-test takes seconds
    states = Counter(finding.state for findings in sections.values() for finding in findings)
    failed = FAILED in states
    counts = f"{states[OK]} good, warnings: {states[WARNING]}, failed: {states[FAILED]}"
    verdict = f"{FAILED if failed else OK}: {counts}"
    if arguments.json:
        lines = {title: [finding._asdict() for finding in findings] for title, findings in sections.items()}
        content = {"failed": failed, "verdict": verdict, "sections": lines}
        print(json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False))
    else:
        print(verdict)
    return int(failed)


def examine(arguments: Namespace) -> Iterator[tuple[str, list[Finding]]]:
    """Yield title and findings of each section; modules are imported only now, so that a broken one hides no other."""
    sources = arguments.mirror, arguments.cache
    sections = [
        ("Versions", "machine", "versions"),
        ("Machine", "machine", "hardware"),
        ("GPU", "machine", "gpus"),
        ("Environment variables", "machine", "environment"),
        ("Backend", "machine", "backend"),
        ("Data sets", "storage", "data_sets", *sources, arguments.online),
        ("Folders", "storage", "folders", arguments.results, *sources),
    ]
    sections += [("Self-test", "self_test", "self_test")] * arguments.self_test
    for title, *function in sections:
        yield title, examined(title, *function)


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
