"""The subcommand ``doctor``: a report on the machine, and a self-test of the installation."""

import json
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator

from rbmbench.cli.doctor.report import FAILED, OK, WARNING, Finding, examined, table

__all__ = ["doctor", "examine"]


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
