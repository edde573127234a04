# SPDX-License-Identifier: BSD-3-Clause
"""Two sizes of the tests: a small deterministic one, and RBMBENCH_FUZZ=thorough with new inputs."""

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
def _device_is_kept():
    """Assert that no input replaced or removed the device among the drawn paths."""
    yield
    assert not stat.S_ISREG(os.lstat(DEVICE).st_mode)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder for all inputs of a module, written one after the other."""
    return tmp_path_factory.mktemp("fuzz")


@pytest.fixture(scope="module")
def bounded_memory():
    """Limit this process to 2 GB more memory than it has, so that larger allocations fail."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 2**31, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)
