# SPDX-License-Identifier: BSD-3-Clause
"""Atomic replacement of files."""

import errno
import os
import socket
import stat

import numpy as np
import pytest

from rbmbench.base.errors import CheckpointError, ResultsError
from rbmbench.io.atomic import remove, remove_leftovers, replaced
from rbmbench.io.locks import locked
from rbmbench.reporting.page.notebooks import run_notebook
from rbmbench.training.checkpoint import load_checkpoint, owned


def test_replaced_writes_the_file_at_the_end_of_the_block(tmp_path):
    path = tmp_path / "a" / "b" / "file.txt"
    for text, before in (("old", None), ("new", "old")):
        with replaced(str(path)) as temporary:
            assert (temporary.parent, temporary.suffix) == (path.parent, ".txt")
            temporary.write_text(text)
            assert (path.read_text() if path.exists() else None) == before
        assert path.read_text() == text
    assert os.listdir(path.parent) == ["file.txt"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failed_block_leaves_only_the_old_file(tmp_path, error):
    path = tmp_path / "file.txt"
    path.write_text("old")

    def write():
        with replaced(path) as temporary:
            temporary.write_text("half")
            raise error("stop")

    with pytest.raises(error):
        write()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file.txt"]


def test_replaced_files_have_default_permissions(tmp_path):
    ordinary = tmp_path / "ordinary"
    ordinary.write_text("")
    with replaced(tmp_path / "ours") as temporary:
        temporary.write_text("")
    assert (tmp_path / "ours").stat().st_mode == ordinary.stat().st_mode


def test_replaced_works_without_permissions_and_links(tmp_path, monkeypatch):
    def not_permitted(path, *_, **__):
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), path)

    for name in ("chmod", "link", "symlink"):
        monkeypatch.setattr(os, name, not_permitted)
    with replaced(tmp_path / "file.txt") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "file.txt").read_text() == "new"


def test_error_of_a_folder_that_cannot_be_made_is_one_line(tmp_path):
    (tmp_path / "file").write_text("in the way")
    path = tmp_path / "file" / "x.npz"
    with pytest.raises(ResultsError) as caught, replaced(path):
        pass
    assert str(caught.value).startswith(f"{path}: cannot be written (")
    assert "\n" not in str(caught.value)


def test_a_folder_is_not_replaced(tmp_path):
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "inside").write_text("kept")
    with pytest.raises(ResultsError, match="cannot be written"), replaced(tmp_path / "target") as temporary:
        temporary.write_text("x")
    assert os.listdir(tmp_path) == ["target"]
    assert (tmp_path / "target" / "inside").read_text() == "kept"


def make_device(path):
    try:
        os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("only root makes devices")


def make_socket(path):
    with socket.socket(socket.AF_UNIX) as unix_socket:
        unix_socket.bind(str(path))


@pytest.fixture(params=[make_device, os.mkfifo, make_socket], ids=["device", "pipe", "socket"])
def special(tmp_path, request, monkeypatch):
    """A file that is not regular."""
    monkeypatch.chdir(tmp_path)  # the name of a socket must be short
    request.param("special")
    before = os.lstat("special")
    yield tmp_path / "special"
    after = os.lstat("special")
    assert (after.st_ino, after.st_mode) == (before.st_ino, before.st_mode)


def test_a_special_file_is_not_replaced(special):
    error = pytest.raises(ResultsError, match=r"\A.*special: cannot be written \(is no regular file; .*\Z")
    with error, replaced(special) as temporary:
        temporary.write_text("x")
    assert os.listdir(special.parent) == ["special"]


def test_a_special_file_made_during_the_block_is_not_replaced(tmp_path):
    def write():
        with replaced(tmp_path / "file") as temporary:
            temporary.write_text("x")
            os.mkfifo(tmp_path / "file")

    with pytest.raises(ResultsError, match="is no regular file"):
        write()
    assert os.listdir(tmp_path) == ["file"]


def test_a_link_to_a_special_file_is_not_replaced(special):
    link = special.with_name("link")
    link.symlink_to(special)
    with pytest.raises(ResultsError, match="link: cannot be written"), replaced(link):
        pass
    assert link.is_symlink()


def test_the_target_of_a_link_is_replaced(tmp_path):
    (tmp_path / "folder").mkdir()
    link, file = tmp_path / "link", tmp_path / "folder" / "file"
    link.symlink_to(file)
    with replaced(link) as temporary:
        temporary.write_text("new")
    assert link.is_symlink()
    assert file.read_text() == "new"
    assert os.listdir(file.parent) == ["file"]


def test_special_files_are_not_removed(special):
    remove(special)
    link = special.with_name("link")
    link.symlink_to(special)
    remove(link)
    assert link.is_symlink()
    os.rename(special, special.with_name(".x.12345678.npz"))
    remove_leftovers(special.with_name("x.npz"))
    os.rename(special.with_name(".x.12345678.npz"), special)


def test_a_special_file_is_no_checkpoint_and_no_lock(special):
    with pytest.raises(CheckpointError, match="special: cannot be written"):
        load_checkpoint(special, "identity")
    with owned(special):
        pass
    lock = special.with_name("x.lock")
    os.rename(special, lock)
    with pytest.raises(ResultsError, match=r"x\.lock: cannot be written"), locked(special.with_name("x")):
        pass
    os.rename(lock, special)


def test_a_damaged_checkpoint_is_not_moved_over_a_special_file(tmp_path, special):
    from rbmbench.training.checkpoint import resumed

    np.savez(tmp_path / "x.npz", a=1)
    aside = tmp_path / "x.npz.unreadable"
    os.rename(special, aside)
    with pytest.raises(CheckpointError, match="cannot be moved aside"):
        resumed(tmp_path / "x.npz", "identity")
    os.rename(aside, special)


@pytest.mark.parametrize("output", ["executed", "html", "log"])
def test_a_notebook_is_not_written_to_a_special_file(tmp_path, special, repository, output):
    files = {"executed": tmp_path / "a.ipynb", "html": tmp_path / "a.html", "log": tmp_path / "a.log"}
    with pytest.raises(ResultsError, match="special: cannot be written"):
        run_notebook(repository / "notebooks" / "claims.ipynb", {}, **files | {output: special})
