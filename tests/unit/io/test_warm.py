# SPDX-License-Identifier: BSD-3-Clause
"""The warm process: commands that run in its forks end as they do alone, and do not outlive their callers."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rbmbench.io import warm

SERVER = "from rbmbench.io import warm; warm.PRELOADED = (); warm._load_kernels = lambda: None; warm.serve({!r}, {})"
PATIENCE = 60


def until(condition):
    """Wait until a condition holds."""
    end = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return found


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Return the socket of a warm process that has imported nothing yet."""
    path = tmp_path_factory.mktemp("warm") / "w"
    process = subprocess.Popen([sys.executable, "-c", SERVER.format(str(path), os.getpid())])
    until(Path(warm._of_sources(str(path))).exists)
    yield path
    process.terminate()
    assert process.wait(PATIENCE) == 0


@pytest.fixture
def environment(server):
    return os.environ | {warm.VARIABLE: str(server)}


@pytest.fixture
def program(tmp_path):
    """Return a function that makes a module, and the command that runs it in a fork."""

    def program(code):
        (tmp_path / "own_program.py").write_text(code)
        return [sys.executable, "-c", warm.RUN, "own_program"]

    return program


def test_a_command_has_its_files_folder_environment_arguments_and_code(program, environment, tmp_path):
    code = (
        "import os, sys\n"
        "print(sys.argv[1:], os.getcwd(), os.environ['OWN'], sys.stdin.read(), os.getppid())\n"
        "print('trouble', file=sys.stderr)\n"
        "sys.exit(7)\n"
    )
    own = environment | {"OWN": "ä"} | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [*program(code), "a", "b c"]
    found = subprocess.run(command, env=own, cwd=tmp_path, input="text", capture_output=True, text=True)
    assert found.returncode == 7
    assert found.stderr == "trouble\n"
    said, parent = found.stdout.rsplit(maxsplit=1)
    assert said == f"['a', 'b c'] {tmp_path} ä text"
    assert int(parent) != os.getpid()


def test_errors_of_a_program_are_shown(program, environment, tmp_path):
    found = subprocess.run(program("1 / 0"), env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert found.returncode == 1
    assert "ZeroDivisionError" in found.stderr


@pytest.mark.parametrize("arguments", [["--version"], ["nonsense"], ["list", "updates"]])
def test_rbmbench_says_the_same_in_a_fork(environment, arguments):
    own = {name: value for name, value in environment.items() if name != warm.VARIABLE}
    command = [sys.executable, "-m", "rbmbench", *arguments]
    alone, forked = (subprocess.run(command, env=each, capture_output=True, text=True) for each in (own, environment))
    assert (alone.returncode, alone.stdout, alone.stderr) == (forked.returncode, forked.stdout, forked.stderr)


WAITING = "import os, time\nopen('started', 'w').write(str(os.getpid()))\ntime.sleep(600)\n"


LISTENING = "import os, signal, sys; signal.signal(signal.SIGHUP, signal.SIG_DFL); os.execvp(sys.argv[1], sys.argv[1:])"


def started(command, environment, folder):
    # The tests may run where a closed terminal is ignored.
    listen = [sys.executable, "-c", LISTENING, *command]
    process = subprocess.Popen(listen, env=environment, cwd=folder)
    file = Path(folder) / "started"
    return process, int(until(lambda: file.is_file() and file.read_text()))


def is_gone(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_are_passed_on_and_end_both(program, environment, tmp_path, number):
    process, fork = started(program(WAITING), environment, tmp_path)
    process.send_signal(number)
    assert process.wait(PATIENCE) == -number
    until(lambda: is_gone(fork))


def test_a_fork_ends_with_a_command_that_is_killed(program, environment, tmp_path):
    process, fork = started(program(WAITING), environment, tmp_path)
    process.kill()
    process.wait(PATIENCE)
    until(lambda: is_gone(fork))


def test_a_command_ends_as_its_fork_does(program, environment, tmp_path):
    process, fork = started(program(WAITING), environment, tmp_path)
    os.kill(fork, signal.SIGKILL)
    assert process.wait(PATIENCE) == -signal.SIGKILL


def test_commands_run_at_the_same_time(program, environment, tmp_path):
    code = "import pathlib, sys, time\nfor i in range(6000):\n    time.sleep(0.01)\n"
    code += (
        "    pathlib.Path(sys.argv[1]).touch()\n    if pathlib.Path(sys.argv[2]).exists(): sys.exit()\nsys.exit(1)\n"
    )
    command = program(code)
    both = [subprocess.Popen([*command, *names], env=environment, cwd=tmp_path) for names in (("a", "b"), ("b", "a"))]
    assert [process.wait(2 * PATIENCE) for process in both] == [0, 0]


def test_without_a_warm_process_commands_run_by_themselves(program, tmp_path):
    code = "import os\nprint(os.getppid())\n"
    own = os.environ | {warm.VARIABLE: str(tmp_path / "none")}
    found = subprocess.run(program(code), env=own, cwd=tmp_path, capture_output=True, text=True)
    assert int(found.stdout) == os.getpid()


def test_commands_of_several_threads_run_by_themselves(monkeypatch, server):
    monkeypatch.setenv(warm.VARIABLE, str(server))
    assert warm.run_elsewhere("rbmbench", ["train", "--threads", "2", "--out", "x"]) is None


def test_the_process_ends_with_the_one_that_it_serves(tmp_path):
    path = tmp_path / "w"
    parent = (
        f"import os, subprocess, sys, time\n"
        f"code = {SERVER.format(str(path), 'PARENT')!r}.replace('PARENT', str(os.getpid()))\n"
        f"print(subprocess.Popen([sys.executable, '-c', code]).pid, flush=True)\n"
        f"while not os.path.exists({warm._of_sources(str(path))!r}): time.sleep(0.02)\n"
    )
    found = subprocess.run([sys.executable, "-c", parent], capture_output=True, text=True, timeout=PATIENCE)
    until(lambda: is_gone(int(found.stdout)))


def test_a_workflow_names_its_process_while_it_runs(monkeypatch):
    monkeypatch.delenv(warm.VARIABLE, raising=False)
    process = warm.WarmProcess()
    process.stop()
    process.start()
    try:
        assert Path(os.environ[warm.VARIABLE]).parent.is_dir()
    finally:
        process.stop()
    assert warm.VARIABLE not in os.environ
