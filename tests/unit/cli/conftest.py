# SPDX-License-Identifier: BSD-3-Clause
"""A file with the rows DATA of a test module."""

import numpy as np
import pytest


@pytest.fixture
def own(tmp_path, request):
    """A .npy file with DATA."""
    np.save(tmp_path / "own.npy", request.module.DATA)
    return tmp_path / "own.npy"
