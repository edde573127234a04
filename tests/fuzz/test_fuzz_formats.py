# SPDX-License-Identifier: BSD-3-Clause
"""Invalid files of published formats, given to the readers of data sets without checksums."""

import gzip
import hashlib
import lzma
import struct
from io import BytesIO

import numpy as np
import pytest
import scipy.io
from hypothesis import given
from hypothesis import strategies as st
from mutations import mutated, mutated_text
from properties import holds_for_files, is_plain_matrix, read_or_refused

from rbmbench import datasets
from rbmbench.datasets import _formats, we8there
from rbmbench.datasets._downloads import File, Sources, fetch
from rbmbench.datasets._rdata import r_objects

RANDOM = np.random.default_rng(1)
WHERE = "folder/made.gz"
LETTERS = RANDOM.integers(0, 2, (3, 128), np.uint8)


def declared(name="made.gz"):
    return File(folder="made", name=name, addresses=(), at_most_bytes=10**6, unpacked_bytes=10**5)


def zipped_and_mutated(content: bytes):
    """Return a strategy of gzip files with changes inside or of the file itself."""
    return mutated(content).map(gzip.compress) | mutated(gzip.compress(content))


def text_or_zip(text: str):
    """Return a strategy of zipped texts with changes of the text or of the zip."""
    return mutated_text(text).map(gzip.compress) | zipped_and_mutated(text.encode())


IDX = struct.pack(">4B3I", 0, 0, 8, 3, 5, 3, 2) + bytes(range(30))
sizes = st.lists(st.sampled_from((0, 1, 2, 3, 5, 2**16, 2**31, 2**32 - 1)), min_size=3, max_size=3)
idx_headers = st.tuples(st.sampled_from((8, 9, 13)), st.sampled_from((1, 3, 255)), sizes).map(
    lambda parts: struct.pack(">4B3I", 0, 0, parts[0], parts[1], *parts[2]) + IDX[16:]
)
LETTER_LINES = "".join("\t".join(map(str, [n, "q", -1, 3, 1, 4, *row])) + "\t\n" for n, row in enumerate(LETTERS))
GREY_LINES = "".join(
    f"{label} " + " ".join(f"{grey:.3f}" for grey in RANDOM.uniform(-1, 1, 256)) + "\n" for label in (3, 5)
)
BITS = "".join(",".join(map(str, row)) + "\n" for row in LETTERS[:, :11])
AMAT = "".join(" ".join(map(str, row)) + "\n" for row in RANDOM.integers(0, 2, (2, 784)))


def mat(do_compression=False, **parts) -> bytes:
    buffer = BytesIO()
    scipy.io.savemat(buffer, parts, do_compression=do_compression)
    return buffer.getvalue()


def cells(words) -> np.ndarray:
    packed = np.empty((1, len(words)), object)
    packed[0, :] = words
    return packed


WORDS = [np.concatenate([LETTERS.T, np.ones((1, 3), np.uint8)])[:, :length] for length in (3, 1)]
GREY = RANDOM.uniform(0, 1, (784, 2))
ODD = [cells([cells([cells([GREY])])]), np.array("text"), GREY.astype(complex), {"field": GREY}, np.zeros((0, 0))]
ODD += [scipy.sparse.csc_matrix(GREY), cells([]), cells(["text", GREY])]
mats = st.sampled_from(
    [mat(zipped, patterns_train=cells(WORDS), patterns_test=cells(WORDS[:1])) for zipped in (False, True)]
    + [mat(zipped, data=GREY, testdata=GREY[:, :1]) for zipped in (False, True)]
    + [mat(data=part, testdata=GREY, patterns_train=part, patterns_test=part) for part in ODD]
)


def symbol(text: str) -> bytes:
    return struct.pack(">iii", 1, 9, len(text)) + text.encode()


def reviews(*ends: int) -> bytes:
    """Return R data of two counts in a sparse matrix whose columns have these ends."""
    return (
        b"RDX2\nX\n" + struct.pack(">iii", 2, 3, 4) + struct.pack(">i", 2 | 0x400) + symbol("we8thereCounts")
        + struct.pack(">i", 2 | 0x400) + symbol("i") + struct.pack(">4i", 13, 2, 0, 1)
        + struct.pack(">i", 2 | 0x400) + symbol("p") + struct.pack(f">2i{len(ends)}i", 13, len(ends), *ends)
        + struct.pack(">i", 2 | 0x400) + symbol("x") + struct.pack(">2i2d", 14, 2, 1, 3)
        + struct.pack(">2i", 254, 254)
    )  # fmt: skip


RDATA = reviews(0, *[2] * we8there.TERMS)
FLAGS = (0, 1, 2, 2 | 0x400, 9, 10, 13, 14, 16, 19, 25, 254, 255, 255 | 0x200, 19 | 0x200, 2**31 - 1, -1, 3, 100)
items = st.lists(st.sampled_from(FLAGS), max_size=400).map(
    lambda flags: RDATA[:19] + struct.pack(f">{len(flags)}i", *flags)
)


def is_grey(rows, columns=256) -> bool:
    return rows.shape[1] == columns and np.abs(rows).max(initial=0) <= 1


def are_letters(rows) -> bool:
    return is_plain_matrix(rows) and rows.shape[1] == 128


# For every reader: inputs, and a property of its output.
READERS = {
    _formats.idx_images: (
        zipped_and_mutated(IDX) | idx_headers.map(gzip.compress),
        lambda images: images.dtype == np.uint8 and images.ndim == 3,
    ),
    _formats.taskar_text: (text_or_zip(LETTER_LINES), are_letters),
    _formats.labelled_grey_text: (text_or_zip(GREY_LINES), is_grey),
    _formats.bits_with_commas: (mutated_text(BITS), is_plain_matrix),
    _formats.amat: (mutated_text(AMAT), is_plain_matrix),
    _formats.taskar_mat: (mats, are_letters),
    _formats.chardata_mat: (mats, lambda parts: all(is_grey(part, 784) for part in parts.values())),
    r_objects: ((items | mutated(RDATA)).map(lzma.compress) | mutated(lzma.compress(RDATA)), lambda _: True),
    we8there._present: (mutated(RDATA).map(lzma.compress), is_plain_matrix),
}


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
def test_invalid_files_are_read_or_raise_a_one_line_error(reader):
    inputs, holds_for = READERS[reader]
    file = declared("made.amat" if reader is _formats.amat else "made.gz")

    @given(inputs)
    def holds(content):
        output = read_or_refused(lambda: reader(file, content, WHERE), WHERE)
        assert output is None or holds_for(output)

    holds()


def test_invalid_csv_files_of_users_are_read_or_raise(folder):
    file = folder / "own.csv"
    holds_for_files(file, mutated_text(BITS), lambda path: datasets.read_file(path).train, is_plain_matrix)


@given(mats.flatmap(lambda content: st.tuples(st.just(content), mutated(content))))
def test_changed_matlab_files_raise_by_their_checksum(folder, contents):
    # Some changed bytes crash SciPy.
    original, changed = contents
    file = File("made", "made.mat", (), at_most_bytes=10**6, sha256=hashlib.sha256(original).hexdigest())
    (folder / file.name).write_bytes(changed)
    sources = Sources(str(folder), folder)
    download = read_or_refused(lambda: fetch([file], sources, lambda _file, content, _where: content), file.name)
    assert download is None or download.value == original


def test_valid_files_are_read():
    assert _formats.idx_images(declared(), gzip.compress(IDX), WHERE).shape == (5, 3, 2)
    assert np.array_equal(_formats.taskar_text(declared(), gzip.compress(LETTER_LINES.encode()), ""), LETTERS)
    assert _formats.labelled_grey_text(declared(), gzip.compress(GREY_LINES.encode()), "").shape == (2, 256)
    presence = we8there._present(declared(), lzma.compress(RDATA), "")
    assert np.flatnonzero(presence).tolist() == [0, we8there.TERMS]
    for zipped in (False, True):
        words = mat(zipped, patterns_train=cells(WORDS), patterns_test=cells(WORDS[:1]), more={"field": "text"})
        assert len(_formats.taskar_mat(declared(), words, "")) == 7
