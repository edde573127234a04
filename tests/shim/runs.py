# SPDX-License-Identifier: BSD-3-Clause
"""Whole runs on the device that is this machine's CPU."""

from contextlib import contextmanager

import numpy as np

from rbmbench.kernels import backends
from shim.device import cuda_on_cpu
from shim.host_array import DeviceArray

__all__ = ["runs_on_cpu"]


class DeviceNamespace:
    """What `rbmbench.kernels.backends` gives for CuPy, with arrays of the shim."""

    @staticmethod
    def asarray(array):
        """Return an array of the device."""
        return array if isinstance(array, DeviceArray) else DeviceArray(array.copy())

    @staticmethod
    def empty(shape):
        """Return an uninitialised array of the device, float64."""
        return DeviceArray(np.empty(shape))


@contextmanager
def runs_on_cpu(**options):
    """Let runs with the backend "cupy" take the device of `cuda_on_cpu`, which it gives; the options are that one's."""
    backend, choose = backends.Backend(DeviceNamespace, "a test"), backends.choose
    backends.choose = lambda name, work: backend if name == "cupy" else choose(name, work)
    try:
        with cuda_on_cpu(**options) as device:
            yield device
    finally:
        backends.choose = choose
