"""What all tests share."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from rbmbench.base import pace
from rbmbench.kernels import ways


@pytest.fixture(scope="session")
def repository() -> Path:
    """The top of the checkout the tests are in."""
    return Path(__file__).resolve().parents[1]


@pytest.fixture
def no_pauses(monkeypatch):
    """Runs pause at evaluations alone, whatever an iteration takes."""
    monkeypatch.setattr(pace, "Pace", lambda: SimpleNamespace(steps=10**9, update=lambda *_: None))


@pytest.fixture(params=["library", "tables"])
def way(request):
    """All products with binary states are made in this way, whatever their shape."""
    with ways.by_hand(request.param):
        yield request.param


def pytest_collection_modifyitems(items):
    """Begin with the tests that wait for a cluster more than they compute, so that others run beside them."""
    items.sort(key=lambda item: item.path.name != "test_slurm.py")
