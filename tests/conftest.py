"""What all tests share."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from rbmbench.base import pace


@pytest.fixture(scope="session")
def repository() -> Path:
    """The top of the checkout the tests are in."""
    return Path(__file__).resolve().parents[1]


@pytest.fixture
def no_pauses(monkeypatch):
    """Runs pause at evaluations alone, whatever an iteration takes."""
    monkeypatch.setattr(pace, "Pace", lambda: SimpleNamespace(steps=10**9, update=lambda *_: None))


def pytest_collection_modifyitems(items):
    """Begin with the tests that wait for a cluster more than they compute, so that others run beside them."""
    items.sort(key=lambda item: item.path.name != "test_slurm.py")
