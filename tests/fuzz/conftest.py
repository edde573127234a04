# SPDX-License-Identifier: BSD-3-Clause
"""Two sizes of the same tests: a small one that is always the same, and RBMBENCH_FUZZ=thorough, always new inputs."""

import os
import resource
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from mutations import DEVICE
from properties import THOROUGH

COMMON = {"deadline": None, "suppress_health_check": list(HealthCheck), "database": None}
settings.register_profile("small", max_examples=100, derandomize=True, **COMMON)
settings.register_profile("thorough", max_examples=5000, **COMMON)
settings.load_profile("thorough" if THOROUGH else "small")


@pytest.fixture(scope="session", autouse=True)
def _the_device_stays():
    """No input makes a regular file of the device that is drawn, nor removes it."""
    yield
    assert not stat.S_ISREG(os.lstat(DEVICE).st_mode)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder that all inputs of a module are written to, one after the other."""
    return tmp_path_factory.mktemp("fuzz")


@pytest.fixture(scope="module")
def bounded_memory():
    """Hold this process to 2 GB more than it has, so that what asks for too much is refused by the system at once."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 2**31, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)
