# SPDX-License-Identifier: BSD-3-Clause
"""All tests are run with both ways of products with binary states; that of the library is slow."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def in_every_way(way):
    """Run each test with each way of products."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark one way as slow, since tests/unit/kernels compares the products."""
    for item in items:
        if item.path.parent == Path(__file__).parent and item.callspec.params["way"] == "library":
            item.add_marker(pytest.mark.slow)
