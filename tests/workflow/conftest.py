"""What the tests of the workflow share."""

import pytest
from workspaces import Workspace, new_workspace


@pytest.fixture
def workspace(repository, tmp_path) -> Workspace:
    """A fresh workspace."""
    return new_workspace(repository, tmp_path)
