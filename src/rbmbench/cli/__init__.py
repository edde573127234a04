"""The command line: one thin subcommand for each step of the workflow.

Only the argument parser is made here; a subcommand's own imports happen when it runs, so that ``--help`` is quick.
"""

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path

from rbmbench.base.errors import RbmbenchError, RbmbenchWarning, StoppedError

__all__ = ["main"]

THREAD_VARIABLES = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand.

    Parameters
    ----------
    arguments : sequence of str, optional
        The command line without the program's name; by default that of this process.

    Returns
    -------
    int
        The exit code: 0; 1 if `doctor` has found that something does not work; 2 after an error of one line on standard
        error; 128 and the number of the signal that stopped it.
    """
    chosen = _parser().parse_args(arguments)
    if "threads" in chosen:
        _limit_threads(chosen.threads)
    module, _, function = chosen.command.partition(":")
    try:
        with _one_line_warnings():
            code = getattr(import_module(f"rbmbench.cli.{module}"), function)(chosen)
    except StoppedError as stop:
        _tell(str(stop))
        return 128 + stop.signal
    except RbmbenchError as error:
        _tell(f"error: {error}")
        return 2
    except MemoryError as error:
        _tell(f"error: asks for more memory than there is ({' '.join(str(error).split())})")
        return 2
    except KeyboardInterrupt:
        _tell("interrupted")
        return 130
    return code or 0


def _tell(text: str) -> None:
    """Print a line on standard error, if anybody is still there to read it."""
    with suppress(OSError):
        print(f"rbmbench: {text}", file=sys.stderr, flush=True)


@contextmanager
def _one_line_warnings():
    """Show the package's own warnings as one line each, and others as they always are."""

    def show(message, category, *place) -> None:
        _tell(f"warning: {message}") if issubclass(category, RbmbenchWarning) else others(message, category, *place)

    with warnings.catch_warnings():
        others, warnings.showwarning = warnings.showwarning, show
        yield


def _limit_threads(threads: int) -> None:
    """Hold NumPy and Numba to a number of threads; they read this when they are imported."""
    for variable in THREAD_VARIABLES:
        os.environ[variable] = str(threads)


def _parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = argparse.ArgumentParser(prog="rbmbench", description=__doc__.splitlines()[0], allow_abbrev=False)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _add_steps(commands)
    _add_reports(commands)
    _add_config(commands)
    _add_doctor(commands)
    return parser


def _add_steps(commands) -> None:
    """Add the subcommands that compute numbers."""
    data = _add(commands, "data", "making:data", "make or fetch a data set and write it as an npz file")
    data.add_argument("--name", required=True, help="name of the data set")
    data.add_argument("--options", default="{}", metavar="JSON", help="options of the data set (default: none)")
    data.add_argument("--mirror", help="folder or base address that is tried before the public addresses")
    data.add_argument("--cache", help="folder that downloads are kept in")
    data.add_argument("--rows", type=int, help="refuse the data set unless it has this many training rows")
    data.add_argument("--visible", type=int, help="refuse the data set unless it has this many visible units")
    data.add_argument("--out", required=True, type=Path, metavar="FILE", help="npz file to write")

    train = _add(commands, "train", "computing:train", "train all trials of one run, or go on where it was stopped")
    _add_computation(train)
    train.add_argument("--run-id", required=True, metavar="ID", help="id of the run, for meta.json")
    _add_checkpoint(train)
    _add_backend(train)

    evaluate = _add(
        commands, "evaluate", "computing:evaluate", "evaluate a run's snapshots by annealed importance sampling"
    )
    _add_computation(evaluate)
    evaluate.add_argument("--model", required=True, type=Path, metavar="FOLDER", help="folder of the run")
    _add_checkpoint(evaluate)
    _add_backend(evaluate)

    truth = _add(commands, "ground-truth", "computing:ground_truth", "compute the model expectations of trained models")
    _add_computation(truth)
    truth.add_argument("--model", required=True, type=Path, metavar="FOLDER", help="folder of the run")

    estimate = _add(commands, "estimate", "computing:estimate", "measure bias and variance of a gradient estimator")
    _add_computation(estimate)
    estimate.add_argument("--model", required=True, type=Path, metavar="FOLDER", help="folder of the run")
    estimate.add_argument(
        "--ground-truths", required=True, type=Path, nargs="+", metavar="FILE", help="what ground-truth has written"
    )

    sample = _add(
        commands, "sample", "computing:sample", "draw samples of trained models, and tell how well they cover"
    )
    _add_computation(sample)
    sample.add_argument("--model", required=True, type=Path, metavar="FOLDER", help="folder of the run")

    couple = _add(commands, "couple", "computing:couple", "run coupled chains of a random model until they meet")
    _add_settings(couple)


def _add_reports(commands) -> None:
    """Add the subcommands that make pictures, tables, verdicts and pages."""
    spec = _add(commands, "spec", "making:spec", "write the spec of a figure or table as a JSON file")
    spec.add_argument("--values", required=True, metavar="JSON", help="the spec")
    spec.add_argument("--out", required=True, type=Path, metavar="FILE", help="JSON file to write")

    render = _add(commands, "render", "making:render", "run the notebook of a figure or table")
    render.add_argument(
        "--set", required=True, nargs="+", type=_pair, metavar="NAME=VALUE", help="parameters of the notebook"
    )
    _add_notebook(render)

    claims = _add(commands, "claims", "making:claims", "hold the claims of the papers against the results")
    _add_specs(claims)
    claims.add_argument(
        "--claims", required=True, type=Path, nargs="+", metavar="FILE", help="claims, one file a paper"
    )
    claims.add_argument("--spec", required=True, type=Path, metavar="FILE", help="spec of the claims, to write")
    claims.add_argument("--csv", required=True, type=Path, metavar="FILE", help="verdicts, to write")
    _add_notebook(claims)

    report = _add(commands, "report", "making:report", "write the page that shows everything of a scale")
    _add_specs(report)
    report.add_argument("--claims", required=True, type=Path, metavar="FILE", help="claims.csv")
    report.add_argument("--out", required=True, type=Path, metavar="FILE", help="HTML file to write")

    keep = _add(commands, "keep", "keeping:keep", "keep the small files of results: pictures, tables, meta, verdicts")
    keep.add_argument("--scale", required=True, metavar="NAME", help="name of the scale")
    keep.add_argument("--folder", required=True, type=Path, metavar="FOLDER", help="folder of the scale: results/SCALE")
    keep.add_argument("--figures", nargs="*", default=[], metavar="KEY", help="figures, such as popcd_fig1")
    keep.add_argument("--tables", nargs="*", default=[], metavar="KEY", help="tables, such as popcd_table1")
    keep.add_argument("--runs", type=Path, nargs="*", default=[], metavar="FOLDER", help="runs: their curve and meta")
    keep.add_argument("--claims", required=True, type=Path, nargs="+", metavar="FILE", help="claims, one file a paper")
    keep.add_argument("--out", required=True, type=Path, metavar="FOLDER", help="folder to write")

    told = _add(commands, "forecast", "forecasting:forecast", "tell what a scale will take, before anything runs")
    told.add_argument("--config", type=Path, default=Path("config/config.yaml"), metavar="FILE", help="config.yaml")
    told.add_argument("--configfile", type=Path, nargs="*", default=[], metavar="FILE", help="overlays of config.yaml")
    told.add_argument("--values", metavar="JSON", help="the merged values, where they are known already")
    told.add_argument(
        "--results", type=Path, nargs="+", default=[Path("results")], metavar="FOLDER", help="where recorded runs are"
    )
    told.add_argument("--cores", type=_count, metavar="N", help="jobs that run at a time (default: all cores)")
    told.add_argument("--out", type=Path, metavar="FILE", help="csv file to write")

    times = _add(commands, "run-times", "making:run_times", "tabulate what each run took, from its meta.json")
    times.add_argument("--runs", required=True, type=Path, nargs="+", metavar="FOLDER", help="folders of runs")
    times.add_argument("--out", required=True, type=Path, metavar="FILE", help="csv file to write")


def _add_config(commands) -> None:
    """Add the subcommands that look at the configuration."""
    config = commands.add_parser("config", help="check the configuration, or write its JSON schemas")
    actions = config.add_subparsers(metavar="ACTION", required=True)
    check = _add(
        actions, "check", "making:config_check", "check config.yaml with its overlays, and tell what it asks for"
    )
    check.add_argument("files", type=Path, nargs="+", metavar="FILE", help="config.yaml, then overlays")
    schema = _add(actions, "schema", "making:config_schema", "write the JSON schemas of the configuration")
    schema.add_argument("--out", type=Path, default=Path("config/schemas"), metavar="FOLDER")


def _add_doctor(commands) -> None:
    """Add the subcommand that examines machine and installation."""
    text = "tell what this machine offers, and whether the installation works"
    doctor = _add(commands, "doctor", "doctor:doctor", text)
    doctor.add_argument("--json", action="store_true", help="print JSON instead of tables")
    doctor.add_argument(
        "--quick", "--no-self-test", dest="self_test", action="store_false", help="leave out the self-test"
    )
    doctor.add_argument("--online", action="store_true", help="ask public addresses if they answer; download nothing")
    doctor.add_argument("--mirror", help="folder or base address that is tried before the public addresses")
    doctor.add_argument("--cache", help="folder that downloads are kept in")
    doctor.add_argument("--results", type=Path, default=Path("results"), metavar="FOLDER", help="where results go")


def _add(commands, name: str, command: str, text: str) -> argparse.ArgumentParser:
    """Add a subcommand; ``command`` is the module of this package and the function in it."""
    parser = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
    parser.set_defaults(command=command)
    return parser


def _add_computation(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of every long computation on data."""
    _add_settings(parser)
    parser.add_argument("--data", required=True, type=Path, metavar="FILE", help="npz file of the data set")


def _add_settings(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of every long computation."""
    parser.add_argument(
        "--settings", required=True, metavar="JSON", help="settings as JSON, or the name of a JSON file"
    )
    parser.add_argument("--out", required=True, type=Path, metavar="FOLDER", help="folder to write")
    parser.add_argument("--threads", type=_count, default=1, metavar="N", help="threads to use (default: 1)")
    parser.add_argument("--scale", default="none", metavar="NAME", help="name of the scale, for meta.json")


def _add_checkpoint(parser) -> None:
    """Add where, and how often, a computation is kept that can be stopped and go on."""
    parser.add_argument("--checkpoint", type=Path, metavar="FILE", help="where the state is kept, to go on from")
    parser.add_argument(
        "--checkpoint-seconds",
        type=_seconds,
        default=os.environ.get("RBMBENCH_CHECKPOINT_SECONDS") or None,
        metavar="SECONDS",
        help="least time between two checkpoints (default: the variable RBMBENCH_CHECKPOINT_SECONDS, or 20)",
    )


def _add_backend(parser: argparse.ArgumentParser) -> None:
    """Add the argument that says which arrays a computation takes."""
    parser.add_argument(
        "--backend",
        default=os.environ.get("RBMBENCH_BACKEND") or "auto",
        metavar="NAME",
        help="arrays to compute on: auto, numpy, or cupy for a GPU (default: the variable RBMBENCH_BACKEND, or auto)",
    )


def _add_notebook(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of every subcommand that runs a notebook."""
    parser.add_argument("--template", required=True, type=Path, metavar="FILE", help="notebook to run")
    parser.add_argument("--notebook", required=True, type=Path, metavar="FILE", help="executed notebook, to write")
    parser.add_argument("--page", required=True, type=Path, metavar="FILE", help="the same as HTML, to write")
    parser.add_argument("--log", type=Path, metavar="FILE", help="where the notebook is while it runs, and if it fails")


def _add_specs(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that name all figures and tables."""
    parser.add_argument("--scale", required=True, metavar="NAME", help="name of the scale")
    parser.add_argument("--figures", type=Path, nargs="*", default=[], metavar="FILE", help="specs of the figures")
    parser.add_argument("--tables", type=Path, nargs="*", default=[], metavar="FILE", help="specs of the tables")


def _count(text: str) -> int:
    """Return a whole number of at least 1."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"found {number}; should be at least 1")
    return number


def _seconds(text: str) -> float:
    """Return a time of at least 0 seconds."""
    number = float(text)
    if not number >= 0:
        raise argparse.ArgumentTypeError(f"found {text!r}; should be at least 0")
    return number


def _pair(text: str) -> tuple[str, str]:
    """Return name and value of NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"found {text!r}; should be NAME=VALUE")
    return name, value
