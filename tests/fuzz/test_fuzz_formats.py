# SPDX-License-Identifier: BSD-3-Clause
"""Published file formats, as the readers of data sets get them: the checksums that come before are left aside here."""

import gzip
import hashlib
import lzma
import struct
from io import BytesIO

import numpy as np
import scipy.io
from fuzz_record import is_plain_matrix, read_or_refused
from hypothesis import given
from hypothesis import strategies as st
from mutations import mutated, mutated_text

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
    """What is wrong inside the gzip file, and what is wrong with the gzip file."""
    return mutated(content).map(gzip.compress) | mutated(gzip.compress(content))


def refused_or(kind, reader, content, file=None):
    return read_or_refused(kind, lambda: reader(file or declared(), content, WHERE), WHERE)


IDX = struct.pack(">4B3I", 0, 0, 8, 3, 5, 3, 2) + bytes(range(30))
sizes = st.lists(st.sampled_from((0, 1, 2, 3, 5, 2**16, 2**31, 2**32 - 1)), min_size=3, max_size=3)
idx_headers = st.tuples(st.sampled_from((8, 9, 13)), st.sampled_from((1, 3, 255)), sizes).map(
    lambda parts: struct.pack(">4B3I", 0, 0, parts[0], parts[1], *parts[2]) + IDX[16:]
)


@given(zipped_and_mutated(IDX) | idx_headers.map(gzip.compress))
def test_idx_images(content):
    found = refused_or("idx", _formats.idx_images, content)
    assert found is None or (found.dtype == np.uint8 and found.ndim == 3)


LETTER_LINES = "".join("\t".join(map(str, [n, "q", -1, 3, 1, 4, *row])) + "\t\n" for n, row in enumerate(LETTERS))


@given(mutated_text(LETTER_LINES).map(gzip.compress) | zipped_and_mutated(LETTER_LINES.encode()))
def test_letters_as_text(content):
    found = refused_or("letter.data.gz", _formats.taskar_text, content)
    assert found is None or (is_plain_matrix(found) and found.shape[1] == 128)


GREY_LINES = "".join(
    f"{label} " + " ".join(f"{grey:.3f}" for grey in RANDOM.uniform(-1, 1, 256)) + "\n" for label in (3, 5)
)


@given(mutated_text(GREY_LINES).map(gzip.compress) | zipped_and_mutated(GREY_LINES.encode()))
def test_grey_text(content):
    found = refused_or("zip.train.gz", _formats.labelled_grey_text, content)
    assert found is None or (found.shape[1] == 256 and np.abs(found).max(initial=0) <= 1)


BITS = "".join(",".join(map(str, row)) + "\n" for row in LETTERS[:, :11])


@given(mutated_text(BITS))
def test_bits_with_commas(content):
    found = refused_or("moviereview.data", _formats.bits_with_commas, content)
    assert found is None or is_plain_matrix(found)


@given(mutated_text(BITS))
def test_a_csv_of_the_users_own(folder, content):
    (folder / "own.csv").write_bytes(content)
    found = read_or_refused("user's csv", lambda: datasets.load("user_file", path=str(folder / "own.csv")))
    assert found is None or is_plain_matrix(found.train)


AMAT = "".join(" ".join(map(str, row)) + "\n" for row in RANDOM.integers(0, 2, (2, 784)))


@given(mutated_text(AMAT), st.booleans())
def test_amat(content, is_zipped):
    file = declared("made.amat.gz" if is_zipped else "made.amat")
    found = refused_or("amat", _formats.amat, gzip.compress(content) if is_zipped else content, file)
    assert found is None or is_plain_matrix(found)


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
mats = st.sampled_from(
    [mat(zipped, patterns_train=cells(WORDS), patterns_test=cells(WORDS[:1])) for zipped in (False, True)]
    + [mat(zipped, data=GREY, testdata=GREY[:, :1]) for zipped in (False, True)]
    + [
        mat(data=part, testdata=GREY, patterns_train=part, patterns_test=part)
        for part in (
            cells([cells([cells([GREY])])]),
            np.array("text"),
            GREY.astype(complex),
            {"field": GREY},
            scipy.sparse.csc_matrix(GREY),
            np.zeros((0, 0)),
            cells([]),
            cells(["text", GREY]),
        )
    ]
)


@given(mats)
def test_letters_in_a_matlab_file(content):
    found = refused_or("ocr_taskar.mat", _formats.taskar_mat, content)
    assert found is None or (is_plain_matrix(found) and found.shape[1] == 128)


@given(mats)
def test_grey_images_in_a_matlab_file(content):
    found = refused_or("chardata.mat", _formats.chardata_mat, content)
    assert found is None or all(part.shape[1] == 784 for part in found.values())


@given(mats.flatmap(lambda content: st.tuples(st.just(content), mutated(content))))
def test_a_changed_matlab_file_is_refused_by_its_checksum(folder, contents):
    """SciPy reads no changed bytes: some of them end the process."""
    right, changed = contents
    file = File("made", "made.mat", (), at_most_bytes=10**6, sha256=hashlib.sha256(right).hexdigest())
    (folder / file.name).write_bytes(changed)
    sources = Sources(str(folder), folder)
    found = read_or_refused("mat", lambda: fetch([file], sources, lambda _file, content, _where: content), file.name)
    assert found is None or found.value == right


def symbol(text: str) -> bytes:
    return struct.pack(">iii", 1, 9, len(text)) + text.encode()


def reviews(*ends: int) -> bytes:
    """Two counts in the columns of a sparse matrix, which end where they are said to."""
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


@given((items | mutated(RDATA)).map(lzma.compress) | mutated(lzma.compress(RDATA)))
def test_r_data(content):
    refused_or("rda", r_objects, content)


@given(mutated(RDATA).map(lzma.compress))
def test_reviews(content):
    found = refused_or("we8there.rda", we8there._present, content)
    assert found is None or is_plain_matrix(found)


def test_what_is_right_is_read():
    assert refused_or("idx", _formats.idx_images, gzip.compress(IDX)).shape == (5, 3, 2)
    assert np.array_equal(_formats.taskar_text(declared(), gzip.compress(LETTER_LINES.encode()), ""), LETTERS)
    assert _formats.labelled_grey_text(declared(), gzip.compress(GREY_LINES.encode()), "").shape == (2, 256)
    found = we8there._present(declared(), lzma.compress(RDATA), "")
    assert np.flatnonzero(found).tolist() == [0, we8there.TERMS]
    for zipped in (False, True):
        words = mat(zipped, patterns_train=cells(WORDS), patterns_test=cells(WORDS[:1]), more={"field": "text"})
        assert len(_formats.taskar_mat(declared(), words, "")) == 7
