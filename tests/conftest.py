# SPDX-License-Identifier: BSD-3-Clause
"""What all tests share."""

import gc
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from rbmbench import datasets, estimators, kinds, samplers, updates
from rbmbench.base import pace, plugins
from rbmbench.kernels import ways

# Libraries make most objects of a test process, and they stay: looking for garbage among them finds little.
gc.set_threshold(50_000)


@pytest.fixture(scope="session")
def repository() -> Path:
    """The top of the checkout the tests are in."""
    return Path(__file__).resolve().parents[1]


@pytest.fixture
def config(repository, tmp_path, monkeypatch):
    """A copy of the configuration in the working directory."""
    shutil.copytree(repository / "config", tmp_path / "config")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "config"


@pytest.fixture
def no_pauses(monkeypatch):
    """Runs pause at evaluations alone, whatever an iteration takes."""
    monkeypatch.setattr(pace, "Pace", lambda: SimpleNamespace(steps=10**9, update=lambda *_: None))


@pytest.fixture(params=["library", "tables"])
def way(request):
    """All products with binary states are made in this way, whatever their shape."""
    with ways.by_hand(request.param):
        yield request.param


@pytest.fixture
def forget_plugins(monkeypatch):
    """A function that forgets all plug-ins that were loaded."""

    def forget() -> None:
        for part in (datasets, estimators, kinds, samplers, updates):
            makers = part.REGISTRY._makers
            for name in [
                name for name, maker in makers.items() if not maker.__module__.startswith(f"{part.__name__}.")
            ]:
                del makers[name]
        for name, value in {"_plugins": {}, "_used": {}, "_files": {}, "_registered": []}.items():
            monkeypatch.setattr(plugins, name, value)
        monkeypatch.setattr(plugins, "_state", {"loaded": "", "loading": ""})
        monkeypatch.setenv(plugins.VARIABLE, "")
        plugins.entry_points.cache_clear()
        for module in [name for name in sys.modules if name.partition(".")[0] == plugins.ROOT]:
            del sys.modules[module]

    return forget


@pytest.fixture
def no_plugins(forget_plugins):
    """No plug-in is loaded, and those that the test loads are forgotten after it."""
    forget_plugins()
    yield
    forget_plugins()


def pytest_collection_modifyitems(items):
    """Begin with the tests that wait for a cluster more than they compute, so that others run beside them."""
    items.sort(key=lambda item: item.path.name != "test_slurm.py")
