# SPDX-License-Identifier: BSD-3-Clause
"""Arrays in host memory as strict as CuPy's, so that errors and copies of a device occur on any machine."""

import numpy as np

__all__ = ["DeviceArray"]
METHODS = {"all", "any", "argsort", "astype", "copy", "max", "mean", "min", "ravel", "reshape", "swapaxes"}
METHODS |= {"sum", "var"}
PROPERTIES = {"T", "dtype", "flags", "itemsize", "nbytes", "ndim", "shape", "size", "strides"}
COPIES_IN = {"array", "asarray"}  # the functions that take `like`


def _unwrapped(value, numpy_allowed: bool = False):
    """Return the NumPy arrays of arguments; like CuPy, raise for NumPy arrays with axes, which would be copied."""
    if isinstance(value, DeviceArray):
        return value.on_host
    if isinstance(value, list | tuple):
        return type(value)(_unwrapped(each, numpy_allowed) for each in value)
    if isinstance(value, np.ndarray) and value.ndim and not numpy_allowed:
        raise TypeError("Unsupported type <class 'numpy.ndarray'>")
    return value


def _wrapped(value):
    """Return arrays, and scalars that CuPy leaves on the device, as device arrays."""
    if isinstance(value, tuple):
        return tuple(map(_wrapped, value))
    return DeviceArray(value) if isinstance(value, np.ndarray | np.generic) else value


class DeviceArray(np.lib.mixins.NDArrayOperatorsMixin):
    """A NumPy array with the behaviour of CuPy where the two differ.

    It is converted to a NumPy array only by `get`, is not mixed with NumPy arrays, and has only methods and options of
    CuPy. Its module is that of CuPy's arrays.
    """

    __module__ = "cupy"
    copied_in = 0  # number of NumPy arrays converted to device arrays, in this process
    read = 0  # number of arrays and numbers copied to the host, in this process

    def __init__(self, array):
        self.on_host = np.asarray(array)

    def get(self) -> np.ndarray:
        """Return a copy on the host."""
        return self._waited_for().copy()

    def _waited_for(self) -> np.ndarray:
        DeviceArray.read += 1
        return self.on_host

    def __array__(self, *args, **kwargs):
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`")

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **kwargs):
        if method != "__call__":
            raise TypeError(f"{ufunc.__name__}.{method} is not there")
        if out is not None:
            (target,) = out
            if not isinstance(target, DeviceArray):
                raise TypeError("return arrays must be of ArrayType")
            ufunc(*_unwrapped(inputs), out=target.on_host, **kwargs)
            return target
        return _wrapped(ufunc(*_unwrapped(inputs), **kwargs))

    def __array_function__(self, func, types, args, kwargs):
        if kwargs.pop("subok", None) is not None:
            raise TypeError("subok is not supported yet")
        if "device" in kwargs:  # passed by NumPy's ones and full, although the caller does not
            raise TypeError(f"{func.__name__}() got an unexpected keyword argument 'device'")
        if func.__name__ == "argsort" and kwargs.get("kind") not in (None, "stable"):
            raise ValueError("kind can only be None or 'stable'")
        on_device = isinstance(args[0], DeviceArray)
        args = _unwrapped(args, numpy_allowed=func.__name__ in COPIES_IN)
        if func.__name__ in COPIES_IN:
            DeviceArray.copied_in += not on_device
            return DeviceArray(func(*args, **kwargs) if on_device else func(*args, **kwargs).copy())
        return _wrapped(func(*args, **{name: _unwrapped(value) for name, value in kwargs.items()}))

    def __getattr__(self, name):
        if name in PROPERTIES:
            return _wrapped(getattr(self.on_host, name))
        if name in METHODS:
            method = getattr(self.on_host, name)
            return lambda *args, **kwargs: _wrapped(method(*args, **kwargs))
        raise AttributeError(f"DeviceArray has no {name}: see METHODS if CuPy has it")

    def __getitem__(self, index):
        return DeviceArray(self.on_host[_unwrapped(index, numpy_allowed=True)])

    def __setitem__(self, index, value):
        self.on_host[_unwrapped(index, numpy_allowed=True)] = _unwrapped(value)

    def __len__(self):
        return len(self.on_host)

    def __iter__(self):
        return (DeviceArray(each) for each in self.on_host)

    def __bool__(self):
        return bool(self._waited_for())

    def __int__(self):
        return int(self._waited_for())

    def __float__(self):
        return float(self._waited_for())

    def __repr__(self):
        return f"DeviceArray({self.on_host!r})"
