# SPDX-License-Identifier: BSD-3-Clause
"""Fixtures of the tests of the workflow."""

import signal

import pytest
from tiny_paper import add_tiny_paper
from workspaces import Workspace, new_workspace


@pytest.fixture(scope="session", autouse=True)
def interrupts():
    """Restore default handlers of signals, which children inherit as ignored in the background or under nohup."""
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
    """A workspace with a paper of a few short runs."""
    add_tiny_paper(workspace)
    return workspace
