# SPDX-License-Identifier: BSD-3-Clause
"""Cache of compiled kernels: concurrent writes, damaged files and missing locks."""

import errno
import fcntl
import os
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from rbmbench.base.errors import RbmbenchWarning
from rbmbench.kernels import backend_name

pytestmark = pytest.mark.skipif(backend_name(np.empty(0)) != "numba", reason="Numba is not installed")


def test_overloads_compiled_at_the_same_time_keep_their_code(tmp_path, monkeypatch):
    from rbmbench.kernels.numba import LockedCacheFile

    load = LockedCacheFile._load_index

    def slow(self):
        index = load(self)
        time.sleep(0.2)
        return index

    monkeypatch.setattr(LockedCacheFile, "_load_index", slow)
    files = [LockedCacheFile(str(tmp_path), "function-7.py311", "stamp") for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda file, key, data: file.save(key, data), files, ["float32", "float64"], [b"one", b"two"]))
    assert [files[0].load(key) for key in ("float32", "float64")] == [b"one", b"two"]


DAMAGES = {
    "empty": lambda content: b"",
    "flipped": lambda content: content[:-40] + bytes([content[-40] ^ 1]) + content[-39:],
    "longer": lambda content: content + b"\n",
    "not text": lambda content: b"\x80\x05\x8c\x02\xff\xfe." + content[6:],
}


@pytest.mark.parametrize("name", ["function-7.py311.nbi", "function-7.py311.1.nbc"])
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_is_removed_with_a_warning(tmp_path, damage, name):
    from rbmbench.kernels.numba import LockedCacheFile

    cache, path = LockedCacheFile(str(tmp_path), "function-7.py311", "stamp"), tmp_path / name
    cache.save("float32", ("name", b"code"))
    path.write_bytes(damage(path.read_bytes()))
    with pytest.warns(RbmbenchWarning, match=f"{name}: damaged, removed; its kernel is compiled again"):
        assert cache.load("float32") is None
    assert not path.exists()
    cache.save("float32", ("name", b"new code"))
    assert cache.load("float32") == ("name", b"new code")


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS])
def test_a_file_system_without_locks_is_one_warning(tmp_path, monkeypatch, number):
    from rbmbench.kernels.numba import LockedCacheFile

    def flock(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", flock)
    with warnings.catch_warnings(record=True, action="always") as caught:
        for name in ("first-7.py311", "second-11.py311"):
            LockedCacheFile(str(tmp_path), name, "stamp").save("float32", b"code")
    assert [warning.category for warning in caught] == [RbmbenchWarning]


def test_a_removed_file_is_a_cache_miss(tmp_path):
    from rbmbench.kernels.numba import LockedCacheFile

    cache = LockedCacheFile(str(tmp_path), "function-7.py311", "stamp")
    assert cache.load("float32") is None
    cache.save("float32", b"code")
    (tmp_path / "function-7.py311.1.nbc").unlink()
    assert cache.load("float32") is None


def test_every_kernel_sets_its_compiler_options():
    import importlib
    import pkgutil

    from numba.core.dispatcher import Dispatcher

    import rbmbench.kernels.numba as package

    names = [module.name for module in pkgutil.iter_modules(package.__path__)]
    modules = [importlib.import_module(f"{package.__name__}.{name}") for name in names]
    kernels = {
        f"{m.__name__}.{name}": part for m in modules for name, part in vars(m).items() if isinstance(part, Dispatcher)
    }
    assert len(kernels) > 100
    for name, kernel in kernels.items():
        assert {"fastmath", "error_model"} <= set(kernel.targetoptions), name
