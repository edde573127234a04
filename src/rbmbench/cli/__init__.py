# SPDX-License-Identifier: BSD-3-Clause
"""The command line: runs subcommands, and turns errors into one line and an exit code."""

import errno
import gc
import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import contextmanager
from importlib import import_module

from rbmbench.base.errors import RbmbenchError, RbmbenchWarning, StoppedError
from rbmbench.cli.output import Output
from rbmbench.cli.parser import parser

__all__ = ["main"]

THREAD_VARIABLES = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand, of the command line without the program's name; by default of that of this process.

    Returns the exit code: 0; 1 if `doctor` finds a failure; 2 after an error, printed as one line on standard error;
    128 + the number of the signal that stopped it.
    """
    if arguments is None:  # imports make most objects of a short command, and no garbage: a tenth of its time
        gc.set_threshold(50_000)
    with Output() as output:
        code = _run(arguments, output)
        if (lost := output.lost()) and not code:
            _print_error(f"error: {lost}")
            return 2
    return code


def _run(arguments: Sequence[str] | None, output: Output) -> int:
    try:
        chosen = parser().parse_args(arguments)
        output.log_to(chosen.log)
        if chosen.plugin:
            import_module("rbmbench.base.plugins").name_for_processes(chosen.plugin)
        if "threads" in chosen:
            for variable in THREAD_VARIABLES:  # NumPy and Numba read them when they are imported
                os.environ[variable] = str(chosen.threads)
        os.environ["MPLBACKEND"] = "agg"  # no command opens a window; Matplotlib ends with a traceback for a wrong name
        module, _, function = chosen.command.partition(":")
        with _one_line_warnings():
            code = getattr(import_module(f"rbmbench.cli.{module}"), function)(chosen)
        return code or 0
    except StoppedError as stop:
        code, text = 128 + stop.signal, str(stop)
    except RbmbenchError as error:
        code, text = 2, f"error: {error}"
    except MemoryError as error:
        code, text = 2, f"error: needs more memory than there is ({' '.join(str(error).split())})"
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        code, text = 2, f"error: {error.filename}: {error.strerror}"
    except KeyboardInterrupt:
        code, text = 130, "interrupted"
    _print_error(text)
    return code


def _print_error(text: str) -> None:
    print(f"rbmbench: {text}", file=sys.stderr)


@contextmanager
def _one_line_warnings():
    def show(message, category, *place) -> None:
        if issubclass(category, RbmbenchWarning):
            sys.stderr.show(f"rbmbench: warning: {message}\n")
        else:
            show_others(message, category, *place)

    with warnings.catch_warnings():
        show_others, warnings.showwarning = warnings.showwarning, show
        yield
