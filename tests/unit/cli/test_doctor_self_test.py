# SPDX-License-Identifier: BSD-3-Clause
"""The self-test of ``rbmbench doctor`` holds here, and every check of it refuses kernels that are a little wrong."""

import json
from contextlib import nullcontext

import numpy as np
import pytest

from rbmbench.cli import main
from rbmbench.cli.doctor import FAILED, OK, self_test
from rbmbench.cli.doctor.checks import CHECKS, Measured, Place
from rbmbench.kernels import backend_name, pair_kernels, reference_kernels
from rbmbench.kernels import numpy as numpy_kernels
from rbmbench.training.timing import best_seconds
from shim import NEEDS_COMPILER, DeviceArray, runs_on_cpu

numba_kernels = pytest.importorskip("rbmbench.kernels.numba")

NUMBA = Place("numba", nullcontext, np.asarray)
REFERENCE = Place("numpy", reference_kernels, np.asarray)
CUDA = Place("cupy", runs_on_cpu, lambda array: DeviceArray(np.ascontiguousarray(array).copy()))
FUNCTIONS = {check.__name__: check for check in CHECKS.values()}
QUICK_ON_CPU = ("log_partition", "gradient", "expected_cd", "stationarity")


def verdict(check: str, place: Place):
    return self_test.judged(check, place, FUNCTIONS[check])


@pytest.mark.parametrize("place", [REFERENCE, NUMBA], ids=["reference", "numba"])
@pytest.mark.parametrize("check", FUNCTIONS)
def test_checks_hold_here(check, place):
    found = verdict(check, place)
    assert found.state == OK, found
    assert found.values["kernels"] == place.kernels
    assert found.values["measured"] <= found.values["bound"]


@NEEDS_COMPILER
@pytest.mark.parametrize(
    "check", [pytest.param(n, marks=[] if n in QUICK_ON_CPU else pytest.mark.slow) for n in FUNCTIONS]
)
def test_checks_hold_on_the_device_that_is_this_cpu(check):
    assert verdict(check, CUDA).state == OK


# Kernels that are wrong on purpose, from the right one of a home.


def off_by_a_little(kernel):
    """Log weights of which each is too large by 1e-10 nats."""
    return lambda *arguments: kernel(*arguments) + 1e-10


def forgetful(kernel):
    """Log weights without the first bias of the layer that is summed out."""
    return lambda W, b, c: kernel(W, np.concatenate([0 * b[:1], b[1:]]), c)


def too_large(kernel):
    """Means that are too large by a millionth."""

    def mean(activation, bias):
        kernel(activation, bias)
        activation *= 1 + 1e-6

    return mean


def biased(kernel):
    """Samples under another bias."""
    return lambda activation, bias, draw, *scale: kernel(activation, bias + np.float32(0.2), draw, *scale)


def transposed(kernel):
    """Samples under the biases of other units."""
    return lambda activation, bias, draw, *scale: kernel(activation, bias[:, ::-1].copy(), draw, *scale)


def reluctant(kernel):
    """Samples that are 1 less often than their mean says."""
    return lambda mean, draw, out: kernel(np.float32(0.9) * mean, draw, out)


def longer(kernel):
    """Steps of ascent that are too long by 1e-5."""
    return lambda parameter, up, up_rate, down, down_rate: kernel(parameter, up, up_rate * 1.00001, down, down_rate)


def next_rows(kernel):
    """Mini-batches of the rows that come next."""
    return lambda data, index, out: kernel(data, (index + 1) % len(data), out)


def later(kernel):
    """Samples of other uniforms: right in law."""
    return lambda activation, bias, draw, *scale: kernel(
        activation, bias, draw._replace(number=draw.number + np.uint64(1000)), *scale
    )


def steeper(kernel):
    """Weights of annealing that are too large by a twentieth."""

    def add(activation, bias, first, second, difference):
        before = difference.copy()
        kernel(activation, bias, first, second, difference)
        difference += 0.05 * (difference - before)

    return add


def undefined(kernel):
    """Means that are no numbers."""

    def mean(activation, bias):
        activation[...] = np.nan

    return mean


def broken(kernel):
    """A kernel that cannot be called, as a broken library's."""

    def raises(*arguments):
        raise RuntimeError("symbol lookup error\nand more")

    return raises


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("kernels", [numpy_kernels, numba_kernels], ids=["reference", "numba"])
@pytest.mark.parametrize(
    ("check", "kernel", "wrong"),
    [
        ("log_partition", "hidden_log_weights", off_by_a_little),
        ("log_partition", "hidden_log_weights", forgetful),
        ("gradient", "bernoulli_mean", too_large),
        ("gradient", "bernoulli_mean", undefined),
        ("expected_cd", "bernoulli_mean", too_large),
        ("expected_cd", "bernoulli_mean", undefined),
        ("sampled_cd", "sample", reluctant),
        ("sampled_cd", "sample_bernoulli", biased),
        ("stationarity", "sample_bernoulli", biased),
        ("stationarity", "sample_bernoulli", transposed),
        ("annealing", "softplus_difference", steeper),
        ("annealing", "sample_bernoulli", biased),
    ],
)
def test_wrong_kernels_are_refused(monkeypatch, kernels, check, kernel, wrong):
    place = NUMBA if kernels is numba_kernels else REFERENCE
    monkeypatch.setattr(kernels, kernel, wrong(getattr(kernels, kernel)))
    assert verdict(check, place).state == FAILED


@pytest.mark.parametrize(
    ("kernel", "wrong"), [("ascend", longer), ("gather_rows", next_rows), ("sample_bernoulli", later)]
)
def test_training_that_is_not_the_reference_kernels_is_refused(monkeypatch, kernel, wrong):
    monkeypatch.setattr(numba_kernels, kernel, wrong(getattr(numba_kernels, kernel)))
    assert verdict("same_training", NUMBA).state == FAILED


@pytest.mark.parametrize("check", FUNCTIONS)
def test_a_kernel_that_raises_is_one_line(monkeypatch, check):
    for kernel in numba_kernels.__all__:
        monkeypatch.setattr(numba_kernels, kernel, broken(kernel))
    found = verdict(check, NUMBA)
    assert (found.state, found.found) == (FAILED, "RuntimeError: symbol lookup error")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2.0])
def test_a_measurement_that_is_no_number_or_too_large_has_failed(value):
    found = self_test.judged("what", NUMBA, lambda place: Measured(value, 1.0))
    assert found.state == FAILED
    json.dumps(found.values, allow_nan=False)


def test_the_command_fails_where_a_check_does(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(self_test, "places", lambda: [NUMBA])
    arguments = ["doctor", "--json", "--results", str(tmp_path)]
    for code, kernel in ((0, numba_kernels.hidden_log_weights), (1, off_by_a_little(numba_kernels.hidden_log_weights))):
        monkeypatch.setattr(numba_kernels, "hidden_log_weights", kernel)
        assert main(arguments) == code
        found = json.loads(capsys.readouterr().out)
        lines = found["sections"]["Self-test"]
        failed = [line["values"]["check"] for line in lines if line["state"] == FAILED]
        assert (found["failed"], failed) == (bool(code), ["log Z by either layer's states, nats"] * code)
        assert len(lines) == len(CHECKS)


def test_places_are_those_of_this_machine():
    found = [place.kernels for place in self_test.places()]
    assert found[:2] == ["numpy", "numba"]
    for place in self_test.places():
        with place.chosen():
            assert backend_name(place.put(np.zeros(1))) == place.kernels


def test_a_step_and_its_products_are_timed():
    calls = []
    times = best_seconds(lambda: calls.append("step"), lambda: calls.append("products"), seconds=0.01)
    assert calls[:4] == ["step", "products"] * 2
    assert all(0 <= seconds < float("inf") for seconds in times)


def test_reference_kernels_are_taken_within_the_block_alone():
    array = np.zeros(1)
    before = backend_name(array)
    with reference_kernels():
        assert backend_name(array) == "numpy"
        assert pair_kernels(array) is None
        with reference_kernels():
            pass
        assert backend_name(array) == "numpy"
    assert backend_name(array) == before
    with pytest.raises(ZeroDivisionError), reference_kernels():
        raise ZeroDivisionError
    assert backend_name(array) == before == "numba"
