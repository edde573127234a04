"""Files are replaced whole or not at all."""

import os

import pytest

from rbmbench.errors import ResultsError
from rbmbench.files import replaced


def test_a_file_and_its_folder_are_made(tmp_path):
    path = tmp_path / "a" / "b" / "file.txt"
    with replaced(path) as temporary:
        assert temporary.parent == path.parent
        assert temporary.suffix == ".txt"
        temporary.write_text("new")
        assert not path.exists()
    assert path.read_text() == "new"
    assert os.listdir(path.parent) == ["file.txt"]


def test_the_old_file_stays_until_the_block_ends(tmp_path):
    path = tmp_path / "file.txt"
    path.write_text("old")
    with replaced(str(path)) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_block_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, error):
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


def test_files_have_the_permissions_of_ordinary_ones(tmp_path):
    ordinary = tmp_path / "ordinary"
    ordinary.write_text("")
    with replaced(tmp_path / "ours") as temporary:
        temporary.write_text("")
    assert (tmp_path / "ours").stat().st_mode == ordinary.stat().st_mode


def test_the_mask_of_permissions_is_left_as_it_was(tmp_path):
    before = os.umask(0o027)
    try:
        with replaced(tmp_path / "ours") as temporary:
            temporary.write_text("")
        assert (tmp_path / "ours").stat().st_mode & 0o777 == 0o640
    finally:
        assert os.umask(before) == 0o027


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path):
    (tmp_path / "file").write_text("in the way")
    path = tmp_path / "file" / "x.npz"
    with pytest.raises(ResultsError) as caught, replaced(path):
        pass
    assert str(caught.value).startswith(f"{path}: cannot be written (")
    assert "\n" not in str(caught.value)


def test_a_target_that_is_a_folder_is_one_line_and_leaves_nothing(tmp_path):
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "inside").write_text("kept")
    with pytest.raises(ResultsError, match="cannot be written"), replaced(tmp_path / "target") as temporary:
        temporary.write_text("x")
    assert os.listdir(tmp_path) == ["target"]
    assert (tmp_path / "target" / "inside").read_text() == "kept"
