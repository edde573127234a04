# SPDX-License-Identifier: BSD-3-Clause
"""Locks of files, and signals that stop a run."""

import errno
import fcntl
import os
import signal
import subprocess
import sys

import pytest

from rbmbench.base.errors import InUseError, RbmbenchWarning, ResultsError
from rbmbench.cli import main
from rbmbench.cli.stopping import StopSignals
from rbmbench.io.locks import locked


def test_a_lock_has_one_holder_at_a_time(tmp_path):
    path = tmp_path / "folder" / "run.npz"
    with locked(path):
        message = rf"run\.npz: in use by process {os.getpid()} on .+; wait until it ends, or end it"
        with pytest.raises(InUseError, match=message), locked(path):
            pass
        with locked(tmp_path / "folder" / "other.npz"):
            pass
    with locked(path):
        pass
    assert os.listdir(path.parent) == []


def test_a_lock_is_released_when_its_holder_fails_or_is_killed(tmp_path):
    path = tmp_path / "run.npz"
    with pytest.raises(ValueError, match="stop"), locked(path):
        raise ValueError("stop")
    code = "import os, sys; from pathlib import Path; from rbmbench.io.locks import locked\n"
    code += "with locked(Path(sys.argv[1])): os.kill(os.getpid(), 9)"
    done = subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert os.listdir(tmp_path) == ["run.npz.lock"]
    with locked(path):
        pass
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_a_file_system_without_locks_is_a_warning(tmp_path, monkeypatch, number):
    def flock(_descriptor, _operation):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.warns(RbmbenchWarning, match=r"run\.npz: this file system has no locks"), locked(tmp_path / "run.npz"):
        pass
    assert os.listdir(tmp_path) == []


def test_error_of_a_lock_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").write_text("in the way")
    message = r"file/run\.npz\.lock: cannot be written \(.*\)$"
    with pytest.raises(ResultsError, match=message), locked(tmp_path / "file" / "run.npz"):
        pass


def test_a_lock_that_is_a_link_raises(tmp_path):
    (tmp_path / "run.npz.lock").symlink_to(tmp_path / "nowhere")
    with pytest.raises(ResultsError, match=r"run\.npz\.lock: cannot be written"), locked(tmp_path / "run.npz"):
        pass
    assert not (tmp_path / "nowhere").exists()


@pytest.fixture
def _signals_as_before():
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.default_int_handler)  # processes in the background of a script ignore it
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("_signals_as_before")
def test_first_signal_is_returned_and_a_second_interrupt_ends_at_once(capfd):
    before = signal.getsignal(signal.SIGTERM)
    with StopSignals() as stopping:
        assert stopping() is None
        signal.raise_signal(signal.SIGTERM)
        # Clusters send it more than once, to every process of a job and through its parents.
        signal.raise_signal(signal.SIGTERM)
        assert stopping() == signal.SIGTERM
        assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL
    assert signal.getsignal(signal.SIGTERM) == before
    assert len(capfd.readouterr().err.splitlines()) == 1


@pytest.mark.usefixtures("_signals_as_before")
def test_a_signal_that_is_ignored_stays_ignored():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with StopSignals() as stopping:
        signal.raise_signal(signal.SIGINT)
        assert stopping() is None


@pytest.mark.parametrize("text", ["-1", "nan", "soon"])
def test_invalid_times_between_checkpoints_are_an_error(text, capsys, monkeypatch, tmp_path):
    settings = '{"visible": 3, "hidden": 2, "coupling": "general", "replications": 5, "longest": 7}'
    arguments = ["job", "couple", "--settings", settings, "--out", str(tmp_path)]
    assert main([*arguments, "--checkpoint-seconds", text]) == 2
    assert "argument --checkpoint-seconds: " in capsys.readouterr().err
    monkeypatch.setenv("RBMBENCH_CHECKPOINT_SECONDS", text)
    assert main(arguments) == 2
    assert f"error: RBMBENCH_CHECKPOINT_SECONDS: must be from 0 to inf, got {text!r}" in capsys.readouterr().err
    assert main([*arguments, "--checkpoint-seconds", "7"]) == 0
