# SPDX-License-Identifier: BSD-3-Clause
"""The self-test of ``rbmbench doctor`` passes, and fails with slightly wrong kernels."""

import json

import numpy as np
import pytest

from rbmbench.cli import main
from rbmbench.cli.doctor import FAILED, OK, examined, self_test
from rbmbench.kernels import numpy as numpy_kernels

numba_kernels = pytest.importorskip("rbmbench.kernels.numba")
LIKELIHOOD, PARAMETERS = "log-likelihood against the sum over all states, nats", "trained parameters"


def states() -> dict[str, str]:
    """Return the state of every line of the self-test."""
    return {finding.subject: finding.state for finding in examined("Self-test", self_test)}


def test_self_test_passes():
    lines = states()
    assert set(lines.values()) == {OK}
    assert [line.split(":")[0] for line in lines][:3] == ["numpy", "numba", "numba"]


# Functions from a right kernel to a wrong one.


def off_by_a_little(kernel):
    """Return a kernel whose log weights are too large by 1e-10 nats."""
    return lambda *arguments: kernel(*arguments) + 1e-10


def longer_steps(kernel):
    """Return an ascent whose steps are too long by 1e-5."""
    return lambda parameter, up, up_rate, down, down_rate: kernel(parameter, up, up_rate * 1.00001, down, down_rate)


def other_uniforms(kernel):
    """Return a kernel that samples the right distribution with other uniforms."""
    number = np.uint64(1000)
    return lambda a, bias, draw, *scale: kernel(a, bias, draw._replace(number=draw.number + number), *scale)


def broken(kernel):
    """Return a kernel that raises."""

    def raises(*arguments):
        raise RuntimeError("symbol lookup error\nand more")

    return raises


@pytest.mark.parametrize(
    ("kernels", "kernel", "wrong", "line"),
    [
        (numpy_kernels, "hidden_log_weights", off_by_a_little, f"numpy: {LIKELIHOOD}"),
        (numba_kernels, "hidden_log_weights", off_by_a_little, f"numba: {LIKELIHOOD}"),
        (numba_kernels, "ascend", longer_steps, PARAMETERS),
        (numba_kernels, "sample_bernoulli", other_uniforms, PARAMETERS),
    ],
)
def test_self_test_fails_with_a_wrong_kernel(monkeypatch, kernels, kernel, wrong, line):
    monkeypatch.setattr(kernels, kernel, wrong(getattr(kernels, kernel)))
    [failed] = [subject for subject, state in states().items() if state == FAILED]
    assert line in failed


def test_error_of_a_kernel_is_one_line(monkeypatch):
    for kernel in numba_kernels.__all__:
        monkeypatch.setattr(numba_kernels, kernel, broken(kernel))
    [finding] = examined("Self-test", self_test)
    assert (finding.state, finding.result) == (FAILED, "could not be examined (RuntimeError: symbol lookup error)")


@pytest.mark.parametrize("code", [0, 1])
def test_exit_status_is_that_of_the_self_test(capsys, monkeypatch, tmp_path, code):
    if code:
        kernel = off_by_a_little(numba_kernels.hidden_log_weights)
        monkeypatch.setattr(numba_kernels, "hidden_log_weights", kernel)
    assert main(["doctor", "--json", "--results", str(tmp_path)]) == code
    report = json.loads(capsys.readouterr().out)
    failed = [line["subject"] for line in report["sections"]["Self-test"] if line["state"] == FAILED]
    assert (report["failed"], failed) == (bool(code), [f"numba: {LIKELIHOOD}"] * code)
