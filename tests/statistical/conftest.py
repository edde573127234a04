# SPDX-License-Identifier: BSD-3-Clause
"""Laws hold in every way in which products with binary states are made; the slow tests have those of the library."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def in_every_way(way):
    """Run each test once for each way."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Leave one way to the slow tests: tests/unit/kernels compares the products themselves."""
    for item in items:
        if item.path.parent == Path(__file__).parent and item.callspec.params["way"] == "library":
            item.add_marker(pytest.mark.slow)
