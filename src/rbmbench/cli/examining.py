"""The subcommand that tells what this machine offers, and whether the installation works."""

from argparse import Namespace

__all__ = ["doctor"]


def doctor(arguments: Namespace) -> int:
    """Print what was found, as tables or as JSON; return 1 if anything does not work."""
    from rbmbench.cli.doctor import Report, examine, table

    asked = arguments.results, arguments.mirror, arguments.cache, arguments.online, arguments.self_test
    sections = []
    for section in examine(*asked):
        sections.append(section)
        if not arguments.json:
            # At once: the self-test may take a while.
            print(table(section), end="\n\n", flush=True)
    report = Report(sections)
    print(report.json() if arguments.json else report.verdict)
    return int(report.failed)
