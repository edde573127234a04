# SPDX-License-Identifier: BSD-3-Clause
"""Readers of text tables and R data files, and splits of rows."""

import gzip
import lzma
import struct

import numpy as np
import pytest

from rbmbench import datasets
from rbmbench.base.errors import DataError, SettingsError
from rbmbench.datasets import we8there
from rbmbench.datasets._downloads import File
from rbmbench.datasets._formats import bits_with_commas, labelled_grey_text
from rbmbench.datasets._rdata import r_objects

FILE = File("set", "file", (), at_most_bytes=10**6, unpacked_bytes=10**6)


def grey_text(rows):
    lines = [" ".join([f"{label}.0000", *(f"{value:.3f}" for value in values)]) for label, values in rows]
    return gzip.compress("\n".join(lines).encode())


def test_labelled_grey_values_are_read_without_their_labels():
    values = np.linspace(-1, 1, 2 * 256).reshape(2, 256)
    pixels = labelled_grey_text(FILE, grey_text([(6, values[0]), (9, values[1])]), "here")
    np.testing.assert_allclose(pixels, values, atol=6e-4)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(6, [0.5] * 255)], "must have a label and 256 pixels a line, got 256 numbers"),
        ([(6, [1.5] * 256)], "grey values must be from -1 to 1, got 1.5"),
        ([(6, [0.5] * 256), (7, [0.5] * 255)], "must have lines of numbers"),
    ],
)
def test_invalid_lines_raise(rows, message):
    with pytest.raises(DataError, match=f"here: {message}"):
        labelled_grey_text(FILE, grey_text(rows), "here")


def test_bits_with_commas():
    np.testing.assert_array_equal(bits_with_commas(FILE, b"0,1,1\n1,0,0\n", "here"), [[0, 1, 1], [1, 0, 0]])
    for text, message in ((b"0,2\n", "must have lines of 0 and 1"), (b"0,1\n1\n", "must have lines of numbers")):
        with pytest.raises(DataError, match=f"here: {message}"):
            bits_with_commas(FILE, text, "here")


def integers(*numbers):
    return struct.pack(f">{len(numbers)}i", *numbers)


def text(value):
    return integers(0x40009, len(value)) + value.encode()


NIL, PAIR, SYMBOL = integers(254), integers(0x402), integers(1)
SLOT = PAIR + SYMBOL + text("i") + integers(13, 3, 5, 6, 7)
NAMED = integers(0x213, 1) + integers(14, 1) + struct.pack(">d", 2.5) + PAIR
NAMED += integers(0x1FF) + integers(16, 1) + text("x")


def r_file(body):
    return lzma.compress(b"RDX2\nX\n" + integers(2, 0, 0) + body)


def test_r_objects_are_read_with_references_and_attributes():
    # An S4 object with one slot, then a list with an attribute whose tag is a reference to the first symbol.
    body = PAIR + SYMBOL + text("counts") + integers(0x10319) + SLOT + NIL
    body += PAIR + SYMBOL + text("ratings") + NAMED + NIL + NIL
    objects = r_objects(FILE, r_file(body), "here")
    assert list(objects) == ["counts", "ratings"]
    assert objects["counts"]["i"].tolist() == [5, 6, 7]
    assert objects["ratings"][0].tolist() == [2.5]


@pytest.mark.parametrize(
    "content",
    [b"nothing", lzma.compress(b"RDX3\nX\n"), r_file(PAIR), r_file(PAIR + SYMBOL + text("f") + integers(3) + NIL)],
)
def test_invalid_r_files_raise(content):
    with pytest.raises(DataError, match="here: not an R data file, or damaged"):
        r_objects(FILE, content, "here")


def test_digits_are_split_in_their_order():
    whole, cut = datasets.load("digits"), datasets.load("digits", validation=101, test=211)
    assert (len(cut.train), len(cut.validation), len(cut.test)) == (1485, 101, 211)
    np.testing.assert_array_equal(np.concatenate([cut.train, cut.validation, cut.test]), whole.train)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("digits", {"validation": 1000, "test": 797}, "option 'test': must be a whole number from 0 to 796, got 797"),
        ("mnist", {"validation": 60_000}, "option 'validation': must "),
        ("usps", {"threshold": 2}, "option 'threshold': must be a number from -1 to 1, got 2"),
        ("usps", {"validation": 7291}, "option 'validation': must "),
        ("we8there", {"terms": 2641}, "option 'terms': must "),
        ("we8there", {"stands_in_for": ""}, "option 'stands_in_for': must "),
        ("movie_reviews", {"stands_in_for": 3}, "option 'stands_in_for': must "),
    ],
)
def test_invalid_options_raise(name, options, message):
    with pytest.raises(SettingsError, match=message):
        datasets.load(name, **options)


def test_an_r_file_without_the_reviews_raises():
    with pytest.raises(DataError, match="here: not the 6166 reviews of 2640 terms"):
        we8there._present(FILE, r_file(PAIR + SYMBOL + text("counts") + NAMED + NIL + NIL), "here")
