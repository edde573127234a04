# SPDX-License-Identifier: BSD-3-Clause
"""The CPU as a device: kernels.cu compiled by g++ and called by ctypes, with arrays in host memory."""

import ctypes
import hashlib
import re
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np
from filelock import FileLock

from rbmbench.kernels.cupy import _device, _grids
from shim.host_array import DeviceArray

__all__ = ["HostDevice", "cuda_on_cpu", "missing_compiler"]
KERNEL = re.compile(r'extern "C" __global__ (?:__launch_bounds__\([^)]*\) )?void (\w+)\((.*?)\)', re.DOTALL)
TYPES = {"word": np.uint32, "wide": np.uint64, "offset": np.int64, "int": np.int32, "double": np.float64}
TYPES |= {"unsigned char": np.uint8}


def missing_compiler() -> str | None:
    """Return why kernels cannot be compiled here, or None."""
    return None if shutil.which("g++") else "g++ is not installed: the CUDA kernels cannot be compiled for the CPU"


@cache
def signatures() -> dict[str, list[tuple[str, bool]]]:
    """Return the parameters of all kernels as (type, whether it is a pointer), from the source."""
    kernels = {}
    for name, parameters in KERNEL.findall(_device.source()):
        kernels[name] = []
        for parameter in re.split(r",\s*", parameters.replace("const ", "").strip()):
            kind = parameter.rpartition(" ")[0]
            kernels[name].append((kind.rstrip("*"), kind.endswith("*")))
    return kernels


@cache
def _library(dtype: np.dtype) -> ctypes.CDLL:
    """Return the kernels compiled for one type of array, once for all processes, as g++ takes seconds."""
    source = '#include "cuda_shim.h"\n' + _device.source() + "".join(f"\nEXPORT({name})" for name in signatures())
    flags = ["-std=c++17", "-O2", "-Wall", "-Wextra", "-Wno-unknown-pragmas", "-Wno-sign-compare", "-shared", "-fPIC"]
    command = ["g++", *flags, f"-DREAL={_device.TYPES[dtype]}", f"-I{Path(__file__).parent}"]
    header = (Path(__file__).parent / "cuda_shim.h").read_text(encoding="utf-8")
    key = hashlib.sha256("\n".join([*command, header, source]).encode()).hexdigest()[:16]
    library = Path(__file__).parent / "__pycache__" / f"kernels-{key}.so"
    library.parent.mkdir(exist_ok=True)
    with FileLock(library.with_suffix(".lock")):
        if not library.exists():
            _compile(command, source, library)
    return ctypes.CDLL(str(library))


def _compile(command: list[str], source: str, library: Path) -> None:
    with tempfile.TemporaryDirectory(dir=library.parent) as folder:
        file, made = Path(folder) / "kernels.cpp", Path(folder) / "kernels.so"
        file.write_text(f"{source}\n", encoding="utf-8")
        result = subprocess.run([*command, str(file), "-o", str(made)], capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
        assert "warning" not in result.stderr, result.stderr
        made.rename(library)


SHIMMED = ("launch", "empty", "copy_in", "most_shared_bytes", "multiply")


class Launch(ctypes.Structure):
    """As cuda_shim.h."""

    _fields_ = [(name, ctypes.c_uint) for name in ("grid", "block_x", "block_y", "shared_bytes", "reversed")]


class HostDevice:
    """The functions of `rbmbench.kernels.cupy._device` on the CPU, stricter about arguments than CuPy.

    ``launches`` counts kernels by name; ``shared_limit`` is the shared memory of a block in bytes.
    """

    def __init__(self, reverse_threads: bool = False, shared_limit: int = _device.SHARED_BYTES):
        self.reverse_threads, self.shared_limit = reverse_threads, shared_limit
        self.launches: dict[str, int] = {}

    def most_shared_bytes(self):
        """Return the shared memory of a block in bytes."""
        return self.shared_limit

    def launch(self, name, dtype, grid, block, arguments, shared_bytes=0):
        """Run a kernel, after checks of the types of its arguments and of its size."""
        assert isinstance(dtype, np.dtype)  # keys of the compiled modules
        assert 0 < grid < 2**31
        assert 0 < block[0] * block[1] <= 1024
        assert shared_bytes <= max(self.shared_limit, _device.SHARED_BYTES)
        self.launches[name] = self.launches.get(name, 0) + 1
        parameters = signatures()[name]
        assert len(arguments) == len(parameters), name
        pairs = zip(parameters, arguments, strict=True)
        values = [self._argument(*parameter, dtype, value) for parameter, value in pairs]
        addresses = (ctypes.c_void_p * len(values))(*(value.ctypes.data for value in values))
        how = Launch(grid, *block, shared_bytes, self.reverse_threads)
        run = getattr(_library(dtype), f"shim_{name}")
        run.restype = ctypes.c_char_p
        error = run(ctypes.byref(how), addresses)
        assert error is None, f"{name}: {error.decode()}"

    @staticmethod
    def _argument(kind, is_pointer, real, value) -> np.ndarray:
        """Return the bytes of an argument."""
        expected = real if kind == "real" else np.dtype(TYPES[kind])
        if not is_pointer:
            assert isinstance(value, np.generic), f"{value!r} has no type"
            assert value.dtype == expected, f"{value!r} is not {expected}"
            return np.array(value)
        if isinstance(value, np.uint64):
            assert value == 0, "an address that is no array's"
            return np.array(value)
        assert isinstance(value, DeviceArray), f"{type(value)} is not on the device"
        assert value.dtype == expected, f"array of {value.dtype}, not {expected}"
        return np.array(value.on_host.ctypes.data, np.uint64)

    def multiply(self, states, across, matrix, transposed, out):
        """Multiply as documented in `rbmbench.kernels.cupy._device.multiply`, in place of cuBLAS."""
        arrays = states.on_host, matrix.on_host
        for array in arrays:
            assert array[:1].flags.c_contiguous
            assert array.dtype == out.dtype
            assert array.strides[0] in (0, array[:1].nbytes) or len(array) == 1
        a, b = (
            array.swapaxes(1, 2) if turned else array
            for array, turned in zip(arrays, (across, transposed), strict=True)
        )
        out.on_host[...] = a @ b

    def empty(self, shape, dtype):
        """Return an array of bytes 0xFF, NaN for floating-point types."""
        array = np.empty(shape, dtype)
        array.view(np.uint8)[...] = 0xFF
        return DeviceArray(array)

    def copy_in(self, array):
        """Return a device array with a copy of a NumPy array."""
        assert isinstance(array, np.ndarray)
        DeviceArray.copied_in += 1
        return DeviceArray(array.copy())


@contextmanager
def cuda_on_cpu(reverse_threads: bool = False, shared_limit: int = _device.SHARED_BYTES):
    """Context in which kernels are launched on the CPU; its value is the `HostDevice`."""
    device, names = HostDevice(reverse_threads, shared_limit), SHIMMED
    originals = {name: getattr(_device, name) for name in names}
    _grids._constants.clear()
    try:
        for name in names:
            setattr(_device, name, getattr(device, name))
        yield device
    finally:
        for name, function in originals.items():
            setattr(_device, name, function)
        _grids._constants.clear()
