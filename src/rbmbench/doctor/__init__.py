"""What this machine offers, and whether the installation works: the examination behind ``rbmbench doctor``."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from rbmbench.doctor.choices import choices
from rbmbench.doctor.findings import Section, examined
from rbmbench.doctor.machine import graphics_processor, machine
from rbmbench.doctor.places import data_sets, folders
from rbmbench.doctor.report import Report
from rbmbench.doctor.software import environment, threads, tools, versions

__all__ = ["Report", "examine"]


def examine(
    results: Path, mirror: str | None = None, cache: str | None = None, online: bool = False, test: bool = True
) -> Report:
    """Examine machine, software, data and folders, and make the self-test.

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
    return Report(tuple(_sections(results, mirror, cache, online, test)))


def _sections(results: Path, mirror: str | None, cache: str | None, online: bool, test: bool) -> Iterator[Section]:
    """Yield the sections in the order in which they are shown."""
    yield examined("Versions", versions)
    yield examined("Machine", machine)
    yield examined("GPU", graphics_processor)
    yield examined("Threads", threads)
    yield examined("Environment variables", environment)
    yield examined("Backend", choices)
    yield examined("Data sets", partial(data_sets, mirror, cache, online))
    yield examined("Folders", partial(folders, results, mirror, cache))
    yield examined("Programs", tools)
    if test:
        from rbmbench.doctor.self_test import self_test

        yield examined("Self-test", self_test)
