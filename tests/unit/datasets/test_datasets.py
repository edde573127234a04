# SPDX-License-Identifier: BSD-3-Clause
"""Generated data sets, their options, and files of data sets."""

import json
import subprocess
import sys
from itertools import product

import numpy as np
import pytest

from rbmbench import datasets
from rbmbench.base.errors import DataError, SettingsError
from rbmbench.datasets.artificial_modes import prototypes


def data_set_of(**parts):
    """Return a small data set of given parts."""
    return datasets.build("made", "Made", **parts, source="test", preprocessing="none", options={"a": 1})


def test_import_loads_no_large_library():
    code = "import sys, rbmbench.datasets\n"
    code += "print({'requests', 'scipy', 'sklearn', 'yaml', 'pandas'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


@pytest.mark.parametrize(
    ("name", "options", "value", "allowed"),
    [
        ("bars_and_stripes", {"side": 0}, "got 0", "from 1 to 12"),
        ("bars_and_stripes", {"distinct": 1}, "got 1", "true, false"),
        ("shifting_bar", {"d": 1}, "got 1", "from 2 to 4096"),
        ("shifting_bar", {"d": 5, "bar": 5}, "got 5", "from 1 to 4"),
        ("mnist", {"binarise": "fix"}, "got 'fix'", "threshold, bernoulli, fixed"),
        ("omniglot", {"seed": -1}, "got -1", "from 0 to"),
        ("digits", {"test": 1797}, "got 1797", "from 0 to 1796"),
        ("bars_and_stripes", {"side": 2.5}, "got 2.5", "a whole number"),
        ("one_d_ball", {"d": 5}, "got 5", "an even number"),
        ("artificial_modes", {"flip": 0.51}, "got 0.51", "from 0 to 0.5"),
        ("artificial_modes", {"flip": float("nan")}, "got nan", "from 0 to 0.5"),
        ("artificial_modes", {"modes": 33}, "got 33", "from 1 to 32"),
        ("artificial_modes", {"copies": 10**9}, "got 1000000000", "from 1 to 1562500"),
        ("mnist", {"threshold": 255}, "got 255", "from 0 to 254"),
        ("fashion_mnist", {"binarise": "often"}, "got 'often'", "bernoulli, threshold"),
        ("digits", {"threshold": 16}, "got 16", "from 0 to 15"),
        ("digits", {"stands_in_for": " "}, "got ' '", "a text that is not empty"),
        ("user_file", {}, "got ''", "a text that is not empty"),
        ("user_file", {"path": "rows.pkl"}, "got 'rows.pkl'", ".parquet, .npy, .npz files"),
    ],
)
def test_option_values_are_checked(name, options, value, allowed):
    with pytest.raises(SettingsError) as error:
        datasets.load(name, **options)
    line = str(error.value)
    assert f"data set '{name}': option" in line
    assert value in line
    assert allowed in line
    assert "\n" not in line


def test_bars_and_stripes_of_side_two():
    data = datasets.load("bars_and_stripes", side=2)
    horizontal = ["0000", "1100", "0011", "1111"]
    vertical = ["0000", "1010", "0101", "1111"]
    assert ["".join(map(str, row)) for row in data.train] == horizontal + vertical
    assert data.train.dtype == np.uint8
    assert data.validation.shape == data.test.shape == (0, 4)


@pytest.mark.parametrize("side", [3, 4])
def test_bars_and_stripes_against_all_images(side):
    """The set is every image whose rows are constant, and every image whose columns are."""
    images = np.array(list(product([0, 1], repeat=side * side))).reshape(-1, side, side)
    bars = images[(images == images[:, :, :1]).all(axis=(1, 2))]
    stripes = images[(images == images[:, :1, :]).all(axis=(1, 2))]
    expected = np.concatenate([bars, stripes]).reshape(-1, side * side)
    train = datasets.load("bars_and_stripes", side=side).train
    assert sorted(map(tuple, train)) == sorted(map(tuple, expected))
    assert len(train) == 2 * 2**side


def test_distinct_bars_and_stripes_are_each_pattern_once():
    data, repeated = datasets.load("bars_and_stripes", side=3, distinct=True), datasets.load("bars_and_stripes", side=3)
    assert data.train.shape == (14, 9)
    assert {row.tobytes() for row in data.train} == {row.tobytes() for row in repeated.train}
    assert len({row.tobytes() for row in data.train}) == 14
    np.testing.assert_array_equal(data.test, data.train)
    assert len(repeated.test) == 0


def test_shifting_bar_is_at_every_place_once():
    np.testing.assert_array_equal(datasets.load("shifting_bar").train, np.eye(9))
    data = datasets.load("shifting_bar", d=5, bar=2)
    expected = [[1, 1, 0, 0, 0], [0, 1, 1, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 1, 1], [1, 0, 0, 0, 1]]
    np.testing.assert_array_equal(data.train, expected)
    np.testing.assert_array_equal(data.test, expected)


def rows_of(name, **options):
    return ["".join(map(str, row)) for row in datasets.load(name, **options).train]


def test_diag_of_the_paper():
    assert rows_of("diag") == ["000000", "100000", "110000", "111000", "111100", "111110", "111111"]
    assert rows_of("diag", d=2) == ["00", "10", "11"]


def test_one_d_ball_of_the_paper():
    assert rows_of("one_d_ball") == ["111000", "011100", "001110", "000111", "100011", "110001"]
    first = rows_of("one_d_ball", d=10)[0]
    assert rows_of("one_d_ball", d=10) == [first[10 - turn :] + first[: 10 - turn] for turn in range(10)]


def test_prototypes_of_the_paper():
    zeros, ones = "0" * 8, "1" * 8
    expected = [zeros + zeros, ones + ones, zeros + ones, ones + zeros]
    assert ["".join(map(str, row)) for row in prototypes(16, 4)] == expected


def test_prototypes_follow_the_formula():
    dim, modes = 13, 11
    expected = [[(t % 2) ^ (i * (t // 2 + 1) // dim % 2) for i in range(dim)] for t in range(modes)]
    assert prototypes(dim, modes).tolist() == expected
    train = datasets.load("artificial_modes", dim=dim, modes=modes, copies=7, flip=0).train
    np.testing.assert_array_equal(train, np.repeat(expected, 7, axis=0))


def test_artificial_modes_flip_rate():
    """160 000 bits flip with probability 0.001: 160 flips, standard deviation 12.6; five of them are allowed."""
    train = datasets.load("artificial_modes").train
    flips = train ^ np.repeat(prototypes(16, 4), 2500, axis=0)
    assert train.shape == (10_000, 16)
    assert abs(int(flips.sum()) - 160) < 64
    assert flips[:, ::5].any()
    assert flips[::2].any()


def test_artificial_modes_depend_on_the_seed_only():
    first, again, other = (datasets.load("artificial_modes", seed=seed, flip=0.1).train for seed in (3, 3, 5))
    assert np.array_equal(first, again)
    assert (first != other).mean() == pytest.approx(0.18, abs=0.01)


def test_held_out_splits_the_rows_in_another_order():
    options = {"data": "artificial_modes", "options": {"copies": 11, "flip": 0.1}, "validation": 7, "test": 13}
    held_out, whole = datasets.load("held_out", **options), datasets.load("artificial_modes", copies=11, flip=0.1)
    parts = held_out.train, held_out.validation, held_out.test
    assert [len(part) for part in parts] == [24, 7, 13]
    rows = np.concatenate(parts)
    assert not np.array_equal(rows, whole.train)
    np.testing.assert_array_equal(np.unique(rows, axis=0), np.unique(whole.train, axis=0))
    assert sorted(map(bytes, rows)) == sorted(map(bytes, whole.train))
    assert np.array_equal(datasets.load("held_out", **options).test, held_out.test)
    assert not np.array_equal(datasets.load("held_out", **options, seed=1).test, held_out.test)


def test_held_out_rows_of_a_stand_in_have_its_title_and_image_shape():
    options = {"data": "digits", "options": {"stands_in_for": "letters"}}
    data_set = datasets.load("held_out", **options, validation=500, test=300)
    assert data_set.title == "Digits 8x8 (stand-in for letters)"
    assert datasets.image_shape(data_set.provenance) == (8, 8)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"data": "mnits"}, SettingsError, "unknown data set 'mnits'"),
        ({"data": "held_out"}, SettingsError, "option 'data': must be another data set, got 'held_out'"),
        ({"options": {"copies": 0}}, SettingsError, "option 'copies': must "),
        ({"options": [1]}, SettingsError, "must be a mapping of options"),
        ({"validation": 4000, "test": 6000}, DataError, "less than the 10000 training rows of 'artificial_modes'"),
    ],
)
def test_invalid_options_of_held_out_raise(options, error, message):
    with pytest.raises(error, match=message):
        datasets.load("held_out", **options)


@pytest.mark.parametrize("replaced", ["MNIST", "Fashion-MNIST"])
def test_title_of_digits_names_the_replaced_data_set(replaced):
    data = datasets.load("digits", stands_in_for=replaced)
    assert data.train.shape == (1797, 64)
    assert data.provenance["title"] == data.title == f"Digits 8x8 (stand-in for {replaced})"
    assert data.provenance["stand_in_for"] == replaced
    assert datasets.load("digits").provenance["stand_in_for"] is None


def test_digits_are_one_above_the_threshold():
    from sklearn.datasets import load_digits

    values = load_digits().data
    assert np.array_equal(datasets.load("digits").train, (values >= 8).astype(np.uint8))
    assert np.array_equal(datasets.load("digits", threshold=0).train, (values != 0).astype(np.uint8))


def test_provenance_is_plain_data():
    data = datasets.load("bars_and_stripes", side=3)
    provenance = json.loads(json.dumps(data.provenance))
    assert provenance == data.provenance
    assert provenance["rows"] == {"train": 16, "validation": 0, "test": 0}
    assert (provenance["name"], provenance["visible"], provenance["files"]) == ("bars_and_stripes", 9, [])
    assert provenance["options"] == {"side": 3, "distinct": False}


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"train": [0, 1]}, "a matrix of 0 and 1"),
        ({"train": [[0, 2]]}, "got the value 2"),
        ({"train": [[0.0, 0.5]]}, "got the value 0.5"),
        ({"train": [[0.0, float("nan")]]}, "got the value nan"),
        ({"train": [["0", "1"]]}, "a matrix of 0 and 1"),
        ({"train": np.zeros((0, 3))}, "at least one row"),
        ({"train": [[0, 1]], "test": [[0, 1, 1]]}, "test: must be 2, one for each unit of the layer, got 3 columns"),
    ],
)
def test_parts_that_are_no_binary_matrices_raise(parts, words):
    with pytest.raises(DataError, match=f"made: .*{words}"):
        data_set_of(**parts)


def test_read_returns_the_saved_data_set(tmp_path):
    rng = np.random.default_rng(7)
    train, validation, test = (rng.integers(0, 2, (rows, 11), np.uint8) for rows in (5, 3, 2))
    data = data_set_of(train=train, validation=validation, test=test)
    path = tmp_path / "datasets" / "made.npz"
    datasets.save(data, path)
    again = datasets.read(path)
    assert again.provenance == data.provenance
    assert (again.name, again.title) == ("made", "Made")
    for part, rows in (("train", train), ("validation", validation), ("test", test)):
        assert np.array_equal(getattr(again, part), rows)
        assert getattr(again, part).dtype == np.uint8
    before = path.read_bytes()
    datasets.save(again, path)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["made.npz"]


def test_read_raises_on_changed_rows(tmp_path):
    data = data_set_of(train=np.eye(5, dtype=np.uint8))
    arrays = {"train": 1 - data.train, "validation": data.validation, "test": data.test}
    np.savez(tmp_path / "made.npz", **arrays, provenance=np.array(json.dumps(data.provenance)))
    with pytest.raises(DataError, match="do not have the sha256"):
        datasets.read(tmp_path / "made.npz")
