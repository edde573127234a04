"""What all tests share."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def repository() -> Path:
    """The top of the checkout the tests are in."""
    return Path(__file__).resolve().parents[1]
