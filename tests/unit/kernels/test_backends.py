# SPDX-License-Identifier: BSD-3-Clause
"""Choice between NumPy and CuPy: its reason and error messages."""

import sys

import numpy as np
import pytest

from rbmbench.base.errors import SettingsError
from rbmbench.kernels import backend_name, backends, pair_kernels, reference_kernels


@pytest.mark.parametrize("name", ["gpu", "numba", ""])
def test_unknown_backends_raise(name):
    with pytest.raises(SettingsError, match=f"backend: must be one of auto, numpy, cupy, got '{name}'"):
        backends.choose(name, 1.0)


def test_cupy_that_is_not_installed_raises(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    line = r"^backend: must be auto or numpy here, got 'cupy', but CuPy is not installed\Z"
    with pytest.raises(SettingsError, match=line):
        backends.choose("cupy", 1.0)
    assert backends.choose("auto", 1e12) == (np, "automatic: CuPy is not installed")


@pytest.mark.parametrize(("operations", "expected"), [(1e6, "numpy"), (1e12, "cupy")])
def test_auto_chooses_the_gpu_for_many_operations(monkeypatch, operations, expected):
    monkeypatch.setattr(backends, "gpu_obstacle", lambda: None)
    monkeypatch.setattr(backends, "import_module", lambda name: name)
    chosen = backends.choose("auto", operations)
    assert chosen.arrays == expected
    assert f"{operations:.1e}" in chosen.reason
    assert backends.choose("cupy", 1.0) == ("cupy", "requested")


def test_error_names_the_failure_of_a_device(monkeypatch):
    class Runtime:
        class cuda:
            class runtime:
                @staticmethod
                def getDeviceCount():
                    raise RuntimeError("cudaErrorInsufficientDriver: CUDA driver version is insufficient\nmore")

    monkeypatch.setitem(sys.modules, "cupy", Runtime)
    monkeypatch.setattr(backends, "is_installed", lambda module: True)
    with pytest.raises(
        SettingsError, match=r"no GPU that CuPy can use \(cudaErrorInsufficientDriver: .*insufficient\)"
    ):
        backends.namespace("cupy")


def test_reference_kernels_are_used_only_within_the_block():
    array = np.zeros(1)
    before = backend_name(array)
    with reference_kernels():
        assert backend_name(array) == "numpy"
        assert pair_kernels(array) is None
        with reference_kernels():
            pass
        assert backend_name(array) == "numpy"
    assert backend_name(array) == before
    with pytest.raises(ZeroDivisionError), reference_kernels():
        raise ZeroDivisionError
    assert backend_name(array) == before == "numba"
