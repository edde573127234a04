# SPDX-License-Identifier: BSD-3-Clause
"""Published data sets, read from a mirror without the network."""

import os
from pathlib import Path

import numpy as np
import pytest

from rbmbench import datasets
from rbmbench.datasets._downloads import Sources, catalogue, fetch

if not os.environ.get("RBMBENCH_DATA_MIRROR"):
    pytest.skip("real data sets: set RBMBENCH_DATA_MIRROR to a mirror to test them", allow_module_level=True)


@pytest.fixture(autouse=True)
def _empty_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("RBMBENCH_DATA_CACHE", str(tmp_path))


def test_mnist():
    data = datasets.load("mnist")
    assert data.train.shape == (60_000, 784)
    assert data.test.shape == (10_000, 784)
    assert set(np.unique(data.train)) == {0, 1}
    assert data.train.mean() == pytest.approx(0.1322583, abs=1e-7)
    assert [file["from"] for file in data.provenance["files"]] == ["mirror", "mirror"]
    # The first training image is a five: the border is empty, the upper stroke is not.
    first = data.train[0].reshape(28, 28)
    assert first[:4].sum() == 0
    assert first[5:9, 8:24].sum() > 30


def test_mnist_drawn_from_its_grey_values():
    data = datasets.load("mnist", binarise="bernoulli")
    assert (data.train.shape, data.test.shape) == ((60_000, 784), (10_000, 784))
    # The mean grey value over 255 is 0.1306604; a mean of all draws has a standard deviation below 3e-5.
    assert data.train.mean() == pytest.approx(0.1306604, abs=1.2e-4)
    again = datasets.load("mnist", binarise="bernoulli", seed=1).train
    assert 0.01 < (data.train != again).mean() < 0.1


def test_mnist_as_published_binary():
    data = datasets.load("mnist", binarise="fixed")
    shapes = data.train.shape, data.validation.shape, data.test.shape
    assert shapes == ((50_000, 784), (10_000, 784), (10_000, 784))
    assert [file["from"] for file in data.provenance["files"]] == ["mirror"] * 3
    # Drawn from the same grey values.
    assert data.train.mean() == pytest.approx(0.1306604, abs=1e-3)


def test_omniglot_is_a_stand_in_without_chardata_mat():
    if "chardata.mat" in {path.name for path in Path(os.environ["RBMBENCH_DATA_MIRROR"]).rglob("*.mat")}:
        pytest.skip("the mirror has chardata.mat")
    data = datasets.load("omniglot")
    assert (data.train.shape, data.test.shape) == ((24_345, 784), (8_070, 784))
    assert data.title.endswith("(stand-in for OMNIGLOT)")
    assert data.provenance["stand_in_for"] == "OMNIGLOT"
    assert data.train.mean() == pytest.approx(0.0806, abs=5e-4)


def test_fashion_mnist():
    data = datasets.load("fashion_mnist")
    assert data.train.shape == (60_000, 784)
    assert data.test.shape == (10_000, 784)
    # The mean grey value over 255 is 0.2860406, the standard deviation of a mean of all draws 4.1e-5: error rate 1e-4.
    assert data.train.mean() == pytest.approx(0.2860406, abs=1.6e-4)
    assert [file["from"] for file in data.provenance["files"]] == ["mirror", "mirror"]
    thresholded = datasets.load("fashion_mnist", binarise="threshold").train
    # Drawn and thresholded pixels mostly agree; the first image is a boot: the area over its toe is empty.
    assert 0.8 < (data.train == thresholded).mean() < 1
    first = thresholded[0].reshape(28, 28)
    assert first[:4].sum() == first[4:16, :10].sum() == 0
    assert first[20:24, 3:27].mean() > 0.9
    assert data.provenance["source"].endswith("(licence: MIT, Zalando SE)")


def test_letters():
    data = datasets.load("letters")
    assert data.train.shape == (52_152, 128)
    assert data.train.mean() == pytest.approx(0.21968, abs=5e-6)
    assert len(np.unique(np.packbits(data.train, axis=1), axis=0)) == 49_438


def test_mnist_with_validation_rows():
    whole, cut = datasets.load("mnist"), datasets.load("mnist", validation=10_000)
    np.testing.assert_array_equal(np.concatenate([cut.train, cut.validation]), whole.train)
    assert len(cut.train) == 50_000


def test_usps():
    data = datasets.load("usps")
    assert (data.train.shape, data.validation.shape, data.test.shape) == ((6291, 256), (1000, 256), (2007, 256))
    assert data.train.mean() == pytest.approx(0.2545632, abs=1e-7)
    # The first training image is a six: ink on the left of its middle rows, none on the right of its upper ones.
    first = data.train[0].reshape(16, 16)
    assert first[5:10, 2:6].mean() > 0.5
    assert first[1:6, 12:].sum() == 0
    low_threshold = datasets.load("usps", threshold=0.5, validation=0)
    assert len(low_threshold.train) == 7291
    assert low_threshold.train[:6291].mean() < data.train.mean()


def test_restaurant_reviews():
    data = datasets.load("we8there", stands_in_for="OpenTable")
    assert (data.train.shape, data.validation.shape, data.test.shape) == ((4966, 1000), (600, 1000), (600, 1000))
    assert data.title == "we8there reviews (stand-in for OpenTable)"
    # Columns are in the order of their frequency over all reviews.
    counts = sum(part.sum(axis=0, dtype=int) for part in (data.train, data.validation, data.test))
    assert (np.diff(counts) <= 0).all()
    assert (counts[0], counts[-1]) == (431, 20)
    assert (datasets.load("we8there", seed=1).train != data.train).any()


def test_all_terms_of_all_restaurant_reviews():
    all_terms = datasets.load("we8there", terms=2640, validation=0, test=0).train
    assert all_terms.shape == (6166, 2640)
    assert all_terms.sum() == 66_459


def test_movie_reviews():
    data = datasets.load("movie_reviews")
    assert (data.train.shape, data.validation.shape, data.test.shape) == ((1600, 1001), (150, 1001), (250, 1001))
    assert sum(int(part[:, -1].sum()) for part in (data.train, data.validation, data.test)) == 1000


@pytest.mark.parametrize("data_set", ["mnist", "fashion_mnist", "letters", "usps", "we8there", "movie_reviews"])
def test_mirror_has_the_declared_bytes(data_set):
    sources = Sources.resolve()
    for file in catalogue()[data_set].files:
        if file.sha256:
            copy = fetch([file], sources, lambda file, content, where: len(content))
            assert copy.value == file.bytes
            assert copy.record == {"name": file.name, "sha256": file.sha256, "from": "mirror"}
