# SPDX-License-Identifier: BSD-3-Clause
"""Runs with the backend "cupy" on the CPU."""

from contextlib import contextmanager

import numpy as np

from rbmbench.kernels import backends
from shim.device import cuda_on_cpu
from shim.host_array import DeviceArray

__all__ = ["runs_on_cpu"]


class DeviceNamespace:
    """The namespace of `rbmbench.kernels.backends` for CuPy, with arrays of the shim."""

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
    """Context in which the backend "cupy" uses the device of `cuda_on_cpu`, with its options and its value."""
    backend, choose = backends.Backend(DeviceNamespace, "a test"), backends.choose
    backends.choose = lambda name, work: backend if name == "cupy" else choose(name, work)
    try:
        with cuda_on_cpu(**options) as device:
            yield device
    finally:
        backends.choose = choose
