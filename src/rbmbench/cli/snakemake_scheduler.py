# SPDX-License-Identifier: BSD-3-Clause
"""End Snakemake on a signal: the Snakefile replaces two methods of Snakemake's scheduler by those of this module.

Defects of Snakemake 9.27.1 that this corrects:

- SIGTERM can deadlock. Its handler ``exit_gracefully`` takes ``_lock``, which the interrupted main thread holds while
  it selects jobs, and releases a semaphore whose own lock may be held as well. Here the handler takes no lock: it sets
  ``_user_kill`` and puts an item into a ``queue.SimpleQueue``, on which the scheduler waits.
- SIGTERM before the scheduler exists, and SIGHUP at any time, kill Snakemake while it holds the lock of its folder.
  Here SIGTERM, SIGHUP and SIGINT raise ``SystemExit`` until the scheduler handles them.
- Each scheduling round starts a ``threading.Timer`` of the whole timespan of ``--max-jobs-per-timespan``, for which
  Python waits at its end. Here the timer is a daemon.
- ``ColorizingTextHandler.emit`` raises ``BrokenPipeError`` in the callbacks of jobs, whose outputs are then lost. Here
  its stream is replaced by one that ignores a closed pipe.

After a signal no further jobs are started, and running ones on this machine are sent SIGTERM: a signal to the process
group does not reach jobs that start later, and one to Snakemake alone reaches none. If the names that the replaced
methods use differ from the known ones, a warning is printed and Snakemake's own scheduler is used.
"""

import signal
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from queue import SimpleQueue
from types import FrameType

from rbmbench.cli.output import LoggedStream, write_now
from rbmbench.cli.stopping import SIGNALS

# The global names and attributes in the methods that are replaced (exactly these) or relied upon (at least these).
REPLACED = {
    "exit_gracefully": {"_lock", "_user_kill", "_open_jobs", "release"},
    "_schedule_reevalutation": {"threading", "Timer", "start"},
}
USED = {
    "__init__": {"_open_jobs", "Semaphore", "signal", "SIGTERM", "exit_gracefully", "_user_kill", "job_rate_limiter"},
    "schedule": {"_open_jobs", "acquire", "_user_kill", "job_selector", "job_rate_limiter", "_schedule_reevalutation"},
    "job_selector": {"job_rate_limiter", "get_free_jobs", "register_jobs"},
}
SECONDS_BETWEEN_LOOKS, LOOKS = 0.2, 50
SHELLS = ("bash", "sh")
"""Names of programs that get no signal: Snakemake takes the end of a job's shell for that of the job."""


def install() -> None:
    """Replace Snakemake's scheduler, unless its version is unknown, and ignore closed pipes in its messages."""
    from snakemake import __version__, workflow
    from snakemake.logging import logger

    for handler in logger.handlers:
        stream = getattr(handler, "stream", None)
        if stream is not None and stream in (sys.stdout, sys.stderr):
            handler.setStream(LoggedStream(stream))
    if missing := _misfit(getattr(workflow, "JobScheduler", None)):
        text = f"Snakemake {__version__} has another scheduler ({missing}); once interrupted, it may have to be killed"
        write_now(f"rbmbench: warning: {text}\n")
    elif threading.current_thread() is threading.main_thread():
        early = _Early()
        workflow.JobScheduler = _stoppable(workflow.JobScheduler, early)
        _handle(early)


def _misfit(scheduler: type | None) -> str | None:
    """Return the name of the first method that uses other names than the known ones; None without one."""
    for name, expected in (REPLACED | USED).items():
        code = getattr(getattr(scheduler, name, None), "__code__", None)
        names = set(code.co_names) if code else set()
        if not expected <= names or (name in REPLACED and expected != names):
            return name
    return None


def _handle(handler: Callable[[int, FrameType | None], object]) -> None:
    """Set the handler of all signals that end Snakemake, except those that are ignored, as by nohup."""
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


class _Early:
    """The handler of signals before there is a scheduler: it ends Snakemake in order, which unlocks the folder."""

    def __init__(self):
        self.received: int | None = None

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        # make sends the signal again, which must not interrupt the unlocking.
        if self.received is None:
            self.received = number
            raise SystemExit(128 + number)


class _Tokens:
    """A semaphore without a lock, which a signal handler may release while its thread acquires or releases it."""

    def __init__(self, woken: Callable[[], None]):
        self._queue: SimpleQueue[None] = SimpleQueue()
        self._woken = woken

    def release(self) -> None:
        """Wake the scheduler once."""
        self._queue.put(None)

    def acquire(self) -> None:
        """Wait for a release, and act on signals."""
        self._queue.get()
        self._woken()


def _stoppable(base: type, early: _Early) -> type:
    """Return the class of schedulers that note signals and act on them later."""

    class StoppableScheduler(base):
        """Snakemake's scheduler, with handlers of signals that take no lock, and timers that it does not wait for."""

        def __init__(self, *arguments: object, **options: object):
            super().__init__(*arguments, **options)
            self._open_jobs = _Tokens(self._woken)
            self._open_jobs.release()
            self._signals: list[int] = []
            self._has_passed_on = self._reached_limit = False
            _handle(self.exit_gracefully)
            # Snakemake's log ignores errors that are raised while it writes.
            if early.received:
                self.exit_gracefully(early.received)

        def exit_gracefully(self, number: int, _frame: FrameType | None = None) -> None:
            """Start no further jobs."""
            self._user_kill = "graceful"
            self._signals.append(number)
            self._open_jobs.release()

        def _woken(self) -> None:
            """Stop the jobs that the signal has not reached."""
            if not self._signals:
                return
            if self.workflow.local_exec:
                if not self._has_passed_on:
                    threading.Thread(target=_stop_jobs, daemon=True).start()
                self._has_passed_on = True
            elif signal.SIGINT in self._signals:
                raise KeyboardInterrupt

        def job_selector(self, jobs: Iterable) -> Collection:
            """Return the jobs to start: none after a signal."""
            limiter = self.job_rate_limiter
            free = limiter.get_free_jobs() if limiter else sys.maxsize
            selected = super().job_selector(jobs)
            self._reached_limit = len(selected) >= free
            return [] if self._user_kill else selected

        def _schedule_reevalutation(self, delay: float) -> None:
            """Wake the scheduler later, unless it only waits for jobs, whose end wakes it."""
            if self._reached_limit or self.workflow.dag.has_unfinished_queue_input_jobs():
                timer = threading.Timer(delay, self._open_jobs.release)
                timer.daemon = True
                timer.start()

    return StoppableScheduler


def _stop_jobs() -> None:
    """Send SIGTERM to all programs below this process, and to children started within the next seconds."""
    import psutil

    stopped: set[int] = set()
    for _ in range(LOOKS):
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):
                if process.pid not in stopped and process.name() not in SHELLS:
                    stopped.add(process.pid)
                    process.terminate()
        time.sleep(SECONDS_BETWEEN_LOOKS)
