"""The subcommand that tells what this machine offers, and whether the installation works."""

from argparse import Namespace

__all__ = ["doctor"]


def doctor(arguments: Namespace) -> int:
    """Print what was found, as tables or as JSON; return 1 if anything does not work."""
    from rbmbench.doctor import examine

    report = examine(arguments.results, arguments.mirror, arguments.cache, arguments.online, arguments.self_test)
    print(report.json() if arguments.json else report.text())
    return int(report.failed)
