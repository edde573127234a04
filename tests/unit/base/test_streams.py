# SPDX-License-Identifier: BSD-3-Clause
"""Random streams: published known answers, layout, independence and uniformity."""

import numpy as np
import pytest
from backends import BACKENDS, DTYPES
from core_helpers import expected_uniforms, philox_words
from scipy.stats import kstest, norm

from rbmbench.base.errors import SettingsError
from rbmbench.base.streams import Draw, Purpose, Stream
from rbmbench.kernels import kernels_for
from rbmbench.kernels.numpy.random import philox

# Random123 1.14, tests/kat_vectors, philox4x32 with 10 rounds: counter, key, answer.
KNOWN_ANSWERS = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]
purposes = [value for name, value in vars(Purpose).items() if name.isupper()]


def words(text):
    return [int(word, 16) for word in text.split()]


@pytest.mark.parametrize(("counter", "key", "answer"), KNOWN_ANSWERS)
def test_published_known_answers(counter, key, answer):
    assert philox_words(words(counter), words(key)) == words(answer)
    block = philox([np.array([w], np.uint32) for w in words(counter)], words(key))
    assert [int(word[0]) for word in block] == words(answer)


@BACKENDS
def test_a_stream_returns_the_first_known_answer(kernels):
    u = kernels.uniforms(Stream(0, [0], purpose=0).next(), 64, np.float64)[0]
    assert [int(u[position] * 2**32) for position in (0, 16, 32, 48)] == words(KNOWN_ANSWERS[0][2])


@BACKENDS
@DTYPES
@pytest.mark.parametrize("number", [0, 7, 2**32 - 1, 2**32, 5 * 2**32 + 3, 2**63 + 1])
def test_uniforms_have_the_documented_layout(kernels, dtype, number):
    trials = np.array([0x299F31D0, 3, 2**32 - 1], np.uint32)
    draw = Draw(np.uint32(0xA4093822), trials, np.uint32(0x93707344), np.uint64(number))
    u = kernels.uniforms(draw, 211, dtype)
    assert u.dtype == dtype
    np.testing.assert_array_equal(u, expected_uniforms(draw, 211, dtype))


@BACKENDS
@DTYPES
def test_uniforms_do_not_depend_on_their_count(kernels, dtype):
    draw = Stream(11, [5, 17]).next()
    far = kernels.uniforms(draw, 70_001, dtype)
    np.testing.assert_array_equal(far[:, -1], expected_uniforms(draw, 70_001, dtype)[:, -1])
    for count in (1, 63, 64, 65, 4097):
        np.testing.assert_array_equal(kernels.uniforms(draw, count, dtype), far[:, :count])


@BACKENDS
def test_uniforms_of_a_trial_do_not_depend_on_other_trials(kernels):
    all_trials = kernels.uniforms(Stream(3, np.arange(25), Purpose.DATA, 9).next(), 131)
    for trial in (0, 7, 24):
        alone = kernels.uniforms(Stream(3, [trial], Purpose.DATA, 9).next(), 131)
        np.testing.assert_array_equal(alone[0], all_trials[trial])


def test_next_and_take_number_draws_in_succession():
    stream, bulk = Stream(1, [0], number=5), Stream(1, [0], number=5)
    assert [int(stream.next().number) for _ in range(4)] == [5, 6, 7, 8]
    assert int(bulk.take(3).number) == 5
    assert int(bulk.next().number) == 8


@pytest.mark.parametrize("seed", [-1, 2**32, 1.7, "1", None, True])
def test_a_seed_that_is_no_integer_of_its_range_raises(seed):
    with pytest.raises(SettingsError, match=r"^seed: must be an integer from 0 to 4294967295, got "):
        Stream(seed, [0])


@pytest.mark.parametrize("trials", [[2**32], [-1], np.array([2**32]), np.array([3, -1]), [1.5], ["1"], 5, [[1]]])
def test_trial_outside_its_range_raises(trials):
    with pytest.raises(SettingsError, match=r"^trial.*4294967295"):
        Stream(0, trials)


def neighbours():
    """Return a draw, and draws that differ from it in one word."""
    first = {"seed": 2018, "trials": [4], "purpose": Purpose.TRAINING, "number": 100}
    changes = [{"seed": 2019}, {"trials": [5]}, {"number": 101}, {"number": 100 + 2**32}]
    changes += [{"purpose": purpose} for purpose in purposes if purpose != first["purpose"]]
    return first, [first | change for change in changes]


def test_purposes_differ():
    assert len(set(purposes)) == len(purposes) >= 6


def test_neighbouring_draws_are_uncorrelated():
    # Error rate 1e-4 over all pairs (Bonferroni): |r| sqrt(N) is nearly standard normal.
    first, others = neighbours()
    count = 200_003
    centred = kernels_for(np.empty(0)).uniforms(Stream(**first).next(), count, np.float64)[0] - 0.5
    bound = norm.isf(1e-4 / len(others) / 2) / np.sqrt(count)
    for other in others:
        other_centred = kernels_for(np.empty(0)).uniforms(Stream(**other).next(), count, np.float64)[0] - 0.5
        assert abs(12 * np.mean(centred * other_centred)) < bound, other


@DTYPES
def test_uniforms_are_uniform(dtype):
    # Error rate 1e-4 in all: 4 tests of 2.5e-5 each, on 1e6 uniforms.
    u = kernels_for(np.empty(0)).uniforms(Stream(77, np.arange(10)).next(), 100_000, dtype).astype(np.float64)
    assert u.min() >= 0
    assert u.max() < 1
    assert kstest(u.ravel(), "uniform").pvalue > 2.5e-5
    counts = np.bincount((u.ravel() * 1024).astype(int), minlength=1024)
    z = (((counts - u.size / 1024) ** 2).sum() / (u.size / 1024) - 1023) / np.sqrt(2 * 1023)
    assert abs(z) < norm.isf(2.5e-5 / 2)
    for lag in (1, 16):
        r = 12 * np.mean((u[:, lag:] - 0.5) * (u[:, :-lag] - 0.5))
        assert abs(r) * np.sqrt(u.size) < norm.isf(2.5e-5 / 2)
