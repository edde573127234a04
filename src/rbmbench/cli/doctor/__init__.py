"""What this machine offers, and whether the installation works: the examination behind ``rbmbench doctor``.

Each section is imported when it is examined: what is broken in one of them hides nothing of the others.
"""

from collections.abc import Iterator
from pathlib import Path

from rbmbench.cli.doctor.findings import Section, examined
from rbmbench.cli.doctor.report import Report, table

__all__ = ["Report", "examine", "table"]


def examine(
    results: Path, mirror: str | None = None, cache: str | None = None, online: bool = False, test: bool = True
) -> Iterator[Section]:
    """Examine machine, software, data and folders, and make the self-test: yield section after section.

    Parameters
    ----------
    results : Path
        The folder that results go to.
    mirror, cache : str, optional
        As `rbmbench.datasets.load` takes them.
    online : bool
        Whether to ask the addresses of files that are not at hand if they answer; nothing is downloaded.
    test : bool
        Whether to make the self-test, which takes some seconds once the kernels are compiled.
    """
    yield examined("Versions", "software", "versions")
    yield examined("Machine", "machine", "machine")
    yield examined("GPU", "machine", "graphics_processor")
    yield examined("Threads", "software", "threads")
    yield examined("Environment variables", "software", "environment")
    yield examined("Backend", "choices", "choices")
    yield examined("Data sets", "places", "data_sets", mirror, cache, online)
    yield examined("Folders", "places", "folders", results, mirror, cache)
    yield examined("Programs", "software", "tools")
    if test:
        yield examined("Self-test", "self_test", "self_test")
