# SPDX-License-Identifier: BSD-3-Clause
"""The argument parser of the command line.

Each subcommand names the function that runs it as "module:function" of this package; it is imported when it runs, so
that ``--help`` is quick.
"""

import math
import os
import re
import sys
from argparse import Action, ArgumentParser, ArgumentTypeError, Namespace, _SubParsersAction
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import NoReturn

from rbmbench.base.errors import SettingsError, unknown_name
from rbmbench.io.guard import UnreadableError
from rbmbench.io.layout import KEPT_ARENA
from rbmbench.io.text import plain_json

CONFIG = Path("config/config.yaml")
LARGEST_COUNT, LARGEST = 2**31 - 1, sys.float_info.max
MOST_SAMPLES = 2500  # samples of a picture: more are smaller than its pixels


class Parser(ArgumentParser):
    """A parser whose errors are one line, and name the nearest command or argument."""

    def parse_known_args(
        self, args: Sequence[str] | None = None, namespace: Namespace | None = None
    ) -> tuple[Namespace, list[str]]:
        """Parse arguments; `SettingsError` for the first one that is wrong."""
        args = sys.argv[1:] if args is None else args
        for text in args:
            if "\0" in text or text.encode(errors="replace").decode() != text:
                raise SettingsError(f"argument {text!a}: is not UTF-8 text without NUL characters")
        if self._subparsers:
            action = next(action for action in self._actions if isinstance(action, _SubParsersAction))
            if args and args[0].startswith("-") and args[0] not in self._option_string_actions:
                self.error(f"arguments must follow a command, got {args[0]}")
            name = next((text for text in args if not text.startswith("-")), None)
            if name is not None and name not in action.choices:
                self.error(unknown_name("command", name, [choice.dest for choice in action._choices_actions]))
        else:
            options = [name[2:].replace("-", "_") for name in self._option_string_actions if name.startswith("--")]
            for text in takewhile(lambda text: text != "--", args):
                name = text.partition("=")[0][2:].replace("-", "_")
                if text.startswith("--") and name not in options:
                    self.error(unknown_name("argument", name, options).replace("_", "-"))
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Raise a `SettingsError`."""
        raise SettingsError(f"{message}; see '{self.prog} --help'")


def parser() -> Parser:
    """Return the parser; parsed arguments hold the function to run as ``command``."""
    description = "Train restricted Boltzmann machines, and compare the trained models."
    whole = Parser(prog="rbmbench", description=description, allow_abbrev=False)
    whole.add_argument("--version", action=_Version, nargs=0, help="print the version, and exit")
    commands = whole.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_commands(commands)
    _add_steps(commands)
    return whole


class _Version(Action):
    """Action that looks up the version and prints it."""

    def __call__(self, parser: ArgumentParser, *_) -> None:
        import rbmbench

        print(f"rbmbench {rbmbench.__version__}")
        parser.exit()


def _add(commands, name: str, command: str, text: str, *groups: dict[str, dict], listed: bool = True) -> Parser:
    """Return the parser of a new subcommand, with groups of arguments: options of `add_argument` by name."""
    options = {"help": text} if listed else {}
    added = commands.add_parser(name, description=text, allow_abbrev=False, **options)
    added.set_defaults(command=command)
    for group in (*groups, ALL):
        for argument, described in group.items():
            added.add_argument(argument, **described)
    return added


def _number(least: float, most: float, kind: type, allowed: str = "") -> Callable[[str], float]:
    """Return a type of arguments: numbers of a kind, from ``least`` to ``most``; ``allowed`` has them in words."""
    allowed = allowed or f"{'an integer ' * (kind is int)}from {least} to {most}"

    def number(text: str) -> float:
        with suppress(ValueError):
            if least <= (value := kind(text)) <= most:
                return value
        raise ArgumentTypeError(f"must be {allowed}, got {text!r}")

    return number


SECONDS = _number(0, math.inf, float)
SECONDS_VARIABLE = "RBMBENCH_CHECKPOINT_SECONDS"
FINITE = _number(-LARGEST, LARGEST, float, "a finite number")
POSITIVE = _number(sys.float_info.min, LARGEST, float, "a finite number above 0")


def checkpoint_seconds() -> float | None:
    """Return the least time between two checkpoints that the environment has; a wrong one is a `SettingsError`."""
    text = os.environ.get(SECONDS_VARIABLE)
    try:
        return SECONDS(text) if text else None
    except ArgumentTypeError as error:
        raise SettingsError(f"{SECONDS_VARIABLE}: {error}") from None


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ArgumentTypeError(f"must be NAME=VALUE, got {text!r}")
    return name, value


def _two_numbers(pattern: str, form: str) -> Callable[[str], tuple[int, int]]:
    """Return a type of arguments: two numbers, such as 28x28."""

    def numbers(text: str) -> tuple[int, int]:
        match = re.fullmatch(pattern, text, re.ASCII)
        if not match:
            raise ArgumentTypeError(f"must be {form}, got {text!r}")
        return int(match[1]), int(match[2])

    return numbers


def _kind_of_parts(text: str) -> str:
    if text not in PARTS:
        raise ArgumentTypeError(f"must be one of {', '.join(PARTS)}, got {text!r}")
    return text


def plain_data(argument: str, text: str) -> dict:
    """Return the mapping that an argument holds as JSON."""
    try:
        values = plain_json(text)
    except UnreadableError as error:
        raise SettingsError(f"{argument}: is not JSON ({error})") from None
    if not isinstance(values, dict):
        raise SettingsError(f"{argument}: must be a mapping of keys, got a {type(values).__name__}")
    return values


def _argument(metavar: str | None, text: str | None = None, **options) -> dict:
    return {"metavar": metavar, "help": text, **options}


_file, _folder = partial(_argument, "FILE", type=Path), partial(_argument, "FOLDER", type=Path)
_required_file, _required_folder = partial(_file, required=True), partial(_folder, required=True)
_json, _name = partial(_argument, "JSON"), partial(_argument, "NAME")
_options, _budget, _values = (
    partial(_json, type=partial(plain_data, argument)) for argument in ("--options", "--settings", "--values")
)
_count = partial(_argument, "N", type=_number(1, LARGEST_COUNT, int))
_shape = _two_numbers(r"([1-9]\d{0,8})x([1-9]\d{0,8})", "ROWSxCOLUMNS, such as 28x28")
_block = _two_numbers(r"(\d{1,9})-([1-9]\d{0,8})", "FIRST-COUNT, such as 10-5")

# Arguments that several subcommands share, the first ones all of them.
ALL = {
    "--log": _file("file that gets a copy of all messages; an unwritable file is no error"),
    "--plugin": _argument(
        "PATH", "file or folder of parts of your own; may be repeated", type=Path, action="append", default=[]
    ),
}
COMPUTATION = {
    "--settings": _json("settings as JSON, or the name of a JSON file", required=True),
    "--out": _required_folder("folder to write"),
    "--threads": _count("threads to use (default: 1)", default=1),
    "--scale": _name("name of the scale, for meta.json", default="none"),
}
OWN_DATA = {
    "--array": _name("array of an .npz file (default: train, or the only one)"),
    "--drop-columns": _argument("COLUMN", "columns to leave out: names, or numbers from 1; none if empty", nargs="*"),
    "--threshold": _argument("NUMBER", "larger numbers are 1, others 0", type=FINITE),
    "--features": _count("features of a .libsvm file (default: the largest that occurs)"),
}
DATA_OR_OWN = {
    "--data": _required_file("file of `rbmbench data`, or rows of 0 and 1 of your own: text, parquet, .npy, ..."),
    "--run-id": _argument("ID", "id of the run, for meta.json (default: the name of the folder to write)"),
}
ONE_STAGE = {
    "--hidden": _count("hidden units"),
    "--iterations": _count("updates of the parameters"),
    "--batch": _count("rows of a mini-batch (default: 100, or all if fewer)"),
    "--estimator": _name("gradient estimator (default: cd); `rbmbench list` has all"),
    "--options": _options("options of the estimator (default: none)"),
    "--k": _count("Gibbs steps: the same as --options '{\"k\": N}'"),
    "--update": _name("update rule (default: sgd)"),
    "--rate": _argument("RATE", "learning rate (default: 0.1)", type=POSITIVE),
    "--trials": _count("independent repetitions (default: 1)"),
    "--seed": _argument("N", "seed (default: 0)", type=_number(0, 2**32 - 1, int)),
    "--evaluate-every": _count("iterations between evaluations (default: 100)"),
}
OF_FIT = {
    "data": _file("rows of 0 and 1 of your own, a row per sample: text, libsvm, parquet, .npy or .npz"),
    **OWN_DATA,
    "--out": _required_folder("folder to write"),
    **ONE_STAGE,
    "--hidden": ONE_STAGE["--hidden"] | {"required": True},
    "--iterations": _count("updates of the parameters (default: 5000)", default=5000),
    "--evaluate-every": _count("iterations between evaluations (default: so many that there are 20)"),
    "--threads": COMPUTATION["--threads"],
    "--validation": _argument(
        "SHARE",
        "share of the rows to hold out, at random (default: 0.1 of at least 100 rows; 0 for none)",
        type=_number(0, 1, float),
    ),
    "--patience": _count(
        "stop after N evaluations without a rise of the held-out score (default: make all iterations)"
    ),
    "--no-certificate": {"action": "store_false", "dest": "certificate", "help": "do not examine the trained model"},
    "--shape": _argument("ROWSxCOLUMNS", "draw filters and samples as images (28x28)", type=_shape),
    "--samples": _argument("N", "samples to draw (default: 100)", type=_number(1, MOST_SAMPLES, int), default=100),
}
PARTS = ("estimators", "updates", "samplers", "datasets", "kinds", "jobs")
SOURCES = {
    "--mirror": _argument(None, "folder or base address that is tried before the public addresses"),
    "--cache": _argument(None, "folder of downloads"),
}
NOTEBOOK = {
    "--template": _required_file("notebook to run"),
    "--notebook": _required_file("executed notebook, to write"),
    "--page": _required_file("the same as HTML, to write"),
    "--partial": _file("the notebook while it runs, and if it fails"),
}
VALUES = {"--values": _values("the merged configuration, if it is known already")}
SCALE = {"--scale": _name("name of the scale", required=True)}
OF_SCALE = {"--scale": _name("scale whose results are taken: the same as the folder results/NAME")}
OVERLAY = {"--scale": _name("scale: the same as the overlay NAME.yaml beside config.yaml")}
CLAIMS = {"--claims": _required_file("claims, one file per paper", nargs="+")}


def _resumable() -> dict[str, dict]:
    """Return the arguments of checkpoints and backend."""
    least = f"least time between two checkpoints (default: the variable {SECONDS_VARIABLE}, or 20)"
    arrays = "arrays to compute on: auto, numpy, or cupy for a GPU (default: the variable RBMBENCH_BACKEND, or auto)"
    return {
        "--checkpoint": _file("checkpoint to resume from, and to write"),
        "--checkpoint-seconds": _argument("SECONDS", least, type=SECONDS),
        "--backend": _name(arrays, default=os.environ.get("RBMBENCH_BACKEND") or "auto"),
    }


def _add_commands(commands) -> None:
    add = partial(_add, commands)
    arguments = {
        "--json": {"action": "store_true", "help": "print JSON instead of tables"},
        "--results": _folder("folder of results", default=Path("results")),
        "--quick": {"action": "store_false", "dest": "self_test", "help": "skip the self-test"},
    }
    add("doctor", "doctor:doctor", "report on this machine, and test the installation", SOURCES, arguments)

    arguments = {
        "--config": _file("config.yaml", default=CONFIG),
        "--configfile": _file("overlays, in order", nargs="*", default=[]),
        **VALUES,
        "--target": _argument(None, "targets, as popcd_table1 or arena (default: all)", nargs="+", default=["all"]),
        "--results": _folder("folders of recorded runs (default: results, if it exists)", nargs="+"),
        "--cores": _count("jobs that run at a time (default: all cores)"),
        "--out": _file("CSV file to write"),
    }
    add("forecast", "forecasting:forecast", "forecast time and memory of a scale", OVERLAY, arguments)

    config = commands.add_parser("config", help="check the configuration, or write its JSON schemas")
    actions = config.add_subparsers(metavar="ACTION", required=True)
    arguments = {"files": _file("config.yaml, then overlays (default: config/config.yaml)", nargs="*")}
    text = "check config.yaml with its overlays, and count the results"
    _add(actions, "check", "making:config_check", text, OVERLAY, arguments)
    arguments = {"--out": _folder(default=Path("config/schemas"))}
    _add(actions, "schema", "making:config_schema", "write the JSON schemas of the configuration", arguments)

    text = "train all trials of a run, or resume it from its checkpoint"
    settings = {"--settings": _json(f"all settings as JSON, or a JSON file, in place of {', '.join(ONE_STAGE)}")}
    parts = DATA_OR_OWN, OWN_DATA, ONE_STAGE, COMPUTATION | settings, _resumable()
    add("train", "computing:train", text, *parts)

    text = "train on a file of your own, and write models, curve, pictures and a page"
    fit = add("fit", "fitting:fit", text, OF_FIT, _resumable())
    fit.set_defaults(settings=None, run_id=None, scale="none")

    arguments = {
        "model": _file("folder of a run, or an .npz file with W (..., m, n), b (..., m) and c (..., n)"),
        "--data": DATA_OR_OWN["--data"],
        **OWN_DATA,
        "--settings": _budget(
            "budget as JSON, such as '{\"sweeps\": 5000}' (default: that of `rbmbench list`)", default="{}"
        ),
        "--out": _file("CSV file with all numbers, to write"),
    }
    add("certify", "fitting:certify", "examine trained models: log Z, mixing of chains, fit to the rows", arguments)

    arguments = {
        "model": arguments["model"],
        "data": _file("rows to score: new ones, or those of training"),
        **OWN_DATA,
        "--settings": _budget("budget of log Z as JSON, such as '{\"temperatures\": 10000}'", default="{}"),
        "--threads": COMPUTATION["--threads"],
        "--out": _file("CSV file to write (default: standard output)"),
    }
    add("score", "fitting:score", "compute the log-likelihood of each row of a file under trained models", arguments)

    arguments = {"kinds": _argument("KIND", f"{', '.join(PARTS)} (default: all)", nargs="*", type=_kind_of_parts)}
    text = "list estimators, update rules, samplers, data sets, kinds of figures and of jobs with their options"
    add("list", "listing:list_parts", text, arguments)

    arguments = {
        "what": {"choices": ("estimator", "dataset", "paper"), "help": "kind of part"},
        "name": _name("its name: small letters, digits and _, first a letter"),
        "--folder": _folder("folder to write (default: plugins; of a paper: config)"),
    }
    add("new", "new:new", "begin an estimator, data set or paper of your own: files that work, and a test", arguments)

    arguments = {
        "--name": _argument(None, "name of the data set", required=True),
        "--options": _options("options of the data set (default: none)", default="{}"),
        "--rows": _count("fail unless the data set has this many training rows"),
        "--visible": _count("fail unless the data set has this many visible units"),
        "--out": _required_file("npz file to write"),
    }
    add("data", "making:data", "make or fetch a data set, and write it as an npz file", SOURCES, arguments)

    overlays = "overlays (default: that beside config.yaml of a folder's name)"
    arguments = {
        "--specs": _file("specs of the figures and tables (default: all)", nargs="*", default=[]),
        **OF_SCALE,
        "folders": _folder("folders of results (default: those in results/reference)", nargs="*"),
        "--out": _file("HTML file to write (default: report.html)", default=Path("report.html")),
        "--config": _file("config.yaml, for titles of papers and figures", default=CONFIG),
        "--configfile": _argument("FILE", overlays, nargs="*", default=[]),
        **VALUES,
    }
    add("report", "making:report", "write one page that shows all results of some folders", arguments)

    width = "for a publication: inches; without titles (default: for a page)"
    arguments = {
        "folder": _folder("folder of a scale, as results/SCALE, or of kept results", nargs="?"),
        "--keys": _argument("KEY", "figures and tables (default: all)", nargs="*", default=[]),
        "--width": {"choices": ("3.3", "6.9"), "help": width},
        "--out": _folder("folder to write (default: the same)"),
        "--check": {"action": "store_true", "help": "write nothing, fail if tables, captions or PNGs would change"},
    }
    add("redraw", "making:redraw", "draw figures and tables again from their charts", OF_SCALE, arguments)

    arena = f"folder of a kept arena (default: {KEPT_ARENA})"
    arguments = {
        "folder": _folder("folder of a scale with runs of your method in the arena, as results/SCALE", nargs="?"),
        "--with": _folder(arena, dest="kept", default=Path(KEPT_ARENA)),
        "--out": _required_folder("folder to write"),
    }
    add(
        "compare", "making:compare", "draw the figures of the kept arena with a method of your own", OF_SCALE, arguments
    )


def _add_steps(commands) -> None:
    """Add the steps of the workflow, which the list of commands omits, and `evaluate` and `keep`."""
    add = partial(_add, commands, listed=False)
    inputs = {
        "--data": _file("npz file of the data set"),
        "--model": _folder("folder of the run whose models are measured"),
    }
    arguments = {
        "--needs": _folder("folders of the other jobs that this one reads", nargs="*", default=[]),
        "--run-id": DATA_OR_OWN["--run-id"],
        "--block": _argument("FIRST-COUNT", "only so many parts of the job, such as trials, from one on", type=_block),
        "--blocks": _folder("folders of the blocks of trials to gather, in place of computing", nargs="+"),
    }
    computation = COMPUTATION | _resumable()
    text = "folders of evaluations of a scale whose models are evaluated again; --settings has the changes"
    again = {"--again": _folder(text, nargs="+")}
    text = "evaluate the models of a run, also again with other settings"
    add("evaluate", "computing:evaluate", text, inputs, again, computation, listed=True).set_defaults(kind="evaluate")
    text = "compute a job of the workflow: evaluate, ground_truth, estimate, ..."
    kind = {"kind": _argument("KIND", "kind of job, a module of rbmbench.jobs or of a plug-in")}
    add("job", "computing:compute", text, inputs, arguments, computation, kind)

    arguments = {
        "jobs": _argument("JOB", "subcommands, as 'job KIND --settings ...'", nargs="+"),
        "--threads": COMPUTATION["--threads"],
    }
    add("bundle", "computing:bundle", "compute short jobs of the workflow, one after the other", arguments)

    arguments = {
        "key": _argument("KEY", "figure or table; its spec is written to parameter spec", nargs="?"),
        "--spec": _json("the spec as JSON, or a JSON file with those of all figures and tables"),
        "--set": _argument("NAME=VALUE", "parameters of the notebook", required=True, nargs="+", type=_pair),
    }
    add("render", "making:render", "run the notebook of a figure or table", NOTEBOOK, arguments)

    arguments = {
        "--specs": _required_file("specs of all figures and tables"),
        "--spec": _required_file("spec of the claims, to write"),
        "--csv": _required_file("verdicts, to write"),
    }
    add("claims", "making:claims", "check the claims of the papers", NOTEBOOK, SCALE, CLAIMS, arguments)

    arguments = {"--runs": _required_folder("folders of runs", nargs="+"), "--out": _required_file("CSV file to write")}
    add("run-times", "making:run_times", "tabulate the run times in meta.json", arguments)

    arguments = {
        "--folder": _folder("folder of the scale (default: results/SCALE)"),
        **CLAIMS,
        "--figures": _argument("KEY", "figures, such as popcd_fig1", nargs="*", default=[]),
        "--tables": _argument("KEY", "tables, such as popcd_table1", nargs="*", default=[]),
        "--runs": _folder("runs and evaluations: their curve and meta", nargs="*", default=[]),
        "--out": _required_folder("folder to write"),
    }
    text = "copy the small files of results: pictures, tables, meta, verdicts"
    add("keep", "keeping:keep", text, SCALE, arguments, listed=True)
