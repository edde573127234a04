# SPDX-License-Identifier: BSD-3-Clause
"""Readers of published file formats, on small generated files."""

import gzip
import hashlib
import struct
from io import BytesIO

import numpy as np
import pytest
import scipy.io
from core_helpers import expected_tosses

from rbmbench import datasets
from rbmbench.base.errors import DataError
from rbmbench.base.streams import Purpose, Stream
from rbmbench.datasets import _downloads
from rbmbench.datasets._downloads import Entry, File
from rbmbench.datasets._formats import amat, chardata_mat, grey_npz, idx_images, taskar_mat, taskar_text
from rbmbench.datasets.letters import content_sha256, in_order


def declared(limit=10**6, name="made.gz"):
    """Return the declaration of a file."""
    return File(folder="made", name=name, addresses=(), at_most_bytes=limit, unpacked_bytes=limit)


def idx(images):
    """Return images as the bytes of an idx3-ubyte file."""
    return struct.pack(">4B3I", 0, 0, 8, 3, *images.shape) + images.tobytes()


def letters_text(rows, ending="\t\n"):
    """Return rows as the bytes of a letter.data file."""
    words = ([number, "q", -1, 3, 1, number % 10, *row] for number, row in enumerate(rows, 1))
    return "".join("\t".join(map(str, line)) + ending for line in words).encode()


def letters_mat(rows, lengths=(3, 2, 6)):
    """Return rows as the bytes of a MATLAB file of words, the first word apart from the others."""
    columns = rows.reshape(-1, 16, 8).transpose(0, 2, 1).reshape(-1, 128).T
    columns = np.concatenate([columns, np.ones((1, len(rows)), np.uint8)])
    words = np.split(columns, np.cumsum(lengths)[:-1], axis=1)
    cells = {"patterns_train": words[:1], "patterns_test": words[1:]}
    packed = {}
    for name, part in cells.items():
        packed[name] = np.empty((1, len(part)), object)
        packed[name][0, :] = part
    buffer = BytesIO()
    scipy.io.savemat(buffer, packed, do_compression=True)
    return buffer.getvalue()


@pytest.fixture(name="images")
def _images():
    return np.random.default_rng(1).integers(0, 256, (5, 3, 2), np.uint8)


@pytest.fixture(name="rows")
def _rows():
    rows = np.random.default_rng(2).integers(0, 2, (11, 128), np.uint8)
    rows[4] = rows[9]
    return rows


def error_of(reader, content, file=None):
    """Return the error message of a reader, and check that it is one line that names the file."""
    with pytest.raises(DataError) as error:
        reader(file or declared(), content, "folder/made.gz")
    line = str(error.value)
    assert line.startswith("folder/made.gz: ")
    assert "\n" not in line
    return line


def test_invalid_idx_files_raise(images):
    whole = idx(images)
    assert "got 00000801" in error_of(idx_images, gzip.compress(b"\0\0\x08\x01" + whole[4:]))
    assert "an idx3-ubyte file" in error_of(idx_images, gzip.compress(whole[:9]))
    assert "must have 46 bytes for 5x3x2 images, got 45" in error_of(idx_images, gzip.compress(whole[:-1]))
    assert "must have 46 bytes for 5x3x2 images, got 47" in error_of(idx_images, gzip.compress(whole + b"\0"))


def test_invalid_gzip_files_raise(images):
    packed = gzip.compress(idx(images))
    assert "truncated" in error_of(idx_images, packed[:-9])
    assert "truncated" in error_of(idx_images, packed[:-1])
    assert "damaged" in error_of(idx_images, packed[:-8] + bytes(8))
    assert "not a gzip file" in error_of(idx_images, b"<html>not found</html>")
    assert "truncated" in error_of(idx_images, b"")
    assert "4 bytes follow" in error_of(idx_images, packed + b"more")


@pytest.mark.parametrize("ending", ["\t\n", "\n", "\t\r\n"])
def test_letters_text_is_read(rows, ending):
    assert np.array_equal(taskar_text(declared(), gzip.compress(letters_text(rows, ending)), ""), rows)


def test_invalid_letters_text_raises(rows):
    text = letters_text(rows)
    lines = text.splitlines(keepends=True)
    assert "line 2" in error_of(taskar_text, gzip.compress(lines[0] + lines[1][:-9] + lines[2]))
    assert "line 3" in error_of(taskar_text, gzip.compress(text.replace(lines[2][-8:], b"\t2\t1\t0\t\n", 1)))
    assert "line 1" in error_of(taskar_text, gzip.compress(lines[0].replace(b"0\t1\t", b"0 1\t", 1)))
    assert "line 12" in error_of(taskar_text, gzip.compress(text + b"\n"))
    assert "no lines" in error_of(taskar_text, gzip.compress(b""))
    assert "truncated" in error_of(taskar_text, gzip.compress(text)[:-20])


def test_invalid_letters_mat_raises(rows):
    whole = letters_mat(rows)
    for content in (whole[: len(whole) // 2], whole[:100], b"", b"\xff" * 500, whole[:300] + bytes(50) + whole[350:]):
        assert "not a MATLAB file" in error_of(taskar_mat, content)
    buffer = BytesIO()
    scipy.io.savemat(buffer, {"other": rows})
    assert "holds no array 'patterns_train'" in error_of(taskar_mat, buffer.getvalue())
    assert "constant 1" in error_of(taskar_mat, letters_mat(2 * rows))


@pytest.fixture(name="letters_folder")
def _letters_folder(rows, tmp_path, monkeypatch):
    """Return a mirror with both files of a small letters set, declared in place of the published ones."""
    folder = tmp_path / "mirror" / "letters"
    folder.mkdir(parents=True)
    (folder / "ocr_taskar.mat").write_bytes(letters_mat(rows))
    (folder / "letter.data.gz").write_bytes(gzip.compress(letters_text(rows[::-1])))
    files = tuple(
        File("letters", name, (), at_most_bytes=10**5, unpacked_bytes=10**5, instead_of=other)
        for name, other in (("ocr_taskar.mat", None), ("letter.data.gz", "ocr_taskar.mat"))
    )
    entry = Entry("made", "none", files, rows=len(rows), content_sha256=content_sha256(in_order(rows)))
    monkeypatch.setattr(_downloads, "catalogue", lambda: {"letters": entry})
    return folder


def test_both_letters_files_give_the_same_rows(letters_folder, rows, tmp_path):
    sources = {"mirror": letters_folder.parent, "cache": tmp_path / "cache"}
    from_mat = datasets.load("letters", **sources)
    (letters_folder / "ocr_taskar.mat").unlink()
    from_text = datasets.load("letters", **sources)
    names = [data.provenance["files"][0]["name"] for data in (from_mat, from_text)]
    assert names == ["ocr_taskar.mat", "letter.data.gz"]
    assert np.array_equal(from_mat.train, from_text.train)
    assert np.array_equal(from_mat.train, in_order(rows))
    assert from_mat.provenance["content_sha256"] == from_text.provenance["content_sha256"]
    assert from_mat.provenance["files"][0]["from"] == "mirror"


def test_letters_file_with_other_rows_raises(letters_folder, rows, tmp_path):
    (letters_folder / "ocr_taskar.mat").unlink()
    (letters_folder / "letter.data.gz").write_bytes(gzip.compress(letters_text(rows[1:])))
    with pytest.raises(DataError, match=r"letter\.data\.gz: must be the 11 letters, .* got 10 rows") as error:
        datasets.load("letters", mirror=letters_folder.parent, cache=tmp_path / "cache")
    assert content_sha256(in_order(rows)) in str(error.value)


def image_mirror(folder, monkeypatch, data_set, train, test):
    """Declare two IDX files of a data set, write them to a mirror, and return the sources."""
    files = []
    (folder / data_set).mkdir(parents=True)
    for name, images in (("train.gz", train), ("test.gz", test)):
        (folder / data_set / name).write_bytes(gzip.compress(idx(images)))
        files.append(File(folder=data_set, name=name, addresses=(), at_most_bytes=10**7, unpacked_bytes=10**7))
    monkeypatch.setattr(_downloads, "catalogue", lambda: {data_set: Entry("made", "none", tuple(files))})
    return {"mirror": folder, "cache": folder / "cache"}


def grey_images(train=7, test=2):
    """Return training and test images of random grey values; the first pixels are 127 and 128."""
    images = [np.random.default_rng(rows).integers(0, 256, (rows, 28, 28), np.uint8) for rows in (train, test)]
    images[0][0, 0, :2] = 127, 128
    return images


@pytest.mark.parametrize(("data_set", "binarise"), [("mnist", {}), ("fashion_mnist", {"binarise": "threshold"})])
def test_grey_images_are_binary_above_the_threshold(data_set, binarise, tmp_path, monkeypatch):
    train, test = grey_images()
    sources = image_mirror(tmp_path, monkeypatch, data_set, train, test)
    data = datasets.load(data_set, **binarise, **sources)
    assert data.train[0, :2].tolist() == [0, 1]
    assert np.array_equal(data.train, (train.reshape(7, 784) >= 128).astype(np.uint8))
    assert np.array_equal(data.test, (test.reshape(2, 784) >= 128).astype(np.uint8))
    assert data.validation.shape == (0, 784)
    assert [file["name"] for file in data.provenance["files"]] == ["train.gz", "test.gz"]
    low = datasets.load(data_set, threshold=9, **binarise, **sources)
    assert np.array_equal(low.train, (train.reshape(7, 784) >= 10).astype(np.uint8))
    assert low.provenance["options"].items() >= ({"threshold": 9} | binarise).items()


def test_binarisation_compares_grey_values_with_uniforms_of_the_stream(tmp_path, monkeypatch):
    train, test = grey_images()
    data = datasets.load("fashion_mnist", seed=5, **image_mirror(tmp_path, monkeypatch, "fashion_mnist", train, test))
    for trial, (images, pixels) in enumerate(((train, data.train), (test, data.test))):
        draw = Stream(5, [trial], Purpose.DATA).next()
        expected = expected_tosses(draw, images.size).reshape(len(images), 784) < images.reshape(-1, 784) / 255
        assert np.array_equal(pixels, expected)


# Images of 28x28 pixels: binary as text, grey in a MATLAB file by columns, grey in an npz file by rows.


@pytest.fixture(name="bits")
def _bits():
    return np.random.default_rng(3).integers(0, 2, (3, 784), np.uint8)


@pytest.mark.parametrize("zipped", [False, True])
def test_amat_is_read_plain_and_gzipped(bits, zipped):
    text = "".join(" ".join(map(str, row)) + "\n" for row in bits).encode()
    file = declared(name="made.amat.gz" if zipped else "made.amat")
    np.testing.assert_array_equal(amat(file, gzip.compress(text) if zipped else text, ""), bits)


def test_invalid_amat_raises(bits):
    text = "".join(" ".join(map(str, row)) + "\n" for row in bits).encode()
    plain = declared(name="made.amat")
    assert "got 4702 characters" in error_of(amat, text[:-2], plain)
    assert "got 0 characters" in error_of(amat, b"", plain)
    assert "pixels 0 or 1" in error_of(amat, text.replace(b"1 0", b"7 0", 1), plain)


def chardata(**parts):
    buffer = BytesIO()
    scipy.io.savemat(buffer, parts, do_compression=True)
    return buffer.getvalue()


def grey(rows):
    """Return grey images (rows, 28, 28) from 0 to 1, none of them symmetric."""
    return np.random.default_rng(rows).integers(0, 256, (rows, 28, 28)) / 255


def test_chardata_is_read_by_columns():
    parts = {"train": grey(5), "test": grey(2)}
    by_columns = {part: images.swapaxes(1, 2).reshape(-1, 784).T for part, images in parts.items()}
    arrays = chardata_mat(declared(), chardata(data=by_columns["train"], testdata=by_columns["test"]), "")
    for part, images in parts.items():
        np.testing.assert_array_equal(arrays[part], images.reshape(-1, 784))


def test_invalid_chardata_raises():
    whole = chardata(data=grey(5).reshape(-1, 784).T, testdata=grey(2).reshape(-1, 784).T)
    for content in (b"", whole[:100], whole[: len(whole) // 2], chardata(data=np.zeros((784, 3)))):
        assert "not a MATLAB file" in error_of(chardata_mat, content)
    content = chardata(data=np.ones((783, 2)), testdata=np.ones(4))
    assert "784 grey values from 0 to 1" in error_of(chardata_mat, content)
    assert "from 0 to 1" in error_of(chardata_mat, chardata(data=np.full((784, 2), 2), testdata=np.ones((784, 2))))


def npz(**parts):
    buffer = BytesIO()
    np.savez_compressed(buffer, **parts)
    return buffer.getvalue()


def test_grey_npz_is_read_and_invalid_files_raise(bits):
    arrays = grey_npz(declared(), npz(train=bits, test=bits[:1], more=bits), "")
    assert list(arrays) == ["train", "test"]
    np.testing.assert_array_equal(arrays["train"], bits)
    for content in (b"", npz(train=bits), npz(train=bits, test=bits)[:200]):
        assert "an npz file of images" in error_of(grey_npz, content)
    assert "784 grey values" in error_of(grey_npz, npz(train=bits, test=bits[:, 1:]))


def test_a_file_without_sha256_is_checked_by_its_git_object(monkeypatch, tmp_path):
    content = chardata(data=grey(5).reshape(-1, 784).T, testdata=grey(2).reshape(-1, 784).T)
    git_id = hashlib.sha1(f"blob {len(content)}\0".encode() + content).hexdigest()
    file = File(folder="omniglot", name="chardata.mat", addresses=(), at_most_bytes=10**6, git_object=git_id)
    monkeypatch.setattr(_downloads, "catalogue", lambda: {"omniglot": Entry("made", "none", (file,))})
    (tmp_path / "chardata.mat").write_bytes(content)
    data = datasets.load("omniglot", mirror=str(tmp_path))
    assert (data.title, data.train.shape, data.test.shape) == ("OMNIGLOT", (5, 784), (2, 784))
    assert data.provenance["stand_in_for"] is None
    (tmp_path / "chardata.mat").write_bytes(content + b"0")
    with pytest.raises(DataError, match=rf"chardata.mat: must be git object {git_id}, got [0-9a-f]{{40}}$"):
        datasets.load("omniglot", mirror=str(tmp_path))
