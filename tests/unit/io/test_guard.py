# SPDX-License-Identifier: BSD-3-Clause
"""Readers accept regular files only: devices may be endless, and pipes may block."""

import os
import signal
import stat

import numpy as np
import psutil
import pytest

from rbmbench import datasets
from rbmbench.base.errors import DataError, RbmbenchError
from rbmbench.cli.keeping import _content
from rbmbench.config.layers import read_yaml
from rbmbench.datasets import Sources
from rbmbench.datasets._downloads import File, fetch
from rbmbench.io import arrays, guard, results
from rbmbench.io.guard import UnreadableError, bounded_bytes
from rbmbench.io.text import plain_yaml
from rbmbench.reporting.page.reader import picture
from rbmbench.training.checkpoint import load_checkpoint

TIMEOUT = 2.0  # seconds


def read_from_mirror(path):
    """Read a published file from a mirror."""
    file = File(folder="set", name=path.name, addresses=(), bytes=7, sha256="0")
    return fetch([file], Sources(str(path.parent), path.parent / "cache"), lambda _file, content, _where: content)


READERS = {
    "data.npz": datasets.read,
    "own.npy": lambda path: datasets.load("user_file", path=str(path)),
    "own.npz": lambda path: datasets.load("user_file", path=str(path)),
    "own.csv": lambda path: datasets.load("user_file", path=str(path)),
    "published.gz": read_from_mirror,
    "checkpoint.npz": lambda path: load_checkpoint(path, "identity"),
    "model.npz": lambda path: results.read_model(path.parent),
    "meta.json": lambda path: results.read_meta(path.parent),
    "curve.parquet": lambda path: results.read_table(path.parent, path.name),
    "claims.csv": results.read_csv,
    "config.yaml": read_yaml,
    "figure.png": picture,
    "kept.md": _content,
}


@pytest.fixture
def time_limit():
    """Raise an error if a reader takes longer than TIMEOUT."""

    def give_up(*_):
        raise TimeoutError(f"still reading after {TIMEOUT} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, TIMEOUT)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("time_limit")
@pytest.mark.parametrize("special", ["device", "pipe"])
@pytest.mark.parametrize("name", READERS)
def test_special_files_raise_at_once(tmp_path, name, special):
    target = "/dev/zero" if special == "device" else tmp_path / "pipe"
    if special == "pipe":
        os.mkfifo(target)
    (tmp_path / name).symlink_to(target)
    with pytest.raises(RbmbenchError, match=rf"\A.*{name}: .*is (no|not a) regular file.*\Z"):
        READERS[name](tmp_path / name)
    assert not stat.S_ISREG(os.stat(target).st_mode)


def test_a_file_without_a_size_is_read_up_to_the_limit():
    file = "/proc/self/maps"  # its reported size is 0
    if not os.path.exists(file):
        pytest.skip("this system has no such file")
    with pytest.raises(UnreadableError, match=r"^must have at most 100 bytes, got \d{3,}"):
        bounded_bytes(file, 100)
    assert len(bounded_bytes(file, 10**9)) > 100


def test_bounded_bytes_returns_the_content_up_to_the_limit(tmp_path):
    (tmp_path / "a.yaml").write_bytes(b"a: 1\n")
    assert plain_yaml(bounded_bytes(tmp_path / "a.yaml", 5)) == {"a": 1}
    with pytest.raises(UnreadableError, match=r"^must have at most 4 bytes, got 5"):
        bounded_bytes(tmp_path / "a.yaml", 4)


@pytest.mark.parametrize(("free", "is_read"), [(2**40, True), (2**18, False)])
def test_sparse_rows_that_do_not_fit_into_memory_raise(monkeypatch, tmp_path, free, is_read):
    for module in (guard, arrays):
        monkeypatch.setattr(module, "MOST_BYTES", 2**10, raising=False)
    memory = psutil.virtual_memory()._replace(available=free)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)
    rows = np.zeros((211, 1009), np.uint8)
    rows[3, 5] = 1
    saved = datasets.build("sparse", "Sparse", train=rows, source="test", preprocessing="none", options={})
    datasets.save(saved, tmp_path / "sparse.npz")
    if is_read:
        assert (datasets.read(tmp_path / "sparse.npz").train == rows).all()
    else:
        with pytest.raises(DataError, match=r"sparse\.npz: .* declares \d+ bytes; allowed: at most \d+ for"):
            datasets.read(tmp_path / "sparse.npz")
