# SPDX-License-Identifier: BSD-3-Clause
"""Output of commands: log files, and streams that cannot be written."""

import json
import os
import subprocess
import sys
import warnings

import pytest

from rbmbench.base.errors import RbmbenchWarning, ResultsError
from rbmbench.cli import main, making, output
from rbmbench.cli.output import MESSAGES, TO_LOG, write_now

STAGE = {"until": 20, "estimator": {"name": "cd"}, "rate": 0.1}
RUN = {"data": {"name": "bars_and_stripes"}, "hidden": 3, "batch": 7, "schedule": [STAGE], "trials": 2}
OUTPUTS = ["curve.parquet", "meta.json", "model.npz"]


@pytest.fixture
def data(tmp_path):
    """Return the command line that makes a small data set."""
    return ["data", "--name", "bars_and_stripes", "--options", '{"side": 3}', "--out", str(tmp_path / "bars.npz")]


def with_log(monkeypatch, tmp_path, command) -> str:
    """Run a function as the command `config schema`, with a log; return the log."""
    monkeypatch.setattr(making, "config_schema", command)
    main(["config", "schema", "--log", str(tmp_path / "logs/x.log")])
    return (tmp_path / "logs/x.log").read_text()


def test_log_has_printed_text_and_warnings(monkeypatch, tmp_path, capfd):
    def command(_):
        print("printed")
        print("an error", file=sys.stderr)
        write_now("SIGTERM\n")
        warnings.warn("of another package", UserWarning, stacklevel=1)

    with pytest.warns(UserWarning, match="of another"):
        log = with_log(monkeypatch, tmp_path, command)
    assert log.startswith("printed\nan error\nSIGTERM\n")
    printed = capfd.readouterr()
    assert printed.out == "printed\n"
    assert printed.err.startswith("an error\nSIGTERM\n")


@pytest.mark.parametrize("writable", [True, False])
def test_messages_are_only_in_a_writable_log(monkeypatch, tmp_path, capfd, writable):
    def command(_):
        print("printed")
        print("progress", file=sys.stderr)
        warnings.warn("of this package", RbmbenchWarning, stacklevel=1)
        raise ResultsError("an error")

    monkeypatch.setenv(MESSAGES, TO_LOG)
    if not writable:
        (tmp_path / "logs/x.log").mkdir(parents=True)
    monkeypatch.setattr(making, "config_schema", command)
    assert main(["config", "schema", "--log", str(tmp_path / "logs/x.log")]) == 2
    printed, warning = capfd.readouterr(), "rbmbench: warning: of this package\n"
    messages = ["printed\n", f"progress\n{warning}rbmbench: error: an error\n"]
    if writable:
        assert (tmp_path / "logs/x.log").read_text() == "".join(messages)
        assert printed == ("", warning)
    else:
        assert printed.out == messages[0]
        assert printed.err.endswith(messages[1])


def test_log_has_the_line_of_an_error(data, tmp_path):
    assert main([*data, "--rows", "17", "--log", str(tmp_path / "x.log")]) == 2
    assert (tmp_path / "x.log").read_text().endswith("rows: must be 17, as in the configuration, got 16\n")
    assert not (tmp_path / "bars.npz").exists()


def test_log_has_the_traceback_of_a_defect(monkeypatch, tmp_path):
    def command(_):
        raise ZeroDivisionError("a defect")

    with pytest.raises(ZeroDivisionError):
        with_log(monkeypatch, tmp_path, command)
    log = (tmp_path / "logs/x.log").read_text()
    assert log.startswith("Traceback (most recent call last):\n")
    assert log.endswith("ZeroDivisionError: a defect\n")


@pytest.mark.parametrize(("log", "reason"), [("/dev/full", "is no regular file"), ("bars.npz/x.log", "File exists")])
def test_an_unwritable_log_is_one_warning(data, tmp_path, capfd, log, reason):
    (tmp_path / "bars.npz").write_text("")
    assert main([*data, "--log", str(tmp_path / log)]) == 0
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("rbmbench: warning: ")
    assert reason in lines[0]


def test_a_log_on_a_full_disk_is_one_warning(data, tmp_path, capfd, monkeypatch):
    monkeypatch.setattr(output, "writable", lambda _: "/dev/full")
    assert main([*data, "--log", str(tmp_path / "x.log")]) == 0
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith(f"rbmbench: warning: {tmp_path / 'x.log'}: cannot be written (No space left on device); ")


@pytest.mark.parametrize("streams", ["0<&- 1>&- 2>&-", "2>&1 | true", ">/dev/full 2>&1"])
def test_a_run_succeeds_if_its_output_cannot_be_written(data, tmp_path, streams):
    assert main(data) == 0
    command = [sys.executable, "-m", "rbmbench", "train", "--settings", json.dumps(RUN), "--data", data[-1]]
    command += ["--run-id", "run", "--out", str(tmp_path / "run"), "--log", str(tmp_path / "x.log")]
    shell = ["bash", "-c", f'set -o pipefail; "$@" {streams}', "bash", *command]
    assert subprocess.run(shell, check=False, timeout=300).returncode == 0
    assert sorted(os.listdir(tmp_path / "run")) == OUTPUTS
    assert "20 of 20" in (tmp_path / "x.log").read_text()


def completed(repository, command: str):
    """Run a command line of rbmbench, with redirections, and return its exit status and output."""
    shell = ["bash", "-c", f"set -o pipefail; {sys.executable} -m rbmbench {command}"]
    return subprocess.run(shell, cwd=repository, capture_output=True, text=True, check=False, timeout=300)


@pytest.mark.parametrize("command", ["list estimators", "--help"])
def test_a_closed_pipe_is_no_error(repository, command):
    done = completed(repository, f"{command} | true")
    assert (done.returncode, done.stderr) == (0, "")


def test_error_of_a_full_standard_output_is_one_line(repository):
    done = completed(repository, "list estimators > /dev/full")
    assert done.returncode == 2
    assert done.stderr == "rbmbench: error: standard output: cannot be written (No space left on device)\n"
