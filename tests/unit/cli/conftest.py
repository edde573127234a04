# SPDX-License-Identifier: BSD-3-Clause
"""Files of a user, of the rows that a module of tests calls DATA."""

import numpy as np
import pytest


@pytest.fixture(params=[".npy", ".npz", ".csv"])
def file(tmp_path, request):
    """A user's own matrix, in each form that is read."""
    path, rows = tmp_path / f"spins{request.param}", request.module.DATA
    if request.param == ".csv":
        np.savetxt(path, rows, "%d", delimiter=",")
    else:
        np.save(path, rows) if request.param == ".npy" else np.savez(path, train=rows)
    return path


@pytest.fixture
def own(tmp_path, request):
    """A user's own matrix."""
    np.save(tmp_path / "own.npy", request.module.DATA)
    return tmp_path / "own.npy"
