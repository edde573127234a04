"""The argument parser of the command line.

Each subcommand names the function that runs it as "module:function" of this package; it is imported when it runs, so
that ``--help`` is quick.
"""

import os
from argparse import ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from rbmbench.base.errors import SettingsError
from rbmbench.io.guard import UnreadableError
from rbmbench.io.text import plain_json


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
    listed = set(commands.choices)
    _add_steps(commands)
    steps = {name: step.description for name, step in commands.choices.items() if name not in listed}
    lines = [f"    {name:<14}{text}" for name, text in steps.items()]
    whole.epilog = "\n".join(["steps of the workflow, called by its rules:", *lines])
    return whole


def _add(commands, name: str, command: str, text: str, *groups: dict[str, dict], listed: bool = True) -> ArgumentParser:
    """Return the parser of a new subcommand, with groups of arguments: options of `add_argument` by name."""
    options = {"help": text} if listed else {}
    added = commands.add_parser(name, description=text, allow_abbrev=False, **options)
    added.set_defaults(command=command)
    for group in groups:
        for argument, of_argument in group.items():
            added.add_argument(argument, **of_argument)
    return added


def _at_least(least: float, kind: type) -> Callable[[str], Any]:
    """Return a type of arguments: numbers of a kind, at least ``least``."""

    def number(text: str) -> Any:
        value = kind(text)
        if not value >= least:
            raise ArgumentTypeError(f"found {text!r}; should be at least {least}")
        return value

    return number


def _pair(text: str) -> tuple[str, str]:
    """Return name and value of NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ArgumentTypeError(f"found {text!r}; should be NAME=VALUE")
    return name, value


_count = _at_least(1, int)
_file, _folder = (partial(dict, type=Path, metavar=metavar) for metavar in ("FILE", "FOLDER"))
_required_file, _required_folder = partial(_file, required=True), partial(_folder, required=True)
_json = partial(dict, metavar="JSON")

# Arguments that several subcommands share.
COMPUTATION = {
    "--settings": _json(required=True, help="settings as JSON, or the name of a JSON file"),
    "--out": _required_folder(help="folder to write"),
    "--threads": {"type": _count, "default": 1, "metavar": "N", "help": "threads to use (default: 1)"},
    "--scale": {"default": "none", "metavar": "NAME", "help": "name of the scale, for meta.json"},
}
DATA = {"--data": _required_file(help="npz file of the data set")}
MODEL = {"--model": _required_folder(help="folder of the run")}
SOURCES = {
    "--mirror": {"help": "folder or base address that is tried before the public addresses"},
    "--cache": {"help": "folder of downloads"},
}
NOTEBOOK = {
    "--template": _required_file(help="notebook to run"),
    "--notebook": _required_file(help="executed notebook, to write"),
    "--page": _required_file(help="the same as HTML, to write"),
    "--log": _file(help="the notebook while it runs, and if it fails"),
}
SPECS = {"--specs": _file(nargs="*", default=[], help="specs of the figures and tables (default: all)")}
SCALE = {"--scale": {"required": True, "metavar": "NAME", "help": "name of the scale"}}
SCALE_FOLDER = {"--folder": _required_folder(help="folder of the scale: results/SCALE")}
CLAIMS = {"--claims": _required_file(nargs="+", help="claims, one file per paper")}


def _long() -> dict[str, dict]:
    """Return the arguments of training and annealing; defaults are read from the environment now."""
    return {
        "--checkpoint": _file(help="checkpoint to resume from, and to write"),
        "--checkpoint-seconds": {
            "type": _at_least(0, float),
            "default": os.environ.get("RBMBENCH_CHECKPOINT_SECONDS") or None,
            "metavar": "SECONDS",
            "help": "least time between two checkpoints (default: the variable RBMBENCH_CHECKPOINT_SECONDS, or 20)",
        },
        "--backend": {
            "default": os.environ.get("RBMBENCH_BACKEND") or "auto",
            "metavar": "NAME",
            "help": "arrays to compute on: auto, numpy, or cupy for a GPU "
            "(default: the variable RBMBENCH_BACKEND, or auto)",
        },
    }


def _add_commands(commands) -> None:
    """Add the subcommands for people."""
    add = partial(_add, commands)
    own = {
        "--json": {"action": "store_true", "help": "print JSON instead of tables"},
        "--online": {"action": "store_true", "help": "ask public addresses if they answer; download nothing"},
        "--results": _folder(default=Path("results"), help="folder of results"),
    }
    doctor = add("doctor", "doctor:doctor", "report on this machine, and test the installation", SOURCES, own)
    doctor.add_argument("--quick", "--no-self-test", dest="self_test", action="store_false", help="skip the self-test")

    own = {
        "--config": _file(default=Path("config/config.yaml"), help="config.yaml"),
        "--configfile": _file(nargs="*", default=[], help="overlays, in order"),
        "--values": _json(help="the merged configuration, if it is known already"),
        "--results": _folder(nargs="+", default=[Path("results")], help="folders of recorded runs"),
        "--cores": {"type": _count, "metavar": "N", "help": "jobs that run at a time (default: all cores)"},
        "--out": _file(help="CSV file to write"),
    }
    add("forecast", "forecasting:forecast", "forecast time and memory of a scale", own)

    config = commands.add_parser("config", help="check the configuration, or write its JSON schemas")
    actions = config.add_subparsers(metavar="ACTION", required=True)
    own = {"files": _file(nargs="+", help="config.yaml, then overlays")}
    _add(actions, "check", "making:config_check", "check config.yaml with its overlays, and list the results", own)
    own = {"--out": _folder(default=Path("config/schemas"))}
    _add(actions, "schema", "making:config_schema", "write the JSON schemas of the configuration", own)

    own = {"--run-id": {"required": True, "metavar": "ID", "help": "id of the run, for meta.json"}}
    text = "train all trials of a run, or resume it from its checkpoint"
    add("train", "computing:train", text, COMPUTATION, DATA, _long(), own)

    own = {
        "--name": {"required": True, "help": "name of the data set"},
        "--options": _json(default="{}", help="options of the data set (default: none)"),
        "--rows": {"type": int, "help": "fail unless the data set has this many training rows"},
        "--visible": {"type": int, "help": "fail unless the data set has this many visible units"},
        "--out": _required_file(help="npz file to write"),
    }
    add("data", "making:data", "make or fetch a data set, and write it as an npz file", SOURCES, own)

    own = {"--out": _file(help="HTML file to write (default: FOLDER/report/index.html)")}
    add("report", "making:report", "write the page that shows all results of a scale", SPECS, SCALE_FOLDER, own)

    own = {
        "--figures": {"nargs": "*", "default": [], "metavar": "KEY", "help": "figures, such as popcd_fig1"},
        "--tables": {"nargs": "*", "default": [], "metavar": "KEY", "help": "tables, such as popcd_table1"},
        "--runs": _folder(nargs="*", default=[], help="runs: their curve and meta"),
        "--out": _required_folder(help="folder to write"),
    }
    text = "copy the small files of results: pictures, tables, meta, verdicts"
    add("keep", "keeping:keep", text, SCALE, SCALE_FOLDER, CLAIMS, own)


def _add_steps(commands) -> None:
    """Add the steps of the workflow, which the list of commands leaves out."""
    add = partial(_add, commands, listed=False)
    models = COMPUTATION | DATA | MODEL
    add("evaluate", "computing:evaluate", "evaluate snapshots by annealed importance sampling", models, _long())
    add("ground-truth", "computing:ground_truth", "compute the model expectations of trained models", models)
    own = {"--ground-truths": _required_file(nargs="+", help="output of ground-truth")}
    add("estimate", "computing:estimate", "measure bias and variance of a gradient estimator", models, own)
    add("sample", "computing:sample", "draw samples of trained models, and measure their coverage", models)
    add("couple", "computing:couple", "run coupled chains of a random model until they meet", COMPUTATION)

    own = {"--values": _json(required=True, help="the spec"), "--out": _required_file(help="JSON file to write")}
    add("spec", "making:spec", "write the spec of a figure or table", own)

    pairs = {"type": _pair, "metavar": "NAME=VALUE", "help": "parameters of the notebook"}
    own = {"--set": {"required": True, "nargs": "+", **pairs}}
    add("render", "making:render", "run the notebook of a figure or table", NOTEBOOK, own)

    own = {
        "--spec": _required_file(help="spec of the claims, to write"),
        "--csv": _required_file(help="verdicts, to write"),
    }
    add("claims", "making:claims", "check the claims of the papers", SPECS, NOTEBOOK, SCALE, CLAIMS, own)

    own = {
        "--runs": _required_folder(nargs="+", help="folders of runs"),
        "--out": _required_file(help="CSV file to write"),
    }
    add("run-times", "making:run_times", "tabulate the run times in meta.json", own)


def plain_data(argument: str, text: str) -> dict[str, Any]:
    """Return the mapping that an argument holds as JSON."""
    try:
        values = plain_json(text)
    except UnreadableError as error:
        raise SettingsError(f"{argument}: is not JSON ({error})") from None
    if not isinstance(values, dict):
        raise SettingsError(f"{argument}: holds a {type(values).__name__}; should be a mapping of keys")
    return values
