# SPDX-License-Identifier: BSD-3-Clause
"""Files with the rows DATA of a test module."""

import numpy as np
import pytest


@pytest.fixture(params=[".npy", ".npz", ".csv"])
def file(tmp_path, request):
    """A file with DATA, in three formats."""
    path, rows = tmp_path / f"spins{request.param}", request.module.DATA
    if request.param == ".csv":
        np.savetxt(path, rows, "%d", delimiter=",")
    else:
        np.save(path, rows) if request.param == ".npy" else np.savez(path, train=rows)
    return path


@pytest.fixture
def own(tmp_path, request):
    """A .npy file with DATA."""
    np.save(tmp_path / "own.npy", request.module.DATA)
    return tmp_path / "own.npy"
