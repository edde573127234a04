"""The CUDA kernels with the interface of a home of NumPy arrays, for tests that hold all homes to the same."""

from functools import wraps
from types import SimpleNamespace

import numpy as np

from rbmbench.kernels import cupy_home
from shim.device import cuda_on_cpu
from shim.host_array import DeviceArray

__all__ = ["cuda_home"]


def _on_numpy(kernel):
    """Return a kernel that takes NumPy arrays, in place, and gives NumPy arrays."""

    @wraps(kernel)
    def run(*arguments, **options):
        with cuda_on_cpu():
            shared = [DeviceArray(each) if isinstance(each, np.ndarray) else each for each in arguments]
            result = kernel(*shared, **options)
        return result.get() if isinstance(result, DeviceArray) else result

    return run


cuda_home = SimpleNamespace(
    __name__="rbmbench.kernels.cupy_home",
    __all__=cupy_home.__all__,
    **{name: _on_numpy(getattr(cupy_home, name)) for name in cupy_home.__all__},
)
