"""The argument parser of the command line.

Each subcommand names the function that runs it as "module:function" of this package; it is imported when it runs, so
that ``--help`` is quick.
"""

import os
from argparse import ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter
from collections.abc import Sequence
from pathlib import Path


def parser() -> ArgumentParser:
    """Return the parser; parsed arguments hold the function to run as ``command``."""
    whole = ArgumentParser(
        prog="rbmbench",
        description="Train restricted Boltzmann machines, and run the steps of the workflow.",
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    commands = whole.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_commands(commands)
    steps = _Steps(commands)
    _add_computations(steps)
    _add_reports(steps)
    lines = [f"    {name:<14}{text}" for name, text in steps.texts.items()]
    whole.epilog = "\n".join(["steps of the workflow, called by its rules:", *lines])
    return whole


class _Steps:
    """Adds subcommands that the list of commands leaves out."""

    def __init__(self, commands):
        self.commands, self.texts = commands, {}

    def add(self, name: str, command: str, text: str, parents: Sequence[ArgumentParser] = ()) -> ArgumentParser:
        """Return the parser of a new subcommand."""
        self.texts[name] = text
        return _add(self.commands, name, command, text, parents, listed=False)


def _add(commands, name, command, text, parents=(), listed=True) -> ArgumentParser:
    """Return the parser of a new subcommand, with the arguments of its parents."""
    options = {"help": text} if listed else {}
    added = commands.add_parser(name, description=text, parents=list(parents), allow_abbrev=False, **options)
    added.set_defaults(command=command)
    return added


def _add_commands(commands) -> None:
    """Add the subcommands for people."""
    doctor = _add(
        commands, "doctor", "doctor:doctor", "report on this machine, and test the installation", [_sources()]
    )
    doctor.add_argument("--json", action="store_true", help="print JSON instead of tables")
    doctor.add_argument("--quick", "--no-self-test", dest="self_test", action="store_false", help="skip the self-test")
    doctor.add_argument("--online", action="store_true", help="ask public addresses if they answer; download nothing")
    doctor.add_argument("--results", type=Path, default=Path("results"), metavar="FOLDER", help="folder of results")

    forecast = _add(commands, "forecast", "forecasting:forecast", "forecast time and memory of a scale")
    forecast.add_argument("--config", type=Path, default=Path("config/config.yaml"), metavar="FILE", help="config.yaml")
    forecast.add_argument("--configfile", type=Path, nargs="*", default=[], metavar="FILE", help="overlays, in order")
    forecast.add_argument("--values", metavar="JSON", help="the merged configuration, if it is known already")
    forecast.add_argument(
        "--results", type=Path, nargs="+", default=[Path("results")], metavar="FOLDER", help="folders of recorded runs"
    )
    forecast.add_argument("--cores", type=_count, metavar="N", help="jobs that run at a time (default: all cores)")
    forecast.add_argument("--out", type=Path, metavar="FILE", help="CSV file to write")

    config = commands.add_parser("config", help="check the configuration, or write its JSON schemas")
    actions = config.add_subparsers(metavar="ACTION", required=True)
    check = _add(actions, "check", "making:config_check", "check config.yaml with its overlays, and list the results")
    check.add_argument("files", type=Path, nargs="+", metavar="FILE", help="config.yaml, then overlays")
    schema = _add(actions, "schema", "making:config_schema", "write the JSON schemas of the configuration")
    schema.add_argument("--out", type=Path, default=Path("config/schemas"), metavar="FOLDER")

    text = "train all trials of a run, or resume it from its checkpoint"
    train = _add(commands, "train", "computing:train", text, [_computation(), _data(), _checkpoint(), _backend()])
    train.add_argument("--run-id", required=True, metavar="ID", help="id of the run, for meta.json")

    data = _add(commands, "data", "making:data", "make or fetch a data set, and write it as an npz file", [_sources()])
    data.add_argument("--name", required=True, help="name of the data set")
    data.add_argument("--options", default="{}", metavar="JSON", help="options of the data set (default: none)")
    data.add_argument("--rows", type=int, help="fail unless the data set has this many training rows")
    data.add_argument("--visible", type=int, help="fail unless the data set has this many visible units")
    data.add_argument("--out", required=True, type=Path, metavar="FILE", help="npz file to write")

    text = "write the page that shows all results of a scale"
    report = _add(commands, "report", "making:report", text, [_specs()])
    report.add_argument(
        "--folder", required=True, type=Path, metavar="FOLDER", help="folder of the scale: results/SCALE"
    )
    report.add_argument(
        "--out", type=Path, metavar="FILE", help="HTML file to write (default: FOLDER/report/index.html)"
    )

    keep = _add(commands, "keep", "keeping:keep", "copy the small files of results: pictures, tables, meta, verdicts")
    keep.add_argument("--scale", required=True, metavar="NAME", help="name of the scale")
    keep.add_argument("--folder", required=True, type=Path, metavar="FOLDER", help="folder of the scale: results/SCALE")
    keep.add_argument("--figures", nargs="*", default=[], metavar="KEY", help="figures, such as popcd_fig1")
    keep.add_argument("--tables", nargs="*", default=[], metavar="KEY", help="tables, such as popcd_table1")
    keep.add_argument("--runs", type=Path, nargs="*", default=[], metavar="FOLDER", help="runs: their curve and meta")
    keep.add_argument(
        "--claims", required=True, type=Path, nargs="+", metavar="FILE", help="claims, one file per paper"
    )
    keep.add_argument("--out", required=True, type=Path, metavar="FOLDER", help="folder to write")


def _add_computations(steps: _Steps) -> None:
    """Add the steps that compute numbers, besides training."""
    models = [_computation(), _data(), _model()]
    text = "evaluate snapshots by annealed importance sampling"
    steps.add("evaluate", "computing:evaluate", text, [*models, _checkpoint(), _backend()])
    steps.add("ground-truth", "computing:ground_truth", "compute the model expectations of trained models", models)
    text = "measure bias and variance of a gradient estimator"
    estimate = steps.add("estimate", "computing:estimate", text, models)
    estimate.add_argument(
        "--ground-truths", required=True, type=Path, nargs="+", metavar="FILE", help="output of ground-truth"
    )
    steps.add("sample", "computing:sample", "draw samples of trained models, and measure their coverage", models)
    steps.add("couple", "computing:couple", "run coupled chains of a random model until they meet", [_computation()])


def _add_reports(steps: _Steps) -> None:
    """Add the steps that make figures, tables and verdicts."""
    spec = steps.add("spec", "making:spec", "write the spec of a figure or table")
    spec.add_argument("--values", required=True, metavar="JSON", help="the spec")
    spec.add_argument("--out", required=True, type=Path, metavar="FILE", help="JSON file to write")

    render = steps.add("render", "making:render", "run the notebook of a figure or table", [_notebook()])
    render.add_argument(
        "--set", required=True, nargs="+", type=_pair, metavar="NAME=VALUE", help="parameters of the notebook"
    )

    claims = steps.add("claims", "making:claims", "check the claims of the papers", [_specs(), _notebook()])
    claims.add_argument("--scale", required=True, metavar="NAME", help="name of the scale")
    claims.add_argument(
        "--claims", required=True, type=Path, nargs="+", metavar="FILE", help="claims, one file per paper"
    )
    claims.add_argument("--spec", required=True, type=Path, metavar="FILE", help="spec of the claims, to write")
    claims.add_argument("--csv", required=True, type=Path, metavar="FILE", help="verdicts, to write")

    times = steps.add("run-times", "making:run_times", "tabulate the run times in meta.json")
    times.add_argument("--runs", required=True, type=Path, nargs="+", metavar="FOLDER", help="folders of runs")
    times.add_argument("--out", required=True, type=Path, metavar="FILE", help="CSV file to write")


# Arguments that several subcommands share, as parent parsers.


def _computation() -> ArgumentParser:
    """Return the arguments of a long computation."""
    shared = ArgumentParser(add_help=False)
    shared.add_argument(
        "--settings", required=True, metavar="JSON", help="settings as JSON, or the name of a JSON file"
    )
    shared.add_argument("--out", required=True, type=Path, metavar="FOLDER", help="folder to write")
    shared.add_argument("--threads", type=_count, default=1, metavar="N", help="threads to use (default: 1)")
    shared.add_argument("--scale", default="none", metavar="NAME", help="name of the scale, for meta.json")
    return shared


def _data() -> ArgumentParser:
    """Return the argument for a data set."""
    shared = ArgumentParser(add_help=False)
    shared.add_argument("--data", required=True, type=Path, metavar="FILE", help="npz file of the data set")
    return shared


def _model() -> ArgumentParser:
    """Return the argument for trained models."""
    shared = ArgumentParser(add_help=False)
    shared.add_argument("--model", required=True, type=Path, metavar="FOLDER", help="folder of the run")
    return shared


def _checkpoint() -> ArgumentParser:
    """Return the arguments of a computation that can be resumed."""
    shared = ArgumentParser(add_help=False)
    shared.add_argument("--checkpoint", type=Path, metavar="FILE", help="checkpoint to resume from, and to write")
    shared.add_argument(
        "--checkpoint-seconds",
        type=_seconds,
        default=os.environ.get("RBMBENCH_CHECKPOINT_SECONDS") or None,
        metavar="SECONDS",
        help="least time between two checkpoints (default: the variable RBMBENCH_CHECKPOINT_SECONDS, or 20)",
    )
    return shared


def _backend() -> ArgumentParser:
    """Return the argument for the arrays of a computation."""
    shared = ArgumentParser(add_help=False)
    shared.add_argument(
        "--backend",
        default=os.environ.get("RBMBENCH_BACKEND") or "auto",
        metavar="NAME",
        help="arrays to compute on: auto, numpy, or cupy for a GPU (default: the variable RBMBENCH_BACKEND, or auto)",
    )
    return shared


def _sources() -> ArgumentParser:
    """Return the arguments for the sources of data sets."""
    shared = ArgumentParser(add_help=False)
    shared.add_argument("--mirror", help="folder or base address that is tried before the public addresses")
    shared.add_argument("--cache", help="folder of downloads")
    return shared


def _notebook() -> ArgumentParser:
    """Return the arguments of a step that runs a notebook."""
    shared = ArgumentParser(add_help=False)
    shared.add_argument("--template", required=True, type=Path, metavar="FILE", help="notebook to run")
    shared.add_argument("--notebook", required=True, type=Path, metavar="FILE", help="executed notebook, to write")
    shared.add_argument("--page", required=True, type=Path, metavar="FILE", help="the same as HTML, to write")
    shared.add_argument("--log", type=Path, metavar="FILE", help="the notebook while it runs, and if it fails")
    return shared


def _specs() -> ArgumentParser:
    """Return the arguments for all figures and tables of a scale."""
    shared = ArgumentParser(add_help=False)
    shared.add_argument(
        "--specs",
        type=Path,
        nargs="*",
        default=[],
        metavar="FILE",
        help="specs of the figures and tables (default: all)",
    )
    return shared


def _count(text: str) -> int:
    """Return a whole number of at least 1."""
    number = int(text)
    if number < 1:
        raise ArgumentTypeError(f"found {number}; should be at least 1")
    return number


def _seconds(text: str) -> float:
    """Return a time of at least 0 seconds."""
    number = float(text)
    if not number >= 0:
        raise ArgumentTypeError(f"found {text!r}; should be at least 0")
    return number


def _pair(text: str) -> tuple[str, str]:
    """Return name and value of NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ArgumentTypeError(f"found {text!r}; should be NAME=VALUE")
    return name, value
