"""What the tests of the workflow share."""

import pytest
from tiny_paper import add_tiny_paper
from workspaces import Workspace, new_workspace


@pytest.fixture
def workspace(repository, tmp_path) -> Workspace:
    """A fresh workspace."""
    return new_workspace(repository, tmp_path)


@pytest.fixture
def tiny(workspace) -> Workspace:
    """A workspace with a paper of a few runs that take no time."""
    add_tiny_paper(workspace)
    return workspace
