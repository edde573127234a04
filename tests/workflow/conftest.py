# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of the workflow share."""

import signal

import pytest
from tiny_paper import add_tiny_paper
from workspaces import Workspace, new_workspace


@pytest.fixture(scope="session", autouse=True)
def interrupts():
    """Signals interrupt children even where the tests ignore them, as in the background of a shell or under nohup."""
    handlers = {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def workspace(repository, tmp_path) -> Workspace:
    """A fresh workspace."""
    return new_workspace(repository, tmp_path)


@pytest.fixture
def tiny(workspace) -> Workspace:
    """A workspace with a paper of a few runs that take no time."""
    add_tiny_paper(workspace)
    return workspace
