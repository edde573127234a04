"""What the tests of the workflow share."""

import signal

import pytest
from tiny_paper import add_tiny_paper
from workspaces import Workspace, new_workspace


@pytest.fixture(scope="session", autouse=True)
def interrupts():
    """Children are interrupted by SIGINT even where the tests ignore it, as what runs in a shell's background does."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def workspace(repository, tmp_path) -> Workspace:
    """A fresh workspace."""
    return new_workspace(repository, tmp_path)


@pytest.fixture
def tiny(workspace) -> Workspace:
    """A workspace with a paper of a few runs that take no time."""
    add_tiny_paper(workspace)
    return workspace
