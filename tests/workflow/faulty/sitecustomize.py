# SPDX-License-Identifier: BSD-3-Clause
"""Signals to a computing process at a known moment; Python imports this file if its folder is in the path.

RBMBENCH_TEST_FAULT="SIGKILL iteration 30" sends it when iteration 30 has been evaluated, "SIGKILL rename model.npz 1"
when model.npz is written under its temporary name for the first time, and is about to be renamed, "SIGTERM warm_up 1"
while kernels are compiled.
"""

import os
import signal
import sys
import time
from contextlib import contextmanager


def at_iteration(number: int, iteration: str) -> None:
    """Send this process a signal when the progress of its training reaches an iteration."""
    from rbmbench.cli import progress

    @contextmanager
    def shown(*_, **__):
        yield lambda done, *_: os.kill(os.getpid(), number) if done == int(iteration) else None

    progress.shown_progress = shown


def at_rename(number: int, name: str, times: str) -> None:
    """Send this process a signal before a file is renamed to its name for the n-th time."""
    rename, targets = os.replace, []

    def faulty(source, target):
        targets.extend([target] if os.path.basename(target) == name else [])
        if len(targets) == int(times):
            os.kill(os.getpid(), number)
        rename(source, target)

    os.replace = faulty


def at_warm_up(number: int, _times: str) -> None:
    """Send this process a signal while a training compiles its kernels, for a minute."""
    from rbmbench.training import trainer

    def slow(*_):
        os.kill(os.getpid(), number)
        time.sleep(60)

    trainer._warm_up = slow


COMPUTING = {"train", "evaluate", "ground_truth", "estimate", "couple", "sample"}
fault = os.environ.get("RBMBENCH_TEST_FAULT")
if fault and COMPUTING & set(sys.orig_argv):
    name, moment, *details = fault.split()
    {"iteration": at_iteration, "rename": at_rename, "warm_up": at_warm_up}[moment](getattr(signal, name), *details)
