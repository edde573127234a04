"""The subcommand ``doctor``: a report on the machine, and a self-test of the installation."""

from argparse import Namespace
from collections.abc import Iterator

from rbmbench.cli.doctor.report import Report, Section, examined, table

__all__ = ["doctor", "examine"]


def doctor(arguments: Namespace) -> int:
    """Print the report as tables or as JSON; return 1 if anything has failed, else 0."""
    sections = []
    for section in examine(arguments):
        sections.append(section)
        if not arguments.json:
            print(table(section), end="\n\n", flush=True)  # at once: the self-test takes seconds
    report = Report(sections)
    print(report.json() if arguments.json else report.verdict)
    return int(report.failed)


def examine(arguments: Namespace) -> Iterator[Section]:
    """Yield the sections of the report; each module is imported only now, so that a broken one hides no other."""
    places = arguments.mirror, arguments.cache
    yield examined("Versions", "machine", "versions")
    yield examined("Machine", "machine", "hardware")
    yield examined("GPU", "machine", "gpus")
    yield examined("Threads", "machine", "threads")
    yield examined("Environment variables", "machine", "environment")
    yield examined("Backend", "machine", "backend")
    yield examined("Data sets", "storage", "data_sets", *places, arguments.online)
    yield examined("Folders", "storage", "folders", arguments.results, *places)
    yield examined("Programs", "machine", "programs")
    if arguments.self_test:
        yield examined("Self-test", "self_test", "self_test")
