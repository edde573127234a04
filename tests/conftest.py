"""What all tests share."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def repository() -> Path:
    """The top of the checkout the tests are in."""
    return Path(__file__).resolve().parents[1]


def pytest_collection_modifyitems(items):
    """Begin with the tests that wait for a cluster more than they compute, so that others run beside them."""
    items.sort(key=lambda item: item.path.name != "test_slurm.py")
