# SPDX-License-Identifier: BSD-3-Clause
"""A process that has imported everything, and forks itself for each command: a workflow of many short jobs is faster.

Imports and compiled kernels cost a command a second or two, and most jobs of a small scale take less. A *warm process*
pays that once. Where the variable RBMBENCH_WARM names its socket, a command hands over its arguments, folder,
environment and standard files, waits for the fork that runs it, and ends with its exit code. It passes signals on; if
it is killed, so is the fork. Where there is no such process, where it has imported other sources than the command, or a
command asks for more than one thread, it runs as ever. No result depends on it.

    [sys.executable, "-c", RUN, PROGRAM, ARGUMENT...]     runs a program, a module of Python, in a fork or by itself
"""

import json
import os
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from struct import Struct
from typing import NoReturn, TextIO

from rbmbench.base import sources
from rbmbench.io import provenance

VARIABLE = "RBMBENCH_WARM"
RUN = f"from {__name__} import run; run()"
THREAD_VARIABLES = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
STANDARD = (0, 1, 2)
LENGTH, CODE = Struct("!I"), Struct("!i")
SECONDS_BETWEEN_LOOKS = 1.0
PRELOADED = (
    "rbmbench.cli.computing",
    "rbmbench.cli.making",
    "rbmbench.kinds.learning_curves",
    "rbmbench.reporting.page.notebooks",
    "scipy.stats",
    "matplotlib.pyplot",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_pdf",
    "matplotlib.backends.backend_svg",
    "papermill",
    "black",  # papermill writes parameters with it
    "nbconvert",
    "ipykernel.kernelapp",
    "ipykernel.debugger",
    "IPython.core.completerlib",
    "IPython.core.debugger",
    "IPython.core.oinspect",
    "IPython.extensions.storemagic",
    "pandas.io.formats.csvs",
    "pandas.io.formats.style",
    "psutil",
    "pyarrow.parquet",
    "sqlite3",
)


# --- The command ----------------------------------------------------------------------------------------------------


def run_elsewhere(program: str, arguments: Sequence[str]) -> int | None:
    """Run a program in a fork of the warm process, and return its exit code; None if there is no such process."""
    path = os.environ.get(VARIABLE)
    if not path or not _has_one_thread(arguments):
        return None
    request = {"program": program, "arguments": list(arguments), "folder": os.getcwd(), "environment": {**os.environ}}
    content = json.dumps(request).encode()
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(_of_sources(path))
            socket.send_fds(connection, [LENGTH.pack(len(content))], STANDARD)
            connection.sendall(content)
        except OSError:
            return None
        for number in PASSED_ON:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, lambda number, _: connection.send(bytes([number])))
        reply = connection.recv(CODE.size, socket.MSG_WAITALL)
    if len(reply) < CODE.size:
        print(f"rbmbench: error: the warm process has ended while it ran {program}", file=sys.stderr)
        return 2
    (code,) = CODE.unpack(reply)
    if code < 0:  # the fork was ended by a signal: so is this process
        signal.signal(-code, signal.SIG_DFL) if -code != signal.SIGKILL else None
        os.kill(os.getpid(), -code)
    return code


def _of_sources(path: str) -> str:
    """Return the socket of a warm process with the sources of this one."""
    return f"{path}-{sources.digest()[:16]}"


def _has_one_thread(arguments: Sequence[str]) -> bool:
    """Return whether a command asks for one thread, for which the warm process was started."""
    places = [place for place, argument in enumerate(arguments[:-1]) if argument == "--threads"]
    return all(arguments[place + 1] == "1" for place in places)


# --- The warm process -------------------------------------------------------------------------------------------------


class WarmProcess:
    """A warm process of a workflow, named to all commands that are started between `start` and `stop`."""

    def __init__(self):
        self._process: subprocess.Popen | None = None

    def start(self) -> None:
        """Start the process; until it is ready, commands run by themselves."""
        self._folder = tempfile.TemporaryDirectory(prefix="rbmbench-")
        path = Path(self._folder.name) / "warm"
        threads = dict.fromkeys(THREAD_VARIABLES, "1")
        own = {name: value for name, value in os.environ.items() if name != VARIABLE}
        command = [sys.executable, "-c", f"from {__name__} import serve; serve({str(path)!r}, {os.getpid()})"]
        # Python's own frozen modules make the debugger, which a kernel imports, print a warning.
        others = {"MPLBACKEND": "agg", "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
        self._process = subprocess.Popen(command, env=own | threads | others, start_new_session=True)
        os.environ[VARIABLE] = str(path)

    def stop(self) -> None:
        """End the process, if it was started."""
        if self._process is None:
            return
        os.environ.pop(VARIABLE, None)
        self._process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(10)
        self._folder.cleanup()


def serve(path: str, parent: int) -> None:
    """Run what commands hand over at a socket, until SIGTERM, or until the process ``parent`` has ended."""
    provenance.commit()  # before anything else is imported: forks name the commit that they run
    for module in PRELOADED:
        with suppress(ImportError):
            import_module(module)
    _load_kernels()
    with suppress(ImportError):
        import_module("rbmbench.reporting.page.notebooks").prepare()
    _Server(path, parent).run()


def _load_kernels() -> None:
    """Load the compiled kernels that most runs need: a fork has what was loaded before."""
    trainer = import_module("rbmbench.training.trainer")  # above this package, as all that is run here
    rows = [[(i + j) % 3 == 0 for i in range(5)] for j in range(12)]
    for estimator in ("cd", "pcd", "pop_cd", "parallel_tempering"):
        trainer.train(rows, hidden=3, batch=4, iterations=2, estimator=estimator, evaluate_every=1, backend="numpy")


class _Server:
    """Connections of commands, and the forks that run them."""

    def __init__(self, path: str, parent: int):
        self._parent, self._ends = parent, False
        self._listener = socket.socket(socket.AF_UNIX)
        # The name appears once connections are accepted: before that commands run by themselves.
        self._listener.bind(f"{path}.new")
        self._listener.listen(1024)
        os.rename(f"{path}.new", _of_sources(path))
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._forks: dict[int, socket.socket] = {}
        self._woken, self._waker = socket.socketpair()
        for end in (self._woken, self._waker):
            end.setblocking(False)
        self._selector.register(self._woken, selectors.EVENT_READ)

    def run(self) -> None:
        """Serve until there is nobody to serve."""
        signal.set_wakeup_fd(self._waker.fileno(), warn_on_full_buffer=False)
        for number in (signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, self._end)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        while not self._ends and os.getppid() == self._parent:
            for key, _ in self._selector.select(SECONDS_BETWEEN_LOOKS):
                if key.fileobj is self._listener:
                    self._accept()
                elif key.fileobj is self._woken:
                    with suppress(BlockingIOError):
                        self._woken.recv(4096)
                else:
                    self._hear(key.fileobj)
            self._reap()
        for fork in self._forks:
            _kill(fork, signal.SIGTERM)

    def _end(self, *_) -> None:
        self._ends = True

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        try:
            connection.settimeout(10)
            header, files, _, _ = socket.recv_fds(connection, LENGTH.size, len(STANDARD))
            content = connection.recv(LENGTH.unpack(header)[0], socket.MSG_WAITALL)
            request = json.loads(content)
        except (OSError, ValueError, ArithmeticError):
            connection.close()
            return
        connection.settimeout(None)
        fork = os.fork()
        if not fork:
            self._run(request, files)
        for file in files:
            os.close(file)
        self._forks[fork] = connection
        self._selector.register(connection, selectors.EVENT_READ, fork)

    def _run(self, request: dict, files: list[int]) -> NoReturn:
        """Run a program in this fork, and end it."""
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
                signal.signal(number, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            for connection in (self._listener, self._woken, self._waker, *self._forks.values()):
                connection.close()
            for standard, file in zip(STANDARD, files, strict=True):
                os.dup2(file, standard)
                os.close(file)
            sys.stdin, sys.stdout, sys.stderr = map(_standard_file, STANDARD)
            os.chdir(request["folder"])
            os.environ.clear()
            os.environ.update(request["environment"])
            code = _run_here(request["program"], request["arguments"])
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:
            traceback.print_exc()
        finally:
            with suppress(Exception):
                sys.stdout.flush()
            os._exit(code)

    def _hear(self, connection: socket.socket) -> None:
        """Pass signals on to a fork; end it if its command has ended."""
        fork = self._selector.get_key(connection).data
        try:
            numbers = connection.recv(64)
        except OSError:
            numbers = b""
        for number in numbers:
            _kill(fork, number)
        if not numbers:
            _kill(fork, signal.SIGKILL)
            self._selector.unregister(connection)

    def _reap(self) -> None:
        """Tell the commands of forks that have ended their exit codes."""
        while self._forks:
            fork, status = os.waitpid(-1, os.WNOHANG)
            if not fork:
                return
            connection = self._forks.pop(fork)
            with suppress(OSError, KeyError):
                self._selector.unregister(connection)
            with suppress(OSError):
                connection.sendall(CODE.pack(os.waitstatus_to_exitcode(status)))
            connection.close()


def _standard_file(number: int) -> TextIO:
    """Return standard input, output or error, as Python opens them."""
    errors = "backslashreplace" if number == 2 else None
    return open(number, "w" if number else "r", buffering=1, closefd=False, errors=errors)


def _kill(process: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, number)


def _run_here(program: str, arguments: Sequence[str]) -> int:
    """Run a program in this process."""
    sys.argv = [program, *arguments]
    if program == "rbmbench":
        return import_module("rbmbench.cli").main(list(arguments))
    runpy.run_module(program, run_name="__main__")
    return 0


def run() -> NoReturn:
    """Run the program that the command line names."""
    _, program, *arguments = sys.argv
    found = run_elsewhere(program, arguments)
    sys.exit(_run_here(program, arguments) if found is None else found)
